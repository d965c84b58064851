# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next thing to do: a command that shows more, patience, another run, or more access."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice, world
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes
from causes_by_hand import cause, cut, seen


def with_units(name, *units):
    """A host with a service of the component x for each unit."""
    return shapes.host(name, facts={"services": [{"component": "x", "unit": unit} for unit in units]})


NEEDY = {"hosts": [], "flows": []}
HOST = {"host": "a", "status": "read", "facts": {}}
SUSPECTS = [cause("ceph-osd", None), cause("vm-instance", None)]


@pytest.mark.parametrize(
    ("cause", "pause", "said"),
    [
        (cause("ceph-mon", None), None, "ceph status; ceph health detail"),
        (cause("ceph-mon", None), 2.0, "ceph status; ceph health detail"),
        (cause("ceph-mon", "h", kind=world.WAY), None, "ceph status; ceph health detail"),
        (cause("ceph-mon", "h", kind=world.RESTART), None, advice.AGAIN),
        (cause("ceph-mon", "h", kind=world.RESTART), 2.0, advice.AGAIN),
        (None, 2.0, advice.PATIENCE),
        (None, None, advice.access(NEEDY)),
    ],
)
def test_the_next_thing_to_do_is_by_the_cause_and_the_time_that_passed(cause, pause, said):
    assert advice.next_of(cause, SUSPECTS, NEEDY, pause) == said


@pytest.mark.parametrize(("suspects", "said"), [([], None), (SUSPECTS, "ceph osd tree; ceph health detail")])
def test_where_no_more_access_would_help_the_likeliest_suspect_is_looked_at(suspects, said):
    record = {"hosts": [HOST], "flows": []}
    assert advice.access(record) is None
    assert advice.next_of(None, suspects, record, None) == said
    assert advice.next_of(None, suspects, record, 2.0) == advice.PATIENCE


# Commands


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("ceph-mon", "ceph status"),
        ("ceph-osd", "ceph osd tree"),
        ("data network", "ping between"),
        ("vm-instance", "stackproof_keep"),
        ("somebody", None),
    ],
)
def test_where_to_look_next_for_who_is_no_unit_that_was_read(component, words):
    command = advice.command_for(cause(component, None, seen("error", component)), {"hosts": []})
    assert command is None if words is None else words in command


@pytest.mark.parametrize(("host", "looked_at"), [("a", "a"), ("b", "b"), (None, "a")])
def test_a_unit_is_looked_at_on_the_host_of_the_cause(host, looked_at):
    record = {"hosts": [with_units("a", "x.service"), with_units("b", "x.service")]}
    command = advice.command_for(cause("x", host), record)
    assert command == f"on {looked_at}: systemctl status x.service; journalctl --unit x.service --since -15min"


@pytest.mark.parametrize(
    ("symptom_host", "only_from_here", "command"),
    [
        ("a", True, "on a: nc -v -z -w 3 10.0.0.1 5672"),
        # The peer is wrong, or the way from another host.
        ("a", False, "on a: systemctl status x.service; journalctl --unit x.service --since -15min"),
        ("b", True, "on a: systemctl status x.service; journalctl --unit x.service --since -15min"),
    ],
)
def test_a_way_is_tried_from_the_host_where_it_is_cut(symptom_host, only_from_here, command):
    way = cut("x", symptom_host, only_from_here=only_from_here)
    assert advice.command_for(cause("x", "a", way), {"hosts": [with_units("a", "x.service")]}) == command


def on_a(component, symptom):
    return advice.command_for(cause(component, "a", symptom), {"hosts": [with_units("a", "x.service")]})


@pytest.mark.parametrize(
    ("component", "symptom", "command"),
    [
        ("rabbitmq", seen("words", "rabbitmq", "a", how="alarm"), "on a: rabbitmq-diagnostics alarms"),
        ("ceph-osd", seen("words", "ceph-osd", None, how="alarm"), "ceph health detail"),
        ("x", seen("ground", "x", "a", how="full", path="/var/lib/x"), "on a: df -h /var/lib/x; df -i /var/lib/x"),
        ("x", seen("ground", "x", "a", how="killed", path="qemu"), "on a: systemctl status x.service"),
        ("x", seen("change", "x", "a", share=1.0, path="/etc/x/x.conf"), "on a: ls -l /etc/x/x.conf"),
        (
            "x",
            seen("change", "x", "a", share=1.0, path="/run/systemd/system/x.service.d/zz.conf"),
            "on a: systemctl cat x.service",
        ),
        ("x", seen("state", "x", "a", how="stopped"), "on a: systemctl status x.service"),
    ],
)
def test_the_next_command_is_by_the_symptom_that_the_headline_tells(component, symptom, command):
    assert on_a(component, symptom).startswith(command)


def denied_by(peer, **more):
    return seen("failed at", "x", "a", peer=peer, how="denied", keyed=True, **more)


@pytest.mark.parametrize(
    ("symptom", "command"),
    [
        (denied_by("database", peer_host="d"), "on d: mysql --execute 'SELECT user, host FROM mysql.user'"),
        (
            denied_by("database", quote="(1044, \"Access denied for user 'nova'@'%' to database 'nova'\")"),
            "mysql --execute \"SHOW GRANTS FOR 'nova'@'%'\"",
        ),
        (denied_by("ceph-mon", peer_host="s"), "on s: ceph auth ls"),
        # A peer of which nothing is known: the component itself
        (denied_by("somebody"), "on a: systemctl status x.service; journalctl --unit x.service --since -15min"),
    ],
)
def test_of_a_peer_that_denies_access_its_rights_are_looked_at(symptom, command):
    assert on_a("x", symptom) == command


DATABASE_RIGHTS = "mysql --execute 'SELECT user, host FROM mysql.user'"


def test_rights_are_looked_at_on_the_only_host_of_the_peer():
    symptom = seen("failed at", "y", "b", peer="x", how="denied", keyed=True)
    record = {"hosts": [with_units("a", "x.service")]}
    assert advice.rights({**symptom, "peer": "database"}, record) == DATABASE_RIGHTS
    hosts = [shapes.host("d", facts={"services": [{"component": "database", "unit": "mariadb.service"}]})]
    assert advice.rights({**symptom, "peer": "database"}, {"hosts": hosts}) == f"on d: {DATABASE_RIGHTS}"


@pytest.mark.parametrize("kind", ["ground", "change"])
def test_a_path_is_a_word_of_the_command_whatever_its_name(kind):
    """A command that is copied runs nothing that somebody has put into the name of a file."""
    path = "/etc/x/a; touch pwned.conf"
    assert f" '{path}'" in on_a("x", seen(kind, "x", "a", share=1.0, path=path))
    assert f" {path}" not in on_a("x", seen(kind, "x", "a", share=1.0, path=path))


# Access


def shown_at(*levels):
    """A flow with evidence of these levels."""
    return [{"steps": [{"evidence": [{"level": level}]} for level in levels]}]


@pytest.mark.parametrize(
    ("hosts", "flows", "words"),
    [
        ([], [], "give an inventory"),
        (
            [HOST, {**HOST, "host": "c", "status": "unreachable"}, {**HOST, "host": "b", "status": "failed"}],
            [],
            "make b, c readable",
        ),
        ([HOST], shown_at(None, "info"), "debug = true"),
        ([HOST], shown_at("info", "debug"), "let the services log oslo.messaging at DEBUG"),
        ([HOST], shown_at("debug", "messaging"), None),
        ([HOST], [], None),
    ],
)
def test_which_access_would_tell_more(hosts, flows, words):
    access = advice.access({"hosts": hosts, "flows": flows})
    assert access is None if words is None else words in access
