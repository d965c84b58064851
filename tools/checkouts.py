# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the files of a commit from a git repository, without a work tree."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# In bytes: the files that name units and containers are written by hand.
LARGEST_FILE = 1 << 20
# Files in which a repository says its own name, with the words around it
OWN_NAMES = {
    ".gitreview": re.compile(r"^project=(?P<name>[\w./-]+?)(?:\.git)?$", re.MULTILINE),
    "go.mod": re.compile(r"^module [\w.]+/(?P<name>[\w.-]+/[\w.-]+)$", re.MULTILINE),
    "galaxy.yml": re.compile(r"^repository: \S+?/(?P<name>[\w-]+/[\w.-]+?)(?:\.git)?$", re.MULTILINE),
}


@dataclass(frozen=True)
class Checkout:
    """One commit of one repository.

    date: of the commit, as YYYY-MM-DD. revision: the branch or tag that was asked for.
    """

    directory: Path
    repository: str
    revision: str
    commit: str
    date: str

    def files(self, wanted: str) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of each file whose path matches an expression."""
        with tarfile.open(fileobj=io.BytesIO(git(self.directory, "archive", "--format=tar", self.commit))) as archive:
            for member in archive:
                if not member.isfile() or member.size > LARGEST_FILE or not re.search(wanted, member.name):
                    continue
                stream = archive.extractfile(member)
                if stream is not None:
                    yield member.name, stream.read().decode("utf-8", "replace")


def git(directory: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(directory), *words], check=True, capture_output=True).stdout


def text(directory: Path, *words: str) -> str:
    return git(directory, *words).decode("utf-8", "replace").strip()


def opened(directory: Path, revisions: Sequence[str]) -> list[Checkout]:
    """Return a repository at those of the revisions that it has; at HEAD if it has none of them."""
    there = [revision for revision in revisions if is_there(directory, revision)]
    return [at(directory, revision) for revision in there or ["HEAD"]]


def is_there(directory: Path, revision: str) -> bool:
    words = ["git", "-C", str(directory), "rev-parse", "--quiet", "--verify", f"{revision}^{{commit}}"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def at(directory: Path, revision: str) -> Checkout:
    commit, date = text(directory, "log", "-1", "--format=%H %cs", revision).split()
    return Checkout(directory, repository_of(directory, commit), revision, commit, date)


def repository_of(directory: Path, commit: str) -> str:
    """Return owner/name of a repository, as one of its own files says it, or else its folder."""
    for path, words in OWN_NAMES.items():
        if is_there(directory, commit) and path in text(directory, "ls-tree", "--name-only", commit).splitlines():
            match = words.search(text(directory, "show", f"{commit}:{path}"))
            if match:
                return match["name"]
    return directory.resolve().name
