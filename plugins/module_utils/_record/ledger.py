# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run was about to make, and what it made: one line on disk before each create and one after."""

from __future__ import annotations

import json
import os
import stat

from .clock import now
from .errors import StageError

BEGUN, LOST, MADE, REFUSED, GONE = "begun", "lost", "made", "refused", "gone"
# What may be there
OPEN = (BEGUN, LOST, MADE)
# Characters of a ledger, of which a run's has some thousand
LONGEST = 4 << 20
# Stands for a byte that is not text; a line of ours is plain ASCII
DAMAGE = "\N{REPLACEMENT CHARACTER}"
DAMAGED_LINE = "damaged line"


class Ledger:
    """Lines of {at, event, kind, name, id}; a resource is known by its kind and name, both ours to choose."""

    def __init__(self, path):
        self.path = path
        self.entries = read_entries(path)

    def write(self, event, kind, name, **more):
        line = {"at": now(), "event": event, "kind": kind, "name": name, **more}
        with open(self.path, "a", encoding="utf-8", opener=private) as stream:
            # A crash may have cut the last line off: what follows it needs a line of its own.
            stream.write(("" if ends_whole(self.path) else "\n") + json.dumps(line) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        enter(self.entries, line)

    def find(self, kind, name):
        return self.entries.get((kind, name))


def private(path, flags):
    """Open a file of a run's own: nobody else's to read, and no link, which may lead anywhere."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def own_text(path, longest, errors="strict"):
    """The text of a file of a run's own, which is a file, and no longer than such a file can be."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise StageError("no_run", f"{path} is no file of a run's own, but a link or something else")
    with open(path, encoding="utf-8", errors=errors, opener=private) as stream:
        text = stream.read(longest + 1)
    if len(text) > longest:
        raise StageError("no_run", f"{path} is longer than {longest} characters, and so not a run's own")
    return text


def ends_whole(path):
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read() in (b"", b"\n")


def enter(entries, line):
    key = (line["kind"], line["name"])
    begun = {"kind": line["kind"], "name": line["name"], "id": None, "begun": line["at"], "lost": None}
    entry = entries.setdefault(key, begun)
    if line["event"] == BEGUN:
        # Begun anew, after it was gone or refused: what is known of the first one is not true of this one.
        entry.update(id=None, begun=line["at"], lost=None)
    elif line["event"] == LOST:
        entry["lost"] = line["at"]
    entry["event"] = line["event"]
    entry.update({name: value for name, value in line.items() if name not in ("at", "event", "kind", "name")})


def read_entries(path):
    """The last word on each resource, in the order in which they were begun."""
    entries = {}
    try:
        lines = own_text(path, LONGEST, errors="replace").split("\n")
    except FileNotFoundError:
        return entries
    for number, text in enumerate(lines, 1):
        if DAMAGE in text:
            # It may have named something that was made: the removal says that it does not know.
            enter(entries, {"at": None, "event": MADE, "kind": DAMAGED_LINE, "name": f"line {number} of {path}"})
            continue
        try:
            line = json.loads(text)
            enter(entries, line)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # empty, or cut off by a crash: the line before it was written before anything was made
    return entries
