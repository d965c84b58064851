# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Nova asked Placement for is read out of the requests that Placement logs."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.line_messages import masked_path
from ansible_collections.stackproof.provision.plugins.module_utils._match.asked_of_placement import capacity_in
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event

# As Placement of the lab has logged it
LOGGED = (
    "/allocation_candidates?limit=200&resources=VCPU%3A1%2CMEMORY_MB%3A128%2CDISK_GB%3A1"
    "&required=%21COMPUTE_STATUS_DISABLED%2CHW_CPU_X86_AVX2&resources1=CUSTOM_FPGA%3A2&in_tree=secret-1"
)


def asked(path):
    return Event(at=1.0, service="placement", kind="http", fields={"path": path})


def test_classes_and_traits_are_shown_and_nothing_else():
    assert masked_path(LOGGED, ()) == (
        "/allocation_candidates?limit=*&resources=VCPU:1,MEMORY_MB:128,DISK_GB:1"
        "&required=!COMPUTE_STATUS_DISABLED,HW_CPU_X86_AVX2&resources1=CUSTOM_FPGA:2&in_tree=*"
    )


@pytest.mark.parametrize("path", ["/servers?resources=VCPU%3A1", "/allocation_candidates?resources=aB3%2Fx"])
def test_of_other_requests_no_value_is_shown(path):
    assert masked_path(path, ()).endswith("resources=*")


def test_the_groups_of_the_last_question_are_what_was_asked_for():
    earlier = asked("/placement/allocation_candidates?resources=VCPU:8")
    capacity = capacity_in([earlier, asked(masked_path(LOGGED, ()))])
    requested = capacity.compute.requested
    assert requested.resources == {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1, "CUSTOM_FPGA": 2}
    assert requested.required == ("HW_CPU_X86_AVX2",)
    assert requested.forbidden == ("COMPUTE_STATUS_DISABLED",)
    assert capacity.compute.hosts is None


@pytest.mark.parametrize("query", [None, "/allocations/1", "?limit=*", "?resources=*", "?resources=VCPU"])
def test_without_a_question_nothing_is_known(query):
    assert capacity_in([asked(query and f"/allocation_candidates{query}")]) is None
