# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker's cluster, limits, permissions and queues, in the form in which RabbitMQ 4.0 prints them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import broker
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.configuration import Option
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import consumer_of
from recorded_hosts import printed

STATUS = json.loads(printed("examined-controller1", "diagnostics cluster_status"))
LISTED = ("permissions", "queues", "bindings")
OPENSTACK = broker.Account("openstack", "/")
CONNECTIONS = [{"user": "openstack", "vhost": "/", "state": "running"}] * 10


@pytest.fixture
def read(replay):
    """Return a function that asks a recorded broker of which some answers are others."""

    def of(instead=None, accounts=(OPENSTACK,)):
        answers = {word: json.dumps(answer) for word, answer in (instead or {}).items()}
        host = replay("examined-controller1", answers)
        answer = broker.read(host, set(accounts))
        assert host.unread == []
        return answer

    return of


def reports(answer):
    return [(report.component, report.kind, report.text) for report in answer.reports]


def test_recorded_broker_is_healthy(read):
    assert read() == broker.Answer()


@pytest.mark.parametrize(
    ("url", "account"),
    [
        ("rabbit://openstack:x@10.0.0.1:5672/", ("openstack", "/")),
        ("rabbit://openstack:x@10.0.0.1:5672", ("openstack", "/")),
        ("rabbit://openstack:x@10.0.0.1:5672//", ("openstack", "/")),
        ("rabbit://nova:p/w@c1:5672,nova:p/w@c2:5672/nova?ssl=1", ("nova", "nova")),
        ("amqp+ssl://a%2Fb:x@c1:5671/%2Fx", ("a/b", "/x")),
        ("rabbit://c1:5672/", None),
        ("none:///", None),
    ],
)
def test_accounts_are_those_of_the_settings(url, account):
    place = ("nova", "/etc/nova/nova.conf", "DEFAULT")
    assert broker.accounts_in([Option(*place, "transport_url", url)]) == ({account} if account else set())
    assert broker.accounts_in([Option(*place, "other", url)]) == set()


def test_nodes_that_do_not_see_each_other_and_nodes_that_are_away_are_reported(read):
    nodes = ["rabbit@c1", "rabbit@c2"]
    found = read({"diagnostics cluster_status": {**STATUS, "disk_nodes": nodes, "running_nodes": nodes[:1]}})
    assert reports(found) == [("rabbitmq", "down", "node rabbit@c2 of the cluster does not run")]
    parted = {"rabbit@c1": ["rabbit@c2"]}
    found = read({"diagnostics cluster_status": {**STATUS, "partitions": parted}})
    assert reports(found) == [("rabbitmq", "alarm", "network partition: rabbit@c1 does not see rabbit@c2")]


@pytest.mark.parametrize(("limit", "is_full"), [(10, True), (9, True), (11, False), (-1, False)])
@pytest.mark.parametrize(("kind", "owner", "name"), [("user", "openstack", "user"), ("vhost", "/", "virtual host")])
def test_limit_of_connections_that_is_reached_is_reported(read, kind, owner, name, limit, is_full):
    row = {kind: owner, "limits": json.dumps({"max-connections": limit, "max-channels": 1})}
    found = read({f"list_{kind}_limits": [row], "list_connections": CONNECTIONS})
    text = f"{name} {owner} has used all of its {limit} connections"
    assert reports(found) == ([("rabbitmq", "full", text)] if is_full else [])


QUIET = {"tail --quiet": "2026-11-23 19:06:17.881224+00:00 [info] <0.598.0> started TCP listener on [::]:5672\n"}


@pytest.mark.parametrize(
    ("instead", "is_asked"),
    [
        (QUIET, False),
        ({"tail --quiet": "[error] <0.7.0> PLAIN login refused: user 'x' - invalid credentials\n"}, True),
        ({"tail --quiet": "[error] <0.7.0>  vhost gone not found\n"}, True),
        # It logs to the journal, or its log cannot be read.
        ({"find": ""}, True),
        ({"tail --quiet": (1, "", "sudo: a password is required")}, True),
    ],
)
def test_permissions_and_limits_are_asked_for_only_if_the_broker_has_refused_somebody(replay, instead, is_asked):
    host = replay("examined-controller1", instead)
    broker.read(host, {OPENSTACK})
    asked = " ".join(host.execute.asked)
    assert ["list_permissions" in asked, "list_user_limits" in asked] == [is_asked, is_asked]
    assert "list_queues" in asked


def test_connections_are_counted_only_where_there_is_a_limit(replay):
    host = replay("examined-controller1", {"list_user_limits": "[]"})
    broker.read(host, {OPENSTACK})
    assert not any("list_connections" in command for command in host.execute.asked)


@pytest.mark.parametrize(
    ("rows", "rights"),
    [
        ([], "configure, write, read"),
        ([{"user": "openstack", "configure": ".*", "write": "^$", "read": ".*"}], "write"),
        ([{"user": "openstack", "configure": "", "write": ".*", "read": ""}], "configure, read"),
        ([{"user": "openstack", "configure": ".*", "write": ".*", "read": "^nova"}], None),
    ],
)
def test_user_of_a_service_without_permissions_is_reported(read, rows, rights):
    others = [{"user": "guest", "configure": "", "write": "", "read": ""}]
    text = f"user openstack may not {rights} in the virtual host /"
    assert reports(read({"list_permissions": [*others, *rows]})) == ([("rabbitmq", "denied", text)] if rights else [])


def test_virtual_host_that_is_missing_is_reported(replay):
    gone = (65, "", "Virtual host 'gone' does not exist\n")
    host = replay("examined-controller1", dict.fromkeys([f"list_{what}" for what in LISTED], gone))
    answer = broker.read(host, {broker.Account("openstack", "gone")})
    assert reports(answer) == [("rabbitmq", "missing", "there is no virtual host gone")]
    assert {entry.what for entry in host.unread} == {"the bindings of rabbitmq", "the queues"}


def test_virtual_host_that_only_one_service_names_is_its_own_mistake(replay):
    gone = (65, "", "Virtual host 'gone' does not exist\n")
    host = replay("examined-controller1", dict.fromkeys([f"list_{what} --vhost gone" for what in LISTED], gone))
    accounts = {broker.Account("openstack", "gone"), broker.Account("openstack", "/")}
    assert not reports(broker.read(host, accounts))


def test_virtual_host_with_a_strange_name_is_not_asked_for(replay):
    host = replay("examined-controller1")
    broker.read(host, {broker.Account("openstack", "--help"), broker.Account("openstack", "a b")})
    vhosts = {command.split("--vhost ")[1].split()[0] for command in host.execute.asked if "--vhost" in command}
    assert vhosts == {"/"}


def test_without_accounts_nobodys_permissions_are_asked_for(replay):
    host = replay("examined-controller1")
    assert broker.read(host, set()) == broker.Answer()
    assert not any("list_permissions" in command for command in host.execute.asked)


@pytest.mark.parametrize(
    ("name", "ready", "unacknowledged", "consumers", "is_stuck"),
    [
        ("compute.compute1", 0, 1, 1, False),
        ("compute.compute1", 1, 0, 0, True),
        ("compute.compute1", 0, 0, 0, True),
        ("compute.compute1", 64, 0, 1, False),
        ("compute.compute1", 60, 5, 1, True),
        ("conductor", 3, 0, 0, True),
        ("cinder-volume.storage1@ceph", 1, 0, 0, True),
        # Nobody consumes these where no service wants notifications, and answers end with their caller.
        ("notifications.info", 900, 0, 0, False),
        ("reply_c4b9c6e4d3f14a5a8d9cbb0c1f2e3d4a", 3, 0, 0, False),
        ("compute_fanout_0d1f1d2f3c1b4a5e8e5f7a6b1c2d3e4f", 3, 0, 0, False),
        ("compute.compute1", None, None, 1, False),
    ],
)
def test_queue_of_a_service_that_nobody_empties_is_returned(read, name, ready, unacknowledged, consumers, is_stuck):
    row = {"messages_ready": ready, "messages_unacknowledged": unacknowledged, "consumers": consumers}
    found = read({"list_queues": [{"name": name, **row}]}).queues
    assert [queue.name for queue in found] == ([name] if is_stuck else [])


@pytest.mark.parametrize(
    ("queue", "consumer"),
    [
        ("compute.compute1", ("nova-compute", "compute1")),
        ("compute.c1.example.org", ("nova-compute", "c1.example.org")),
        ("cinder-volume.storage1@ceph", ("cinder-volume", "storage1")),
        (f"cinder-volume.storage1@ceph_fanout_{'0a' * 16}", None),
        ("q-plugin", ("neutron-server", None)),
        ("dhcp_agent.network1", ("neutron-dhcp-agent", "network1")),
        ("amq.gen-x", None),
        ("", None),
    ],
)
def test_queue_says_whose_it_is(queue, consumer):
    assert consumer_of(queue) == consumer


@pytest.mark.parametrize("output", ["", "null", "[]", "{}", "7", '[{"x": 1}]', "x"])
def test_something_else_that_it_prints_is_unread_and_no_report(replay, output):
    host = replay("examined-controller1", {"id -u": "1000", "rabbitmqctl": output, "cluster_status": output})
    answer = broker.read(host, {OPENSTACK})
    assert answer.queues == ()
    assert {entry.kind for entry in host.unread} == {"strange"}


def without_bindings(*lost):
    rows = json.loads(printed("examined-controller1", "list_bindings"))
    return [row for row in rows if not row["source_name"] or row["destination_name"] not in lost]


@pytest.mark.parametrize(
    ("lost", "text"),
    [
        (["scheduler"], "no exchange is bound to the queue scheduler"),
        (["scheduler", "compute.compute1"], "no exchange is bound to the queue compute.compute1 and 1 more"),
    ],
)
def test_a_queue_that_gets_no_messages_is_reported(read, lost, text):
    assert reports(read({"list_bindings": without_bindings(*lost)})) == [("rabbitmq", "missing", text)]


def test_a_queue_that_no_service_waits_at_needs_no_binding(read):
    replies = {"source_name": "", "destination_name": "reply_1d", "destination_kind": "queue"}
    assert read({"list_bindings": [*without_bindings(), replies]}) == broker.Answer()
