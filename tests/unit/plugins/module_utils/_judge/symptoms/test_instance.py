# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms in the facts of the instance: a domain that was halted, an interface that failed, an image that is gone."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import guest, instance
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code
from cases_by_hand import case_of, stage

NO_KVM = {"component": "nova-compute", "kind": "missing", "text": "virt_type is kvm, and there is no /dev/kvm"}


def host(name="c1", examination=None, **facts):
    return as_json.host(name, facts={"services": [], **facts}, examination=examination)


def with_domain(state, reason, **more):
    return host(domain={"name": "instance-1", "state": {"name": state, "reason": reason}}, **more)


@pytest.mark.parametrize(
    ("state", "reason", "is_halted"),
    [
        ("running", "booted", False),
        ("paused", "user", False),
        ("paused", "starting up", False),
        ("paused", "migrating", False),
        ("paused", "unknown", True),
        ("paused", "I/O error", True),
        ("shut off", "shutdown", False),
        ("shut off", "destroyed", False),
        ("shut off", "crashed", True),
        ("shut off", "failed", True),
        ("crashed", "panicked", True),
    ],
)
def test_a_domain_that_was_not_meant_to_stop_is_reported_with_its_reason(state, reason, is_halted):
    found = instance.domains(case_of([with_domain(state, reason)]))
    assert [(symptom.component, symptom.host, symptom.reported) for symptom in found] == (
        [("libvirt", "c1", (state, reason))] if is_halted else []
    )


def test_a_domain_for_which_the_host_lacks_what_is_configured_is_of_nova_compute():
    (symptom,) = instance.domains(case_of([with_domain("paused", "unknown", examination={"reports": [NO_KVM]})]))
    assert (symptom.code, symptom.component) == (Code.DOMAIN_HALTED, "nova-compute")


@pytest.mark.parametrize(
    ("what", "owner"),
    [
        ("/etc/nova/nova.conf [libvirt] virt_type", "nova-compute"),
        ("/etc/kolla/nova-compute/nova.conf [libvirt] cpu_model", "nova-compute"),
        ("/etc/nova/nova.conf [DEFAULT] debug", "libvirt"),
        ("/etc/libvirt/qemu.conf", "libvirt"),
    ],
)
def test_a_domain_that_other_hosts_would_define_otherwise_is_of_nova_compute(what, owner):
    examination = {"differences": [{"kind": "option", "what": what}]}
    (symptom,) = instance.domains(case_of([with_domain("paused", "unknown", examination=examination)]))
    assert symptom.component == owner


@pytest.mark.parametrize(("reason", "codes"), [("unknown", []), ("user", [Code.CONSOLE_EMPTY])])
def test_a_guest_that_does_not_run_is_not_to_blame_for_its_empty_console(reason, codes):
    silent = stage("metadata", details={"guest": {"lines": 0, "steps": []}})
    found = guest.console(case_of([with_domain("paused", reason)], silent))
    assert [symptom.code for symptom in found] == codes


def test_an_interface_that_open_vswitch_could_not_create_is_reported():
    ports = {
        "p1": {"name": "tap1", "error": "could not open network device tap1 (No such device)"},
        "p2": {"name": "tap2", "error": None},
        "p3": None,
    }
    domain = {"name": "instance-1"}
    (symptom,) = instance.interfaces(case_of([host(interfaces=ports, domain=domain), host("c2", interfaces=None)]))
    assert (symptom.code, symptom.component, symptom.host) == (Code.INTERFACE_ERROR, "ovsdb", "c1")
    assert symptom.path == "tap1"


@pytest.mark.parametrize(("error", "shown"), [("(No such device)", 0), ("(Invalid argument)", 1)])
def test_a_device_that_libvirt_has_not_made_yet_is_no_fault_of_open_vswitch(error, shown):
    ports = {"p1": {"name": "tap1", "error": f"could not open network device tap1 {error}"}}
    assert len(instance.interfaces(case_of([host(interfaces=ports, domain=None)]))) == shown


@pytest.mark.parametrize("facts", [{}, {"domain": None}, {"domain": {"state": None}}, {"ceph": {"user": None}}])
def test_facts_that_were_not_read_show_nothing(facts):
    case = case_of([host(**facts)])
    assert [*instance.domains(case), *instance.interfaces(case)] == []
