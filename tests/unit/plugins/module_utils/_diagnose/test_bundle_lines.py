# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a copied log: the wanted ones, the first and the last, however long the lines and the blocks are."""

from __future__ import annotations

import gzip
import random
import re
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import bundle_lines

WANTED = re.compile(b"req-1").search


@pytest.fixture
def sift(tmp_path):
    """Return a function that writes bytes as a log, plain or packed, and sifts it."""

    def act(data, name="nova-compute.log"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
        return bundle_lines.sift(str(path), WANTED)

    return act


def told(sifted):
    head, tail = sifted.edges
    return sifted.lines, head, tail, sifted.why


def expected(data):
    """The same by Python's own lines."""
    lines = data.decode().removesuffix("\n").split("\n") if data else []
    lines = [line[: bundle_lines.LONGEST].rstrip("\r") for line in lines]
    wanted = [line for line in lines if "req-1" in line]
    return wanted, lines[: bundle_lines.EDGE], lines[: -bundle_lines.EDGE - 1 : -1], None


@pytest.mark.parametrize("name", ["nova-compute.log", "nova-compute.log.1.gz"])
@pytest.mark.parametrize("block", [7, 100, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_the_lines_are_those_of_the_file_whatever_the_size_of_a_block(sift, monkeypatch, name, block, seed):
    monkeypatch.setattr(bundle_lines, "BLOCK", block)
    monkeypatch.setattr(bundle_lines, "LONGEST", 60)
    chance = random.Random(seed)
    words = ["", "x", "req-1 it", "a longer line " * 3, "y" * 100, "y" * 58 + "req-1", "y" * 300]
    lines = [chance.choice(words) + chance.choice(["", "\r"]) for _line in range(chance.choice([3, 150, 700]))]
    data = ("\n".join(lines) + chance.choice(["", "\n"])).encode()
    assert told(sift(data, name)) == expected(data)


@pytest.mark.parametrize("data", [b"", b"\n", b"one", b"one\n", b"req-1", b"req-1\n\nreq-1"])
def test_short_files(sift, data):
    assert told(sift(data)) == expected(data)


def test_a_small_file_of_nothing_but_line_ends_is_read_in_no_time(sift):
    begun = time.process_time()
    sifted = sift(b"\n" * (64 << 20), "nova-compute.log.1.gz")
    assert (sifted.lines, sifted.why) == ([], None)
    assert time.process_time() - begun < 5
