# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The digests of a folder of runs. They stay when the directory of a run is removed, so that a history is longer."""

from __future__ import annotations

import json
import os

from .._record import ledger, run
from .._record.clock import parse
from .._record.errors import MALFORMED, StageError
from .digest import VERSION, digest_of

FILE = "history.jsonl"
# Two weeks of runs every five minutes
MOST = 4000
LONGEST = 256 << 20
TEXT = (str, type(None))
SHAPE = {
    **dict.fromkeys(("directory", "run_id", "started", "result"), str),
    **dict.fromkeys(("cloud", "cause"), TEXT),
    **dict.fromkeys(("place", "stages", "steps", "facts"), dict),
    "duration_s": (int, float),
}
# A digest has the size and the time of the record that it was made of.
STAMP = ("size", "changed")


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
        text = "".join(json.dumps(digest, separators=(",", ":")) + "\n" for digest in last)
        run.write_whole(os.path.join(runs, FILE), text)
    return last[-most:]


def stamp_of(directory):
    try:
        stat = os.stat(os.path.join(directory, "run.json"))
    except OSError:
        return None
    return {"size": stat.st_size, "changed": stat.st_mtime_ns}


def made(directory, stamp):
    """The digest of a run; None while it runs, or where its record cannot be read."""
    try:
        record = run.read_record(directory)
        return {**digest_of(record, os.path.basename(directory)), **stamp} if record["finished"] else None
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


def parsed(line):
    """A digest, or None for a torn line, one of another version, or one that somebody else has written."""
    try:
        digest = json.loads(line)
        parse(digest["started"])
        understood = digest["version"] == VERSION and all(
            isinstance(digest[name], kind) for name, kind in SHAPE.items()
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    return digest if understood and all(map(is_text, [*digest["facts"].values(), *digest["place"].values()])) else None


def is_text(value):
    return isinstance(value, TEXT)
