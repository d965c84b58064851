# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a boot in logs besides its events."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import boot_events, boot_scope
from ansible_collections.stackproof.provision.plugins.module_utils._match.rivals import TOOK
from ansible_collections.stackproof.provision.plugins.module_utils._model.bundle import Bundle, LoggedBoot, Outcome
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Level
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import new_record

KEYS = {"request": ("req-1",), "server": ("s",), "port": ("p", "q")}


def bundle_of(outcome=Outcome.FAILED, **about):
    usual = {
        "name": "bundle",
        "query": {"server_id": "s"},
        "boot": LoggedBoot("req-1", None, "s", outcome),
        "keys": KEYS,
        "named": {"image": "i"},
        "deleted": False,
        "silent_s": 0.0,
        "host": "compute1",
        "began": 100.0,
        "until": 200.0,
        "levels": {},
        "warnings": (),
        "hosts": {"compute1": {"events": [], "sources": [], "addresses": ["10.0.0.1"], "unread": []}},
        "requests": (),
        "others": {},
        "zones": {},
    }
    return Bundle(**{**usual, **about})


def scope_of(bundle, *events):
    return boot_scope.scope_of(bundle, new_record("20261122-100000-aaaaaa", None), events, {"log": bundle.hosts})


def test_rules_may_name_the_first_of_each_own_id_the_shared_ids_and_the_host():
    names = scope_of(bundle_of()).names
    assert names == {"server": "s", "port": "p", "image": "i", "host": "compute1"}
    assert "host" not in scope_of(bundle_of(host=None)).names


@pytest.mark.parametrize(
    ("about", "complete"),
    [
        ({}, True),
        ({"outcome": None}, False),
        ({"outcome": None, "deleted": True}, True),
        ({"outcome": None, "silent_s": 301.0}, True),
        ({"keys": {"server": ("s",)}}, False),
    ],
)
def test_a_step_can_be_missing_only_if_the_boot_is_over_and_its_request_is_known(about, complete):
    assert scope_of(bundle_of(**about)).complete is complete


def test_a_boot_that_was_built_has_no_missing_step():
    built = Event(at=100.0, until=118.5, service="nova-compute", kind="line", keys={"server": ["s"]}, phrases=(TOOK,))
    assert boot_scope.took([built]) == 18.5
    assert scope_of(bundle_of(), built).complete is False


def test_a_service_counts_with_its_least_level_and_one_beside_the_instance_with_that_of_its_host():
    levels = {
        "nova-scheduler": {"controller1": Level.DEBUG, "controller2": Level.INFO},
        "nova-compute": {"compute1": Level.INFO, "compute2": Level.DEBUG},
    }
    bundle = bundle_of(levels=levels)
    assert scope_of(bundle).levels == {"nova-scheduler": Level.INFO, "nova-compute": Level.INFO}
    debug = Event(at=101.0, service="nova-compute", kind="line", host="compute1", level=Level.DEBUG)
    assert scope_of(bundle, debug).levels["nova-compute"] is Level.DEBUG


def test_a_caller_is_known_by_the_addresses_of_the_host_of_the_instance():
    assert scope_of(bundle_of()).caller_known is True
    assert scope_of(bundle_of(host="compute9")).caller_known is False


def work(**more):
    return {"service": "nova-compute", "kind": "line", "keys": {"server": ["s"]}, "phrases": [], "at": 1.0, **more}


def plugged(port):
    return work(keys={"server": ["s"], "port": [port]}, phrases=["Received event network-vif-plugged"])


@pytest.mark.parametrize(
    ("events", "silent_s", "over"),
    [
        # No host works on it: only calls over the queue can keep Nova waiting.
        ([], 121.0, True),
        ([], 119.0, False),
        ([work()], 299.0, False),
        ([work()], 301.0, True),
        # The network has reported one of its two ports, and then both.
        ([work(), plugged("p")], 121.0, False),
        ([work(), plugged("p"), plugged("q")], 121.0, True),
    ],
)
def test_how_long_a_boot_may_be_silent_depends_on_what_it_waits_for(events, silent_s, over):
    read = {"events": events, "sources": [], "addresses": [], "unread": []}
    assert boot_scope.is_over(bundle_of(outcome=None, silent_s=silent_s, hosts={"compute1": read})) is over


@pytest.mark.parametrize(
    ("event", "sign"),
    [
        (work(), True),
        (work(service="nova-api", method="POST", kind="http", keys={"request": ["req-1"]}), True),
        (work(service="nova-api", method="GET", kind="http"), False),
        # nova-api reads the server for each poll, and a client may be refused something else.
        (work(service="nova-api"), False),
        (work(service="nova-api", method="POST", kind="http", status=409), False),
        (work(keys={"port": ["p"]}), False),
    ],
)
def test_what_clients_ask_meanwhile_is_no_sign_that_a_boot_goes_on(event, sign):
    assert boot_events.is_sign(event) is sign
