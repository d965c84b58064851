# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms that the guest shows: what it wrote on its console, and how it was answered."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import shares
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import guest as guest_module
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from cases_by_hand import case_of
from cases_by_hand import stage as a_stage

HERE = as_json.host("c1", facts={"domain": {"uuid": "x"}})
# The components that may have lost a request for a lease, if nothing else is known
LOST = ["data network", "dnsmasq", "ovn-controller"]


def guest(*steps, **more):
    said = {"lines": 3, "steps": [{"step": step} for step in steps], **more}
    return a_stage("metadata", details={"guest": said})


def dhcp(**more):
    """A host with a dnsmasq that runs, knows the guest, and has heard nothing of it."""
    port = {"processes": [1], "hosts": [{"mac": "m"}], "log": [], **more}
    return as_json.host("n1", facts={"dhcp": {"port": port}})


def accused(symptoms):
    return [symptom.peer or symptom.component for symptom in symptoms]


@pytest.mark.parametrize(
    ("stage", "components"),
    [
        (a_stage("boot"), []),
        # The console was not read.
        (a_stage("metadata"), []),
        (guest(lines=0), ["vm-instance"]),
        # A guest that has not begun yet has written nothing by right.
        ({**guest(lines=0), "stage": "boot"}, []),
        (guest(), []),
        (guest("dhcp_start"), LOST),
        (guest("dhcp_start", "lease"), []),
    ],
)
def test_the_console_tells_how_far_the_guest_came(stage, components):
    assert accused(guest_module.console(case_of([], stage))) == components


@pytest.mark.parametrize(
    ("name", "ago_s", "maker"),
    [
        ("c1", 60.0, "nova-compute"),
        ("c1", 86400.0, "vm-instance"),
        # The guest is on another host.
        ("c0", 60.0, "vm-instance"),
    ],
)
def test_an_empty_console_may_be_of_who_has_made_the_machine_with_new_settings(name, ago_s, maker):
    services = [{"component": "nova-compute", "unit": "nova-compute.service", "state": "running"}]
    domain = {"domain": {"uuid": "x"}} if name == "c1" else {}
    changed = {"changed": [{"path": "/etc/nova/nova.conf", "ago_s": ago_s}]}
    host = as_json.host(name, facts={"services": services, **domain}, examination=changed)
    assert accused(guest_module.console(case_of([host, HERE], guest(lines=0)))) == [maker]


@pytest.mark.parametrize("stage", [guest(lines=0), guest("dhcp_start")])
def test_a_guest_is_on_the_host_of_the_instance(stage):
    found = guest_module.console(case_of([as_json.host("c0"), HERE], stage))
    assert {symptom.host for symptom in found} == {"c1"}


@pytest.mark.parametrize(
    ("server", "components"),
    [
        # dnsmasq runs, knows the guest, and heard nothing: the requests are lost on their way.
        (dhcp(), ["data network"]),
        (dhcp(log=[{"at": 1}]), LOST),
        (dhcp(hosts=[]), LOST),
        (dhcp(processes=[], hosts=None, log=None), LOST),
        (dhcp(processes=None, hosts=None, log=None), LOST),
        # Its log could not be read.
        (dhcp(log=None), LOST),
    ],
)
def test_a_guest_that_got_no_lease_points_at_the_network_if_the_server_waits(server, components):
    hosts = [server, as_json.host("n2", facts={"dhcp": None}), HERE]
    assert accused(guest_module.console(case_of(hosts, guest("dhcp_start")))) == components


def test_a_request_that_is_lost_anywhere_counts_less_than_one_that_is_lost_in_the_network():
    anywhere = guest_module.console(case_of([HERE], guest("dhcp_start")))
    in_network = guest_module.console(case_of([dhcp(), HERE], guest("dhcp_start")))
    assert shares.strength(anywhere[0], WEIGHTS) < shares.strength(in_network[0], WEIGHTS)


def answered(*statuses):
    steps = [{"step": "no_metadata", "http_status": status} for status in statuses]
    return a_stage("metadata", details={"guest": {"steps": steps}})


# An agent that has another secret is refused, and one that reaches nothing answers by itself.
OF_EITHER = (403, 500, 503)
EITHER = [*guest_module.METADATA_AGENTS, *guest_module.METADATA_API]


@pytest.mark.parametrize("status", guest_module.METADATA)
def test_an_answer_to_the_guest_points_at_its_sender(status):
    components, how = guest_module.METADATA[status]
    found = guest_module.metadata(case_of([], answered(200, status)))
    assert [(symptom.kind, symptom.component, symptom.how) for symptom in found] == [
        (Kind.ANSWER, component, how) for component in components
    ]
    assert all(symptom.own and symptom.status == status for symptom in found)


@pytest.mark.parametrize("status", guest_module.METADATA)
def test_an_answer_that_several_services_give_is_surely_of_none_of_them(status):
    """Of Neutron's metadata agents a cloud has one; some answers may be of that one or of Nova's service behind it."""
    found = guest_module.metadata(case_of([], answered(status)))
    assert {symptom.certain for symptom in found} == {status not in OF_EITHER}


@pytest.mark.parametrize("status", OF_EITHER)
def test_some_answers_point_at_the_agents_and_at_the_service_behind_them(status):
    found = guest_module.metadata(case_of([], answered(status)))
    assert accused(found) == [*guest_module.METADATA_AGENTS, "nova-api-metadata"]
    (alone,) = guest_module.metadata(case_of([], answered(401)))
    assert all(shares.strength(symptom, WEIGHTS) < shares.strength(alone, WEIGHTS) for symptom in found)


def test_the_proxys_answers_say_the_same_and_count_once():
    requests = [{"status": 200}, {"status": 404}, {"status": 404}, {"status": 418}]
    proxies = as_json.host("n1", facts={"metadata": {"port": [{"requests": requests}, {"requests": None}]}})
    found = guest_module.metadata(case_of([proxies], a_stage("metadata")))
    assert accused(found) == list(guest_module.METADATA_AGENTS)
    assert guest_module.metadata(case_of([proxies], answered(404))) == found


@pytest.mark.parametrize(
    ("option", "accused_ones"),
    [
        ("[DEFAULT] metadata_proxy_shared_secret", list(guest_module.METADATA_AGENTS)),
        ("[DEFAULT] metadata_workers", EITHER),
    ],
)
def test_an_agent_with_another_secret_than_the_others_is_refused_for_that(option, accused_ones):
    path = "/etc/neutron/neutron_ovn_metadata_agent.ini"
    agent = {"component": "neutron-ovn-metadata-agent", "unit": "n.service", "state": "running"}
    different = {"differences": [{"kind": "option", "what": f"{path} {option}"}]}
    home = as_json.host("c1", facts={"services": [agent], "domain": {"name": "d"}}, examination=different)
    assert accused(guest_module.metadata(case_of([home], answered(403)))) == accused_ones
    # That of another guest's host has nothing to do with it.
    other = as_json.host("c1", facts={"services": [agent]}, examination=different)
    assert accused(guest_module.metadata(case_of([other], answered(403)))) == EITHER


@pytest.mark.parametrize("stage", [{**answered(403), "stage": "boot"}, answered(200), answered()])
def test_other_answers_say_nothing(stage):
    assert guest_module.metadata(case_of([], stage)) == []


@pytest.mark.parametrize(
    ("hosts", "stage", "components"),
    [
        ([], guest(), set()),
        ([], guest("dhcp_start"), {"vm-instance"}),
        ([], guest("dhcp_start", "lease"), set()),
        ([dhcp(log=[{"at": 1}])], guest("dhcp_start"), {"vm-instance"}),
        # A server that waits unheard has done its part as well.
        ([dhcp()], guest("dhcp_start"), {"vm-instance", "dnsmasq"}),
        ([dhcp()], {**guest("dhcp_start"), "stage": "boot"}, set()),
    ],
)
def test_a_guest_that_asked_for_a_lease_has_done_its_part(hosts, stage, components):
    assert guest_module.did_their_part(case_of(hosts, stage)) == components


@pytest.mark.parametrize(
    ("status", "seconds", "has_metadata", "components"),
    [
        (200, 0.5, False, ["data network"]),
        # The guest may have given up before.
        (200, 9.5, False, []),
        (500, 0.5, False, []),
        (200, 0.5, True, []),
    ],
)
def test_metadata_that_were_sent_in_time_are_lost_on_their_way(status, seconds, has_metadata, components):
    request = {"at": 7.0, "resolution_s": 1e-6, "status": status, "path": "/openstack", "seconds": seconds}
    proxy = {"owner": "n", "processes": [1], "requests": [request]}
    network_host = as_json.host("n1", facts={"metadata": {"port": [proxy]}})
    found = guest_module.lost_metadata(case_of([HERE, network_host], guest("no_metadata", metadata=has_metadata)))
    assert accused(found) == components
    assert guest_module.lost_metadata(case_of([network_host], a_stage("boot"))) == []
