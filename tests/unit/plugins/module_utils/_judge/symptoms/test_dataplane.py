# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What failed between two guests, as symptoms: on the way between their hosts, or at the firewall of one."""

from __future__ import annotations

import hashlib

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.case import Case
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import dataplane, guest, surroundings
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code
from cases_by_hand import case_of, error, stage

HASH = hashlib.sha224(b"ph2").hexdigest()


def check(name, status="failed", source="first", **more):
    target = "second" if source == "first" else "first"
    return {"check": name, "source": source, "target": target, "status": status, "text": "t", **more}


def host(name, **facts):
    services = [{"component": "nova-compute", "unit": "u", "state": "running", "restarts": 0}]
    return as_json.host(name, groups=["compute"], facts={"services": services, **facts})


def case(*checks, hosts=None):
    server = {"id": "s2", "zone": None, "host": None, "host_id": HASH, "launched": None, "ports": [], "fixed_ips": []}
    failed = stage("dataplane", details={"server": server, "checks": list(checks)})
    both = [host("h1", domain={"name": "d"}), host("h2"), host("h3")] if hosts is None else hosts
    return case_of(both, failed, instance=as_json.instance(), stages=[failed])


@pytest.mark.parametrize(
    ("found", "code", "sizes"),
    [
        (check("ping"), Code.PATH_LOST, ()),
        (check("size", value=1400.0, expected=1500.0), Code.PATH_NARROW, (1400, 1500)),
    ],
)
def test_lost_packets_are_of_the_network_between_both_hosts(found, code, sizes):
    (symptom,) = dataplane.paths(case(found))
    assert (symptom.code, symptom.host, symptom.peer, symptom.sizes) == (code, "h1", "data network", sizes)
    assert symptom.reported == ("h2",)


@pytest.mark.parametrize(("name", "code"), [("open", Code.PATH_SHUT), ("shut", Code.PATH_OPEN)])
def test_a_port_is_of_the_firewall_on_the_host_of_the_target(name, code):
    symptoms = dataplane.paths(case(check(name, source="second", value=22.0)))
    accused = {(one.peer or one.component, one.peer_host or one.host) for one in symptoms}
    assert {one.code for one in symptoms} == {code}
    assert accused == {("neutron-l2-agent", "h1"), ("ovn-controller", "h1")}


def test_a_name_that_is_not_resolved_is_of_what_answers_on_the_network():
    symptoms = dataplane.paths(case(check("name", source="second")))
    assert {one.code for one in symptoms} == {Code.GUEST_NAME_UNRESOLVED}
    assert {one.peer for one in symptoms} == {"dnsmasq", "ovn-controller", "data network"}
    assert {one.host for one in symptoms} == {"h2"}


OWN, OF_SUBNET, FOREIGN = "10.0.0.2", "10.0.0.53", "192.0.2.53"
SERVING = {"id": "p", "owner": "network:dhcp", "host": "n1", "addresses": [OWN]}
SUBNET = {"id": "s", "version": 4, "cidr": "10.0.0.0/24", "gateway": None, "dhcp": True, "routes": []}


@pytest.mark.parametrize(
    ("given", "serving", "foreign"),
    [
        ([FOREIGN], [SERVING], [FOREIGN]),
        ([OF_SUBNET], [SERVING], []),
        ([OWN, FOREIGN], [SERVING], []),
        ([OF_SUBNET, FOREIGN], [SERVING], []),
        # The guest asks itself first.
        (["127.0.0.53"], [SERVING], []),
        # OVN answers whoever is asked.
        ([FOREIGN], [{**SERVING, "owner": "network:distributed"}], []),
    ],
    ids=["foreign", "of the subnet", "its own as well", "that of the subnet as well", "itself", "without a DHCP agent"],
)
def test_a_resolver_that_neither_dnsmasq_nor_the_subnet_has_is_given_wrongly(given, serving, foreign):
    found = check("name", source="second", resolvers=given)
    network = as_json.network(id="n", serving=serving, subnets=[{**SUBNET, "resolvers": [OF_SUBNET]}])
    there = case(found)
    record = as_json.typed({**as_json.plain(there.record), "instance": as_json.instance(networks=[network])})
    symptoms = dataplane.paths(Case(record, there.stage, WEIGHTS))
    wrong = [(*one.place, *one.reported) for one in symptoms if one.code is Code.FOREIGN_RESOLVER]
    assert wrong == [("dnsmasq", "n1", address) for address in foreign]


def test_a_name_from_elsewhere_accuses_nobody():
    assert dataplane.paths(case({**check("name"), "target": None})) == []


def test_other_content_of_a_volume_accuses_nobody():
    assert dataplane.paths(case(check("volume"))) == []


def test_what_holds_and_what_other_stages_found_are_no_symptoms():
    assert dataplane.paths(case(check("ping", "ok"), check("size", "unreadable"))) == []
    assert dataplane.paths(case_of([host("h1")], stage("metadata"))) == []


def test_the_wires_of_both_hosts_count_and_those_of_a_third_do_not():
    def wired(name, mtu, **facts):
        links = [{"name": "eth1", "mtu": mtu, "up": True, "addresses": ["10.9.0.1"], "dropped": 7}]
        return {**host(name, **facts), "stores": {"links": links}}

    hosts = [wired("h1", 1500, domain={"name": "d"}), wired("h2", 1400), wired("h3", 1300), wired("h4", 1500)]
    found = surroundings.links(case(check("ping"), hosts=hosts))
    assert [(one.code, one.host) for one in found] == [(Code.MTU_SMALLER, "h2")]


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ({"metadata": True, "user_data": False, "no_user_data": "timed out"}, [Code.USER_DATA_UNANSWERED]),
        ({"metadata": True, "user_data": False}, []),
        ({"metadata": False, "user_data": False, "no_user_data": "timed out"}, []),
        ({"metadata": True, "user_data": True, "no_user_data": "timed out"}, []),
    ],
)
def test_user_data_that_do_not_come_may_be_longer_than_a_packet(shown, found):
    failed = stage("metadata", details={"guest": shown})
    assert [one.code for one in guest.user_data(case_of([host("h1")], failed))] == found


def test_a_second_guest_that_does_not_prove_itself_is_judged_as_the_first_one_would_be():
    asked = {"step": "dhcp_start", "at_s": 3.0}
    shown = {"lines": 90, "steps": [asked], "lease": None, "metadata": False, "user_data": False, "own": None}
    booted, proved = as_json.stage("boot", "ok"), as_json.stage("metadata", "ok")
    failed = stage("dataplane", details={"checks": [], "guest": shown}, error=error(kind="no_lease"))
    hosts = [host("h1"), host("h2", domain={"name": "d"})]
    record = as_json.typed({"stages": [booted, proved, failed], "hosts": hosts, "instance": as_json.instance()})
    [first, judged] = record.as_second_guest.stages
    assert (first.stage, judged.stage, judged.error.kind) == ("boot", "metadata", "no_lease")
    found = guest.console(Case(record.as_second_guest, judged, WEIGHTS))
    assert {(one.code, one.host) for one in found} == {(Code.DHCP_UNANSWERED, "h2")}


def test_a_second_guest_that_proved_itself_leaves_the_paths_to_be_judged():
    failed = stage("dataplane", details={"checks": []}, error=error(kind="no_paths"))
    record = as_json.typed({"stages": [as_json.stage("metadata", "ok"), failed]})
    assert record.as_second_guest is record
