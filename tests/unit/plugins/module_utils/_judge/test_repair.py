# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do once a setting is right: the service that has to read it again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice
from ansible_collections.stackproof.provision.plugins.module_utils._judge.repair import SYNCHRONIZE, repair_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Condition, Repair
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Resource
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import advice as words
from cases_by_hand import case_of, cause, seen

DENIED = seen(Kind.FAILED_AT, "x", "a", peer="keystone", how=How.DENIED, own=True)
FILE = "/etc/x/x.conf"


def host(name="a", groups=("compute",), **service):
    known = {"component": "x", "unit": "x.service", "state": "running", **service}
    return as_json.host(name, groups=list(groups), facts={"services": [known]})


def changed(**fields):
    return seen(Kind.CHANGE, "x", "a", **{"path": FILE, "share": 0.8, **fields})


@pytest.mark.parametrize(
    ("service", "path", "command"),
    [
        ({}, FILE, "systemctl restart x.service"),
        ({"container": "nova_x", "engine": "podman"}, FILE, "podman restart nova_x"),
        ({}, "/etc/systemd/system/x.service", "systemctl daemon-reload; systemctl restart x.service"),
    ],
)
def test_the_service_that_reads_a_changed_file_is_restarted(service, path, command):
    found = repair_of(cause("x", "a", DENIED, changed(path=path)), case_of([host(**service)]))
    assert (found.path, found.command) == (path, command)


@pytest.mark.parametrize(
    "symptoms",
    [
        (DENIED,),
        (DENIED, changed(share=0.1)),
        (DENIED, changed(path="Open vSwitch", setting="ovn-encap-ip")),
        (DENIED, seen(Kind.DIFFERENCE, "x", "a", path=FILE)),
        (seen(Kind.STATE, "x", "a", how=How.FROZEN), changed()),
    ],
    ids=["no setting", "an old change", "no file", "a difference that may be harmless", "somebody froze it"],
)
def test_nothing_is_restarted_for(symptoms):
    assert repair_of(cause("x", "a", *symptoms), case_of([host()])) is None


@pytest.mark.parametrize("code", [Code.CONFIGURATION_DIFFERS, Code.OPTION_OF_PEER])
def test_an_option_is_shown_beside_that_of_a_host_of_the_same_kind(code):
    odd = Symptom(code, "x", host="a", path=FILE, setting="[neutron] region_name", peer="neutron-server")
    hosts = [host(), host("control", groups=["controller"]), host("b"), host("c")]
    given = advice.command_for(cause("x", "a", odd), case_of(hosts))
    sed = "sed --quiet '/^\\[neutron\\]/,/^\\[/{/^region_name/p}' /etc/x/x.conf"
    assert words.advice(given) == f"on a: {sed}; on b: {sed}"
    assert words.repair(given) == f"after correcting {FILE}, on a: systemctl restart x.service"


def test_what_somebody_has_stopped_is_started_and_what_ended_by_a_change_after_its_correction() -> None:
    restart, stopped = "systemctl restart x.service", seen(Kind.STATE, "x", "a", how=How.STOPPED, unit="x.service")
    found = repair_of(cause("x", "a", stopped, changed(ago_s=40.0)), case_of([host()]))
    assert found == Repair(Condition.NOT_INTENDED, restart, "a")
    just_after = replace(stopped, for_s=30.0)
    found = repair_of(cause("x", "a", just_after, changed(ago_s=40.0)), case_of([host()]))
    assert found == Repair(Condition.FILE_IS_RIGHT, restart, "a", FILE)


MEND = "ovn-nbctl acl-del neutron-1d to-lport 1 ip4"


def broken_link(**fields: Any) -> Symptom:
    link = Link("ovn_foreign_acls", LinkState.BROKEN, "x", "a", **fields)
    return Symptom(Code.LINK_BROKEN, "x", host="a", link=link)


def test_a_link_is_mended_where_its_owner_is() -> None:
    given = advice.command_for(cause("x", "a", broken_link(mend=MEND)), case_of([host()]))
    assert words.repair(given) == f"if that is not intended, on a: {MEND}"


def test_a_client_of_the_api_mends_a_link_from_anywhere() -> None:
    given = advice.command_for(cause("x", "a", broken_link(mend="openstack x set y")), case_of([host()]))
    assert words.repair(given) == "if that is not intended, openstack x set y"


def test_what_the_run_has_removed_is_not_mended() -> None:
    network = as_json.plain(Resource("network", "1d", "n", created=True))
    case = case_of([host()], stages=[as_json.stage("network", "ok", resources=[network])], created=1)
    assert repair_of(cause("x", "a", broken_link(mend=MEND)), case) is None


@pytest.mark.parametrize(
    ("code", "owner", "command", "mend"),
    [
        ("dhcp_reservation", "neutron-dhcp-agent", "cat /x/host", "on a: systemctl restart neutron-dhcp-agent.service"),
        ("ovn_gateway_translated", "neutron-server", "ovn-nbctl show", f"on a: {SYNCHRONIZE}"),
        # That is in its settings.
        ("agent_carries_network", "neutron-l2-agent", "grep -E ^bridge_mappings /etc/x", None),
        ("libvirt_domain", "libvirt", "virsh list", None),
    ],
)
def test_what_an_agent_or_neutron_makes_again_is_made_again(code, owner, command, mend) -> None:
    services = [{"component": one, "unit": f"{one}.service", "state": "running"} for one in {owner, "neutron-server"}]
    link = Link(code, LinkState.BROKEN, owner, "a", command=command)
    broken = Symptom(Code.LINK_BROKEN, owner, host="a", link=link)
    case = case_of([as_json.host("a", facts={"names": ["a"], "services": services})])
    given = advice.command_for(cause(owner, "a", broken), case)
    assert words.repair(given) == (mend and f"to have it made again, {mend}")
