# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digests of a folder of runs. They stay when the directory of a run is removed, so that a history is longer."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._model import codec
from .._model.history import DIGEST_VERSION, RunDigest
from .._record import ledger, run
from .._record.errors import MALFORMED, StageError
from .._record.run import is_seconds
from .digest import digest_of
from .records import name_of

FILE = "history.jsonl"
# Two weeks of runs every five minutes
MOST = 4000
# In characters
LONGEST = 256 << 20
NUMBERS = (int, float)
KEYS = {field.name for field in dataclasses.fields(RunDigest)}


@dataclass(frozen=True)
class Line:
    """A digest, and its text in the file; None where the text is not as this release would write it."""

    digest: RunDigest
    text: str | None = None

    def written(self) -> str:
        if self.text is not None:
            return self.text
        return json.dumps(
            codec.to_json(self.digest), separators=(",", ":"), allow_nan=False
        )


@dataclass(frozen=True)
class Stamp:
    """Size and time of a record, by which a change of it is noticed."""

    size: int
    changed: int

    def is_of(self, digest: RunDigest) -> bool:
        return (digest.size, digest.changed) == (self.size, self.changed)


def read(runs: str, most: int, keep: bool = True) -> list[RunDigest]:
    """Return the digests of the last runs that have ended, oldest first. keep: whether they are kept for the next time.

    No fewer are kept than a history has, even where fewer are asked for: those of removed runs cannot be made again.
    """
    kept = kept_lines(runs)
    lines = {**kept, **new_lines(runs, kept)}
    ordered = sorted(lines.values(), key=lambda line: line.digest.started)
    last = ordered[-max(most, MOST) :]
    if keep and not are_kept(last, kept):
        text = "".join(f"{line.written()}\n" for line in last)
        run.write_whole(os.path.join(runs, FILE), text)
    return [line.digest for line in last[-most:]]


def are_kept(lines: Sequence[Line], kept: Mapping[str, Line]) -> bool:
    """Return whether the file has these lines, in their order, as they would be written."""
    if lines != list(kept.values()):
        return False
    return all(line.text is not None for line in lines)


def new_lines(runs: str, kept: Mapping[str, Line]) -> dict[str, Line]:
    """Return the lines of runs that have none yet, or whose records have changed since."""
    found = {}
    for directory in run.run_directories(runs):
        name = name_of(directory)
        stamp = stamp_of(directory)
        if stamp is None:
            continue
        if name in kept and stamp.is_of(kept[name].digest):
            continue
        digest = digest_in(directory, stamp)
        if digest:
            found[name] = Line(digest)
    return found


def stamp_of(directory: str) -> Stamp | None:
    try:
        stat = os.stat(os.path.join(directory, "run.json"))
    except OSError:
        return None
    return Stamp(size=stat.st_size, changed=stat.st_mtime_ns)


def digest_in(directory: str, stamp: Stamp) -> RunDigest | None:
    """Return the digest of a run, or None while it runs, or where its record cannot be read."""
    try:
        record = run.read_record(directory)
        if record.finished is None:
            return None
        digest = digest_of(record, name_of(directory))
    except (StageError, OSError, *MALFORMED):
        return None
    return dataclasses.replace(digest, size=stamp.size, changed=stamp.changed)


def kept_names(runs: str) -> set[str]:
    """Return the names of the directories whose runs have a line."""
    return set(kept_lines(runs))


def kept_lines(runs: str) -> dict[str, Line]:
    """Return the lines by the names of their runs' directories, as far as they can be read and are of this version."""
    path = os.path.join(runs, FILE)
    try:
        texts = ledger.own_text(path, LONGEST, errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    except OSError as exc:
        hint = "Give it back to the user who verifies, or move it away: then the runs that are still there are counted."
        raise StageError(
            "no_run", f"{path} cannot be read: {exc.strerror}", hint=hint
        ) from None
    return by_name(filter(None, map(parsed, texts)))


def by_name(lines: Iterable[Line]) -> dict[str, Line]:
    return {line.digest.directory: line for line in lines}


def parsed(text: str) -> Line | None:
    """Return a line, or None for a torn one, one of another version, or one that something else has written."""
    try:
        return understood(json.loads(text), text)
    except MALFORMED:
        return None


def understood(data: dict[str, Any], text: str) -> Line | None:
    """Return a line without odd numbers; None if the rest has another form.

    Python reads NaN and numbers of any size, which would make a file that is not JSON, or stop the whole history.
    """
    if data["version"] != DIGEST_VERSION:
        return None
    stages, steps = timed(data["stages"]), timed(data["steps"])
    duration_s = data["duration_s"] if is_seconds(data["duration_s"]) else None
    is_sound = (
        duration_s == data["duration_s"]
        and stages == data["stages"]
        and steps == data["steps"]
    )
    stamps = (
        (data.get("size"), data.get("changed")) if is_sound else (None, None)
    )
    # The durations are most of a line, and have been checked.
    rest = {
        **data,
        "duration_s": duration_s,
        "stages": {},
        "steps": {},
        "size": stamps[0],
        "changed": stamps[1],
    }
    digest = dataclasses.replace(
        codec.from_json(RunDigest, rest), stages=stages, steps=steps
    )
    # Without its stamps a digest is made again from the record, as long as that is there.
    return Line(digest, text if is_sound and data.keys() == KEYS else None)


def timed(durations: dict[str, Any]) -> dict[str, float]:
    """Return the durations that are some, by their names. NaN is in no range."""
    return {
        name: seconds
        for name, seconds in durations.items()
        if type(seconds) in NUMBERS and 0 <= seconds <= codec.LONGEST
    }
