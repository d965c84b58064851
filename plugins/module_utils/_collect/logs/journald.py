# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the journal of a host entry by entry, so that a long one costs no memory.

journalctl's export format is the only one that passes on each message as it is: as JSON, a message with a colour in it
becomes a list of numbers, and a long one nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from ..commands import Host

# If more entries of one name match than this, other runs use the same keys, or the journal is a flood.
MOST = 20000
# A message may be megabytes long, and what is read of it begins before this.
LONGEST = 65536
# In seconds
RESOLUTION = 1e-6
IDENTIFIER = "SYSLOG_IDENTIFIER"
UNIT = "_SYSTEMD_UNIT"
FIELDS = ("MESSAGE", IDENTIFIER, UNIT)
COMMAND = (
    "journalctl",
    "--output=export",
    "--no-pager",
    "--quiet",
    f"--output-fields={','.join(FIELDS)}",
)

# Name of a writer to (time, message) of its entries
Entries = dict[str, list[tuple[float, str]]]
# The letters that may follow, and the tree of those behind each; an empty letter ends a text.
Tree = dict[str, Any]


def read(
    host: Host,
    names: Iterable[str],
    texts: Iterable[str],
    since: float,
    until: float,
) -> Entries:
    """Return the entries whose message has one of the texts, of the writers that ever wrote here.

    names: units, which end in .service, and identifiers. The times are in seconds since the epoch.
    """
    fields = {
        name: UNIT if name.endswith(".service") else IDENTIFIER
        for name in names
    }
    # A service that never wrote to this journal is not on this host, and its silence proves nothing.
    values = {field: values_of(host, field) for field in set(fields.values())}
    writers = {
        name: field for name, field in fields.items() if name in values[field]
    }
    if not writers:
        return {}
    return entries_of(host, writers, texts, since, until)


def entries_of(
    host: Host,
    fields: Mapping[str, str],
    texts: Iterable[str],
    since: float,
    until: float | None = None,
) -> Entries:
    """Return the entries that have one of the texts. fields: name to the field that holds it."""
    either = " + ".join(
        f"{field}={name}" for name, field in sorted(fields.items())
    ).split(" ")
    times = [f"--since=@{since:.0f}"]
    if until:
        times.append(f"--until=@{until + 1:.0f}")
    return host.ask(None, *COMMAND, *times, *either, take=Sieve(fields, texts))


def values_of(host: Host, field: str) -> set[str]:
    """Return all values of a field in this journal."""
    return set(
        host.ask(
            None, "journalctl", "--no-pager", "--quiet", f"--field={field}"
        ).splitlines()
    )


class Sieve:
    """Takes from what journalctl prints the entries that have one of the texts, by the names of their writers."""

    def __init__(
        self, fields: Mapping[str, str], texts: Iterable[str]
    ) -> None:
        self.fields = fields
        wanted = list(texts)
        self.texts = re.compile(any_of(wanted).encode()) if wanted else None

    def __call__(self, stream: IO[bytes]) -> Entries:
        kept: Entries = {name: [] for name in self.fields}
        if self.texts is None:
            return kept
        for entry in entries(stream):
            message = entry.get("MESSAGE", b"")[:LONGEST]
            if self.texts.search(message):
                self.keep(kept, entry, message)
        return kept

    def keep(
        self, kept: Entries, entry: Mapping[str, bytes], message: bytes
    ) -> None:
        at = int(entry["__REALTIME_TIMESTAMP"]) / 1e6
        text = message.decode("utf-8", "replace")
        for name, field in self.fields.items():
            writer = entry.get(field, b"").decode("utf-8", "replace")
            if writer == name and len(kept[name]) < MOST:
                kept[name].append((at, text))


def entries(stream: IO[bytes]) -> Iterator[dict[str, bytes]]:
    """Yield each entry of a journal in the export format: its fields as bytes."""
    entry: dict[str, bytes] = {}
    for line in iter(stream.readline, b""):
        if line == b"\n":
            yield entry
            entry = {}
            continue
        name, equals, value = line[:-1].partition(b"=")
        if not equals:
            # A value that is not a line of plain text comes behind its length.
            size = stream.read(8)
            if len(size) < 8:
                return  # journalctl was ended
            value = head_of(stream, struct.unpack("<Q", size)[0])
        entry[name.decode("ascii", "replace")] = value


def head_of(stream: IO[bytes], size: int) -> bytes:
    """Return the beginning of a value, read to its end, which a line's end follows."""
    head = stream.read(min(size, LONGEST))
    left = size - len(head) + 1
    while left > 0:
        rest = stream.read(min(left, LONGEST))
        if not rest:
            break
        left -= len(rest)
    return head


def any_of(texts: Iterable[str]) -> str:
    """Return a pattern that finds each of the texts.

    A beginning that several share is compared once: with a hundred ids it searches six times as fast as the plain
    alternatives.
    """
    tree: Tree = {}
    for text in texts:
        branch = tree
        for letter in text:
            branch = branch.setdefault(letter, {})
        branch[""] = {}
    return pattern_of(tree)


def pattern_of(tree: Tree) -> str:
    shared = ""
    while len(tree) == 1 and "" not in tree:
        [(letter, tree)] = tree.items()
        shared += re.escape(letter)
    if "" in tree:
        return shared  # a text ends here, so it does not matter what follows
    branches = [
        re.escape(letter) + pattern_of(branch)
        for letter, branch in tree.items()
    ]
    return f"{shared}(?:{'|'.join(branches)})"
