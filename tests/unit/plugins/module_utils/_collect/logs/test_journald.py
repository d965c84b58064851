# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal's export format, and the search for many texts at once."""

from __future__ import annotations

import io
import random
import re
import struct
import tracemalloc
import uuid

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import journald

FIELDS = {"nova": "SYSLOG_IDENTIFIER"}


def entry(message, name="nova"):
    head = f"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795275840250000\nSYSLOG_IDENTIFIER={name}\n".encode()
    return head + b"MESSAGE\n" + struct.pack("<Q", len(message)) + message + b"\n\n"


def taken(stream, *texts):
    return [text for _at, text in journald.Sieve(FIELDS, texts)(io.BytesIO(stream))["nova"]]


def test_a_message_may_hold_whatever_separates_entries():
    stream = entry(b"one\n\n__CURSOR=s=2\nMESSAGE=id") + entry(b"two") + entry(b"three id")
    assert taken(stream, "id") == ["one\n\n__CURSOR=s=2\nMESSAGE=id", "three id"]


@pytest.mark.parametrize("left", range(1, 40, 3))
def test_a_stream_that_is_cut_off_gives_its_whole_entries(left):
    """It ends so when journalctl is ended at its limit of time."""
    assert taken(entry(b"first id") + entry(b"second id")[:-left], "id")[:1] == ["first id"]


def test_of_a_long_message_the_beginning_is_read_and_the_next_is_not_lost():
    long = b"id " + b"x" * (3 * journald.LONGEST)
    assert [len(text) for text in taken(entry(long) + entry(b"id"), "id")] == [journald.LONGEST, 2]


def test_without_texts_nothing_is_taken():
    assert taken(entry(b"anything")) == []


def test_a_long_journal_costs_no_memory():
    class Endless(io.RawIOBase):
        """30 MB of entries, made as they are read."""

        def __init__(self):
            self.left, self.entry = 40000, entry(b"DEBUG oslo_db.sqlalchemy.engines " + b"x" * 700)

        def readable(self):
            return True

        def readinto(self, buffer):
            self.left -= 1
            if self.left < 0:
                return 0
            buffer[: len(self.entry)] = self.entry
            return len(self.entry)

    tracemalloc.start()
    kept = journald.Sieve(FIELDS, ["id"])(io.BufferedReader(Endless()))
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept == {"nova": []}
    assert most < 1_000_000


@pytest.mark.parametrize("seed", range(5))
def test_any_of_finds_what_the_plain_alternatives_find(seed):
    chance = random.Random(seed)
    ids = [str(uuid.UUID(int=chance.getrandbits(128))) for _attempt in range(40)]
    texts = [*ids, *(f"req-{text}" for text in ids[:10]), " ERROR ", "a.b*c", "a", "grün", ids[0][:8]]
    pattern = re.compile(journald.any_of(texts).encode())
    plain = re.compile("|".join(map(re.escape, texts)).encode())
    for text in [*texts, *(text[1:] for text in texts), *(text[:-1] + "-" for text in texts), "axb", "ERROR"]:
        line = f"x{text}y".encode()
        assert bool(pattern.search(line)) == bool(plain.search(line)), text


def test_any_of_takes_a_text_of_any_length():
    text = "a\n" * 5000
    assert re.search(journald.any_of([text, "b"]), f"x{text}")
