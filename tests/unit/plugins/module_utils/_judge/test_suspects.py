# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The components near the first step that is lacking, and the weight of the evidence against them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import suspects as suspects_module
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes


def step(name, source="a", target="b", status="unseen", kind="HTTP REST", follows=(), **more):
    return shapes.step(name, source, target, f"m{name}", kind, status=status, follows=list(follows), **more)


def host(name, *services, names=(), **facts):
    running = [
        {"component": component, "unit": f"{component}.service", "state": "running", "for_s": 1.0}
        for component in services
    ]
    return shapes.host(name, facts={"names": list(names), "services": running, **facts})


def made(paths=(), steps=(), hosts=(), stage="boot", **record):
    return suspects_module.Suspects({"hosts": list(hosts), **record}, {"stage": stage}, list(paths), list(steps))


def weights(suspects):
    return {suspect["component"]: suspect["weight"] for suspect in suspects.ranked()}


def test_without_anything_those_who_do_the_stages_work_are_all_there_is():
    ranked = made(stage="volume").ranked()
    assert [suspect["component"] for suspect in ranked] == suspects_module.WORKERS["volume"]
    assert {suspect["weight"] for suspect in ranked} == {suspects_module.WORKER}
    assert {suspect["host"] for suspect in ranked} == {None}
    assert {suspect["step"] and suspect["step"]["id"] for suspect in ranked} == {None}


@pytest.mark.parametrize("stage", ["auth", "image", "network", "volume", "boot", "metadata"])
def test_every_stage_has_who_does_its_work(stage):
    assert made(stage=stage).ranked()


def test_a_stage_that_nobody_knows_has_none():
    assert made(stage="dance").ranked() == []


@pytest.mark.parametrize(
    ("reporting", "lacking", "present"),
    [
        ("neutron-l2-agent", "ovn-controller", "neutron-metadata-agent"),
        ("ovn-controller", "neutron-metadata-agent", "ovn-controller"),
    ],
)
def test_a_component_that_this_cloud_does_not_have_is_no_suspect(reporting, lacking, present):
    names = weights(made(stage="metadata", agents=[{"component": reporting}]))
    assert lacking not in names
    assert present in names
    assert {lacking, present} <= weights(made(stage="metadata")).keys()


def test_who_owed_the_first_step_comes_before_who_was_to_take_it():
    first = step("1", "nova-compute", "billing", "unseen")
    weighed = weights(made([[first]], [first]))
    assert weighed["nova-compute"] == suspects_module.OWED
    assert weighed["billing"] == suspects_module.TARGET


def test_what_is_proved_to_be_missing_weighs_more():
    first = step("1", "nova-compute", "x", "missing")
    assert (
        weights(made([[first]], [first], [host("c1")]))["nova-compute"] == suspects_module.OWED + suspects_module.PROVED
    )
    # If nobody looked at a host, the step may have begun all the same.
    assert weights(made([[first]], [first]))["nova-compute"] < suspects_module.OWED + 1


def test_another_than_the_source_may_owe_a_step():
    first = step("1", "neutron-server", "x", "missing", owed_by="nova-compute")
    weighed = weights(made([[first]], [first], [host("c1")], stage="none"))
    assert weighed["nova-compute"] == suspects_module.OWED + suspects_module.PROVED
    assert weighed["neutron-server"] <= suspects_module.LEANT_ON


@pytest.mark.parametrize(
    ("steps", "dnsmasq", "debtor"),
    [
        ([], [{"at": 1}], "vm-instance"),
        (["dhcp_start"], [{"at": 1}], "dnsmasq"),
        (["dhcp_start", "lease"], [{"at": 1}], "vm-instance"),
        # dnsmasq listens and heard nothing: both have done their part.
        (["dhcp_start"], [], None),
    ],
)
def test_the_guest_that_asked_for_a_lease_has_done_its_part(steps, dnsmasq, debtor):
    first = step("1", "vm-instance", "dnsmasq", "missing", kind="DHCP")
    stage = {"stage": "metadata", "details": {"guest": {"lines": 9, "steps": [{"step": name} for name in steps]}}}
    listening = host("n1", dhcp={"p": {"processes": [1], "hosts": [{"mac": "m"}], "log": dnsmasq}})
    suspects = suspects_module.Suspects({"hosts": [listening]}, stage, [[first]], [first])
    owing = [suspect["component"] for suspect in suspects.ranked() if suspect["role"] == "owed what is lacking"]
    assert owing == ([debtor] if debtor else [])
    assert weights(suspects)["data network"] == suspects_module.CARRIER


def test_steps_further_on_and_other_paths_weigh_less():
    first, second = step("1", "a", "x"), step("2", "b", "x", "missing")
    paths = [[first, second], [step("3", "c", "x")]]
    weighed = weights(made(paths, [first, second], [host("c1")], stage="none"))
    assert weighed["a"] == suspects_module.OWED
    assert weighed["b"] == (suspects_module.OWED + suspects_module.PROVED) / 2
    assert weighed["c"] == suspects_module.OWED / 2


def test_who_was_to_go_on_is_near_too():
    first, second = step("1", "a", "x"), step("2", "later", "x", follows=["1"])
    assert weights(made([[first]], [first, second]))["later"] == suspects_module.WORKER


@pytest.mark.parametrize(("kind", "carriers"), suspects_module.CARRIERS.items())
def test_a_message_may_be_lost_on_its_way(kind, carriers):
    first = step("1", "p", "q", kind=kind)
    weighed = weights(made([[first]], [first], stage="none"))
    assert {name: weighed[name] for name in carriers} == dict.fromkeys(carriers, suspects_module.CARRIER)


@pytest.mark.parametrize(("name", "components"), suspects_module.STANDS_FOR.items())
def test_names_of_flows_that_are_no_components(name, components):
    first = step("1", name, name)
    assert set(weights(made([[first]], [first], stage="none"))) == set(components)


def test_what_a_component_leans_on_is_suspected_with_it():
    first = step("1", "nova-scheduler", "x")
    weighed = weights(made([[first]], [first], stage="none"))
    assert weighed["placement-api"] == suspects_module.LEANT_ON


def test_the_best_reason_to_be_near_is_kept_with_its_step():
    first, second = step("1", "x", "nova-compute"), step("2", "nova-compute", "y")
    suspects = made([[first, second]], [first, second], stage="none")
    (suspect,) = (suspect for suspect in suspects.ranked() if suspect["component"] == "nova-compute")
    assert (suspect["weight"], suspect["step"]["id"]) == (1, "1")


def test_a_pointer_at_who_is_not_near_is_passed_over():
    suspects = made(stage="auth")
    suspects.point("cinder-volume", "controller1", 10, "is stopped")
    suspects.point(None, None, 10, "is nobody")
    assert "cinder-volume" not in weights(suspects)


def test_pointers_of_different_kinds_add_up_by_host_and_the_heaviest_is_told_first():
    suspects = made(stage="auth")
    suspects.kind = "errors"
    suspects.point("keystone", "c1", 1, "coughs")
    suspects.point("keystone", "c1", 0.5, "coughs again")
    suspects.kind = "units"
    suspects.point("keystone", "c1", 10, "is stopped")
    suspects.point("keystone", "c2", 3, "sneezes")
    first, second, *_more = suspects.ranked()
    assert (first["host"], first["weight"], first["why"][:2]) == ("c1", 11.5, ["is stopped", "coughs"])
    assert (second["host"], second["weight"]) == ("c2", 3.5)
    assert first["why"][-1] == first["role"] == "has a part in the stage auth"


def test_the_same_said_twice_is_told_once():
    suspects = made(stage="auth")
    for _time in range(2):
        suspects.point("keystone", "c1", 1, "coughs")
    assert suspects.ranked()[0]["why"].count("coughs") == 1


HERE = host("compute1", "nova-compute", "libvirt", names=["compute1.example"], domain={"uuid": "x"})
THERE = host("compute2", "nova-compute", "libvirt")
OWED = step("1", "nova-compute", "libvirt", kind="libvirt")


@pytest.mark.parametrize("component", ["nova-compute", "libvirt"])
def test_what_lies_beside_another_instance_is_no_suspect(component):
    suspects = made([[OWED]], [OWED], [HERE, THERE])
    suspects.point(component, "compute2", 10, "is stopped")
    (suspect,) = (suspect for suspect in suspects.ranked() if suspect["component"] == component)
    assert (suspect["host"], "is stopped" in suspect["why"]) == ("compute1", False)
    suspects.point(component, "compute1", 10, "is stopped")
    assert suspects.ranked()[0]["why"][0] == "is stopped"


def test_where_the_hosts_of_the_instance_is_not_known_each_may_be_it():
    suspects = made([[OWED]], [OWED], [{**HERE, "facts": {}}, THERE])
    suspects.point("nova-compute", "compute2", 10, "is stopped")
    assert (suspects.host, suspects.ranked()[0]["host"]) == (None, "compute2")


def test_what_there_is_once_has_its_place_and_what_there_is_twice_has_none():
    hosts = [host("c1", "keystone", "memcached"), host("c2", "memcached")]
    places = {suspect["component"]: suspect["host"] for suspect in made(stage="auth", hosts=hosts).ranked()}
    assert (places["keystone"], places["memcached"], places["ldap"]) == ("c1", None, None)


def test_places_are_by_component():
    assert suspects_module.places_of({"hosts": [host("a", "x", "y"), host("b", "y"), {"host": "c", "facts": {}}]}) == {
        "x": {"a"},
        "y": {"a", "b"},
    }


def test_once_nova_has_given_up_what_is_missing_weighs_less():
    path = [[step("1", "nova-compute", "libvirt", "missing", kind="libvirt")]]
    record = {"hosts": [host("c1")]}
    stage = {"stage": "boot", "error": {"kind": "build_failed"}}
    weights = [
        next(
            suspect
            for suspect in suspects_module.Suspects(record, ended, path, path[0]).ranked()
            if suspect["component"] == "nova-compute"
        )
        for ended in (stage, {**stage, "error": {"kind": "deadline"}})
    ]
    assert [suspect["weight"] for suspect in weights] == [2.5, 5]
