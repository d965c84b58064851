# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A result that others can be compared with: the directory of a run or of a sweep, or the archive of one."""

from __future__ import annotations

import contextlib
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .._model.inventory import FinishedRun, Inventory
from .._model.record import SCHEMA as RUN_SCHEMA
from .._model.sweep import SCHEMA as SWEEP_SCHEMA
from .._model.sweep import Sweep
from .._model.words import Result
from .._record.errors import StageError
from .._record.ledger import LONGEST_RECORD, own_text
from .._record.run import parsed
from . import inventory
from .archive import DIGESTS, digest_of

RUN, SWEEP = "run.json", "sweep.json"
HINT = "Name the directory of a run or of a sweep, or the archive of one."
# The target of a run by itself. The scheduler may have chosen another host for it than for the other one.
ALONE = "the run"

# The path of a record, for messages, and its text
Named = tuple[str, str]


@dataclass(frozen=True)
class FinishedResult:
    """A result. runs: those that have a record, by the names of their targets. sweep: None for a run by itself."""

    inventory: Inventory
    runs: Mapping[str, FinishedRun]
    sweep: Sweep | None = None

    @property
    def verdicts(self) -> dict[str, Result]:
        """Return the verdict on each target, also on one without a record."""
        if self.sweep:
            return {
                target.name: target.result for target in self.sweep.targets
            }
        return {name: run.verdict.result for name, run in self.runs.items()}

    @property
    def headlines(self) -> dict[str, str]:
        """Return what is wrong with each target that did not pass."""
        reasons = {}
        if self.sweep:
            reasons.update(
                {target.name: target.reason for target in self.sweep.targets}
            )
        for name, run in self.runs.items():
            reasons[name] = run.verdict.headline or run.verdict.reason
        failed = [
            name
            for name, result in self.verdicts.items()
            if result is not Result.PASS
        ]
        return {name: reasons[name] for name in failed}


def read(path: str) -> FinishedResult:
    """Return the result at a path."""
    sweep, runs = None, {}
    for name, text in records_in(path):
        if os.path.basename(name) == SWEEP:
            sweep = parsed(Sweep, SWEEP_SCHEMA, name, text)
        else:
            run = parsed(FinishedRun, RUN_SCHEMA, name, text)
            runs[run.run_id] = run
    if sweep:
        there = {
            target.name: runs[target.run_id]
            for target in sweep.targets
            if target.run_id in runs
        }
        return FinishedResult(
            inventory.of_sweep(sweep, [*there.values()]), there, sweep
        )
    if len(runs) != 1:
        raise StageError("no_run", f"there is no result in {path}", hint=HINT)
    run = next(iter(runs.values()))
    return FinishedResult(inventory.of_run(run), {ALONE: run})


def records_in(path: str) -> Iterator[Named]:
    if os.path.isfile(path):
        return archived(path)
    if os.path.exists(os.path.join(path, SWEEP)):
        return of_sweep(path)
    return iter([record_at(os.path.join(path, RUN))])


def of_sweep(directory: str) -> Iterator[Named]:
    """Yield the record of a sweep, and those of its runs."""
    name, text = record_at(os.path.join(directory, SWEEP))
    yield name, text
    for target in parsed(Sweep, SWEEP_SCHEMA, name, text).targets:
        if target.directory:
            yield record_at(os.path.join(directory, target.directory, RUN))


def record_at(path: str) -> Named:
    try:
        return path, own_text(path, LONGEST_RECORD)
    except FileNotFoundError:
        raise StageError("no_run", f"there is no {path}", hint=HINT) from None


# Archives


@contextlib.contextmanager
def opened(path: str) -> Iterator[tarfile.TarFile]:
    """Open an archive for reading. Nothing is unpacked, so no name in it leads anywhere."""
    try:
        with tarfile.open(path) as archive:
            yield archive
    except (tarfile.TarError, EOFError, UnicodeDecodeError) as exc:
        raise StageError(
            "no_run", f"{path} cannot be read: {exc}", hint=HINT
        ) from None


def archived(path: str) -> Iterator[Named]:
    """Yield the records in an archive. One that differs from its digest is refused."""
    digests = digests_in(path)
    with opened(path) as archive:
        for member in archive:
            if os.path.basename(member.name) not in (RUN, SWEEP):
                continue
            content = content_of(archive, member)
            inside = member.name.partition("/")[2]
            if digests.get(inside) != digest_of(content):
                message = (
                    f"{inside} in {path} differs from its digest in {DIGESTS}"
                )
                raise StageError(
                    "no_run",
                    message,
                    hint="It changed after the archive was written. Fetch it again.",
                )
            yield os.path.join(path, inside), content.decode()


def digests_in(path: str) -> dict[str, str]:
    """Return the digests in an archive, by the names of the files."""
    with opened(path) as archive:
        found = [
            member
            for member in archive
            if os.path.basename(member.name) == DIGESTS
        ]
        lines = (
            content_of(archive, found[0]).decode().splitlines()
            if found
            else []
        )
    pairs = [line.partition("  ") for line in lines]
    return {name: digest for digest, _space, name in pairs}


def content_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member) if member.isfile() else None
    if stream is None or member.size > LONGEST_RECORD:
        raise StageError(
            "no_run",
            f"{member.name} is too long, or not a regular file",
            hint=HINT,
        )
    return stream.read()
