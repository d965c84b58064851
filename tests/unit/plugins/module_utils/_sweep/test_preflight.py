# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look at a cloud before a sweep, by the recorded answers of a real cloud."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import ExcludedHost
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import preflight, preflight_capacity
from hosts_by_hand import Cloud, capacity_of, down, host, hosts, inventory, usual

# Some seconds after the recorded heartbeats
NOW = datetime.fromisoformat("2026-11-21T17:04:45+00:00").timestamp()


@pytest.fixture
def answer_of(recorded_answer):
    """Return a function that gives the answer of a service, by the name of its recording."""
    return lambda name: next(iter(json.loads(recorded_answer(name)["text"]).values()))


@pytest.fixture
def compute(answer_of):
    return next(service for service in answer_of("nova services") if service["host"] == "compute2")


def status(service, **changes):
    check = preflight.service_check({**service, **changes}, "nova", NOW, 90)
    return check.status, check.reason


@pytest.mark.parametrize("name", ["nova services", "cinder services"])
def test_services_that_report_are_healthy(answer_of, name):
    checks = [preflight.service_check(service, "nova", NOW, 90) for service in answer_of(name)]
    assert {check.status for check in checks} == {"ok"}
    assert checks[0].name.endswith(f"on {checks[0].host} is alive")


def test_a_heartbeat_is_in_universal_time_whatever_the_zone_here(compute):
    assert status(compute) == ("ok", "nova-compute on compute2 last reported 14 s ago")


def test_dead_service_is_named_with_its_last_report(compute):
    assert status(compute, state="down") == (
        "failed",
        "nova-compute on compute2 is down; it last reported 14 s ago",
    )


def test_service_that_counts_as_up_must_have_reported(compute):
    assert status(compute, updated_at="2026-11-21T16:04:45.000000") == (
        "failed",
        "nova-compute on compute2 counts as up, but last reported 3600 s ago",
    )


def test_without_a_limit_the_state_that_the_cloud_reports_counts(compute):
    """A devstack lets its services report themselves every two minutes."""
    old = {**compute, "updated_at": "2026-11-21T17:02:45.000000"}
    assert preflight.service_check(old, "nova", NOW, None).status == "ok"


def test_a_service_that_was_just_set_up_need_not_have_reported_itself(compute):
    reason = "nova-compute on compute2 is new and has not reported yet"
    assert status(compute, updated_at=None) == ("ok", reason)


def test_a_service_that_never_reported_itself_is_down_after_a_while(compute):
    reason = "nova-compute on compute2 is down; it has never reported"
    assert status(compute, updated_at=None, state="down") == ("failed", reason)


def test_what_an_operator_switched_off_need_not_live(compute):
    off = {"state": "down", "status": "disabled"}
    assert status(compute, **off, disabled_reason="repair") == ("ok", "nova-compute on compute2 is disabled: repair")
    assert status(compute, **off) == ("ok", "nova-compute on compute2 is disabled: no reason given")


def test_what_switched_itself_off_is_broken(compute):
    reason = "AUTO: Connection to libvirt lost: 1"
    assert status(compute, status="disabled", disabled_reason=reason) == (
        "failed",
        f"nova-compute on compute2 has disabled itself: {reason}",
    )


def test_the_hosts_are_those_that_no_operator_switched_off(answer_of):
    services = answer_of("nova services")
    assert preflight.compute_hosts(services) == (["compute1", "compute2"], [])
    computes = {service["host"]: service for service in services if service["binary"] == "nova-compute"}
    computes["compute1"].update(status="disabled", disabled_reason="AUTO: Connection to libvirt lost: 1")
    computes["compute2"].update(status="disabled", disabled_reason="repair")
    assert preflight.compute_hosts(services) == (["compute1"], [ExcludedHost("compute2", "disabled: repair")])


def test_a_host_in_no_cell_is_not_a_hypervisor(answer_of):
    hypervisors = answer_of("nova hypervisors")
    assert preflight.mapped_checks(["compute1", "compute2"], hypervisors) == []
    checks = preflight.mapped_checks(["compute1", "compute9"], hypervisors)
    assert [(check.host, check.status) for check in checks] == [("compute9", "failed")]
    assert "nova-manage cell_v2 discover_hosts" in checks[0].reason


def test_agents(answer_of):
    agents = answer_of("neutron agents")
    assert {check.status for check in preflight.agent_checks(agents, NOW, 90)} == {"ok"}
    agents[0].update(alive=False)
    agents[1].update(alive=False, admin_state_up=False)
    checks = preflight.agent_checks(agents, NOW, 90)
    assert [check.status for check in checks[:2]] == ["failed", "ok"]
    first, second = (f"{agent['binary']} on {agent['host']}" for agent in agents[:2])
    heard = datetime.fromisoformat(f"{agents[0]['heartbeat_timestamp']}+00:00").timestamp()
    assert checks[0].reason == f"{first} is down; it last reported {round(NOW - heard)} s ago"
    assert checks[1].reason == f"{second} is disabled"


def test_an_empty_list_of_agents_is_unreadable(answer_of):
    checks = preflight.agent_checks(answer_of("neutron agents of others"), NOW, 90)
    assert [check.status for check in checks] == ["unreadable"]


@pytest.mark.parametrize(
    ("kinds", "answer", "why", "status", "words"),
    [
        (["public"], 401, None, "ok", "http://c answers 401"),
        (["public"], 503, None, "failed", "the public endpoint of image, http://c, answers 503"),
        (["public"], None, "refused", "failed", "the public endpoint of image, http://c, does not answer: refused"),
        (["admin"], None, "refused", "unreadable", "does not answer: refused; no run uses it"),
        (["admin", "public"], None, "refused", "failed", "the admin/public endpoint of image"),
        (["admin"], 500, None, "failed", "the admin endpoint of image, http://c, answers 500"),
    ],
)
def test_endpoints(kinds, answer, why, status, words):
    check = preflight.endpoint_check(preflight.EndpointAnswer("image", kinds, "http://c", answer, why), ["public"])
    assert check.status == status
    assert words in check.reason


DEMAND = preflight.Demand(parallel=4, vcpus=1, ram=128, makes_network=True, volume_gb=2, floating_ip=False)


def test_demand_is_that_of_all_runs_in_parallel():
    assert preflight.needs(DEMAND) == {
        ("nova", "instances"): 4,
        ("nova", "cores"): 4,
        ("nova", "ram"): 512,
        ("neutron", "security_group"): 4,
        ("neutron", "port"): 8,
        ("neutron", "network"): 4,
        ("neutron", "subnet"): 4,
        ("cinder", "volumes"): 4,
        ("cinder", "gigabytes"): 8,
    }


def test_network_that_is_used_is_not_made():
    needed = preflight.needs(replace(DEMAND, parallel=1, makes_network=False, volume_gb=None, floating_ip=True))
    assert {name for _component, name in needed} == {
        "instances", "cores", "ram", "security_group", "port", "floatingip", "router",
    }  # fmt: skip
    assert needed["neutron", "port"] == 3


@pytest.mark.parametrize(
    ("parallel", "hosts", "values", "most"),
    [
        (4, ["a", "b"], {}, 2),
        (4, ["a", "b"], {"network": ["x", "y"], "zone": []}, 4),
        (4, ["a", "b", "c"], {"network": ["x", "y"]}, 4),
        (4, [], {"network": ["x", "y"]}, 2),
        (4, [], {}, 1),
    ],
)
def test_no_more_run_in_parallel_than_there_are_targets(parallel, hosts, values, most):
    assert preflight.most_parallel(parallel, hosts, values) == most


def test_quotas_as_the_services_give_them(answer_of):
    quotas = {
        "nova": preflight.absolute(answer_of("nova limits")["absolute"], preflight.NOVA_LIMITS),
        "cinder": preflight.absolute(answer_of("cinder limits")["absolute"], preflight.CINDER_LIMITS),
        "neutron": preflight.detailed(answer_of("neutron quota details")),
    }
    assert quotas["neutron"]["security_group"] == (100, 1)
    for number, wrong in ((4, set()), (50, {"port"}), (70, {"port", "instances", "volumes"})):
        needed = preflight.needs(replace(DEMAND, parallel=number, volume_gb=1))
        needed["neutron", "port"] *= 6
        checks = [
            check for component in quotas for check in preflight.quota_checks(component, needed, quotas[component])
        ]
        assert len(checks) == len(needed)
        assert {check.name.split()[3] for check in checks if check.status == "failed"} == wrong


def test_quota_check_reports_how_much_is_left():
    assert preflight.quota_check("nova", "cores", 4, -1, 9).reason == "cores: 4 needed in parallel, no limit"
    assert preflight.quota_check("nova", "cores", 4, 10, 6).status == "ok"
    check = preflight.quota_check("nova", "cores", 4, 10, 12)
    assert check.reason.startswith("cores: 4 needed in parallel, but only 0 of 10 left")


# Room for the flavor

FULL = usual(VCPU=inventory(8, 8))


def fits_on(cloud, *names):
    checks = preflight_capacity.checks_of_hosts(capacity_of(cloud), names)
    return [(check.name, check.status, check.reason, check.host) for check in checks]


def test_hosts_with_room_have_one_check():
    assert fits_on(Cloud(hosts(2)), "compute1", "compute2") == [
        ("flavor small fits on compute hosts", "ok", 'flavor "small" fits on 2 compute hosts', None)
    ]


def test_host_without_room_fails_with_its_numbers():
    cloud = Cloud([host(inventories=FULL), host("compute2")])
    failed, passed = fits_on(cloud, "compute1", "compute2")
    assert failed == (
        "flavor small fits on compute1", "failed", "compute1 has 0 of 8 VCPUs free, 1 needed", "compute1"
    )  # fmt: skip
    assert passed[1] == "ok"


def test_host_that_does_not_exist_fails():
    ((_name, status, reason, _host),) = fits_on(Cloud(hosts(1)), "compute9")
    assert (status, reason) == ("failed", "No host fits: compute9 is no compute host")


def test_host_that_is_down_has_a_check_of_its_service_alone():
    assert fits_on(Cloud([down(host())]), "compute1") == []


@pytest.mark.parametrize("path", ["/flavors", "/os-services", "/allocation_candidates"])
def test_capacity_that_cannot_be_read_is_no_failure(path):
    capacity = capacity_of(Cloud(hosts(2), failing={path: 403, "/inventories": 403}))
    for checks in (
        preflight_capacity.checks_of_hosts(capacity, ["compute1"]),
        preflight_capacity.checks_of_cloud(capacity),
    ):
        assert [(check.kind, check.status) for check in checks] == [("api", "unreadable")]


@pytest.mark.parametrize(("count", "status"), [(16, "ok"), (17, "failed")])
def test_cloud_needs_room_for_all_instances_in_parallel(count, status):
    (check,) = preflight_capacity.checks_of_cloud(capacity_of(Cloud(hosts(2)), count=count))
    assert (check.kind, check.status) == ("capacity", status)


def test_cloud_with_broken_hosts_has_the_checks_of_their_services_alone():
    assert preflight_capacity.checks_of_cloud(capacity_of(Cloud([down(host())]))) == []
