# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The digests of a folder of runs. They stay when the directory of a run is removed, so that a history is longer."""

from __future__ import annotations

import json
import os
from typing import Any

from .._record import ledger, run
from .._record.clock import parse
from .._record.errors import MALFORMED, StageError
from .._record.run import is_seconds
from .digest import VERSION, digest_of

FILE = "history.jsonl"
# Two weeks of runs every five minutes
MOST = 4000
LONGEST = 256 << 20
# The names of a digest's values by their kind: texts, texts or nothing, and dictionaries
TEXTS = ("directory", "run_id", "started", "result")
OPTIONAL_TEXTS = ("cloud", "cause")
TABLES = ("place", "stages", "steps", "facts")
# A digest has the size and the time of the record that it was made of.
STAMP = ("size", "changed")
# A time in nanoseconds is the largest.
LARGEST_STAMP = 1 << 63


def read(runs, most, keep=True):
    """The digests of the last runs that have ended, oldest first. keep: whether they are kept for the next time.

    As many are kept as a history tells, also where fewer are asked for: those of removed runs cannot be made again.
    """
    kept = kept_digests(runs)
    digests = dict(kept)
    for directory in run.run_directories(runs):
        name, stamp = os.path.basename(directory), stamp_of(directory)
        if stamp is None or all(digests.get(name, {}).get(key) == stamp[key] for key in STAMP):
            continue
        digest = made(directory, stamp)
        if digest:
            digests[name] = digest
    last = sorted(digests.values(), key=lambda digest: digest["started"])[-max(most, MOST) :]
    if keep and last != list(kept.values()):
        text = "".join(json.dumps(digest, separators=(",", ":"), allow_nan=False) + "\n" for digest in last)
        run.write_whole(os.path.join(runs, FILE), text)
    return last[-most:]


def stamp_of(directory):
    try:
        stat = os.stat(os.path.join(directory, "run.json"))
    except OSError:
        return None
    return {"size": stat.st_size, "changed": stat.st_mtime_ns}


def made(directory: str, stamp: dict[str, int]) -> dict[str, Any] | None:
    """Return the digest of a run, or None while it runs, or where its record cannot be read."""
    try:
        record = run.read_record(directory)
        if not record["finished"]:
            return None
        return understood({**digest_of(record, os.path.basename(directory)), **stamp})
    except (StageError, OSError, *MALFORMED):
        return None


def kept_digests(runs):
    """Name of a run's directory to its digest, as far as the lines can be read and are of this version."""
    path = os.path.join(runs, FILE)
    try:
        lines = ledger.own_text(path, LONGEST, errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    except OSError as exc:
        hint = "Give it back to the user who verifies, or move it away: then the runs that are still there are counted."
        raise StageError("no_run", f"{path} cannot be read: {exc.strerror}", hint=hint) from None
    return {digest["directory"]: digest for digest in map(parsed, lines) if digest}


def parsed(line: str) -> dict[str, Any] | None:
    """Return a digest, or None for a torn line, one of another version, or one that somebody else has written."""
    try:
        return understood(json.loads(line))
    except MALFORMED:
        return None


def has_shape(digest: dict[str, Any]) -> bool:
    """Return whether each value of a digest is of its kind."""
    has_texts = all(isinstance(digest[name], str) for name in TEXTS)
    has_optional_texts = all(is_text(digest[name]) for name in OPTIONAL_TEXTS)
    return has_texts and has_optional_texts and all(isinstance(digest[name], dict) for name in TABLES)


def understood(digest: dict[str, Any]) -> dict[str, Any] | None:
    """Return a digest without odd durations, or None if the rest has another form.

    Python reads NaN and numbers of any size, which would make a file that is not JSON, or stop the whole history.
    """
    parse(digest["started"])
    texts = [*digest["facts"].values(), *digest["place"].values()]
    if digest["version"] != VERSION or not has_shape(digest) or not all(map(is_text, texts)):
        return None
    durations = {
        "duration_s": digest["duration_s"] if is_seconds(digest["duration_s"]) else None,
        "stages": timed(digest["stages"]),
        "steps": timed(digest["steps"]),
    }
    is_sound = all(digest[name] == value for name, value in durations.items())
    # Without its stamps a digest is made again from the record, as long as that is there.
    stamps = {name: digest[name] for name in STAMP if is_sound and is_stamp(digest.get(name))}
    return {
        "version": VERSION,
        **{name: digest[name] for name in (*TEXTS, *OPTIONAL_TEXTS, *TABLES)},
        **durations,
        **stamps,
    }


def timed(durations: dict[str, Any]) -> dict[str, float]:
    """Return the durations that are some, by their names."""
    return {name: seconds for name, seconds in durations.items() if is_seconds(seconds)}


def is_stamp(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_STAMP


def is_text(value):
    return value is None or isinstance(value, str)
