# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that haproxy takes for down, by the statistics of a haproxy 3.0."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import UnreadError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import balancers
from tree import RECORDED

STATISTICS = (RECORDED / "commands/haproxy-stat.csv").read_text()


def places(text):
    return [(one.proxy, one.server, one.address, one.port) for one in balancers.back_ends(text)]


def test_servers_that_are_down_are_returned_with_their_addresses():
    assert places(STATISTICS) == [("novas", "c1", "127.0.0.1", 18774), ("galera", "c2", "127.0.0.1", 3399)]
    assert {one.check for one in balancers.back_ends(STATISTICS)} == {"Connection refused"}


def test_proxy_without_any_server_is_returned_without_a_server():
    down = STATISTICS.replace("UP,1,1,0,,0,3,0,,1,3,0,", "DOWN,1,0,0,,0,3,0,,1,3,0,")
    assert ("novas", None, None, None) in places(down)


@pytest.mark.parametrize("text", ["", "# pxname,svname,status\n", "# pxname,svname,status\na,b,UP\na,c,no check\n"])
def test_servers_that_are_up_are_not_returned(text):
    assert places(text) == []


def test_statistics_without_addresses_name_the_server():
    assert places("# pxname,svname,status,last_chk\na,b,DOWN 1/2,x\n") == [("a", "b", None, None)]


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """A socket that answers as haproxy does."""
    path = tmp_path / "admin.sock"
    monkeypatch.setattr(balancers, "SOCKETS", (str(tmp_path / "other"), str(path)))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()
        asked = []

        def answer():
            # A test may not ask.
            with contextlib.suppress(OSError), server.accept()[0] as link:
                asked.append(link.recv(100))
                link.sendall(STATISTICS.encode())

        threading.Thread(target=answer, daemon=True).start()
        yield asked


def test_haproxy_is_asked_at_its_socket(listening, replay):
    host = replay()
    assert len(balancers.read(host)) == 2
    assert (listening, host.unread) == ([b"show stat\n"], [])


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("error", "kind"), [(PermissionError(13, "Permission denied"), "refused"), (ConnectionRefusedError(), "failed")]
)
def test_socket_that_lets_nobody_in_is_named(monkeypatch, replay, error, kind):
    def refuse(_path):
        raise error

    monkeypatch.setattr(balancers, "asked", refuse)
    host = replay()
    assert balancers.read(host) == ()
    assert [(entry.what, entry.kind) for entry in host.unread] == [("the state of haproxy", kind)]
    with pytest.raises(UnreadError):
        balancers.of_haproxy(host, "x")


def test_host_without_haproxy_is_not_asked(monkeypatch, tmp_path, replay):
    monkeypatch.setattr(balancers, "SOCKETS", (str(tmp_path / "none"),))
    host = replay()
    assert (balancers.read(host), host.unread) == ((), [])
