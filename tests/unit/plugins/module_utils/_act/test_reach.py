# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of this machine, reached for real."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import reach
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import Attempt
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import AttemptStatus


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as channel:
        yield channel


def test_an_open_port_answers(listener):
    port = listener.getsockname()[1]
    answer = reach.tcp("127.0.0.1", port)
    assert (answer.status, answer.text) == ("answered", f"port {port} is open")
    assert 0 < answer.seconds < 1


def test_a_closed_port_answers_too(listener):
    port = listener.getsockname()[1]
    listener.close()
    answer = reach.tcp("127.0.0.1", port)
    assert (answer.status, answer.text) == ("answered", f"port {port} is closed, which the guest itself said")


def test_a_port_that_drops_what_comes_is_silent(listener):
    # A full queue of connections drops the next ones, as a firewall does.
    address, waiting = listener.getsockname(), []
    for _number in range(4):
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        waiting[-1].connect_ex(address)
    answer = reach.tcp(*address, wait=0.2)
    for channel in waiting:
        channel.close()
    assert (answer.status, answer.seconds) == ("silent", None)
    assert "timed out" in answer.text


def test_an_address_without_a_way_is_silent():
    answer = reach.tcp("255.255.255.255", 22, wait=0.2)
    assert answer.status == "silent"
    assert answer.text.startswith("port 22: ")


def test_this_machine_answers_a_ping_or_may_not_be_asked():
    answer = reach.ping("127.0.0.1")
    assert answer.status in ("answered", "unreadable")
    if answer.status == "answered":
        assert (answer.text, answer.seconds > 0) == ("echo reply", True)


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """The folder of all programs of this machine, which has none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_machine_without_the_program_says_so(programs):
    assert list(programs.iterdir()) == []
    assert reach.ping("127.0.0.1") == Attempt(
        AttemptStatus.UNREADABLE, "this machine has no program ping", seconds=None
    )


def test_a_program_that_may_not_be_run_is_said(programs):
    (programs / "ping").write_text("#!/bin/sh\n")
    answer = reach.ping("127.0.0.1")
    assert (answer.status, answer.text) == (
        "unreadable",
        "this machine does not run its program ping: Permission denied",
    )


@pytest.mark.parametrize(
    ("code", "words", "status", "expected"),
    [
        (0, "", "answered", "echo reply"),
        (1, "", "silent", "no echo reply"),
        (2, "ping: connect: Network is unreachable", "silent", "ping: connect: Network is unreachable"),
        (2, "ping: socket: Operation not permitted", "unreadable", "this machine lets this user send no ping"),
        (1, "ping: permission denied (are you root?)", "unreadable", "this machine lets this user send no ping"),
    ],
    ids=["a reply", "none", "no way", "iputils may not", "busybox may not"],
)
def test_what_the_program_says(programs, code, words, status, expected):
    program = programs / "ping"
    program.write_text(f'#!/bin/sh\necho "$LC_ALL $@" >{programs}/args\necho "{words}" >&2\nexit {code}\n')
    program.chmod(0o755)
    answer = reach.ping("192.0.2.1")
    assert (answer.status, answer.text, answer.seconds is None) == (status, expected, status != "answered")
    assert (programs / "args").read_text() == "C -c 1 -W 1 192.0.2.1\n"


def test_the_mac_that_answered_is_told_by_the_kernel(tmp_path):
    table = tmp_path / "arp"
    head = "IP address       HW type     Flags       HW address            Mask     Device"
    heard = "10.68.21.223     0x1         0x2         FA:16:3e:ff:46:b7     *        dev-data"
    silent = "10.68.21.224     0x1         0x0         00:00:00:00:00:00     *        dev-data"
    table.write_text(f"{head}\n{heard}\n{silent}\n")
    assert reach.mac_of("10.68.21.223", table) == "fa:16:3e:ff:46:b7"
    assert reach.mac_of("10.68.21.224", table) is None
    assert reach.mac_of("10.68.21.22", table) is None
    assert reach.mac_of("10.68.21.223", tmp_path / "none") is None
    assert reach.mac_of("127.0.0.1") is None
