# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of a result: one file with the records, the pages, JUnit and the inventory, and a digest of each."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from .._model import codec
from .._model.inventory import FinishedRun, Inventory
from .._model.sweep import Sweep, Target
from .._record.ledger import private
from .._record.run import read_as, replaced
from .._report.text import ARCHIVE
from . import inventory

# No other file of a directory goes into an archive: some of them are for the run itself, and not for readers.
RUN_FILES = ("run.json", "report.html", "junit.xml")
SWEEP_FILES = ("sweep.json", "sweep.html", "junit.xml")
INVENTORY = "inventory.json"
# In the form of sha256sum, whose option --check compares the files with it
DIGESTS = "SHA256SUMS"


@dataclass(frozen=True)
class Source:
    """A directory of which some files go into an archive. name: what it is called there."""

    name: str
    directory: str
    files: tuple[str, ...]


def path_of(directory: str) -> str:
    """Return the path of the archive of a run or of a sweep: beside its directory."""
    return os.path.realpath(directory) + ARCHIVE


def write_run(directory: str) -> str:
    """Write the archive of a finished run, and return its path."""
    run = read_as(FinishedRun, directory)
    return write(directory, [source_of_run(directory)], inventory.of_run(run))


def write_sweep(
    directory: str, sweep: Sweep, own: Mapping[str, str] | None = None
) -> str:
    """Write the archive of an ended sweep and of its runs, and return its path.

    own: the texts of the sweep's own files by their names, where those in its directory lead to runs elsewhere.
    """
    places = [
        os.path.join(directory, target.directory)
        for target in sweep.targets
        if target.directory
    ]
    runs = [read_as(FinishedRun, place) for place in places]
    name = os.path.basename(directory)
    sources = [
        Source(name, directory, () if own else SWEEP_FILES),
        *map(source_of_run, places),
    ]
    texts = {f"{name}/{file}": text for file, text in (own or {}).items()}
    return write(directory, sources, inventory.of_sweep(sweep, runs), texts)


def in_archive(sweep: Sweep) -> Sweep:
    """Return a sweep whose runs lie beside it, as they do in its archive, wherever they lie now."""
    return replace(sweep, targets=tuple(map(target_in_archive, sweep.targets)))


def target_in_archive(target: Target) -> Target:
    if target.directory is None:
        return target
    return replace(
        target,
        directory=os.path.join(os.pardir, os.path.basename(target.directory)),
    )


def source_of_run(directory: str) -> Source:
    place = os.path.realpath(directory)
    return Source(os.path.basename(place), place, RUN_FILES)


def write(
    directory: str,
    sources: Iterable[Source],
    of_result: Inventory,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Write an archive of some files, and return its path. texts: further files, by their names in it."""
    path = path_of(directory)
    top = os.path.basename(path).removesuffix(ARCHIVE)
    at = int(
        of_result.started if of_result.finished is None else of_result.finished
    )
    files = paths_of(sources)
    made = {
        INVENTORY: json.dumps(codec.to_json(of_result), indent=1) + "\n",
        **(texts or {}),
    }
    # Neither the file nor what is in it has a time or an owner of this machine: the same result is the same archive.
    with (
        replaced(path) as stream,
        gzip.GzipFile(
            filename="", mode="wb", fileobj=stream, mtime=0
        ) as zipped,
        tarfile.open(
            fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT
        ) as archive,
    ):
        digests = {}
        for name, content in contents(files, made):
            add(archive, f"{top}/{name}", content, at)
            digests[name] = digest_of(content)
        add(archive, f"{top}/{DIGESTS}", manifest(digests).encode(), at)
    return path


def paths_of(sources: Iterable[Source]) -> dict[str, str]:
    """Return the path of each file that is there, by its name in the archive."""
    found = {}
    for source in sources:
        for name in source.files:
            path = os.path.join(source.directory, name)
            if os.path.lexists(path):
                found[f"{source.name}/{name}"] = path
    return found


def contents(
    files: Mapping[str, str], texts: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its content, one after the other: a sweep has more than fits into memory."""
    for name in sorted([*files, *texts]):
        yield (
            name,
            texts[name].encode() if name in texts else read(files[name]),
        )


def read(path: str) -> bytes:
    with open(path, "rb", opener=private) as stream:
        return stream.read()


def add(archive: tarfile.TarFile, name: str, content: bytes, at: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), at, 0o600
    archive.addfile(member, io.BytesIO(content))


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(digests: Mapping[str, str]) -> str:
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
