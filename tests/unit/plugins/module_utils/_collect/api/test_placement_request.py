# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a flavor and an image ask of a host, and the questions that Placement is asked about it."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import placement_request as module
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api.answers import (
    AggregateAnswer,
    FlavorDetailAnswer,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import Constraint, RequestGroup

DISABLED = "COMPUTE_STATUS_DISABLED"


def asked(specs=None, image=None, flavor=None, **more):
    made = {"name": "f", "vcpus": 2, "ram": 512, "disk": 10, "extra_specs": specs or {}, **(flavor or {})}
    return module.requested(module.Wanted(FlavorDetailAnswer(**made), image or {}, **more))


@pytest.mark.parametrize(
    ("flavor", "more", "disk"),
    [
        ({}, {}, 10),
        ({"ephemeral": 5, "swap": 1500}, {}, 17),
        ({"ephemeral": 5, "swap": ""}, {"from_volume": True}, 5),
        ({}, {"from_volume": True}, None),
    ],
)
def test_disk_is_root_and_ephemeral_and_swap_in_whole_gigabytes(flavor, more, disk):
    assert asked(flavor=flavor, **more).resources.get("DISK_GB") == disk


@pytest.mark.parametrize(
    ("specs", "image", "resources"),
    [
        ({}, {}, {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 10}),
        ({"hw:cpu_policy": "dedicated"}, {}, {"PCPU": 2, "MEMORY_MB": 512, "DISK_GB": 10}),
        ({}, {"hw_cpu_policy": "dedicated"}, {"PCPU": 2, "MEMORY_MB": 512, "DISK_GB": 10}),
        (
            {"resources:VCPU": "0", "resources:CUSTOM_NODE": "1"},
            {},
            {"MEMORY_MB": 512, "DISK_GB": 10, "CUSTOM_NODE": 1},
        ),
        ({"resources:VGPU": "many"}, {}, {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 10}),
        ({"hw:mem_encryption": "True"}, {}, {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 10, "MEM_ENCRYPTION_CONTEXT": 1}),
        (
            {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
            {},
            {"PCPU": 3, "MEMORY_MB": 512, "DISK_GB": 10},
        ),
        ({"hw:emulator_threads_policy": "isolate"}, {}, {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 10}),
        (
            {"hw:pmem": "4gb,16GB, 4GB"},
            {},
            {
                "VCPU": 2,
                "MEMORY_MB": 512,
                "DISK_GB": 10,
                "CUSTOM_PMEM_NAMESPACE_4GB": 2,
                "CUSTOM_PMEM_NAMESPACE_16GB": 1,
            },
        ),
    ],
)
def test_properties_change_the_resources(specs, image, resources):
    assert asked(specs, image).resources == resources


def test_traits_are_those_of_flavor_and_image():
    found = asked({"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden"}, {"trait:CUSTOM_C": "required"})
    assert (found.required, found.forbidden) == (("CUSTOM_A", "CUSTOM_C"), (DISABLED, "CUSTOM_B"))


@pytest.mark.parametrize(
    ("specs", "trait"),
    [
        ({"hw:tpm_version": "2.0"}, "COMPUTE_SECURITY_TPM_2_0"),
        ({"hw:maxphysaddr_mode": "emulate"}, "COMPUTE_ADDRESS_SPACE_EMULATED"),
        ({"hw:ephemeral_encryption": "True"}, "COMPUTE_EPHEMERAL_ENCRYPTION"),
        ({"hw:virtio_packed_ring": "true"}, "COMPUTE_NET_VIRTIO_PACKED"),
    ],
)
def test_what_only_some_hosts_can_do_needs_its_trait(specs, trait):
    """As Nova 2025.1 asks Placement for it."""
    assert asked(specs).required == (trait,)


def test_what_is_switched_off_needs_no_trait():
    assert asked({"hw:ephemeral_encryption": "false", "hw:virtio_packed_ring": "0"}).required == ()


def test_numbered_groups_stay_apart():
    specs = {"resources1:VGPU": "1", "trait1:CUSTOM_A": "required", "resources_n:SRIOV_NET_VF": "2"}
    found = asked({**specs, "group_policy": "isolate"})
    assert found.groups[1:] == (
        RequestGroup("1", {"VGPU": 1}, ("CUSTOM_A",)),
        RequestGroup("_n", {"SRIOV_NET_VF": 2}),
    )
    query = module.questions(found, [], None, 9)[0].query
    assert query == {
        "limit": "9",
        "resources": "VCPU:2,MEMORY_MB:512,DISK_GB:10",
        "required": f"!{DISABLED}",
        "resources1": "VGPU:1",
        "required1": "CUSTOM_A",
        "resources_n": "SRIOV_NET_VF:2",
        "group_policy": "isolate",
    }


@pytest.mark.parametrize(
    ("zone", "host", "expected"),
    [
        (None, None, (None, None)),
        ("az1", None, ("az1", None)),
        ("az1:compute1", None, ("az1", "compute1")),
        ("az1:compute1:node1", None, ("az1", "compute1")),
        (":compute1", None, (None, "compute1")),
        ("az1", "compute2", ("az1", "compute2")),
    ],
)
def test_zone_may_name_a_host(zone, host, expected):
    found = asked(zone=zone, host=host)
    assert (found.zone, found.host) == expected


def test_each_constraint_is_left_out_once():
    specs = {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden"}
    found = module.questions(asked(specs, zone="az1"), ["u1", "u2"], "r1", 9)
    assert [(question.without, question.name) for question in found] == [
        (None, None),
        (Constraint.REQUIRED, "CUSTOM_A"),
        (Constraint.FORBIDDEN, "CUSTOM_B"),
        (Constraint.RESOURCE, "VCPU"),
        (Constraint.RESOURCE, "MEMORY_MB"),
        (Constraint.RESOURCE, "DISK_GB"),
        (Constraint.ZONE, "az1"),
    ]
    first, without_trait, *_rest, anywhere = (question.query for question in found)
    assert (first["member_of"], first["in_tree"]) == ("in:u1,u2", "r1")
    assert first["required"] == f"CUSTOM_A,!{DISABLED},!CUSTOM_B"
    assert without_trait["required"] == f"!{DISABLED},!CUSTOM_B"
    assert "member_of" not in anywhere


def test_zone_is_made_by_its_aggregates():
    aggregates = [
        AggregateAnswer("a", (), {"availability_zone": "az1"}, "u1"),
        AggregateAnswer("b", (), {"ssd": "true"}, "u2"),
        AggregateAnswer("c", (), None, "u3"),
        AggregateAnswer("d", (), {"availability_zone": "az1"}, None),
    ]
    assert module.aggregates_of("az1", aggregates) == ["u1"]
    assert module.aggregates_of(None, aggregates) == []
