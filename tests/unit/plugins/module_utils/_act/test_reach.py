# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of this machine, reached for real."""

from __future__ import annotations

import socket
import struct

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import reach


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as channel:
        yield channel


def test_an_open_port_answers(listener):
    port = listener.getsockname()[1]
    found = reach.tcp("127.0.0.1", port)
    assert (found["status"], found["said"]) == ("answered", f"port {port} is open")
    assert 0 < found["seconds"] < 1


def test_a_closed_port_answers_too(listener):
    port = listener.getsockname()[1]
    listener.close()
    found = reach.tcp("127.0.0.1", port)
    assert (found["status"], found["said"]) == ("answered", f"port {port} is closed, which the guest itself said")


def test_a_port_that_drops_what_comes_is_silent(listener):
    # A full queue of connections drops the next ones, as a firewall does.
    address, waiting = listener.getsockname(), []
    for _number in range(4):
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        waiting[-1].connect_ex(address)
    found = reach.tcp(*address, wait=0.2)
    for channel in waiting:
        channel.close()
    assert (found["status"], found["seconds"]) == ("silent", None)
    assert "timed out" in found["said"]


def test_an_address_without_a_way_is_silent():
    found = reach.tcp("255.255.255.255", 22, wait=0.2)
    assert found["status"] == "silent"
    assert found["said"].startswith("port 22: ")


def test_this_machine_answers_a_ping_or_may_not_be_asked():
    found = reach.ping("127.0.0.1")
    assert found["status"] in ("answered", "unreadable")
    if found["status"] == "answered":
        assert (found["said"], found["seconds"] > 0) == ("echo reply", True)


@pytest.fixture
def no_sockets(monkeypatch, tmp_path):
    """A machine that lets nobody send echo requests, and has no programs."""

    def forbidden(*_args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(reach, "echo", forbidden)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_who_may_send_no_ping_says_so(no_sockets):
    assert list(no_sockets.iterdir()) == []
    assert reach.ping("127.0.0.1") == {
        "status": "unreadable",
        "said": "this machine lets this user send no ping",
        "seconds": None,
    }


@pytest.mark.parametrize(("code", "status", "said"), [(0, "answered", "echo reply"), (1, "silent", "no echo reply")])
def test_the_program_ping_is_used_where_sockets_are_forbidden(no_sockets, code, status, said):
    program = no_sockets / "ping"
    program.write_text(f'#!/bin/sh\necho "$@" >{no_sockets}/args\nexit {code}\n')
    program.chmod(0o755)
    found = reach.ping("127.0.0.1")
    assert (found["status"], found["said"]) == (status, said)
    assert (no_sockets / "args").read_text() == "-c 1 -W 1 127.0.0.1\n"


def test_an_error_of_the_network_is_silence(monkeypatch):
    def unreachable(*_args):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(reach, "echo", unreachable)
    found = reach.ping("192.0.2.1")
    assert (found["status"], found["said"]) == ("silent", "[Errno 101] Network is unreachable")


def test_the_checksum_is_that_of_the_internet():
    # The example of RFC 1071, section 3, whose sum is ddf2
    assert reach.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF & ~0xDDF2
    packet = struct.pack("!BBHHH", 8, 0, 0, 77, 1) + b"0123456789abcdef"
    whole = packet[:2] + struct.pack("!H", reach.checksum(packet)) + packet[4:]
    assert reach.checksum(whole) == 0
