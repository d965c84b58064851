# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why no host takes an instance: each reason happens on a cloud, is read, explained and put into a headline."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import capacity as module
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import (
    Candidates,
    Capacity,
    Pool,
    VolumeCapacity,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Agent, FilterResult
from ansible_collections.stackproof.provision.plugins.module_utils._model.shortage import Answer, Shortage
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import LONGEST_HEADLINE as LONGEST
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import capacity as messages
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.words import fitting
from hosts_by_hand import Cloud, Host, capacity_of, disabled, down, host, hosts, id_of, inventory, usual

GPU = {"name": "gpu", "extra_specs": {"trait:CUSTOM_GPU": "required"}}
UNKNOWN = {"name": "gpu", "extra_specs": {"trait:CUSTOM_UNKNOWN": "required"}}
BIG = {"name": "big", "ram": 4096}
DOMAIN = "rack-12.room-3.frankfurt.cloud.example.org"
FULL = usual(VCPU=inventory(8, 8))


def explained(cloud, filters=(), **asked):
    return module.explain(capacity_of(cloud, **asked), filters)


def headline(explanation):
    return fitting(messages.headlines(explanation), LONGEST)


def of_memory(*free):
    """Return hosts with this much memory free."""
    return [
        Host(f"compute{number}", inventories=usual(MEMORY_MB=inventory(8192, 8192 - left)))
        for number, left in enumerate(free, 1)
    ]


REASONS = {
    "all are disabled": (
        Cloud([disabled(made) for made in hosts(3)]),
        Shortage.DISABLED,
        "No host fits: all 3 compute hosts are disabled (maintenance)",
    ),
    "the only one is disabled": (
        Cloud([disabled(host(), None)]),
        Shortage.DISABLED,
        "No host fits: compute1 is disabled",
    ),
    "disabled and switched off": (
        Cloud([replace(disabled(host()), service={"status": "disabled", "state": "down", "disabled_reason": "disk"})]),
        Shortage.DISABLED,
        "No host fits: compute1 is disabled (disk)",
    ),
    "forced down": (
        Cloud([down(made, forced_down=True) for made in hosts(2)]),
        Shortage.FORCED_DOWN,
        "No host fits: both compute hosts are forced down",
    ),
    "in no cell": (
        Cloud(hosts(2, has_hypervisor=False)),
        Shortage.UNMAPPED,
        "No host fits: both compute hosts have no compute node in a mapped cell",
    ),
    "a resource provider of another hypervisor": (
        Cloud([host(providers={"compute1": id_of("other")})]),
        None,
        "No host fits: compute1 has a resource provider with another uuid than its hypervisor",
    ),
    "a trait that nobody has": (
        Cloud([*hosts(2), disabled(host("compute3"))], flavor=GPU),
        Shortage.TRAIT_MISSING,
        'No host fits: flavor "gpu" requires trait CUSTOM_GPU, which no resource provider has',
    ),
    "the first of two traits that nobody has": (
        Cloud(hosts(2), flavor={"extra_specs": {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "required"}}),
        Shortage.TRAIT_MISSING,
        'No host fits: flavor "small" requires trait CUSTOM_A, which no resource provider has',
    ),
    "a trait that the image asks for": (
        Cloud(hosts(2), properties={"hw_tpm_version": "2.0"}),
        Shortage.TRAIT_MISSING,
        "No host fits: the image requires trait COMPUTE_SECURITY_TPM_2_0, which no resource provider has",
    ),
    "a trait that Placement does not know": (
        Cloud(hosts(2), flavor=UNKNOWN),
        Shortage.TRAIT_MISSING,
        'No host fits: flavor "gpu" requires trait CUSTOM_UNKNOWN, which no resource provider has',
    ),
    "a trait that only another zone has": (
        Cloud([host(), host("compute2", traits=("CUSTOM_GPU",), zone="az2")], flavor=GPU),
        Shortage.TRAIT_MISSING,
        'No host fits: flavor "gpu" requires trait CUSTOM_GPU, which compute1 does not have',
        {"zone": "nova"},
    ),
    "a trait that is forbidden": (
        Cloud(hosts(2, traits=("CUSTOM_OLD",)), flavor={"extra_specs": {"trait:CUSTOM_OLD": "forbidden"}}),
        Shortage.TRAIT_FORBIDDEN,
        'No host fits: flavor "small" forbids trait CUSTOM_OLD, which both compute hosts have',
    ),
    "marked as disabled": (
        Cloud(hosts(2, traits=("COMPUTE_STATUS_DISABLED",))),
        Shortage.TRAIT_FORBIDDEN,
        "No host fits: both compute hosts have the trait COMPUTE_STATUS_DISABLED, but an enabled service",
    ),
    "outside of the aggregate": (
        Cloud(hosts(2), flavor={"name": "fast", "extra_specs": {"aggregate_instance_extra_specs:ssd": "true"}}),
        Shortage.OUTSIDE_AGGREGATE,
        'No host fits: flavor "fast" needs an aggregate with ssd=true, and no compute host is in one',
    ),
    "a resource class that is not there": (
        Cloud(hosts(2), flavor={"name": "gpu", "extra_specs": {"resources:VGPU": "1"}}),
        Shortage.CLASS_MISSING,
        'No host fits: flavor "gpu" needs 1 VGPU, which no compute host has',
    ),
    "more than one instance may have": (
        Cloud(hosts(3), flavor={"name": "huge", "vcpus": 64}),
        Shortage.MAX_UNIT,
        'No host fits: flavor "huge" needs 64 VCPUs; no compute host gives an instance more than 8',
    ),
    "less than one instance may have": (
        Cloud(hosts(2, inventories=usual(VCPU=inventory(8, min_unit=2)))),
        Shortage.MIN_UNIT,
        'No host fits: flavor "small" needs 1 VCPU; both compute hosts give no less than 2',
    ),
    "between two steps": (
        Cloud([host(inventories=usual(MEMORY_MB=inventory(8192, step_size=1000)))]),
        Shortage.STEP_SIZE,
        'No host fits: flavor "small" needs 1024 MB of memory; compute1 gives it in steps of 1000 only',
    ),
    "less than one gives, and another one is full": (
        Cloud([host(inventories=usual(VCPU=inventory(8, min_unit=2))), host("compute2", inventories=FULL)]),
        None,
        "No host fits: compute1 gives an instance no less than 2 VCPUs, compute2 has 0 of 8 VCPUs free",
    ),
    "too little memory free": (
        Cloud(of_memory(512, 2048, 1024), flavor=BIG),
        Shortage.NO_ROOM,
        "No host fits: all 3 compute hosts have less than 4096 MB of memory free (most: 2048 on compute2)",
    ),
    "too little memory free, or at all": (
        Cloud([*of_memory(512), host("compute2", inventories=usual(MEMORY_MB=inventory(2048)))], flavor=BIG),
        Shortage.NO_ROOM,
        "No host fits: both compute hosts have less than 4096 MB of memory free (most: 2048 on compute2)",
    ),
    "all is reserved": (
        Cloud(hosts(2, inventories=usual(VCPU=inventory(8, reserved=8)))),
        Shortage.NO_ROOM,
        "No host fits: both compute hosts have no VCPUs free (all reserved)",
    ),
    "one host is full": (
        Cloud([host(inventories=usual(VCPU=inventory(8, 6, reserved=2)))]),
        Shortage.NO_ROOM,
        "No host fits: compute1 has 0 of 8 VCPUs free; 1 needed (2 reserved)",
    ),
    "leftover allocations": (
        Cloud(
            [host(inventories=FULL, holds={id_of("gone"): {"VCPU": 6}, id_of("live"): {"VCPU": 2}})],
            servers=[id_of("live")],
        ),
        Shortage.NO_ROOM,
        "No host fits: compute1 has 0 of 8 VCPUs free; 1 needed (6 held by allocations of servers that are gone)",
    ),
    "disabled and full": (
        Cloud([*map(disabled, hosts(2)), host("compute3", inventories=FULL)]),
        None,
        "No host fits: 2 of 3 compute hosts are disabled (maintenance), the third has 0 of 8 VCPUs free",
    ),
    "disabled for different reasons": (
        Cloud([disabled(host()), disabled(host("compute2"), "disk"), host("compute3", inventories=FULL)]),
        None,
        "No host fits: 2 of 3 compute hosts are disabled, the third has 0 of 8 VCPUs free",
    ),
    "all disabled for different reasons": (
        Cloud([disabled(host()), disabled(host("compute2"), "disk")]),
        Shortage.DISABLED,
        "No host fits: both compute hosts are disabled",
    ),
    "several reasons": (
        Cloud(
            [
                *map(disabled, hosts(3)),
                host("compute4", inventories=FULL),
                host("compute5", service={"state": "down", "forced_down": True}),
            ]
        ),
        None,
        "No host fits: 3 of 5 compute hosts are disabled (maintenance), compute4 has 0 of 8 VCPUs free, "
        "compute5 is forced down",
    ),
    "several reasons on hosts with long names": (
        Cloud(
            [
                *map(disabled, hosts(3)),
                host(f"compute4.{DOMAIN}", inventories=FULL),
                host(f"compute5.{DOMAIN}", service={"state": "down", "forced_down": True}),
            ]
        ),
        None,
        "No host fits: 3 disabled, 1 full, 1 forced down",
    ),
    "the host that was asked for": (
        Cloud([disabled(host()), host("compute2")]),
        Shortage.DISABLED,
        "No host fits: compute1 is disabled (maintenance)",
        {"host": "compute1"},
    ),
    "a host that is none": (
        Cloud(hosts(2)),
        Shortage.HOST_UNKNOWN,
        "No host fits: compute9 is no compute host",
        {"host": "compute9"},
    ),
    "a host of which only Placement knows": (
        Cloud([host(), host("compute2", has_service=False)]),
        Shortage.NO_SERVICE,
        "No host fits: compute2 is left as a resource provider, without a nova-compute service",
        {"host": "compute2"},
    ),
    "a zone that is none": (
        Cloud(hosts(2)),
        Shortage.ZONE_UNKNOWN,
        'No host fits: availability zone "az9" does not exist (zones: nova)',
        {"zone": "az9"},
    ),
    "too few places": (
        Cloud(hosts(2)),
        Shortage.FEWER,
        'No host fits: flavor "small": there is room for 16 of 20 instances',
        {"count": 20},
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_each_reason_is_explained_in_a_line(name):
    cloud, code, text, *asked = REASONS[name]
    explanation = explained(cloud, **(asked[0] if asked else {}))
    assert headline(explanation) == text
    assert explanation.answer == Answer.SHORT
    assert (explanation.reason.code if explanation.reason else None) == code or code is None
    assert explanation.unread == ()


def test_each_reason_of_a_host_has_a_sentence_for_one_and_for_several():
    of_hosts = set(messages.SINGULAR)
    assert of_hosts == set(messages.PLURAL) == set(messages.SHORT)
    assert of_hosts | set(messages.FORMS) == set(Shortage)


@pytest.mark.parametrize("name", REASONS)
def test_capacity_survives_the_way_through_a_record(name):
    cloud, _code, _text, *asked = REASONS[name]
    capacity = capacity_of(cloud, **(asked[0] if asked else {}))
    assert codec.from_json(Capacity, codec.to_json(capacity)) == capacity


@pytest.mark.parametrize("name", REASONS)
def test_headline_of_long_names_is_complete_in_100_characters(name):
    cloud, _code, _text, *asked = REASONS[name]
    long = "x" * 90
    renamed = replace(cloud, flavor={**cloud.flavor, "name": long}) if cloud.flavor else cloud
    explanation = explained(renamed, **(asked[0] if asked else {}))
    forms = [*messages.headlines(explanation)]
    assert any(len(form) <= LONGEST for form in forms)
    assert headline(explanation) in forms


def test_cell_that_nova_does_not_reach_is_down():
    answer = explained(Cloud([host(service={"state": None, "status": "UNKNOWN"})]))
    assert (answer.answer, answer.hosts[0].reasons[0].code) == (Answer.BROKEN, Shortage.DOWN)


# A component is to blame


@pytest.mark.parametrize(
    ("cloud", "broken", "code"),
    [
        (Cloud([down(made) for made in hosts(2)]), ["compute1", "compute2"], Shortage.DOWN),
        (Cloud([disabled(host()), down(host("compute2"))]), ["compute2"], Shortage.DOWN),
        (Cloud([host(inventories=FULL), down(host("compute2"))]), ["compute2"], Shortage.DOWN),
        (Cloud([disabled(host(), "AUTO: Connection to libvirt lost")]), ["compute1"], Shortage.DISABLED_ITSELF),
        (Cloud([host(providers={})]), ["compute1"], Shortage.NO_PROVIDER),
        (Cloud([host(inventories={})]), ["compute1"], Shortage.NO_INVENTORY),
    ],
)
def test_host_that_would_take_it_if_a_component_worked_is_no_matter_of_capacity(cloud, broken, code):
    explanation = explained(cloud)
    assert explanation.answer == Answer.BROKEN
    assert [found.host for found in explanation.hosts if found.is_broken] == broken
    assert code in {reason.code for found in explanation.hosts for reason in found.reasons}


def test_cloud_without_any_nova_compute_is_broken():
    explanation = explained(Cloud([]))
    assert (explanation.answer, explanation.reason.code) == (Answer.BROKEN, Shortage.NO_HOSTS)


def test_host_that_is_down_does_not_matter_if_no_host_could_take_the_request():
    explanation = explained(Cloud([host(), down(host("compute2"))], flavor=GPU))
    assert explanation.answer == Answer.SHORT
    assert "requires trait CUSTOM_GPU" in headline(explanation)


# Room


def test_request_that_fits_has_its_room():
    explanation = explained(Cloud([*hosts(2), disabled(host("compute3"))]))
    assert (explanation.answer, explanation.room) == (Answer.FITS, 16)
    assert messages.answer_line(explanation) == 'flavor "small" fits on 2 hosts; there is room for 16 instances'


def test_shared_disk_counts_for_the_hosts_of_its_aggregate():
    capacity = capacity_of(Cloud([host(inventories={"VCPU": inventory(8), "MEMORY_MB": inventory(8192)})]))
    compute = capacity.compute
    assert Shortage.CLASS_MISSING in codes_of(capacity)
    (own,) = compute.hosts[0].providers
    disk = {"DISK_GB": replace(own.inventories["MEMORY_MB"], total=500)}
    shared = replace(own, id="s", root="s", inventories=disk, aggregates=("a",))
    joined = replace(compute.hosts[0], providers=(replace(own, aggregates=("a",)),))
    assert Shortage.CLASS_MISSING not in codes_of(
        replace(capacity, compute=replace(compute, hosts=(joined,), shared=(shared,)))
    )


def codes_of(capacity):
    return [reason.code for found in module.explain(capacity).hosts for reason in found.reasons]


@pytest.mark.parametrize(
    ("providers", "text"),
    [
        ({"compute1": id_of("other"), "old": id_of("compute1")}, "No host fits: compute1 has 2 resource providers"),
        ({"old": id_of("compute1")}, "No host fits: compute1 has a resource provider named old"),
        (None, "No host fits: compute1 is not offered by Placement"),
    ],
)
def test_host_that_placement_does_not_offer_for_no_visible_reason_is_looked_for_by_its_providers(providers, text):
    capacity = capacity_of(Cloud([host(providers=providers)]))
    compute = replace(capacity.compute, candidates=(Candidates(()),))
    assert headline(module.explain(replace(capacity, compute=compute))) == text


# Details


def test_each_host_has_a_line_with_its_numbers():
    cloud = Cloud(
        [
            disabled(host()),
            host("compute2", inventories=usual(VCPU=inventory(8, 6, reserved=2)), holds={id_of("gone"): {"VCPU": 4}}),
        ]
    )
    assert messages.details(explained(cloud)) == (
        "compute1 is disabled (maintenance)",
        "compute2 has 0 of 8 VCPUs free, 1 needed (2 reserved, 4 held by allocations of servers that are gone)",
        "without VCPU, 1 host would fit: compute2",
    )


def test_what_placement_offers_without_one_constraint_is_shown():
    lines = messages.details(explained(Cloud(hosts(2), flavor=GPU)))
    assert "without CUSTOM_GPU, 2 hosts would fit: compute1, compute2" in lines


def test_what_placement_offers_of_a_host_that_nova_does_not_use_is_not_shown():
    cloud = Cloud([down(made, forced_down=True) for made in hosts(2)], flavor=GPU)
    assert not [line for line in messages.details(explained(cloud)) if "would fit" in line]


def test_many_hosts_are_counted():
    lines = messages.details(explained(Cloud([disabled(made) for made in hosts(13)])))
    assert lines[-1] == "and 3 more hosts"


# The scheduler's filters

LEFT = [FilterResult("ServerGroupAntiAffinityFilter", 2, 0)]


@pytest.mark.parametrize("capacity", [Capacity(), capacity_of(Cloud(hosts(2)))])
def test_filter_that_left_no_host_explains_what_capacity_does_not(capacity):
    explanation = module.explain(capacity, [FilterResult("ComputeFilter", 2, 2), *LEFT])
    assert (explanation.answer, headline(explanation)) == (
        Answer.SHORT,
        "No host fits: ServerGroupAntiAffinityFilter left 0 of 2 hosts",
    )


@pytest.mark.parametrize(
    ("name", "specs", "properties", "text"),
    [
        ("ImagePropertiesFilter", {}, {"hw_architecture": "aarch64", "os_type": "linux"}, "hw_architecture=aarch64"),
        ("NUMATopologyFilter", {"hw:mem_page_size": "1GB"}, {"hw_architecture": "x86_64"}, "hw:mem_page_size=1GB"),
        ("PciPassthroughFilter", {"pci_passthrough:alias": "gpu:1"}, {}, "pci_passthrough:alias=gpu:1"),
    ],
)
def test_filter_is_reported_with_the_properties_that_it_goes_by(name, specs, properties, text):
    capacity = capacity_of(Cloud(hosts(2), flavor={"extra_specs": specs}, properties=properties))
    explanation = module.explain(capacity, [FilterResult(name, 2, 0)])
    assert headline(explanation) == f"No host fits: {name} left 0 of 2 hosts ({text})"


def test_filter_of_services_is_no_explanation():
    assert module.explain(Capacity(), [FilterResult("ComputeFilter", 2, 0)]).answer == Answer.UNKNOWN


def test_reasons_of_hosts_come_before_a_filter():
    explanation = module.explain(capacity_of(Cloud(hosts(2), flavor=GPU)), LEFT)
    assert explanation.reason.code == Shortage.TRAIT_MISSING


# What was not read


@pytest.mark.parametrize("path", ["/os-services", "/os-hypervisors", "/resource_providers", "/allocation_candidates"])
def test_missing_answer_leaves_open_whether_it_fits(path):
    explanation = explained(Cloud(hosts(2), failing={path: 503}))
    assert explanation.answer in (Answer.UNKNOWN, Answer.FITS)
    assert explanation.unread
    assert messages.details(explanation)[-1].startswith("not read: ")


def test_disabled_hosts_explain_it_without_placement():
    explanation = explained(Cloud([disabled(made) for made in hosts(2)], failing={"/resource_providers": 503}))
    assert headline(explanation) == "No host fits: both compute hosts are disabled (maintenance)"


def test_hosts_that_are_too_many_to_be_read_are_explained_by_what_placement_offers(monkeypatch):
    monkeypatch.setattr("hosts_by_hand.module.MOST_HOSTS", 2)
    capacity = capacity_of(Cloud(hosts(5), flavor={**GPU, "vcpus": 1}))
    explanation = module.explain(capacity)
    assert capacity.hosts_left_out == 3
    assert headline(explanation) == (
        'No host fits: flavor "gpu" requires trait CUSTOM_GPU, which no resource provider has'
    )


# Volumes


def volume(*pools, backend="ceph", size=10):
    return Capacity(volume=VolumeCapacity("fast", backend, size, pools))


@pytest.mark.parametrize(
    ("capacity", "text"),
    [
        (
            volume(Pool("c1@ceph2#ceph2", "ceph2", 90.0, 100.0)),
            'No back end fits: volume type "fast" needs back end "ceph", which no pool has (back ends: ceph2)',
        ),
        (
            volume(Pool("c1@ceph#ceph", "ceph", 4.0, 100.0), Pool("c1@b#b", "b", 90.0, 100.0)),
            "No back end fits: the pool has less than 10 GB free (most: 4)",
        ),
    ],
)
def test_volume_that_no_pool_takes_is_explained(capacity, text):
    explanation = module.explain_volume(capacity)
    assert (explanation.answer, headline(explanation)) == (Answer.SHORT, text)


def back_end(name, host="c1", enabled=False, reason=None):
    return Agent("cinder-volume", host, "up", enabled, None, back_end=name, reason=reason)


@pytest.mark.parametrize(
    ("capacity", "services", "text"),
    [
        (volume(), [back_end("ceph", reason="moving")], "cinder-volume c1@ceph is disabled (moving)"),
        (volume(), [back_end("ceph", "c1"), back_end("ceph", "c2")], "all 2 back ends are disabled"),
        # The section of the back end has another name than the back end itself.
        (volume(backend="fast"), [back_end("ceph")], "cinder-volume c1@ceph is disabled"),
        (volume(backend=None), [back_end("ceph")], "cinder-volume c1@ceph is disabled"),
        (
            volume(Pool("c1@b#b", "b", 90.0, 100.0)),
            [back_end("ceph"), back_end("b", enabled=True)],
            "cinder-volume c1@ceph is disabled",
        ),
    ],
)
def test_back_ends_that_are_all_disabled_are_named(capacity, services, text):
    assert headline(module.explain_volume(capacity, services)) == f"No back end fits: {text}"


def test_a_back_end_that_is_enabled_and_has_not_reported_is_no_matter_of_capacity():
    services = [back_end("ceph", "c1"), back_end("ceph", "c2", enabled=True)]
    assert module.explain_volume(volume(), services).answer == Answer.UNKNOWN


@pytest.mark.parametrize(
    "capacity",
    [
        Capacity(),
        volume(),
        volume(Pool("c1@ceph#ceph", "ceph", 90.0, 100.0)),
        volume(Pool("c1@ceph#ceph", "ceph", None, None)),
    ],
)
def test_volume_that_a_pool_could_take_is_no_matter_of_capacity(capacity):
    assert module.explain_volume(capacity).answer == Answer.UNKNOWN


def test_messages_decide_nothing():
    """A sentence is made at the end: the judge has none."""
    assert not re.search(r"messages", Path(module.__file__).read_text())
