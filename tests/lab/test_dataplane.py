# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two guests on two hosts: all paths between them hold, and a fault on one of them is noted with its verdict."""

from __future__ import annotations

import re

import pytest
from breaking import Lab, changed
from dataplane_faults import FAULTS, KIND, TUNNELED
from fault_runs import run_with
from faults import COMPUTE, OTHER
from lab_under_test import INVENTORY, NETWORK
from runs_under_test import verify
from test_host_checks import SHARING
from test_verify import assert_passed, assert_sound
from tree import ROOT
from truths import assert_all_noted, compare, half_of, note

CONFUSION = ROOT / f".cache/dataplane-{NETWORK}-confusion.json"
PATHS = {(check, source) for check in ("ping", "size", "open", "shut") for source in ("first", "second")}
CREATED, NO_CONTENT = 201, 204
# Where the lab with agents serves DHCP
DHCP_HOST, DHCP_SETTINGS = "network1", "/etc/neutron/dhcp_agent.ini"
# Of the steps of an operation, this share at least must be seen or proved absent.
KNOWN = 0.85
OVERHEAD = {"vxlan": 50, "geneve": 58}.get(KIND)


def run_of_two(runs, **more):
    given = {"image": "probe", "volume": "none", "admin_cloud": "lab-admin", "dataplane": True, **more}
    outcome = verify(runs, "-i", str(INVENTORY), **given)
    assert_passed(outcome)
    details = outcome.stage("dataplane")["details"]
    assert details["spread"] is True
    on_paths = [check for check in details["checks"] if (check["check"], check["source"]) in PATHS]
    assert {(check["check"], check["source"]) for check in on_paths} == PATHS
    assert {check["status"] for check in on_paths} == {"ok"}
    return outcome


def found(outcome, name, source):
    """Return what a check between the guests found, begun by one of them or by the client."""
    checks = outcome.stage("dataplane")["details"]["checks"]
    return next(check for check in checks if (check["check"], check["source"]) == (name, source))


# One run asks for all of it: each run of two guests takes more than a minute.
def test_two_guests_find_all_paths_and_the_client_logs_in(runs):
    journey = ["hard_reboot"]
    shared = {"volume": "empty", "volume_type": "shared", "attach": "after"}
    outcome = run_of_two(runs, **shared, floating_ip=True, journey=journey)
    assert_paths_shown(outcome)
    assert_volume_was_shared(outcome)
    assert_logged_in(outcome)
    assert [(leg["operation"], leg["moved"]) for leg in legs_of(outcome)] == [(name, False) for name in journey]
    assert_followed(outcome, "hard_reboot")


@pytest.mark.soak
def test_a_volume_goes_from_one_guest_to_the_other_and_back(runs):
    check = found(run_of_two(runs, volume="empty"), "volume", "first")
    assert (check["status"], check["target"]) == ("ok", "second")
    assert check["text"].startswith("the volume came with what was written to it")


def legs_of(outcome):
    return outcome.stage("journey")["details"]["legs"]


def assert_followed(outcome, operation):
    """Of an operation no step is missing, and most are known by evidence."""
    flow = next(flow for flow in outcome.record["flows"] if flow["name"] == operation)
    steps = [step for step in flow["steps"] if step["status"] != "skipped"]
    known = [step for step in steps if step["status"] in ("seen", "cached", "absent")]
    assert len(known) >= KNOWN * len(steps), {step["id"]: (step["status"], step["reason"]) for step in steps}
    assert [step["id"] for step in steps if step["status"] == "missing"] == []


def assert_paths_shown(outcome):
    name = found(outcome, "name", "second")
    assert (name["status"], name["target"]) == ("ok", "first")
    assert re.search(r"host-[\d-]+\.openstacklocal resolves to [\d.]+ by [\d.]+$", name["text"])
    for here, there in ((COMPUTE, OTHER), (OTHER, COMPUTE)):
        assert f"({here}) -> " in outcome.output
        assert f"({there}): packets of 1500 bytes pass" in outcome.output


def assert_volume_was_shared(outcome):
    check = found(outcome, "volume", "first")
    assert (check["status"], check["target"]) == ("ok", "second")
    assert check["text"].startswith("both have the volume with what was written to it")
    assert check["seconds"] > 0
    (shareable,) = [check for host in outcome.record["hosts"] for check in host["checks"] if check["check"] == SHARING]
    assert shareable["status"] == "ok"


def assert_logged_in(outcome):
    check = found(outcome, "login", "client")
    assert (check["status"], check["target"]) == ("ok", "first"), check
    assert check["text"].startswith(
        "logged in as root with the key pair of the run; the guest calls itself stackproof-"
    )
    assert not (outcome.directory / "login_key").exists()
    (line,) = [line for line in outcome.ledger if line["kind"] == "key_pair" and line["event"] == "gone"]
    assert line["name"].endswith("-key-pair")


@pytest.mark.soak
def test_two_guests_reach_each_other_across_a_router_over_both_versions(runs):
    outcome = run_of_two(runs, dataplane_path="routed", network_ipv6="slaac")
    assert_ipv6_passes(outcome)
    assert found(outcome, "name", "second")["status"] == "not_applicable"
    assert {"second_network", "second_router_interface", "second_router_interface_ipv6"} <= {
        line["kind"] for line in outcome.ledger
    }


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless", "dhcpv6-stateful"])
def test_two_guests_reach_each_other_over_ipv6(runs, mode):
    assert_ipv6_passes(run_of_two(runs, network_ipv6=mode))


@pytest.fixture
def metadata_on_links(lab):
    """Have a metadata proxy on each network's own link, as OVN does: a guest of IPv6 alone asks none but that."""
    if NETWORK == "ovn":
        yield
        return
    edit = f"sed --in-place '/^enable_isolated_metadata/a force_metadata = true' {DHCP_SETTINGS}"
    with changed(lab, DHCP_HOST, DHCP_SETTINGS, edit, ["neutron-dhcp-agent"]):
        yield


@pytest.mark.soak
@pytest.mark.skipif(NETWORK == "ovn", reason="with OVN each network has a proxy on its own link, so none lacks it")
def test_a_network_without_a_proxy_on_its_link_is_named_for_guests_without_ipv4(runs):
    outcome = verify(
        runs, "-i", str(INVENTORY), image="probe", volume="none", network_ipv4="false", network_ipv6="slaac"
    )
    verdict = outcome.record["verdict"]
    assert (verdict["stage"], verdict["component"], verdict["host"]) == ("metadata", "neutron-dhcp-agent", DHCP_HOST)
    assert "no metadata proxy runs on the network's own link" in verdict["headline"]


@pytest.mark.soak
@pytest.mark.usefixtures("metadata_on_links")
@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless", "dhcpv6-stateful"])
def test_guests_without_ipv4_read_their_metadata_and_reach_each_other(runs, mode):
    outcome = run_of_two(runs, network_ipv4="false", network_ipv6=mode)
    assert outcome.stage("metadata")["details"]["guest"]["address6"].startswith("fd57:")
    assert {found(outcome, "address6", source)["status"] for source in ("first", "second")} == {"ok"}


def assert_ipv6_passes(outcome):
    for source in ("first", "second"):
        assert found(outcome, "address6", source)["status"] == "ok"
        assert found(outcome, "ping6", source)["status"] == "ok"


@pytest.fixture(scope="module")
def tunneled(lab):
    """A network in tunnels, which only an administrator can have here."""
    asked = {"name": TUNNELED, "provider:network_type": KIND}
    network = lab.admin.network.post("/networks", json={"network": asked}).json()["network"]["id"]
    subnet = {"network_id": network, "ip_version": 4, "cidr": "192.168.77.0/24"}
    assert lab.admin.network.post("/subnets", json={"subnet": subnet}).status_code == CREATED
    yield
    assert lab.admin.network.delete(f"/networks/{network}").status_code == NO_CONTENT


@pytest.mark.soak
@pytest.mark.usefixtures("tunneled")
def test_two_guests_reach_each_other_in_tunnels(runs):
    outcome = run_of_two(runs, cloud="lab-admin", network=TUNNELED)
    sizes = {check["value"] for check in outcome.stage("dataplane")["details"]["checks"] if check["check"] == "size"}
    # Of the 1500 bytes of a packet between the hosts, the tunnel takes its own.
    assert sizes == {1500 - OVERHEAD}


@pytest.mark.soak
def test_a_wire_that_is_too_small_is_named(lab, runs):
    fault = FAULTS["mtu-1400-on-the-second-host"]
    verdict = run_with(lab, fault, runs).record["verdict"]
    assert (verdict["stage"], verdict["component"], verdict["host"]) == ("dataplane", "data network", OTHER)
    named = f"data network ({OTHER}): the link eth1 has an MTU of 1400, and the network needs 1500"
    assert re.fullmatch(re.escape(named) + r"; \d+ packets dropped", verdict["headline"])


@pytest.fixture(scope="module")
def lab(lab_hosts):
    return Lab(lab_hosts)


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS.values(), ids=[f"{half_of('paths', name)}-{name}" for name in FAULTS])
@pytest.mark.usefixtures("tunneled")
def test_a_fault_is_noted(fault, lab, runs):
    outcome = run_with(lab, fault, runs)
    note(CONFUSION, compare(fault, outcome.record))
    assert_sound(outcome)


@pytest.mark.soak
def test_how_verdicts_and_truth_compare():
    assert_all_noted(CONFUSION, FAULTS)
