# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the journal of a host entry by entry, so that a long one costs no memory.

journalctl's export format is the only one that passes on each message as it is: as JSON, a message with a colour in it
becomes a list of numbers, and a long one nothing.
"""

from __future__ import annotations

import re
import struct

# If more entries of one name match than this, other runs use the same keys, or the journal is a flood.
MOST = 20000
# A message may be megabytes long, and what is read of it begins before this.
LONGEST = 65536
IDENTIFIER = "SYSLOG_IDENTIFIER"
FIELDS = ("MESSAGE", IDENTIFIER, "_SYSTEMD_UNIT")
COMMAND = ("journalctl", "--output=export", "--no-pager", "--quiet", f"--output-fields={','.join(FIELDS)}")


def read(host, names, texts, since, until):
    """Name to (time, message) of the entries whose message has one of the texts, for those that ever wrote here.

    names: units, which end in .service, and identifiers. The times are in seconds since the epoch.
    """
    fields = {name: "_SYSTEMD_UNIT" if name.endswith(".service") else IDENTIFIER for name in names}
    # A service that never wrote to this journal is not on this host, and its silence proves nothing.
    writers = {(field, value) for field in set(fields.values()) for value in values_of(host, field)}
    fields = {name: field for name, field in fields.items() if (field, name) in writers}
    return entries_of(host, fields, texts, since, until) if fields else {}


def entries_of(host, fields, texts, since, until=None):
    """Name to (time, message) of the entries that have one of the texts. fields: name to the field that holds it."""
    either = " + ".join(f"{field}={name}" for name, field in sorted(fields.items())).split(" ")
    times = [f"--since=@{since:.0f}", *([f"--until=@{until + 1:.0f}"] if until else [])]
    return host.ask(None, *COMMAND, *times, *either, take=Sieve(fields, texts))


def values_of(host, field):
    """All values of a field in this journal."""
    return host.ask(None, "journalctl", "--no-pager", "--quiet", f"--field={field}").splitlines()


class Sieve:
    """Takes from what journalctl prints the entries that have one of the texts, by the names of their writers."""

    def __init__(self, fields, texts):
        self.fields = fields
        self.texts = re.compile(any_of(texts).encode()) if texts else None

    def __call__(self, stream):
        kept = {name: [] for name in self.fields}
        if self.texts is None:
            return kept
        for entry in entries(stream):
            message = entry.get("MESSAGE", b"")[:LONGEST]
            if not self.texts.search(message):
                continue
            at, text = int(entry["__REALTIME_TIMESTAMP"]) / 1e6, message.decode("utf-8", "replace")
            for name, field in self.fields.items():
                if entry.get(field, b"").decode("utf-8", "replace") == name and len(kept[name]) < MOST:
                    kept[name].append((at, text))
        return kept


def entries(stream):
    """Each entry of a journal in the export format: its fields as bytes."""
    entry = {}
    for line in iter(stream.readline, b""):
        if line == b"\n":
            yield entry
            entry = {}
            continue
        name, equals, value = line[:-1].partition(b"=")
        if not equals:
            # What is more than a line of plain text comes behind its length.
            size = stream.read(8)
            if len(size) < 8:
                return  # journalctl was ended
            value = head_of(stream, struct.unpack("<Q", size)[0])
        entry[name.decode("ascii", "replace")] = value


def head_of(stream, size):
    """The beginning of a value, read to its end, which a line's end follows."""
    head = stream.read(min(size, LONGEST))
    left = size - len(head) + 1
    while left > 0:
        rest = stream.read(min(left, LONGEST))
        if not rest:
            break
        left -= len(rest)
    return head


def any_of(texts):
    """A pattern that finds each of the texts. What they share at their beginnings is compared once: with a hundred
    ids it searches six times as fast as the plain alternatives."""
    tree = {}
    for text in texts:
        branch = tree
        for letter in text:
            branch = branch.setdefault(letter, {})
        branch[""] = {}
    return pattern_of(tree)


def pattern_of(tree):
    shared = ""
    while len(tree) == 1 and "" not in tree:
        [(letter, tree)] = tree.items()
        shared += re.escape(letter)
    if "" in tree:
        return shared  # a text ends here, so it does not matter what follows
    return f"{shared}(?:{'|'.join(re.escape(letter) + pattern_of(branch) for letter, branch in tree.items())})"
