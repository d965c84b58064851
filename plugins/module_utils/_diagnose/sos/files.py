# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what cat, tail, ls, find, grep and test would of the host's files, by the copies in its report."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from ..._collect.commands import UnreadError
from .report import Report, absent

NO_FILE = "No such file or directory"
OPTION = "-"
# A report has whole folders of the host only below these: elsewhere a file may be missing in it alone.
COPIED = ("/etc/", "/var/", "/run/")


def paths_in(words: Sequence[str]) -> list[str]:
    """Return the words that are no options."""
    return [word for word in words if not word.startswith(OPTION)]


def missing(program: str, path: str) -> UnreadError:
    return UnreadError(
        "failed", [program, path], f"{program}: {path}: {NO_FILE}"
    )


def cat(report: Report, words: Sequence[str]) -> str:
    """Return the files one after the other; as with cat itself, one that is missing is an error."""
    texts = []
    for path in paths_in(words):
        text = report.copy_of(path)
        if text is None:
            raise missing("cat", path)
        texts.append(text)
    return "".join(texts)


def tail(report: Report, words: Sequence[str]) -> str:
    return "".join(report.copy_of(path) or "" for path in paths_in(words))


def ls(report: Report, words: Sequence[str]) -> str:
    folder = paths_in(words)[0]
    if not report.has(folder):
        raise missing("ls", folder)
    return "\n".join(report.names_in(folder))


def test(_report: Report, _words: Sequence[str]) -> str:
    """Return that root may read: a report is made by root."""
    return ""


def grep(report: Report, words: Sequence[str]) -> str:
    """Return the lines of files that match the expression of --regexp, each behind the name of its file.

    With --fixed-strings it is the lines of one file that have a text.
    """
    if "--fixed-strings" in words:
        text, path = words[words.index("--") + 1 :]
        return "\n".join(
            line for line in cat(report, [path]).splitlines() if text in line
        )
    pattern = next(
        re.compile(word.partition("=")[2])
        for word in words
        if word.startswith("--regexp=")
    )
    lines: list[str] = []
    for path in words[words.index("--") + 1 :]:
        text = report.copy_of(path) or ""
        lines += [
            f"{path}:{line}"
            for line in text.splitlines()
            if pattern.search(line)
        ]
    return "\n".join(lines)


def find(report: Report, words: Sequence[str]) -> str:
    """Return the files below folders, in the form that -printf names: of one depth, and of a name if one is given."""
    folders = folders_in(words)
    check_folders(report, folders)
    depth = int(values_of("-maxdepth", words)[0])
    form = values_of("-printf", words)[0]
    names = values_of("-name", words)
    paths: list[str] = []
    for folder in folders:
        paths += files_below(report, folder.rstrip("/"), depth)
    return "".join(
        described(report, path, form)
        for path in paths
        if is_named(path, names)
    )


def folders_in(words: Sequence[str]) -> list[str]:
    """Return the words before the first option of find, each with a slash at its end."""
    folders = takewhile(lambda word: not word.startswith(OPTION), words)
    return [f"{folder.rstrip('/')}/" for folder in folders]


def check_folders(report: Report, folders: Sequence[str]) -> None:
    """Refuse folders of which the report has no copies, and those that the host does not have."""
    if not all(folder.startswith(COPIED) for folder in folders):
        raise absent(folders[0])
    if not any(map(report.has, folders)):
        raise missing("find", folders[0])


def values_of(option: str, words: Sequence[str]) -> list[str]:
    """Return the word after an option, for each time that it is given."""
    return [value for word, value in pairwise(words) if word == option]


def is_named(path: str, names: Sequence[str]) -> bool:
    """Return whether a path ends in a name that fits one of some patterns; without patterns each does."""
    name = path.rpartition("/")[2]
    return not names or any(
        fnmatch.fnmatchcase(name, pattern) for pattern in names
    )


def files_below(report: Report, folder: str, depth: int) -> Iterator[str]:
    """Yield the paths of the files in a folder of the host, and in those below it as deep as is asked for."""
    if depth < 1:
        return
    folders, files = report.entries_of(folder)
    yield from (f"{folder}/{name}" for name in files)
    for name in folders:
        yield from files_below(report, f"{folder}/{name}", depth - 1)


def described(report: Report, path: str, form: str) -> str:
    """Return what -printf prints of a file. Its mode and its owner may be those of the copy, so they are not said."""
    status = os.stat(report.path(path))
    values = {
        "%T@": f"{status.st_mtime:.9f}",
        "%m": "?",
        "%u": "?",
        "%g": "?",
        "%s": str(status.st_size),
        "%p": path,
        "\\n": "\n",
    }
    return re.sub(r"%T@|%[mugsp]|\\n", lambda match: values[match[0]], form)
