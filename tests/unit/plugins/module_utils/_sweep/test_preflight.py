# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look at a cloud before a sweep, by the recorded answers of a real cloud."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import preflight

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
    return check["status"], check["reason"]


@pytest.mark.parametrize("name", ["nova services", "cinder services"])
def test_living_services_are_well(answer_of, name):
    checks = [preflight.service_check(service, "nova", NOW, 90) for service in answer_of(name)]
    assert {check["status"] for check in checks} == {"ok"}
    assert checks[0]["name"].endswith(f"on {checks[0]['host']} is alive")


def test_a_heartbeat_is_in_universal_time_whatever_the_zone_here(compute):
    assert status(compute) == ("ok", "nova-compute on compute2 was last heard of 14 s ago")


def test_a_dead_service_is_named_with_its_last_word(compute):
    assert status(compute, state="down") == (
        "failed",
        "nova-compute on compute2 is down, it was last heard of 14 s ago",
    )


def test_a_service_that_is_said_to_be_up_must_have_been_heard_of(compute):
    assert status(compute, updated_at="2026-11-21T16:04:45.000000") == (
        "failed",
        "nova-compute on compute2 is said to be up, but it was last heard of 3600 s ago",
    )


def test_without_a_limit_the_cloud_s_own_word_counts(compute):
    """A devstack lets its services report themselves every two minutes."""
    old = {**compute, "updated_at": "2026-11-21T17:02:45.000000"}
    assert preflight.service_check(old, "nova", NOW, None)["status"] == "ok"


def test_a_service_that_was_just_set_up_need_not_have_reported_itself(compute):
    reason = "nova-compute on compute2 is new, and has not reported itself yet"
    assert status(compute, updated_at=None) == ("ok", reason)


def test_a_service_that_never_reported_itself_is_down_after_a_while(compute):
    reason = "nova-compute on compute2 is down, it was never heard of"
    assert status(compute, updated_at=None, state="down") == ("failed", reason)


def test_what_an_operator_switched_off_need_not_live(compute):
    off = {"state": "down", "status": "disabled"}
    assert status(compute, **off, disabled_reason="repair") == ("ok", "nova-compute on compute2 is disabled: repair")
    assert status(compute, **off) == ("ok", "nova-compute on compute2 is disabled: no reason is given")


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
    assert preflight.compute_hosts(services) == (["compute1"], [{"host": "compute2", "reason": "disabled: repair"}])


def test_a_host_in_no_cell_is_not_a_hypervisor(answer_of):
    hypervisors = answer_of("nova hypervisors")
    assert preflight.mapped_checks(["compute1", "compute2"], hypervisors) == []
    checks = preflight.mapped_checks(["compute1", "compute9"], hypervisors)
    assert [(check["host"], check["status"]) for check in checks] == [("compute9", "failed")]
    assert "nova-manage cell_v2 discover_hosts" in checks[0]["reason"]


def test_agents(answer_of):
    agents = answer_of("neutron agents")
    assert {check["status"] for check in preflight.agent_checks(agents, NOW, 90)} == {"ok"}
    agents[0].update(alive=False)
    agents[1].update(alive=False, admin_state_up=False)
    checks = preflight.agent_checks(agents, NOW, 90)
    assert [check["status"] for check in checks[:2]] == ["failed", "ok"]
    first, second = (f"{agent['binary']} on {agent['host']}" for agent in agents[:2])
    heard = datetime.fromisoformat(f"{agents[0]['heartbeat_timestamp']}+00:00").timestamp()
    assert checks[0]["reason"] == f"{first} is down, it was last heard of {round(NOW - heard)} s ago"
    assert checks[1]["reason"] == f"{second} is disabled"


def test_an_empty_list_of_agents_is_unreadable(answer_of):
    checks = preflight.agent_checks(answer_of("neutron agents of others"), NOW, 90)
    assert [check["status"] for check in checks] == ["unreadable"]


@pytest.mark.parametrize(
    ("kinds", "answer", "why", "status", "words"),
    [
        (["public"], 401, None, "ok", "http://c answers 401"),
        (["public"], 503, None, "failed", "the public endpoint of image, http://c, answers 503"),
        (["public"], None, "refused", "failed", "the public endpoint of image, http://c, does not answer: refused"),
        (["admin"], None, "refused", "unreadable", "does not answer: refused; the sweep does not use it"),
        (["admin", "public"], None, "refused", "failed", "the admin/public endpoint of image"),
        (["admin"], 500, None, "failed", "the admin endpoint of image, http://c, answers 500"),
    ],
)
def test_endpoints(kinds, answer, why, status, words):
    (check,) = preflight.endpoint_checks([("image", kinds, "http://c", answer, why)], ["public"])
    assert check["status"] == status
    assert words in check["reason"]


OPTIONS = {"network": None, "volume": "empty", "volume_size": 2, "floating_ip": False, "values": {}}
SMALL = {"vcpus": 1, "ram": 128}


def test_what_is_needed_at_the_same_time():
    assert preflight.needs(4, SMALL, OPTIONS) == {
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


@pytest.mark.parametrize("more", [{"network": "a"}, {"values": {"network": ["a", "b"]}}])
def test_what_is_used_is_not_made(more):
    needed = preflight.needs(1, SMALL, {**OPTIONS, **more, "volume": "none", "floating_ip": True})
    assert {name for _component, name in needed} == {
        "instances", "cores", "ram", "security_group", "port", "floatingip", "router",
    }  # fmt: skip
    assert needed["neutron", "port"] == 3


@pytest.mark.parametrize(
    ("at_once", "hosts", "values", "most"),
    [
        (4, ["a", "b"], {}, 2),
        (4, ["a", "b"], {"network": ["x", "y"], "zone": []}, 4),
        (4, ["a", "b", "c"], {"network": ["x", "y"]}, 4),
        (4, [], {"network": ["x", "y"]}, 2),
        (4, [], {}, 1),
    ],
)
def test_no_more_at_once_than_there_are_targets(at_once, hosts, values, most):
    assert preflight.most_at_once(at_once, hosts, values) == most


def test_quotas_as_the_services_give_them(answer_of):
    quotas = {
        "nova": preflight.absolute(answer_of("nova limits")["absolute"], preflight.NOVA_LIMITS),
        "cinder": preflight.absolute(answer_of("cinder limits")["absolute"], preflight.CINDER_LIMITS),
        "neutron": preflight.detailed(answer_of("neutron quota details")),
    }
    assert quotas["neutron"]["security_group"] == (100, 1)
    for number, wrong in ((4, set()), (50, {"port"}), (70, {"port", "instances", "volumes"})):
        needed = preflight.needs(number, SMALL, {**OPTIONS, "volume_size": 1})
        needed["neutron", "port"] *= 6
        checks = [
            check for component in quotas for check in preflight.quota_checks(component, needed, quotas[component])
        ]
        assert len(checks) == len(needed)
        assert {check["name"].split()[3] for check in checks if check["status"] == "failed"} == wrong


def test_a_quota_says_how_much_is_left():
    assert preflight.quota_check("nova", "cores", 4, -1, 9)["reason"] == "cores: 4 needed at the same time, no limit"
    assert preflight.quota_check("nova", "cores", 4, 10, 6)["status"] == "ok"
    check = preflight.quota_check("nova", "cores", 4, 10, 12)
    assert check["reason"].startswith("cores: 4 are needed at the same time, but only 0 of 10 are left")
