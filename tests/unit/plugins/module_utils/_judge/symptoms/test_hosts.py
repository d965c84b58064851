# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms that hosts show: services, words of their own, the ground, ways that are cut, and what is new."""

from __future__ import annotations

from dataclasses import replace

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import units
from ansible_collections.stackproof.provision.plugins.module_utils._judge import shares
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import configuration, hosts, reach
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import STATES, How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import symptoms
from cases_by_hand import FINISHED, STARTED, case_of, logged
from cases_by_hand import stage as a_stage

READERS = (
    hosts.states, hosts.reports, hosts.ceph, hosts.resources, reach.probes, reach.pending, configuration.changes,
    configuration.differences,
)  # fmt: skip


def service(component, unit=None, state="running", since=None, restarts=0, for_s=12.3):
    about = {"component": component, "unit": unit or f"{component}.service", "state": state}
    return {**about, "for_s": for_s, "since": since, "restarts": restarts}


def host(name, *services, facts=None, health_before=None, unread=(), clock=None, **examination):
    """A host with services, a clock, and what its examination found."""
    running = [service(entry) if isinstance(entry, str) else entry for entry in services]
    return as_json.host(
        name,
        clock_offset_s=clock and clock[0],
        clock_error_s=clock and clock[1],
        facts={"services": running, **(facts or {})},
        health_before=health_before,
        unread=list(unread),
        examination=examination or None,
    )


def told(reader, *hosts, finished=FINISHED):
    return reader(case_of(hosts, a_stage(finished=finished)))


def components(symptoms):
    return [symptom.component for symptom in symptoms]


UNREAD = {
    "no facts": as_json.host("h1"),
    "no services": as_json.host("h1", facts={"services": None, "ceph": None, "names": None, "addresses": None}),
    "an empty examination": as_json.host("h1", examination={}),
    # Records of 0.1.0 know of no examination.
    "an old record": {"host": "h1", "facts": {}, "unread": []},
}


@pytest.mark.parametrize("unread", UNREAD)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_host_of_which_nothing_is_known_shows_nothing(reader, unread):
    assert told(reader) == told(reader, UNREAD[unread]) == []


# Services


@pytest.mark.parametrize(("restarts", "shown"), [(0, 0), (2, 0), (3, 3), (17, 17)])
def test_a_service_that_does_not_run_reports_how_often_it_was_restarted_if_it_is_in_a_loop(restarts, shown):
    (symptom,) = told(hosts.states, host("h1", service("x", state="failed", restarts=restarts)))
    assert (symptom.code, symptom.restarts) == (Code.UNIT_NOT_RUNNING, shown)


@pytest.mark.parametrize("state", ["running", How.STARTING.value])
def test_a_service_that_exits_again_and_again_is_as_bad_as_one_that_has_failed(state):
    looping = service("x", "y.service", state, since=ENDED - 1, restarts=12)
    (symptom,) = told(hosts.states, host("h1", looping))
    assert (symptom.code, symptom.how, symptom.unit) == (Code.UNIT_CRASH_LOOP, How.FAILED, "y.service")
    assert symptom.restarts == 12
    (failed,) = told(hosts.states, host("h1", service("x", state="failed")))
    assert shares.strength(symptom, WEIGHTS) == shares.strength(failed, WEIGHTS)
    # One that takes long to start has been restarted at another time.
    (starting,) = told(hosts.states, host("h1", service("x", state=How.STARTING.value, since=BEGAN - 60, restarts=12)))
    assert (starting.code, starting.how) == (Code.UNIT_NOT_RUNNING, How.STARTING)
    # Whatever happened before the run
    (before,) = told(hosts.states, host("h1", service("x", since=BEGAN - 60, restarts=12)))
    assert before.code == Code.UNIT_RESTARTED_BEFORE_RUN


@pytest.mark.parametrize("state", STATES)
def test_a_service_that_does_not_run_is_reported_with_its_state_and_unit(state):
    (symptom,) = told(hosts.states, host("h1", service("x", "y.service", state.value)))
    assert (symptom.kind, symptom.component, symptom.host, symptom.how) == (Kind.STATE, "x", "h1", state)
    assert symptom.unit == "y.service"
    # A process that is stopped by a signal leaves the unit as it was: its time says nothing.
    assert symptom.for_s == (None if state == How.FROZEN else 12.3)


@pytest.mark.parametrize(("state", "restarts"), [(How.STARTING, 2), (How.FAILED, 0)])
def test_a_few_restarts_are_counted_for_a_service_that_is_starting(state, restarts):
    (symptom,) = told(hosts.states, host("h1", service("x", state=state.value, restarts=2)))
    assert symptom.restarts == restarts


def test_a_service_that_runs_shows_nothing():
    assert told(hosts.states, host("h1", "x")) == []


def names(component, address):
    """What the settings of services on a host say of where a component is."""
    return {"component": component, "address": address, "port": 6642, "how": "open", "named_by": ["neutron"]}


@pytest.mark.parametrize(
    ("address", "shown"),
    [("10.0.0.1", []), ("10.0.0.2", ["ovn-sb-db"]), ("10.0.0.250", ["ovn-sb-db"]), ("127.0.0.1", [])],
    ids=["that of another host", "it", "an address in front of both", "that of the host itself"],
)
def test_a_stopped_service_for_which_all_ask_another_host_shows_nothing(address, shown):
    facts = {"addresses": ["10.0.0.1"]}
    first = host("ctl1", "ovn-sb-db", facts=facts, reach=[names("ovn-sb-db", address)])
    second = host("ctl2", service("ovn-sb-db", state="stopped"), facts={"addresses": ["10.0.0.2"]})
    assert components(told(hosts.states, first, second)) == shown


def test_a_stopped_service_that_no_settings_name_is_missed():
    first = host("ctl1", "nova-scheduler", reach=[names("ovn-sb-db", "10.0.0.1")])
    second = host("ctl2", service("nova-scheduler", state="stopped"))
    assert components(told(hosts.states, first, second)) == ["nova-scheduler"]


def test_a_service_may_have_stopped_nobody_knows_when():
    (symptom,) = told(hosts.states, host("h1", service("x", state="stopped", for_s=None)))
    assert (symptom.how, symptom.for_s) == (How.STOPPED, None)


def test_a_service_that_a_socket_starts_when_it_is_needed_shows_nothing():
    assert told(hosts.states, host("h1", service("x", state=units.ON_DEMAND, restarts=1))) == []


BEGAN, ENDED = clock.seconds_of(STARTED), clock.seconds_of(FINISHED)
LONG_AGO = BEGAN - WEIGHTS.remembered_s


@pytest.mark.parametrize(
    ("since", "restarts", "shown"),
    [
        # While the run was under way, or after it
        (ENDED + 3, 0, []),
        (BEGAN, 0, []),
        (ENDED + 3, 1, [(Kind.STATE, How.RESTARTED)]),
        (ENDED, 2, [(Kind.STATE, How.RESTARTED)]),
        (BEGAN, 1, [(Kind.STATE, How.RESTARTED)]),
        # Before the run, by whomever
        (BEGAN - 0.1, 0, [(Kind.RESTART, None)]),
        (BEGAN - 0.1, 1, [(Kind.RESTART, None)]),
        (LONG_AGO, 0, [(Kind.RESTART, None)]),
        # Nobody has a connection from before.
        (LONG_AGO - 0.1, 0, []),
        (LONG_AGO - 0.1, 1, []),
        (None, 1, []),
    ],
)
def test_a_service_that_was_restarted_is_reported_by_when_that_was(since, restarts, shown):
    found = told(hosts.states, host("h1", service("x", since=since, restarts=restarts)))
    assert [(symptom.kind, symptom.how) for symptom in found] == shown


@pytest.mark.parametrize(
    ("offset", "error", "shown"),
    [
        (0.0, 0.5, Kind.RESTART),
        (0.0, 2.0, Kind.STATE),
        (60.0, 0.5, Kind.RESTART),
        (-60.0, 0.5, Kind.STATE),
        (-60.0, 59.5, Kind.STATE),
    ],
)
def test_a_clock_that_is_ahead_or_that_nobody_knows_well_is_allowed_for(offset, error, shown):
    ran_since = service("x", since=BEGAN - 1, restarts=1)
    (symptom,) = told(hosts.states, host("h1", ran_since, clock=(offset, error)))
    assert symptom.kind == shown


@pytest.mark.parametrize("since", [BEGAN - 1, ENDED])
def test_a_service_that_does_not_run_was_not_restarted(since):
    (symptom,) = told(hosts.states, host("h1", service("x", state="stopped", since=since, restarts=1)))
    assert (symptom.kind, symptom.how) == (Kind.STATE, How.STOPPED)


@pytest.mark.parametrize("since", [BEGAN - 1, ENDED])
def test_a_stage_without_an_end_shows_no_restarts(since):
    assert told(hosts.states, host("h1", service("x", since=since, restarts=1)), finished=None) == []


@pytest.mark.parametrize(
    ("since", "code", "at", "ago"),
    [
        (BEGAN + 7.4, Code.UNIT_RESTARTED_DURING_RUN, BEGAN + 7.4, None),
        (BEGAN - 60, Code.UNIT_RESTARTED_BEFORE_RUN, None, 160),
    ],
)
def test_a_service_that_was_restarted_reports_its_(since, code, at, ago):
    (symptom,) = told(hosts.states, host("h1", service("x", "y.service", since=since, restarts=1)))
    assert (symptom.component, symptom.host) == ("x", "h1")
    assert (symptom.code, symptom.unit, symptom.since, symptom.ago_s) == (code, "y.service", at, ago)


def test_a_service_that_ended_and_runs_again_counts_less_than_one_that_is_stopped():
    restarted, stopped = (
        told(hosts.states, host("h1", service("x", state=state, since=ENDED, restarts=1)))[0]
        for state in ("running", "stopped")
    )
    assert shares.strength(restarted, WEIGHTS) < shares.strength(stopped, WEIGHTS)


@pytest.mark.parametrize(
    ("component", "kind", "text"),
    [
        ("rabbitmq", "alarm", "alarm: memory_alarm"),
        ("database", "read-only", "read-only"),
        ("ovsdb", "error", "cannot create interface tap1"),
    ],
)
def test_shared_services_speak_for_themselves(component, kind, text):
    word = {"component": component, "kind": kind, "text": text}
    (symptom,) = told(hosts.reports, host("h1"), host("h2", reports=[word]))
    assert (symptom.kind, symptom.component, symptom.host) == (Kind.REPORT, component, "h2")
    assert (symptom.how, symptom.reported) == (kind, (text,))


READ_ONLY = {"component": "database", "kind": "read-only", "text": "read-only"}


@pytest.mark.parametrize(
    ("other", "accused"),
    [
        (host("h1", "database", reports=[], reach=[]), []),
        (host("h1", "database", reports=[READ_ONLY]), ["h1", "h2"]),
        (host("h1", service("database", state="stopped"), reports=[], reach=[]), ["h2"]),
        (host("h1", "database"), ["h2"]),  # it was not examined
        (
            host(
                "h1",
                "database",
                reports=[],
                reach=[],
                unread=[{"what": "the state of database", "kind": "failed", "command": "mysql", "reason": "w"}],
            ),
            ["h2"],
        ),
    ],
    ids=["the primary", "a replica, too", "one that is stopped", "one that nobody examined", "one that did not say"],
)
def test_a_replica_may_be_read_only_where_another_database_is_not(other, accused):
    found = told(hosts.reports, other, host("h2", "database", reports=[READ_ONLY]))
    assert [symptom.host for symptom in found] == accused


LINK = {"component": "data network", "kind": "link", "text": "interface eth9 has no link"}


@pytest.mark.parametrize(("at_home", "accused"), [(True, ["c1", "n1"]), (False, ["c1", "c2", "n1"])])
def test_a_wire_of_another_compute_host_carries_nothing_of_the_instance(at_home, accused):
    home = host("c1", "nova-compute", facts={"domain": at_home and {"name": "x"}}, reports=[LINK])
    found = told(hosts.reports, home, host("c2", "nova-compute", reports=[LINK]), host("n1", reports=[LINK]))
    assert [symptom.host for symptom in found] == accused


@pytest.mark.parametrize(
    ("kind", "where", "accused"),
    [
        ("denied", "qemu-system-x86", ["libvirt"]),
        ("denied", "libvirtd", ["libvirt"]),
        ("denied", "cupsd", []),
        ("full", "connection tracking", ["data network"]),
    ],
)
def test_what_the_kernel_denies_or_drops_is_of_those_that_need_it(kind, where, accused):
    exhausted = [{"kind": kind, "where": where, "text": "x"}]
    found = told(hosts.resources, host("h1", "libvirt", "nova-compute", exhausted=exhausted))
    assert components(found) == accused
    assert {(symptom.how, symptom.path) for symptom in found} <= {(How(kind), None)}


# Ceph


def ceph(checks, before=None, osds=None):
    facts = {"ceph": {"osds": osds, "health": {"status": "HEALTH_WARN", "checks": checks}}}
    return told(hosts.ceph, host("h1", facts=facts, health_before=before and {"checks": before}))


def ceph_words(*told):
    return [(symptom.component, symptom.how) for symptom in ceph(*told)]


def test_an_osd_that_is_down_is_named_by_its_number():
    (symptom,) = ceph({}, osds={"0": False, "1": True, "2": False})
    assert (symptom.component, symptom.how, symptom.reported) == ("ceph-osd", How.DOWN, ("0", "2"))


def test_the_words_of_a_cluster_count_once_whoever_has_heard_them():
    facts = {"ceph": {"osds": {"7": False}, "health": {"status": "HEALTH_WARN", "checks": {"OSD_DOWN": "x"}}}}
    found = told(hosts.ceph, *(host(f"h{number}", facts=facts) for number in range(5)))
    assert [symptom.how for symptom in found] == ["down", "alarm"]


def test_the_words_of_ceph_are_of_its_monitors_or_of_its_osds():
    checks = {"OSD_DOWN": "1 osds down", "MON_DOWN": "1/3 mons down", "PG_AVAILABILITY": "stale", "RECENT_CRASH": "x"}
    texts = {symptom.component: symptom.reported for symptom in ceph(checks)}
    assert texts == {"ceph-mon": ("1/3 mons down",), "ceph-osd": ("1 osds down", "stale")}


def test_a_ceph_that_is_well_shows_nothing():
    assert ceph({}, osds={"0": True}) == []


@pytest.mark.parametrize(
    ("check", "how"),
    [("OSD_FULL", "alarm"), ("OSD_NEARFULL", "warning"), ("PG_DEGRADED", "warning"), ("MON_CLOCK_SKEW", "warning")],
)
def test_a_check_of_ceph_is_an_alarm_if_nothing_can_be_written(check, how):
    assert [said for _component, said in ceph_words({check: "x"})] == [how]


def test_an_alarm_of_ceph_counts_more_than_its_warning():
    (alarm,), (warning,) = ceph({"OSD_FULL": "x"}), ceph({"PG_DEGRADED": "x"})
    assert shares.strength(alarm, WEIGHTS) > shares.strength(warning, WEIGHTS)


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (None, ["warning"]),
        ({}, ["warning"]),
        ({"OSD_SLOW_PING": "x"}, ["warning"]),
        # It was no better when instances could still be made.
        ({"PG_DEGRADED": "less of it"}, []),
    ],
)
def test_a_warning_of_ceph_counts_if_it_is_new(before, told):
    assert [how for _component, how in ceph_words({"PG_DEGRADED": "x"}, before)] == told


SEVERE = {
    "OSD_DOWN": "1 osds down",
    "POOL_FULL": "1 pool(s) full",
    "PG_AVAILABILITY": "Reduced data availability: 8 pgs inactive",
    "OSDMAP_FLAGS": "pauserd,pausewr,noout flag(s) set",
    "SLOW_OPS": "4 slow ops",
}


@pytest.mark.parametrize("check", SEVERE)
def test_a_severe_check_of_ceph_counts_even_if_it_is_old(check):
    checks = {check: SEVERE[check]}
    assert ceph_words(checks, checks) == [("ceph-osd", "alarm")]


@pytest.mark.parametrize(
    ("check", "text"), [("OSDMAP_FLAGS", "noout flag(s) set"), ("OSD_NEARFULL", "1 nearfull osd(s)")]
)
def test_a_check_of_ceph_with_which_all_can_be_written_counts_if_it_is_new(check, text):
    assert ceph_words({check: text}, {check: text}) == []
    assert ceph_words({check: text}) == [("ceph-osd", "warning")]


@pytest.mark.parametrize(
    ("command", "kind", "silent"),
    [
        ("ceph --id admin health", "hung", ["ceph-mon", "ceph-osd"]),
        ("sudo -n rbd --id admin info vms/x", "hung", ["ceph-mon", "ceph-osd"]),
        ("sudo -n docker exec ceph_mon ceph --id admin health", "hung", ["ceph-mon", "ceph-osd"]),
        ("ceph --id admin health", "failed", []),
        ("sudo -n ls /etc/ceph", "hung", []),
        ("sudo -n virsh dumpxml ceph.xml", "hung", []),
    ],
)
def test_a_ceph_that_hangs_is_silent(command, kind, silent):
    found = told(hosts.ceph, host("h1", unread=[{"what": "x", "kind": kind, "command": command, "reason": "w"}]))
    assert components(found) == silent
    assert {symptom.how for symptom in found} <= {"silent"}


def test_a_monitor_that_answered_is_not_why_the_disks_hang():
    hanging = {"what": "x", "kind": "hung", "command": "sudo -n rbd --id admin info vms/x", "reason": "w"}
    facts = {"ceph": {"health": {"status": "HEALTH_OK", "checks": {}}}}
    assert components(told(hosts.ceph, host("h1", unread=[hanging], facts=facts))) == ["ceph-osd"]


# The ground

CONTROLLER = (
    "nova-api", "nova-conductor", "neutron-server", service("database", "mariadb.service"), "rabbitmq",
    service("libvirt", "libvirtd.service"), service("neutron-l2-agent", "neutron-openvswitch-agent.service"),
    "neutron-dhcp-agent",
)  # fmt: skip
EVERYBODY = sorted(entry if isinstance(entry, str) else entry["component"] for entry in CONTROLLER)
NOVA = ["nova-api", "nova-conductor"]
NEUTRON = ["neutron-dhcp-agent", "neutron-l2-agent", "neutron-server"]


def lacking(kind, where):
    finding = {"kind": kind, "where": where, "text": f"about {where}"}
    return told(hosts.resources, host("h0", *CONTROLLER), host("h1", *CONTROLLER, exhausted=[finding]))


@pytest.mark.parametrize(
    ("where", "stand_there"),
    [
        ("/var/lib/nova", NOVA),
        ("/opt/stack/data/nova/instances", NOVA),
        ("/var/log/neutron", NEUTRON),
        ("/var/lib/mysql", ["database"]),
        ("/var/lib/docker", EVERYBODY),
        ("/var/log/kolla/nova", NOVA),
        ("/var/lib/rabbitmq/mnesia", ["rabbitmq"]),
        ("/var/lib/somebody", []),
        ("/srv/backup", []),
        ("/home", []),
        ("/", EVERYBODY),
        ("/var", EVERYBODY),
        ("/var/log", EVERYBODY),
        ("memory", EVERYBODY),
        ("disk", EVERYBODY),
    ],
)
def test_a_ground_is_that_of_the_services_which_stand_on_it(where, stand_there):
    found = lacking("no space", where)
    assert components(found) == stand_there
    for symptom in found:
        assert (symptom.kind, symptom.host, symptom.how) == (Kind.RESOURCE, "h1", How.NO_SPACE)
        assert symptom.reported == (f"about {where}",)


@pytest.mark.parametrize("kind", ["killed", "not executable"])
@pytest.mark.parametrize(
    ("where", "component"),
    [
        ("nova-conductor", "nova-conductor"),
        # The process is known by the unit of its service.
        ("mariadb", "database"),
        ("libvirtd", "libvirt"),
        # A program that is no service here
        ("dnsmasq", "dnsmasq"),
    ],
)
def test_a_program_is_that_of_its_service(kind, where, component):
    (symptom,) = lacking(kind, where)
    assert (symptom.component, symptom.host, symptom.how) == (component, "h1", kind)
    assert symptom.reported == (f"about {where}",)


@pytest.mark.parametrize(
    ("kind", "where", "component"),
    [
        # The kernel cuts names.
        ("killed", "qemu-system-x86", "libvirt"),
        ("killed", "qemu-kvm", "libvirt"),
        ("killed", "neutron-openvsw", "neutron-l2-agent"),
        ("killed", "neutron-openvswitch-agent", "neutron-l2-agent"),
        ("killed", "nova", "nova"),
        ("not executable", "qemu-system-x86", "qemu-system-x86"),
    ],
)
def test_a_process_that_was_killed_is_known_by_the_beginning_of_its_name(kind, where, component):
    assert components(lacking(kind, where)) == [component]


# Ways to peers

COMPUTE = ("nova-compute", "neutron-l2-agent", "libvirt")
HOME = {"addresses": ["10.0.0.1", "fd00::1"]}


def peer(component, how, named_by=("nova",), address="10.0.0.1", port=5672):
    return {"component": component, "address": address, "port": port, "how": how, "named_by": list(named_by)}


def reached(*entries, services=COMPUTE, name="c1"):
    return host(name, *services, reach=list(entries))


CONTROL = host("ctl", "rabbitmq", "keystone", facts=HOME)


def test_a_peer_that_answers_shows_nothing():
    assert told(reach.probes, CONTROL, reached(peer("rabbitmq", "open"))) == []


@pytest.mark.parametrize(
    ("how", "meant"),
    [
        ("silent", "silent"),
        ("mute", "silent"),
        ("refused", "refused"),
        ("closed", "broken off"),
        ("error 1040", "error"),
        ("status 503", "error"),
        ("no such name", "error"),
    ],
)
def test_a_peer_that_does_not_answer_is_reported_with_its_place(how, meant):
    (symptom,) = told(reach.probes, CONTROL, reached(peer("rabbitmq", how)))
    assert (symptom.kind, symptom.how, symptom.probe) == (Kind.REACH, meant, how)
    assert symptom.place == ("nova-compute", "c1")
    assert symptom.peer_place == ("rabbitmq", "ctl")
    assert (symptom.address, symptom.port) == ("10.0.0.1", 5672)


def listening(*ports):
    return {**CONTROL, "stores": {"listening": list(ports)}}


@pytest.mark.parametrize(
    ("named_by", "owner"), [(("nova",), ("nova-compute", "c1")), (("catalogue", "nova"), ("keystone", "ctl"))]
)
def test_a_peer_that_listens_at_its_usual_port_is_looked_for_at_a_wrong_one(named_by, owner):
    (symptom,) = told(reach.probes, listening(5672), reached(peer("rabbitmq", "refused", named_by, port=5673)))
    assert (symptom.code, symptom.place) == (Code.WRONG_ADDRESS, owner)
    assert (symptom.setting, symptom.address, symptom.port) == ("rabbitmq", "10.0.0.1", 5673)


@pytest.mark.parametrize(
    ("named_by", "owner"), [(("nova",), ("nova-compute", "c1")), (("catalogue", "nova"), ("keystone", "ctl"))]
)
def test_a_peer_that_speaks_no_tls_is_asked_for_it_by_a_wrong_address(named_by, owner):
    (symptom,) = told(reach.probes, listening(9696), reached(peer("neutron-server", "plain", named_by, port=9696)))
    assert (symptom.code, symptom.place) == (Code.WRONG_ADDRESS, owner)


def test_a_peer_of_the_own_host_is_looked_for_at_a_wrong_port():
    asked = peer("ovsdb", "refused", address="127.0.0.1", port=6699)
    here = {**reached(asked, services=("nova-compute", "ovsdb")), "stores": {"listening": [6640]}}
    (symptom,) = told(reach.probes, here)
    assert (symptom.code, symptom.place) == (Code.WRONG_ADDRESS, ("nova-compute", "c1"))


@pytest.mark.parametrize(
    ("started", "owners"),
    [
        # Those that started before the file changed have not read it.
        ((900.0, 10.0), ["nova-scheduler"]),
        ((900.0, 900.0), ["nova-conductor", "nova-scheduler"]),
        ((10.0, 10.0), ["nova-conductor", "nova-scheduler"]),
    ],
)
def test_what_changed_is_of_the_services_that_have_read_it(started, owners):
    names = ("nova-conductor", "nova-scheduler")
    services = [service(name, for_s=for_s) for name, for_s in zip(names, started, strict=True)]
    changed = [{"path": "/etc/nova/nova.conf", "ago_s": 20.0}]
    unresolved = peer("rabbitmq", "no such name", address="rabbit.example")
    here = host("ctl", *services, "rabbitmq", facts=HOME, changed=changed, reach=[unresolved])
    assert components(told(configuration.changes, here)) == owners
    found = told(reach.probes, here)
    assert components(found) == owners
    assert {symptom.code for symptom in found} == {Code.WRONG_ADDRESS}


@pytest.mark.parametrize(
    ("meant", "code"),
    [(["10.0.0.3"], Code.WRONG_ADDRESS), (["10.0.0.1"], Code.PEER_UNREACHABLE), ([], Code.PEER_UNREACHABLE)],
)
def test_a_name_of_a_peer_counts_by_the_host_to_which_it_leads(meant, code):
    asked = peer("rabbitmq", "refused", address="queue")
    asker = {**reached(asked)}
    asker["examination"] = {**asker["examination"], "names": [{"name": "queue", "addresses": meant}]}
    other = as_json.host("sto", facts={"addresses": ["10.0.0.3"]})
    (symptom,) = told(reach.probes, CONTROL, other, asker)
    assert symptom.code == code


def test_a_name_that_nobody_knows_shows_nothing_of_a_setting_if_the_peer_runs_nowhere():
    gone = as_json.host("ctl", facts={"services": [service("rabbitmq", state="stopped")], **HOME})
    (symptom,) = told(reach.probes, gone, reached(peer("rabbitmq", "no such name", address="rabbit.example")))
    assert symptom.code == Code.PEER_UNREACHABLE


# It listens nowhere, it does not answer although it listens, it may listen at another port on purpose, and nobody
# has looked.
@pytest.mark.parametrize("ports", [(22,), (5672, 5673), (15672,), ()])
def test_a_peer_is_not_taken_for_misplaced_without_a_proof(ports):
    (symptom,) = told(reach.probes, listening(*ports), reached(peer("rabbitmq", "refused", port=5673)))
    assert symptom.code == Code.PEER_UNREACHABLE


def test_a_peer_at_an_address_that_no_host_has_is_nobody_knows_where():
    (symptom,) = told(reach.probes, CONTROL, reached(peer("rabbitmq", "silent", address="192.0.2.1")))
    assert symptom.peer_host is None


@pytest.mark.parametrize(
    ("component", "named_by", "asking"),
    [
        # Only those which need it, and whose settings name it
        ("rabbitmq", ["nova"], ["nova-compute"]),
        ("rabbitmq", ["neutron"], ["neutron-l2-agent"]),
        ("rabbitmq", ["neutron", "nova"], ["neutron-l2-agent", "nova-compute"]),
        ("rabbitmq", ["catalogue"], ["neutron-l2-agent", "nova-compute"]),
        ("glance-api", ["catalogue"], ["nova-compute"]),
        # The settings of Ceph are those of its clients.
        ("ceph-mon", ["ceph"], ["libvirt", "nova-compute"]),
        # Nobody on this host needs it, but it does not answer all the same.
        ("ldap", ["keystone"], [None]),
        ("rabbitmq", ["cinder"], [None]),
    ],
)
def test_a_peer_is_asked_by_those_who_need_it_and_whose_settings_name_it(component, named_by, asking):
    found = told(reach.probes, CONTROL, reached(peer(component, "silent", named_by)))
    assert components(found) == asking
    assert {symptom.peer for symptom in found} == {component}


@pytest.mark.parametrize(
    ("others", "only_from_here"),
    [
        ([], False),
        (["silent"], False),
        (["refused", "mute"], False),
        (["open"], True),
        (["silent", "open"], True),
    ],
)
def test_a_way_is_cut_if_another_host_reaches_the_peer(others, only_from_here):
    more = [reached(peer("rabbitmq", how), name=f"c{number}") for number, how in enumerate(others, 2)]
    found = told(reach.probes, CONTROL, reached(peer("rabbitmq", "silent")), *more)
    assert [symptom.only_from_here for symptom in found if symptom.host == "c1"] == [only_from_here]


@pytest.mark.parametrize(
    "other",
    [
        peer("rabbitmq", "open", address="10.0.0.2"),
        peer("rabbitmq", "open", address="10.0.0.2", port=15672),
        peer("keystone", "open"),
        peer("keystone", "open", port=15672),
    ],
)
def test_a_peer_elsewhere_is_another_peer(other):
    (symptom,) = told(reach.probes, CONTROL, reached(peer("rabbitmq", "silent")), reached(other, name="c2"))
    assert not symptom.only_from_here


@pytest.mark.parametrize(
    ("others", "only_from_here"),
    [
        # Nobody else asks at this port.
        ([{"how": "open", "port": 15672}], True),
        ([{"how": "silent", "port": 25672}, {"how": "open", "port": 15672}], True),
        ([{"how": "silent", "port": 15672}], False),
        # Hosts that ask at this port say more than those at other ones.
        ([{"how": "silent", "port": 5672}, {"how": "open", "port": 15672}], False),
        ([{"how": "open", "port": 5672}, {"how": "silent", "port": 15672}], True),
    ],
)
def test_a_way_is_cut_if_other_hosts_reach_the_peer_at_other_ports_and_none_asks_at_this_one(others, only_from_here):
    more = [reached(peer("rabbitmq", **about), name=f"c{number}") for number, about in enumerate(others, 2)]
    found = told(reach.probes, CONTROL, reached(peer("rabbitmq", "silent")), *more)
    assert [symptom.only_from_here for symptom in found if symptom.host == "c1"] == [only_from_here]


def test_another_port_that_answers_this_host_says_nothing_of_others():
    here = reached(peer("rabbitmq", "silent"), peer("rabbitmq", "open", port=15672))
    (symptom,) = told(reach.probes, CONTROL, here)
    assert not symptom.only_from_here


def waits(component="rabbitmq", address="10.0.0.1", port=5672):
    return {"program": "nova-compute", "address": address, "port": port, "component": component}


def test_a_connection_that_nobody_answers_is_of_those_who_need_the_peer():
    found = told(reach.pending, CONTROL, host("c1", *COMPUTE, "ovsdb", pending=[waits()]))
    assert components(found) == ["neutron-l2-agent", "nova-compute"]
    for symptom in found:
        assert (symptom.kind, symptom.how, symptom.host) == (Kind.REACH, How.SILENT, "c1")
        assert (symptom.peer, symptom.peer_host) == ("rabbitmq", "ctl")


def test_a_pending_connection_that_no_component_of_the_host_needs_shows_nothing():
    assert told(reach.pending, CONTROL, host("c1", "libvirt", pending=[waits()])) == []


def test_a_connection_to_a_port_that_nobody_knows_shows_nothing():
    assert told(reach.pending, host("c1", *COMPUTE, pending=[waits(None, port=12345)])) == []


@pytest.mark.parametrize("how", ["open", "silent"])
def test_a_connection_hangs_only_here_if_another_host_reaches_the_peer(how):
    """Else the peer would be blamed for a way that is cut."""
    other = reached(peer("rabbitmq", how), name="c2")
    found = told(reach.pending, CONTROL, host("c1", "nova-compute", pending=[waits()]), other)
    assert [symptom.only_from_here for symptom in found] == [how == "open"]


# Settings


def changed(path, ago_s=60.0):
    return told(
        configuration.changes,
        host("h0", *CONTROLLER),
        host("h1", *CONTROLLER, changed=[{"path": path, "ago_s": ago_s}]),
    )


OF_FILES = [
    ("/etc/neutron/dhcp_agent.ini", ["neutron-dhcp-agent"]),
    # Its unit has another name than the component.
    ("/etc/neutron/plugins/ml2/openvswitch_agent.ini", ["neutron-l2-agent"]),
    ("/etc/neutron/plugins/ml2/ml2_conf.ini", NEUTRON),
    ("/etc/neutron/neutron.conf", NEUTRON),
    ("/etc/nova/nova.conf", NOVA),
    ("/etc/mysql/my.cnf", ["database"]),
    ("/etc/systemd/system/nova-api.service", ["nova-api"]),
    ("/etc/systemd/system/mariadb.service.d/override.conf", ["database"]),
    ("/run/systemd/system/nova-conductor.service.d/50-limit.conf", ["nova-conductor"]),
    # kolla-ansible has a folder for each service.
    ("/etc/kolla/nova-conductor/nova.conf", ["nova-conductor"]),
    ("/etc/kolla/neutron-dhcp-agent/dhcp_agent.ini", ["neutron-dhcp-agent"]),
    ("/etc/kolla/neutron-openvswitch-agent/ml2_conf.ini", ["neutron-l2-agent"]),
    # Settings of nobody here
    ("/etc/kolla/cinder-api/cinder.conf", []),
    ("/etc/kolla/passwords.yml", []),
    ("/etc/systemd/system/somebody.service.d/x.conf", []),
    ("/etc/systemd/system/nightly.timer", []),
    ("/etc/default/grub", []),
    ("/etc/cinder/cinder.conf", []),
]


@pytest.mark.parametrize(("path", "owners"), OF_FILES)
def test_a_change_is_of_those_whose_settings_they_are(path, owners):
    found = changed(path)
    assert components(found) == owners
    for symptom in found:
        assert (symptom.kind, symptom.host) == (Kind.CHANGE, "h1")
        assert (symptom.path, symptom.ago_s) == (path, 60.0)


def test_an_older_change_counts_less():
    strengths = [shares.strength(changed("/etc/nova/nova.conf", ago_s)[0], WEIGHTS) for ago_s in (0, 60, 600, 3600)]
    assert strengths == sorted(strengths, reverse=True)
    assert len(set(strengths)) == len(strengths)


def test_changes_of_a_deployment_accuse_none_of_its_services():
    """As the lab of another release had them ten minutes after it was built."""
    paths = {
        "/etc/nova/nova-api-uwsgi.ini": 584.0, "/etc/nova/nova.conf": 618.0, "/etc/neutron/neutron.conf": 600.0,
        "/etc/mysql/my.cnf": 640.0, "/etc/systemd/system/nova-conductor.service": 630.0,
    }  # fmt: skip
    written = [{"path": path, "ago_s": ago_s} for path, ago_s in paths.items()]
    at_one_time = told(configuration.changes, host("h1", *CONTROLLER, changed=written))
    alone = changed("/etc/nova/nova-api-uwsgi.ini", 584.0)
    assert max(shares.strength(one, WEIGHTS) for one in at_one_time) == pytest.approx(
        shares.strength(alone[0], WEIGHTS) / 4
    )
    # What was changed long after it is as telling as ever.
    later = told(
        configuration.changes,
        host("h1", *CONTROLLER, changed=[*written, {"path": "/etc/nova/nova.conf", "ago_s": 9.0}]),
    )
    fresh = changed("/etc/nova/nova.conf", 9.0)
    assert max(shares.strength(one, WEIGHTS) for one in later) == shares.strength(fresh[0], WEIGHTS)


def differs(kind, text):
    return told(
        configuration.differences,
        host("h0", *CONTROLLER),
        host("h1", *CONTROLLER, differences=[{"kind": kind, "what": text}]),
    )


@pytest.mark.parametrize(("path", "owners"), OF_FILES)
@pytest.mark.parametrize("kind", ["option", "mode"])
def test_a_difference_is_of_those_whose_settings_they_are(kind, path, owners):
    text = f"{path} [DEFAULT] debug" if kind == "option" else path
    found = differs(kind, text)
    assert components(found) == owners
    for symptom in found:
        option = "[DEFAULT] debug" if kind == "option" else None
        assert (symptom.kind, symptom.host) == (Kind.DIFFERENCE, "h1")
        assert (symptom.path, symptom.setting) == (path, option)


def test_an_external_id_of_open_vswitch_is_of_ovn_controller():
    what = "Open vSwitch [external-ids] ovn-remote"
    about = [{"kind": "option", "what": what}]
    (symptom,) = told(configuration.differences, host("h1", "ovn-controller", "ovsdb", differences=about))
    assert (symptom.component, symptom.path) == ("ovn-controller", "Open vSwitch")
    assert symptom.setting == "[external-ids] ovn-remote"
    assert told(configuration.differences, host("h1", "ovsdb", differences=about)) == []


@pytest.mark.parametrize(
    ("options", "setting"),
    [(["[a] x"], "[a] x"), (["[a] x", "[b] y"], None), ([], None)],
)
def test_a_change_names_the_one_option_of_its_file_that_differs(options, setting):
    path = "/etc/nova/nova.conf"
    others = [{"kind": "option", "what": "/etc/neutron/neutron.conf [a] z"}, {"kind": "mode", "what": path}]
    differing = [*others, *({"kind": "option", "what": f"{path} {option}"} for option in options)]
    changes = [{"path": path, "ago_s": 60.0}]
    found = told(configuration.changes, host("h1", *CONTROLLER, changed=changes, differences=differing))
    assert {symptom.setting for symptom in found} == {setting}


def test_a_package_of_another_version_is_nobodys():
    assert differs("package", "libvirt-daemon") == []


# Options about a peer


@pytest.mark.parametrize(
    ("option", "peer", "is_about"),
    [
        ("[libvirt] rbd_secret_uuid", "libvirt", True),
        ("[neutron] password", "neutron-server", True),
        ("[keystone_authtoken] password", "keystone", True),
        ("[api_database] connection", "database", True),
        ("[oslo_messaging_rabbit] ssl", "rabbitmq", True),
        ("[vnc] server_listen", "libvirt", True),
        ("[neutron] password", "glance-api", False),
        ("[DEFAULT] debug", "libvirt", False),
        (None, "libvirt", False),
    ],
)
def test_an_option_is_about_the_peer_of_its_section(option, peer, is_about):
    assert configuration.is_about(option, peer) is is_about


@pytest.mark.parametrize(
    ("option", "own", "where", "shown"),
    [
        ("libvirt] rbd_secret_uuid", True, "c1", 1),
        # Another option, a failure of somebody else, and one on another host
        ("DEFAULT] debug", True, "c1", 0),
        ("libvirt] rbd_secret_uuid", False, "c1", 0),
        ("libvirt] rbd_secret_uuid", True, "c2", 0),
    ],
)
def test_an_option_that_differs_is_wrong_where_its_component_fails_at_the_peer_that_it_is_about(
    option, own, where, shown
):
    different = [{"kind": "option", "what": f"/etc/nova/nova.conf [{option}"}]
    here = host("c1", "nova-compute", "libvirt", differences=different)
    failed = logged(host=where, own=own, peer="libvirt", how="missing")
    found = configuration.options_of_peers(case_of([here], a_stage(finished=FINISHED), errors=[failed]))
    assert [(symptom.place, symptom.setting, symptom.peer) for symptom in found] == [
        (("nova-compute", "c1"), f"[{option}", "libvirt")
    ] * shown


def hung(*words):
    return {"kind": "hung", "what": "it", "reason": "hangs", "command": " ".join(["sudo", "-n", *words])}


@pytest.mark.parametrize(
    ("unread", "components_of_host"),
    [
        ([hung("virsh", "dumpxml", "1"), hung("virsh", "domstate", "1")], ["libvirt"]),
        ([hung("docker", "exec", "ovs", "ovs-vsctl", "show"), hung("rabbitmqctl", "status")], ["ovsdb", "rabbitmq"]),
        ([hung("ovs-appctl", "ofproto/trace"), hung("ovs-ofctl", "dump-flows", "br-int")], ["ovsdb"]),
        ([{**hung("virsh", "dumpxml", "1"), "kind": "failed"}], []),
        ([hung("cat", "/etc/virsh")], []),
        ([hung("virsh", "dumpxml", "1"), hung("rbd", "info", "vms/1")], []),
    ],
    ids=["once", "in a container", "by several programs", "it has ended", "another program", "as all waits for Ceph"],
)
def test_a_service_that_does_not_answer_its_own_program_is_reported(unread, components_of_host):
    found = told(hosts.mute, host("c1", unread=unread))
    assert components(found) == components_of_host
    assert {symptom.host for symptom in found} <= {"c1"}


def test_how_systemd_says_that_a_service_has_ended_is_told_in_words():
    ended = {**service("database", state="failed", for_s=7.0), "result": "oom-kill"}
    (symptom,) = hosts.states(case_of([host("h1", ended)], a_stage(finished=FINISHED)))
    assert symptoms.forms(symptom)[1] == "failed 7 s ago, killed as its host was out of memory"
    # A word of another version
    assert symptoms.forms(replace(symptom, reported=("exec-condition",)))[1] == "failed 7 s ago"
