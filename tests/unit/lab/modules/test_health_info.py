# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports something listens on, and how versions are shown."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.stackproof.lab.plugins.modules.health_info import (
    examine,
    listening,
    parse_listening,
    upstream,
)


def test_listening_ports_of_a_storage_host(recorded):
    answers = recorded("listening.txt")
    ceph = {3300, 6789, 7480} | set(range(6800, 6810))
    assert parse_listening(answers["cat /proc/net/tcp"]) == {22} | ceph
    assert parse_listening(answers["cat /proc/net/tcp6"]) == {22, 7480}


def test_nothing_listens_where_there_are_no_rows(recorded):
    heading = recorded("listening.txt")["cat /proc/net/tcp"].splitlines()[0]
    assert parse_listening(heading + "\n") == set()


def test_a_port_listens_only_between_listen_and_close():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert port not in listening()
        server.listen()
        assert port in listening()
    assert port not in listening()


def test_ports_of_ipv6_count():
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server:
        assert server.getsockname()[1] in listening()


class Asked:
    """A module whose commands print what a test says, by their second word; without that they fail."""

    def __init__(self, **answers):
        self.answers = answers
        self.params = {"units": ["a.service", "b.service"], "ports": [], "commands": []}

    def run_command(self, words):
        answer = self.answers.get(words[1].replace("-", "_"))
        return (0, answer, "") if answer is not None else (1, "", "Failed to connect to bus\n")


@pytest.mark.parametrize(
    ("answers", "problems"),
    [
        ({"is_active": "active\nactive\n", "list_units": ""}, []),
        (
            {"is_active": "active\nfailed\n", "list_units": "b.service loaded failed failed b\n"},
            ["b.service is failed"],
        ),
        (
            {},
            [
                "systemd tells the states of 0 of 2 units",
                "systemd does not say which units have failed: Failed to connect to bus",
            ],
        ),
    ],
)
def test_units_are_well_only_if_systemd_says_so(answers, problems):
    assert list(examine(Asked(**answers))) == problems


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("3.5.0-1+b1", "3.5.0"),
        ("4.0.5-6+deb13u2", "4.0.5"),
        ("2:31.0.0-6+deb13u2", "31.0.0"),
        ("18.2.7+ds-1+deb13u1", "18.2.7"),
        ("1:10.0.13+ds-0+deb13u1", "10.0.13"),
        ("2025.1", "2025.1"),
    ],
)
def test_versions_are_shown_without_what_debian_adds(version, shown):
    assert upstream(version) == shown
