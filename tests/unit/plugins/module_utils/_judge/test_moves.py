# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A move of a server that failed: it may lie with the host from which the server was to go, or with the other one."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice, model, own_errors
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import (
    configuration,
    fronts,
    hosts,
    logs,
    steps,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code
from cases_by_hand import agent, case_of, cause, flow, logged
from cases_by_hand import error as error_of
from cases_by_hand import stage as a_stage

SOURCE, DESTINATION, THIRD = "compute1", "compute2", "compute3"
AT = "2026-11-21T10:00:02.000000+00:00"
ADDRESS = {
    "component": "nova-compute",
    "kind": "address",
    "text": "[DEFAULT] my_ip is 10.0.0.9, no address of this host",
    "given": {"path": "/etc/nova/nova.conf", "option": "[DEFAULT] my_ip", "address": "10.0.0.9"},
}
DIFFERENCE = {"kind": "option", "what": "/etc/nova/nova.conf [DEFAULT] my_ip"}


def journey(action="live-migration", before=SOURCE):
    actions = [{"action": action, "request_id": None}]
    leg = {"operation": "move", "status": "failed", "actions": actions, "host_before": before}
    return a_stage("journey", details={"legs": [leg]})


def host(name, domain=None, **examination):
    names = ("nova-compute", "libvirt")
    services = [{"component": name, "unit": f"{name}.service", "state": "running"} for name in names]
    facts = {"services": services, "names": [name], "domain": domain}
    return as_json.host(name, facts=facts, examination=examination or None)


def both(*more, **examination):
    return [host(SOURCE, domain={"name": "instance-1"}), host(DESTINATION, **examination), *more]


def step(name, *follows, source="libvirt (source)", target="libvirt (destination)", **seen):
    return as_json.step(name, source, target, "m", "libvirt", follows=list(follows), stage="journey", **seen)


def working(*names):
    return [agent(host=name) for name in names]


TWO = working(SOURCE, DESTINATION)


def case(*more, stage=None, **record):
    agents = working(SOURCE, DESTINATION, *(one["host"] for one in more))
    return case_of(both(*more), stage or journey(), **{"agents": agents, **record})


def test_of_a_cloud_with_two_compute_hosts_the_other_one_is_the_destination():
    assert (case().source, case().destination) == (SOURCE, DESTINATION)
    assert case(stage=journey("rebuild")).destination is None


@pytest.mark.parametrize(("operation", "is_anywhere"), [("shelve", True), ("boot_snapshot", True), ("rebuild", False)])
def test_a_server_may_be_on_any_host_for_which_nova_chooses_one_again(operation, is_anywhere):
    leg = {"operation": operation, "status": "failed", "actions": [{"action": "unshelve"}], "host_before": SOURCE}
    found = case(stage=a_stage("journey", details={"legs": [leg]}))
    assert (found.may_move, found.source, found.destination) == (is_anywhere, None, None)


@pytest.mark.parametrize(
    ("agents", "before"),
    [
        # The inventory may have two hosts of a larger cloud, and a plain user sees neither hosts nor agents.
        (working(SOURCE, DESTINATION, THIRD), SOURCE),
        (working(SOURCE, DESTINATION), None),
        ([], SOURCE),
    ],
)
def test_the_destination_is_unknown_without_a_proof(agents, before):
    assert case(agents=agents, stage=journey(before=before)).destination is None


def test_a_server_that_has_moved_already_came_from_the_same_host():
    moved = [host(SOURCE), host(DESTINATION, domain={"name": "instance-1"})]
    known = case_of(moved, journey("resize"), agents=working(SOURCE, DESTINATION))
    assert (known.source, known.destination) == (SOURCE, DESTINATION)


def test_a_step_of_the_destination_that_another_service_has_logged_shows_no_host():
    seen = step("0", source="nova-compute (destination)", status="seen", at=AT, host="controller1")
    assert case(flows=[flow([seen])]).destination == DESTINATION


def test_of_three_compute_hosts_it_is_the_one_on_which_a_step_was_seen():
    third = host(THIRD)
    assert case(third).destination is None
    seen = step("0", source="nova-compute (destination)", status="seen", at=AT, host=THIRD)
    assert case(third, flows=[flow([seen])]).destination == THIRD


@pytest.mark.parametrize(("is_there", "expected"), [(True, DESTINATION), (False, None)])
def test_an_error_about_the_destination_counts_there(is_there, expected):
    error = logged(host=SOURCE, exception="libvirt.libvirtError", how="refused", at_destination=is_there)
    (symptom,) = logs.errors(case(errors=[error]))
    assert (symptom.peer, symptom.peer_host) == ("libvirt", expected)


def test_a_step_between_two_hosts_is_missing_at_both():
    missing = step("1", status="missing")
    (symptom, *_workers) = steps.missing(case(flows=[flow([missing])]))
    assert (symptom.host, symptom.peer_host) == (SOURCE, DESTINATION)


def test_who_is_let_in_without_credentials_is_as_little_to_blame_as_who_refuses():
    error = logged(host=SOURCE, exception="libvirt.libvirtError", how="denied", at_destination=True)
    moving = case(errors=[error])
    cause = model.causes(moving, logs.errors(moving))[0]
    assert (cause.component, cause.host) == ("libvirt", DESTINATION)


# Only a live migration uses the address for that.
@pytest.mark.parametrize(("action", "codes"), [("migrate", [Code.OWN_REPORT]), ("live-migration", []), ("rebuild", [])])
def test_the_address_that_a_host_gives_of_itself_counts_for_a_move(action, codes):
    told = hosts.reports(case_of(both(reports=[ADDRESS]), journey(action), agents=TWO))
    assert [symptom.code for symptom in told] == codes


def test_what_fails_at_such_an_address_lies_with_who_gives_it():
    address = {"peer": "libvirt", "peer_address": "10.0.0.9", "how": "refused"}
    error = logged(host=SOURCE, exception="libvirt.libvirtError", at_destination=True, **address)
    (symptom,) = logs.errors(case_of(both(reports=[ADDRESS]), journey("migrate"), errors=[error], agents=TWO))
    assert (symptom.peer, symptom.peer_host) == ("nova-compute", DESTINATION)


def test_the_advice_shows_the_option_and_the_addresses_of_its_host():
    (symptom,) = hosts.reports(case_of(both(reports=[ADDRESS]), journey("migrate"), agents=TWO))
    shown = advice.by_component(symptom, cause("nova-compute", DESTINATION))
    assert shown.host == DESTINATION
    assert shown.command.endswith("/^my_ip/p}' /etc/nova/nova.conf; ip -brief address")


def test_the_address_of_a_host_that_takes_no_part_is_left_alone():
    third = host(THIRD, reports=[ADDRESS])
    seen = step("0", source="nova-compute (destination)", status="seen", at=AT, host=DESTINATION)
    assert hosts.reports(case(third, stage=journey("migrate"), flows=[flow([seen])])) == []


def test_what_is_at_an_unknown_destination_is_not_at_the_source():
    error = logged(host=SOURCE, exception="libvirt.libvirtError", how="refused", at_destination=True)
    missing = step("1", status="missing")
    moving = case(host(THIRD), errors=[error], flows=[flow([missing])])
    blamed = {(cause.component, cause.host): cause.confidence for cause in model.causes(moving, logs.errors(moving))}
    assert blamed["libvirt", None] > blamed.get(("libvirt", SOURCE), 0)


def test_hosts_rightly_differ_in_their_own_addresses():
    assert configuration.differences(case_of(both(differences=[DIFFERENCE]), journey())) == []
    wrong = configuration.differences(case_of(both(differences=[DIFFERENCE], reports=[ADDRESS]), journey()))
    assert [(one.component, one.host) for one in wrong] == [("nova-compute", DESTINATION)]
    other = {**DIFFERENCE, "what": "/etc/nova/nova.conf [DEFAULT] debug"}
    assert len(configuration.differences(case_of(both(differences=[other]), journey()))) > 0


def named(name, *addresses):
    return [{"name": name, "addresses": list(addresses)}]


@pytest.mark.parametrize(
    ("addresses", "codes"),
    [(["10.0.0.9"], [Code.NAME_ELSEWHERE]), ([], [Code.NAME_UNRESOLVED]), (["10.0.0.12"], [])],
)
def test_the_name_of_the_destination_counts_where_the_server_came_from(addresses, codes):
    right = named(DESTINATION, "10.0.0.12")
    known = [
        host(SOURCE, domain={"name": "instance-1"}, names=named(DESTINATION, *addresses)),
        host(DESTINATION, names=right),
        as_json.host("controller1", examination={"names": right}),
    ]
    found = fronts.names(case_of(known, journey(), agents=TWO))
    assert [(one.code, one.component, one.host) for one in found] == [(code, "nova-compute", SOURCE) for code in codes]
    assert fronts.names(case_of(known, journey("rebuild"))) == []


def test_a_command_that_fails_on_another_host_may_lie_with_the_same_component_there():
    known = [host(SOURCE, domain={"name": "instance-1"}), host(DESTINATION)]
    known[1]["facts"]["addresses"] = ["10.0.0.12"]
    refused = logged(host=SOURCE, exception="nova.exception.ResizeError", how="denied", peer_address="10.0.0.12")
    (symptom,) = logs.errors(case_of(known, journey("migrate"), errors=[refused], agents=TWO))
    assert (symptom.component, symptom.peer, symptom.peer_host) == ("nova-compute", "nova-compute", DESTINATION)


@pytest.mark.parametrize(
    ("message", "is_own"),
    [("the cloud answered (400): No valid host was found", False), ("the cloud answered (400): Bad flavor", True)],
)
def test_a_move_that_finds_no_host_is_no_mistake_of_the_run(message, is_own):
    stage = {**journey(), "error": {**error_of("invalid"), "message": message}}
    assert own_errors.is_own_error(case(stage=stage).stage) is is_own


def test_the_name_counts_where_the_server_came_from_also_once_it_has_moved():
    right = named(DESTINATION, "10.0.0.12")
    known = [
        host(SOURCE, names=named(DESTINATION, "10.0.0.9")),
        host(DESTINATION, domain={"name": "instance-1"}, names=right),
        as_json.host("controller1", examination={"names": right}),
    ]
    (found,) = fronts.names(case_of(known, journey("resize"), agents=TWO))
    assert (found.code, found.host) == (Code.NAME_ELSEWHERE, SOURCE)


def test_an_address_that_only_moves_use_leaves_other_operations_alone():
    error = logged(
        host=SOURCE, exception="libvirt.libvirtError", how="refused", peer="libvirt", peer_address="10.0.0.9"
    )
    rebuilt = case_of(both(reports=[ADDRESS]), journey("rebuild"), errors=[error], agents=TWO)
    assert [symptom.peer for symptom in logs.errors(rebuilt)] == ["libvirt"]
    assert rebuilt.givers == {}
