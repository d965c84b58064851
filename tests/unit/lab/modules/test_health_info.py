# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports something listens on, and how versions are shown."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.stackproof.lab.plugins.modules.health_info import (
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
