# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is near the first step that is lacking, and what is made of what speaks against them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import suspects as suspects_module
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes


def step(name, source="a", target="b", status="unseen", kind="HTTP REST", follows=(), **more):
    return shapes.step(name, source, target, f"m{name}", kind, status=status, follows=list(follows), **more)


def host(name, *services, names=(), **facts):
    told = [{"component": one, "unit": f"{one}.service", "state": "running", "for_s": 1.0} for one in services]
    return shapes.host(name, facts={"names": list(names), "services": told, **facts})


def suspects(paths=(), steps=(), hosts=(), stage="boot", **record):
    return suspects_module.Suspects({"hosts": list(hosts), **record}, {"stage": stage}, list(paths), list(steps))


def weights(found):
    return {one["component"]: one["weight"] for one in found.ranked()}


def test_without_anything_those_who_do_the_stages_work_are_all_there_is():
    ranked = suspects(stage="volume").ranked()
    assert [one["component"] for one in ranked] == suspects_module.WORKERS["volume"]
    assert {one["weight"] for one in ranked} == {suspects_module.WORKER}
    assert {one["host"] for one in ranked} == {None}
    assert {one["step"] and one["step"]["id"] for one in ranked} == {None}


@pytest.mark.parametrize("stage", ["auth", "image", "network", "volume", "boot", "metadata"])
def test_every_stage_has_who_does_its_work(stage):
    assert suspects(stage=stage).ranked()


def test_a_stage_that_nobody_knows_has_none():
    assert suspects(stage="dance").ranked() == []


def test_who_owed_the_first_step_comes_before_who_was_to_take_it():
    one = step("1", "nova-compute", "billing", "unseen")
    found = weights(suspects([[one]], [one]))
    assert found["nova-compute"] == suspects_module.OWED
    assert found["billing"] == suspects_module.TARGET


def test_what_is_proved_to_be_missing_weighs_more():
    one = step("1", "nova-compute", "x", "missing")
    assert (
        weights(suspects([[one]], [one], [host("c1")]))["nova-compute"] == suspects_module.OWED + suspects_module.PROVED
    )
    # Without a look at any host it may have begun all the same.
    assert weights(suspects([[one]], [one]))["nova-compute"] < suspects_module.OWED + 1


def test_another_than_the_source_may_owe_a_step():
    one = step("1", "neutron-server", "x", "missing", owed_by="nova-compute")
    found = weights(suspects([[one]], [one], [host("c1")], stage="none"))
    assert found["nova-compute"] == suspects_module.OWED + suspects_module.PROVED
    assert found["neutron-server"] <= suspects_module.LEANT_ON


def test_steps_further_on_and_other_paths_weigh_less():
    first, second = step("1", "a", "x"), step("2", "b", "x", "missing")
    paths = [[first, second], [step("3", "c", "x")]]
    found = weights(suspects(paths, [first, second], [host("c1")], stage="none"))
    assert found["a"] == suspects_module.OWED
    assert found["b"] == (suspects_module.OWED + suspects_module.PROVED) / 2
    assert found["c"] == suspects_module.OWED / 2


def test_who_was_to_go_on_is_near_too():
    first, second = step("1", "a", "x"), step("2", "later", "x", follows=["1"])
    assert weights(suspects([[first]], [first, second]))["later"] == suspects_module.WORKER


@pytest.mark.parametrize(("kind", "carriers"), suspects_module.CARRIERS.items())
def test_a_message_may_be_lost_on_its_way(kind, carriers):
    one = step("1", "p", "q", kind=kind)
    found = weights(suspects([[one]], [one], stage="none"))
    assert {name: found[name] for name in carriers} == dict.fromkeys(carriers, suspects_module.CARRIER)


@pytest.mark.parametrize(("name", "known"), suspects_module.STANDS_FOR.items())
def test_names_of_flows_that_are_no_components(name, known):
    one = step("1", name, name)
    assert set(weights(suspects([[one]], [one], stage="none"))) == set(known)


def test_what_a_component_leans_on_is_suspected_with_it():
    one = step("1", "nova-scheduler", "x")
    found = weights(suspects([[one]], [one], stage="none"))
    assert found["placement-api"] == suspects_module.LEANT_ON


def test_the_best_reason_to_be_near_is_kept_with_its_step():
    first, second = step("1", "x", "nova-compute"), step("2", "nova-compute", "y")
    found = suspects([[first, second]], [first, second], stage="none")
    (one,) = (one for one in found.ranked() if one["component"] == "nova-compute")
    assert (one["weight"], one["step"]["id"]) == (1, "1")


def test_a_pointer_at_who_is_not_near_is_passed_over():
    found = suspects(stage="auth")
    found.point("cinder-volume", "controller1", 10, "is stopped")
    found.point(None, None, 10, "is nobody")
    assert "cinder-volume" not in weights(found)


def test_pointers_of_different_kinds_add_up_by_host_and_the_heaviest_is_told_first():
    found = suspects(stage="auth")
    found.kind = "errors"
    found.point("keystone", "c1", 1, "coughs")
    found.point("keystone", "c1", 0.5, "coughs again")
    found.kind = "units"
    found.point("keystone", "c1", 10, "is stopped")
    found.point("keystone", "c2", 3, "sneezes")
    first, second, *_more = found.ranked()
    assert (first["host"], first["weight"], first["why"][:2]) == ("c1", 11.5, ["is stopped", "coughs"])
    assert (second["host"], second["weight"]) == ("c2", 3.5)
    assert first["why"][-1] == first["role"] == "has a part in the stage auth"


def test_the_same_said_twice_is_told_once():
    found = suspects(stage="auth")
    for _time in range(2):
        found.point("keystone", "c1", 1, "coughs")
    assert found.ranked()[0]["why"].count("coughs") == 1


HERE = host("compute1", "nova-compute", "libvirt", names=["compute1.example"], domain={"uuid": "x"})
THERE = host("compute2", "nova-compute", "libvirt")
OWED = step("1", "nova-compute", "libvirt", kind="libvirt")


@pytest.mark.parametrize("component", ["nova-compute", "libvirt"])
def test_what_lies_beside_another_instance_is_no_suspect(component):
    found = suspects([[OWED]], [OWED], [HERE, THERE])
    found.point(component, "compute2", 10, "is stopped")
    (one,) = (one for one in found.ranked() if one["component"] == component)
    assert (one["host"], "is stopped" in one["why"]) == ("compute1", False)
    found.point(component, "compute1", 10, "is stopped")
    assert found.ranked()[0]["why"][0] == "is stopped"


def test_where_the_hosts_of_the_instance_is_not_known_each_may_be_it():
    found = suspects([[OWED]], [OWED], [{**HERE, "facts": {}}, THERE])
    found.point("nova-compute", "compute2", 10, "is stopped")
    assert (found.host, found.ranked()[0]["host"]) == (None, "compute2")


def test_what_there_is_once_has_its_place_and_what_there_is_twice_has_none():
    hosts = [host("c1", "keystone", "memcached"), host("c2", "memcached")]
    found = {one["component"]: one["host"] for one in suspects(stage="auth", hosts=hosts).ranked()}
    assert (found["keystone"], found["memcached"], found["ldap"]) == ("c1", None, None)


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
            one
            for one in suspects_module.Suspects(record, each, path, path[0]).ranked()
            if one["component"] == "nova-compute"
        )
        for each in (stage, {**stage, "error": {"kind": "deadline"}})
    ]
    assert [one["weight"] for one in weights] == [2.5, 5]
