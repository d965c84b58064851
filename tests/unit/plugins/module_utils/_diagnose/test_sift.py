# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a copied log: the wanted ones, the first and the last, however long the lines and the blocks are."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import re
import time
import zlib

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import log_directory
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import sift as sift_module

WANTED = re.compile(b"req-1").search
PACKERS = {
    ".gz": lambda data: gzip.compress(data, 1),
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
}


@pytest.fixture
def sift(tmp_path):
    """Return a function that writes bytes as a log, plain or packed, and sifts it."""

    def act(data, name="nova-compute.log"):
        path = tmp_path / name
        path.write_bytes(PACKERS.get(path.suffix, bytes)(data))
        return sift_module.sift(str(path), WANTED)

    return act


def told(sifted):
    head, tail = sifted.edges
    return sifted.lines, head, tail, sifted.why


def expected(data):
    """The same by Python's own lines."""
    lines = data.decode().removesuffix("\n").split("\n") if data else []
    lines = [line[: sift_module.LONGEST].rstrip("\r") for line in lines]
    wanted = [line for line in lines if "req-1" in line]
    return wanted, lines[: sift_module.EDGE], lines[: -sift_module.EDGE - 1 : -1], None


@pytest.mark.parametrize("name", ["nova-compute.log", *(f"nova-compute.log.1{ending}" for ending in PACKERS)])
@pytest.mark.parametrize("block", [7, 100, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_the_lines_are_those_of_the_file_whatever_the_size_of_a_block(sift, monkeypatch, name, block, seed):
    monkeypatch.setattr(sift_module, "BLOCK", block)
    monkeypatch.setattr(sift_module, "LONGEST", 60)
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


def with_dictionary(packed: bytes, code: int) -> bytes:
    """Return the same .xz file with another size of the dictionary in the header of its first block."""
    header = bytearray(packed[12 : 12 + (packed[12] + 1) * 4 - 4])
    assert header[2:4] == b"\x21\x01", "the only filter is LZMA2, and has one byte of properties"
    header[4] = code
    checksum = zlib.crc32(header).to_bytes(4, "little")
    return packed[:12] + bytes(header) + checksum + packed[12 + len(header) + 4 :]


GIB_AND_A_HALF = 37


def test_a_file_that_takes_more_memory_than_it_may_is_not_read(tmp_path):
    path = tmp_path / "nova-compute.log.1.xz"
    path.write_bytes(with_dictionary(lzma.compress(b"req-1\n"), GIB_AND_A_HALF))
    sifted = sift_module.sift(str(path), WANTED)
    assert (sifted.lines, sifted.why) == ([], "it takes more than 128 MiB of memory to unpack")


def test_the_rest_of_a_bundle_is_read_beside_a_file_that_takes_too_much_memory(bundle, bundle_options):
    directory = bundle.write()
    packed = bundle.top / "controller1/var/log/nova/nova-api.log.1.xz"
    packed.write_bytes(with_dictionary(lzma.compress(b"req-1\n"), GIB_AND_A_HALF))
    read = log_directory.LogDirectory(directory, bundle_options(directory)["services"], zones={"compute2": "+05:30"})
    assert len(read.lines_with([bundle.boot.request], None)) > 10
    name = "controller1/var/log/nova/nova-api.log.1.xz"
    assert read.unread == [f"{name}: it takes more than 128 MiB of memory to unpack"]


def test_memory_that_this_machine_does_not_have_is_the_reason_of_one_file(sift, monkeypatch):
    monkeypatch.setattr(sift_module, "take", exhausted)
    assert sift(b"req-1").why == "this machine has not enough memory to read it"


def exhausted(*_arguments):
    raise MemoryError


@pytest.mark.parametrize("name", [f"nova-compute.log.1{ending}" for ending in PACKERS])
def test_of_a_packed_file_that_is_cut_off_the_beginning_is_read(tmp_path, name):
    path = tmp_path / name
    noise = random.Random(5)
    lines = [f"req-1 {noise.random()}" for _line in range(150000)]
    packed = PACKERS[path.suffix]("\n".join(lines).encode())
    path.write_bytes(packed[: len(packed) // 2])
    sifted = sift_module.sift(str(path), WANTED)
    assert sifted.lines[:1000] == lines[:1000]
    assert sifted.why


def test_all_streams_of_an_xz_file_are_read_with_padding_between_them(tmp_path):
    path = tmp_path / "nova-compute.log.1.xz"
    streams = [lzma.compress(f"req-1 {number}\n".encode()) for number in range(3)]
    path.write_bytes((b"\0" * 8).join(streams) + b"\0" * 4)
    sifted = sift_module.sift(str(path), WANTED)
    assert (sifted.lines, sifted.why) == (["req-1 0", "req-1 1", "req-1 2"], None)


def test_what_stands_behind_the_last_stream_of_an_xz_file_is_left_out(tmp_path):
    path = tmp_path / "nova-compute.log.1.xz"
    path.write_bytes(lzma.compress(b"req-1\n") + b"something else")
    sifted = sift_module.sift(str(path), WANTED)
    assert (sifted.lines, sifted.why) == (["req-1"], None)


def test_an_xz_file_that_is_none_is_not_read(sift, monkeypatch):
    monkeypatch.setitem(PACKERS, ".xz", bytes)
    assert sift(b"req-1\n" * 100, "nova-compute.log.1.xz").why == "it is damaged, or not what its name says"


def test_of_very_long_lines_only_so_many_are_kept_as_memory_allows(sift, monkeypatch):
    monkeypatch.setattr(sift_module, "LARGEST_FOUND", 1 << 20)
    sifted = sift((b"req-1" + b"y" * 60000 + b"\n") * 100, "nova-compute.log.1.gz")
    assert sifted.why == "more than 1 MiB of lines were found in it"
    assert 1 << 20 <= sum(map(len, sifted.lines)) < 3 << 20


@pytest.mark.parametrize("before", ["", "req-1 half", "x\n" * 5000 + "req-1 half", "x\n" * 2043 + "req-1 half"])
@pytest.mark.parametrize("block", [7, 4096, 1 << 20])
def test_a_hole_in_a_file_is_passed_over(tmp_path, monkeypatch, before, block):
    monkeypatch.setattr(sift_module, "BLOCK", block)
    path = tmp_path / "nova-compute.log"
    with path.open("wb") as stream:
        stream.write(before.encode())
        stream.seek((1 << 39) + 100)
        stream.write(b"req-1 two\nreq-1 three\n")
        stream.truncate(1 << 40)
    began = time.process_time()
    sifted = sift_module.sift(str(path), WANTED)
    assert time.process_time() - began < 5
    assert sifted.lines == ["req-1 half", "req-1 two", "req-1 three"][not before :]
    assert sifted.why is None


def test_a_file_that_is_all_hole_is_read_as_empty(tmp_path):
    path = tmp_path / "nova-compute.log"
    path.touch()
    os.truncate(path, 1 << 40)
    sifted = sift_module.sift(str(path), WANTED)
    assert (sifted.lines, sifted.why) == ([], None)


def test_a_file_is_read_where_the_system_knows_no_holes(sift, monkeypatch):
    monkeypatch.delattr(os, "SEEK_DATA")
    assert told(sift(b"req-1\nx\n")) == expected(b"req-1\nx\n")
