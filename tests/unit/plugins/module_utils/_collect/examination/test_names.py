# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of peers, as a host resolves them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import names
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.peer_probes import Peer

# As getent of Debian 13 prints it
LOCALHOST = (
    "::1             STREAM localhost\n::1             DGRAM  \n127.0.0.1       STREAM \n127.0.0.1       DGRAM  \n"
)


def peers(*addresses):
    return {Peer("rabbitmq", address, 5672, "amqp"): {"nova"} for address in addresses}


def read(replay, answer, *addresses):
    host = replay(None, {"id -u": "0", "getent": answer})
    return [(one.name, one.addresses) for one in names.read(host, peers(*addresses))], host


def test_addresses_behind_a_name_are_returned_each_once(replay):
    found, host = read(replay, LOCALHOST, "c1", "10.0.0.1", "fd00::1")
    assert found == [("c1", ("::1", "127.0.0.1"))]
    assert host.unread == []


def test_name_that_is_unknown_has_no_addresses(replay):
    found, host = read(replay, (2, "", ""), "c1")
    assert (found, host.unread) == ([("c1", ())], [])


def test_resolver_that_hangs_is_named(replay):
    found, host = read(replay, (124, "", ""), "c1")
    assert (found, [entry.kind for entry in host.unread]) == ([], ["hung"])


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1", "-x", "--version"])
def test_what_is_no_name_is_not_resolved(replay, address):
    found, host = read(replay, LOCALHOST, address)
    assert (found, host.execute.asked) == ([], [])


def test_of_very_many_names_only_the_first_are_resolved(replay):
    found, _host = read(replay, LOCALHOST, *(f"c{number:03}" for number in range(100)))
    assert len(found) == names.MOST


def test_names_of_other_hosts_are_resolved_as_well(replay):
    host = replay(None, {"id -u": "0", "getent": LOCALHOST})
    assert [one.name for one in names.read(host, peers("c1"), ["compute2", "10.0.0.2"])] == ["c1", "compute2"]
