# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the broker, the database and Open vSwitch say of themselves: well on recorded hosts, and not well on others."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import self_reports
from recorded_hosts import printed

STATUS = json.loads(printed("examined-controller1", "rabbitmq-diagnostics"))
VALUES = printed("examined-controller1", "mysql")
# How many questions each is asked
SHARED = {"rabbitmq": 1, "database": 1, "ovsdb": 2}


@pytest.fixture
def read(replay):
    """Return a function that reads the words of one component by what its commands print, and what was not read."""

    def of(component, output, instead=None):
        host = replay(None, {"id -u": "1000", **(instead or {}), "sudo": output})
        return [(report.kind, report.text) for report in self_reports.read(host, {component})], host.unread

    return of


@pytest.mark.parametrize(
    ("name", "components"), [("examined-controller1", {"rabbitmq", "database"}), ("examined-compute1", {"ovsdb"})]
)
def test_a_recorded_host_that_is_well_has_no_words(replay, name, components):
    host = replay(name)
    assert (self_reports.read(host, components), host.unread) == ([], [])


def test_only_what_is_on_the_host_is_asked(replay):
    host = replay("examined-controller1")
    self_reports.read(host, {"nova-api", "database"})
    assert [command.split()[2] for command in host.execute.asked if command.startswith("sudo")] == ["mysql"]


def alarm(resource):
    """As rabbitmq-diagnostics describes one."""
    return {"type": "resource_limit", "resource": resource, "node": "rabbit@controller1"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"alarms": [alarm("memory")]}, [("alarm", "alarm: memory")]),
        (
            {"alarms": [alarm("disk"), alarm("file_descriptors")]},
            [("alarm", "alarm: disk"), ("alarm", "alarm: file_descriptors")],
        ),
        # As other versions do
        ({"alarms": ["file_descriptor_limit"]}, [("alarm", "alarm: file_descriptor_limit")]),
        (
            {"alarms": [["resource_limit", "memory", "rabbit@c1"]]},
            [("alarm", "alarm: resource_limit memory rabbit@c1")],
        ),
        ({"alarms": [{"type": "x"}, {}]}, [("alarm", "alarm: x"), ("alarm", "alarm: resource_limit")]),
        ({"is_under_maintenance": True}, [("alarm", "under maintenance")]),
        ({"alarms": None}, []),
    ],
)
def test_alarms_of_the_broker_are_told(read, more, words):
    assert read("rabbitmq", json.dumps({**STATUS, **more})) == (words, [])


def values(**more):
    """What the database prints, with other values."""
    rows = dict(line.split("\t") for line in VALUES.splitlines())
    assert not set(more) - set(rows)
    return "".join(f"{name}\t{value}\n" for name, value in {**rows, **more}.items())


CLUSTER = {"wsrep_on": "ON", "wsrep_ready": "ON", "wsrep_cluster_status": "Primary"}
ALONE = [("alarm", "not part of the cluster's primary component")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"read_only": "ON"}, [("read-only", "read-only")]),
        ({"read_only": "1"}, [("read-only", "read-only")]),
        ({"Threads_connected": "997"}, []),
        ({"Threads_connected": "998"}, [("full", "2 of 1000 connections left")]),
        # Administrators have one more.
        ({"Threads_connected": "1001"}, [("full", "-1 of 1000 connections left")]),
        (CLUSTER, []),
        ({**CLUSTER, "wsrep_cluster_status": "non-Primary"}, ALONE),
        ({**CLUSTER, "wsrep_ready": "OFF"}, ALONE),
        ({"wsrep_on": "OFF", "wsrep_ready": "OFF"}, []),
    ],
)
def test_a_database_that_is_not_well_says_so(read, more, words):
    assert read("database", values(**more)) == (words, [])


def test_a_database_that_is_no_cluster_says_nothing_of_it(read):
    """As that of MySQL."""
    assert read("database", "max_connections\t151\nread_only\tOFF\nThreads_connected\t4\n") == ([], [])


def test_a_database_without_any_connection_left_says_so_by_refusing(read):
    refusal = (1, "", "ERROR 1040 (08004): Too many connections\n")
    assert read("database", refusal) == ([("full", "no connections left")], [])


NONE = json.dumps({"data": []})


def test_interfaces_that_open_vswitch_cannot_make_are_told(read):
    missing = "could not open network device (No such device)"
    left_of_a_guest = ["tap79ac16b7-04", missing, ["map", [["iface-id", "af65584b"]]]]
    rows = [left_of_a_guest, ["eth1", missing, ["map", []]], ["vxlan-1", "x", ["map", []]]]
    assert read("ovsdb", NONE, {"error!=[]": json.dumps({"data": rows})}) == (
        [("error", "cannot create interface eth1"), ("error", "cannot create interface vxlan-1")],
        [],
    )


def test_a_wire_without_a_link_is_told_and_no_interface_of_a_guest_or_of_the_switch_itself(read):
    guest = ["tap79ac16b7-04", "", ["map", [["attached-mac", "fa:16:3e:2d:9a:e3"], ["iface-id", "af65584b"]]]]
    rows = [["eth1", "", ["map", []]], guest, ["br-int", "internal", ["map", []]], ["eth2", "", ["map", [["x", "y"]]]]]
    words, unread = read("ovsdb", NONE, {"link_state=down": json.dumps({"data": rows})})
    assert words == [("link", f"interface {name} has no link") for name in ("eth1", "eth2")]
    assert unread == []


STRANGE = [
    "", "\n", "null", "[]", "7", '"x"', "{", '{"alarms": 7}', '{"data": 7}', '{"data": [["x"]]}', '{"data": null}',
    '{"data": [["x", "", 7]]}', "max_connections\tmany\nThreads_connected\t1", "max_connections 7", "\t\t\t", "\0",
]  # fmt: skip


@pytest.mark.parametrize("output", STRANGE)
@pytest.mark.parametrize("component", sorted(SHARED))
def test_something_else_that_a_command_prints_is_an_entry_and_no_word(read, component, output):
    words, unread = read(component, output)
    # A dictionary without alarms has none.
    times = 0 if component == "rabbitmq" and output.startswith('{"data') else SHARED[component]
    assert words == []
    assert [(entry.what, entry.kind) for entry in unread] == [(f"the state of {component}", "strange")] * times


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((1, "", "sudo: a password is required"), "refused"),
        ((127, "", "timeout: failed to run command 'sudo': No such file or directory"), "missing"),
        (
            (1, "", "ERROR 2002 (HY000): Can't connect to local server through socket '/run/mysqld/mysqld.sock' (2)"),
            "failed",
        ),
        ((124, "", ""), "hung"),
    ],
)
@pytest.mark.parametrize("component", sorted(SHARED))
def test_a_command_that_fails_is_named(read, component, answer, kind):
    words, unread = read(component, answer)
    assert words == []
    assert [(entry.what, entry.kind) for entry in unread] == [(f"the state of {component}", kind)] * SHARED[component]


def test_one_that_fails_does_not_hide_another(replay):
    host = replay("examined-controller1", {"rabbitmq": (69, "", "Error: unable to perform an operation on node")})
    words = self_reports.read(host, {"rabbitmq", "database"})
    assert (words, [entry.what for entry in host.unread]) == ([], ["the state of rabbitmq"])
    host = replay("examined-controller1", {"rabbitmq": (69, "", "Error"), "mysql": values(read_only="ON")})
    assert [report.component for report in self_reports.read(host, {"rabbitmq", "database"})] == ["database"]
