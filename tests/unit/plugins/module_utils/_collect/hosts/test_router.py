# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router with a floating IP, as a recorded network host has it in its kernel."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import router
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from recorded_hosts import printed

(ROUTER,) = (name.removeprefix("qrouter-") for name in printed("network1-router", "ls").split() if "qrouter" in name)


@pytest.fixture
def read(replay):
    """Return a function that reads a router, and says what could not be read."""

    def of(*routers, instead=None):
        host = replay("network1-router", instead)
        return to_json(router.read(host, routers)), [(entry.what, entry.kind) for entry in host.unread]

    return of


def test_a_recorded_router_is_read_wholly(read):
    facts, unread = read(ROUTER)
    (outer,) = facts[ROUTER]["external"]
    interfaces = json.loads(printed("network1-router", "address show"))
    (shown,) = (interface for interface in interfaces if interface["ifname"].startswith("qg-"))
    assert (outer["name"], outer["mac"], outer["up"]) == (shown["ifname"], shown["address"], True)
    assert facts[ROUTER]["mtus"] == {interface["ifname"]: interface["mtu"] for interface in interfaces}
    (rule,) = facts[ROUTER]["inbound"]
    assert (facts[ROUTER]["outbound"], unread) == ([rule], [])
    assert rule["address"] in outer["addresses"]
    assert rule["fixed"].startswith("192.168.222.")


def test_a_router_that_is_elsewhere(read):
    assert read("0" * 8) == ({"0" * 8: None}, [])


def test_without_routers_nothing_is_asked(read):
    assert read(instead={"ls": (1, "", "nobody asks")}) == ({}, [])


def test_a_host_without_any_namespace(read):
    none = (2, "", "ls: cannot access '/run/netns': No such file or directory")
    assert read(ROUTER, instead={"ls": none}) == ({ROUTER: None}, [])


def test_what_sudo_refuses_is_said(read):
    refused = (1, "", "sudo: a password is required")
    facts, unread = read(ROUTER, instead={"ip ": refused})
    assert facts[ROUTER] == {"external": [], "inbound": [], "outbound": []}
    assert unread == [("the router's addresses", "refused"), ("the router's translations", "refused")]
