# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A lab with OVN: a run is followed through OVN's own steps, and each check of OVN's databases fails when it must.

One instance serves nearly all: each fault is made behind Neutron's back, seen, and put right again.
"""

from __future__ import annotations

import contextlib
import json
import re
from types import SimpleNamespace

import pytest
from lab_under_test import GROUPS, INVENTORY, NETWORK, until
from runs_under_test import kept_run, verify
from test_host_checks import (
    ACK,
    ADDRESSES,
    ARP,
    ARP_OF_OVN,
    BINDING,
    DHCP,
    DNSMASQ,
    ENCRYPTION,
    FLOATING,
    GROUPS_OF_PORT,
    HOST_FILE,
    LEASE,
    OF_OVN,
    OPTIONS,
    PROXY,
    PROXY_OF_OVN,
    ROUTER,
    SHARING,
    TAPS,
    TRAITS,
    checks,
)
from tree import ROOT

GONE = "OVN's databases do not have its ports any more"
GONE_PROXY = "OVN's metadata proxy of a network that is gone is gone too"
# The steps of the removal that a cloud with OVN has
REMOVED = {f"D{number}" for number in range(1, 27)} - {"D7", "D13", "D20", "D21", "D24"}
OWN = {f"N{number}" for number in range(20, 28)}
# What is proved of agents, and of volumes whose type asks for it
NOT_HERE = {DNSMASQ, HOST_FILE, LEASE, ACK, OPTIONS, PROXY, ROUTER, ARP, ENCRYPTION, SHARING, TRAITS}

# The lab of make test has Open vSwitch's agents; make test-ovn, a part of make soak-ovn, builds one with OVN for these.
pytestmark = pytest.mark.skipif(NETWORK != "ovn", reason="the lab has no OVN: LAB_NETWORK=ovn make lab")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run by an administrator with the lab's inventory and a floating IP, whose instance stays."""
    options = {"admin_cloud": "lab-admin", "floating_ip": True, "tcp_port": 80}
    with kept_run(tmp_path_factory.mktemp("runs"), "-i", str(INVENTORY), **options) as outcome:
        yield outcome


@pytest.fixture(scope="module")
def there(kept, lab_hosts):
    instance = kept.record["instance"]
    (port,), (network,) = instance["ports"], instance["networks"]
    home = next(host for host in kept.record["hosts"] if host["facts"].get("domain"))
    return SimpleNamespace(
        port=port,
        network=network,
        home=lab_hosts[home["host"]],
        tap=home["facts"]["domain"]["interfaces"][0]["tap"],
        central=lab_hosts[GROUPS["controller"][0]],
        facts=next(host["facts"]["ovn"][port["id"]] for host in kept.record["hosts"] if host["facts"].get("ovn")),
    )


@pytest.fixture(scope="module")
def unmended(there):
    """Neutron puts right at once what it sees changed in the northbound database, so it is kept from that."""
    units = "neutron-api.service neutron-ovn-maintenance-worker.service"
    with changed(there.central, f"systemctl kill --signal=STOP {units}", f"systemctl kill --signal=CONT {units}"):
        yield


@pytest.fixture
def look(kept, tmp_path):
    return lambda phase="running", **variables: checks(kept.directory, tmp_path, phase, **variables)


def run(host, command):
    return host.check_output(f"sudo {command}").strip()


@contextlib.contextmanager
def changed(host, command, back):
    run(host, command)
    try:
        yield
    finally:
        run(host, back)


def steps_of(outcome, name):
    return {step["id"]: step for flow in outcome.record["flows"] if flow["name"] == name for step in flow["steps"]}


@pytest.fixture(scope="module")
def passed(tmp_path_factory):
    outcome = verify(tmp_path_factory.mktemp("passed"), "-i", str(INVENTORY), floating_ip=True, tcp_port=80)
    assert outcome.status == 0, outcome.output
    return outcome


def test_after_a_run_the_databases_have_nothing_of_it(passed):
    checked = {check["check"]: check["status"] for host in passed.record["hosts"] for check in host["checks"]}
    assert {checked[GONE], checked[GONE_PROXY]} == {"ok"}


def test_the_run_passes_and_every_check_that_applies_is_well(kept):
    by_status = {}
    for host in kept.record["hosts"]:
        assert (host["status"], host["unread"]) == ("read", [])
        for check in host["checks"]:
            by_status.setdefault(check["status"], set()).add(check["check"])
    assert set(by_status) == {"ok", "not_applicable"}
    assert OF_OVN | {TAPS} <= by_status["ok"]
    assert by_status["not_applicable"] == NOT_HERE


def test_every_step_is_seen_or_explained(kept):
    steps = steps_of(kept, "modern")
    unknown = {name: step["reason"] for name, step in steps.items() if step["status"] in ("unseen", "missing")}
    assert unknown == {}
    assert {name: steps[name]["status"] for name in OWN} == dict.fromkeys(OWN, "seen")
    assert [step["id"] for step in steps.values() if "agent" in step["source"] and step["status"] == "seen"] == ["N26"]


def test_every_step_of_the_removal_is_seen(passed):
    steps = steps_of(passed, "remove_run")
    assert {name for name, step in steps.items() if step["status"] == "seen"} == REMOVED
    assert {step["status"] for step in steps.values()} == {"seen", "skipped"}


@pytest.mark.parametrize("name", ["make_network", "make_volume"])
def test_every_step_of_the_stages_before_the_boot_is_seen(kept, name):
    statuses = {step["status"] for step in steps_of(kept, name).values()}
    assert "seen" in statuses
    assert statuses <= {"seen", "skipped"}


def test_each_access_leaves_as_many_of_the_58_unseen_as_the_page_shows(kept):
    (flow,) = (flow for flow in kept.record["flows"] if flow["name"] == "ops_guide")
    unseen = [row["unseen"] for row in flow["coverage"] if row["tier"] < 3]
    assert {row["total"] for row in flow["coverage"]} == {58}
    page = re.findall(r"^\| tier [0-2].*\| (\d+) \|$", (ROOT / "docs/flows.md").read_text(), re.M)
    # A look at the state every half second may miss the shortest of them.
    assert [abs(ours - int(shown)) <= 2 for ours, shown in zip(unseen, page, strict=True)] == [True] * 5, unseen


@pytest.mark.soak
def test_ten_runs_in_a_row_pass_and_nearly_every_step_is_known(tmp_path):
    for _turn in range(10):
        outcome = verify(tmp_path, "-i", str(INVENTORY), admin_cloud="lab-admin")
        assert outcome.status == 0, outcome.output
        statuses = [step["status"] for step in steps_of(outcome, "modern").values()]
        before = [
            step["status"] for name in ("make_network", "make_volume") for step in steps_of(outcome, name).values()
        ]
        assert "missing" not in {*statuses, *before}
        assert sum(status in ("seen", "absent", "cached") for status in statuses) >= 0.9 * len(statuses)
        checks_of_run = [check for host in outcome.record["hosts"] for check in host["checks"]]
        assert {check["status"] for check in checks_of_run} == {"ok", "not_applicable"}


@pytest.mark.usefixtures("unmended")
def test_a_port_that_was_disabled(there, look):
    lsp = f"ovn-nbctl lsp-set-enabled {there.port['id']}"
    with changed(there.central, f"{lsp} disabled", f"{lsp} enabled"):
        wrong = look()
    assert set(wrong) == {BINDING}
    assert "is disabled in OVN's northbound database" in wrong[BINDING]["reason"]


@pytest.mark.usefixtures("unmended")
def test_other_addresses(there, look):
    lsp = f"ovn-nbctl lsp-set-addresses {there.port['id']}"
    right = there.facts["logical"]["addresses"][0]
    with changed(there.central, f"{lsp} '{right}9'", f"{lsp} '{right}'"):
        wrong = look()
    assert set(wrong) == {ADDRESSES}
    assert right in wrong[ADDRESSES]["reason"]


@pytest.mark.usefixtures("unmended")
def test_dhcp_options_without_the_router(there, look):
    row = there.facts["logical"]["dhcp"]
    back = f"ovn-nbctl set DHCP_Options {row} options:router={there.facts['dhcp']['options']['router']}"
    with changed(there.central, f"ovn-nbctl remove DHCP_Options {row} options router", back):
        wrong = look()
    assert set(wrong) == {DHCP}
    assert "gives the router None" in wrong[DHCP]["reason"]


@pytest.mark.usefixtures("unmended")
def test_a_security_group_that_lost_a_rule(there, look):
    name = next(name for name in there.facts["groups"] if name != "neutron_pg_drop")
    rules = json.loads(run(there.central, f"ovn-nbctl --format=json --columns=acls list Port_Group {name}"))
    rule = rules["data"][0][0][1][0][1]
    # A row that nothing refers to is gone at once, so another group holds it meanwhile.
    with changed(
        there.central,
        f"ovn-nbctl add Port_Group neutron_pg_drop acls {rule} -- remove Port_Group {name} acls {rule}",
        f"ovn-nbctl add Port_Group {name} acls {rule} -- remove Port_Group neutron_pg_drop acls {rule}",
    ):
        wrong = look()
    assert set(wrong) == {GROUPS_OF_PORT}
    assert "has 3 ACLs, the security group 4 rules" in wrong[GROUPS_OF_PORT]["reason"]


@pytest.mark.usefixtures("unmended")
def test_a_floating_ip_without_its_rule(there, look):
    ((router, _gateway),) = there.facts["routers"].items()
    (address,) = there.port["floating_ips"]
    find = f"ovn-nbctl --bare --columns=_uuid find NAT external_ip={address}"
    rule = run(there.central, find)
    back = f"ovn-nbctl set NAT {rule} external_ip={address}"
    with changed(there.central, f"ovn-nbctl set NAT {rule} external_ip=203.0.113.7", back):
        wrong = look()
    assert set(wrong) == {FLOATING, ARP_OF_OVN}
    assert f"no router in OVN has a NAT rule from {address}" in wrong[FLOATING]["reason"]
    assert router in there.network["routers"]


def test_no_metadata_proxy(there, look):
    """The agent looks at its proxies once a minute and would start this one again, so it is kept from that."""
    agent = "neutron-ovn-metadata-agent.service"
    pattern = f"'[/]{there.network['id']}.conf'"
    settings = run(there.home, f"pgrep --full --list-full -- {pattern}").split(" -f ")[1]
    with changed(there.home, f"systemctl kill --signal=STOP {agent}", f"systemctl kill --signal=CONT {agent}"):
        # The signal may have stopped the proxy too, and what is stopped ends by no other signal.
        run(there.home, f"pkill --signal KILL --full -- {pattern}")
        until("haproxy to end", lambda: there.home.run(f"pgrep --full -- {pattern}").rc == 1, 10)
        try:
            wrong = look()
        finally:
            run(there.home, f"ip netns exec ovnmeta-{there.network['id']} haproxy -f {settings}")
    assert set(wrong) == {PROXY_OF_OVN}
    assert f"runs no metadata proxy for the network {there.network['id']}" in wrong[PROXY_OF_OVN]["reason"]


def test_a_tap_that_ovn_has_not_wired(there, look):
    interface = f"Interface {there.tap} external_ids"
    with changed(
        there.home, f"ovs-vsctl remove {interface} ovn-installed", f"ovs-vsctl set {interface}:ovn-installed=true"
    ):
        wrong = look()
    assert set(wrong) == {TAPS}
    assert "is not ovn-installed" in wrong[TAPS]["reason"]


def test_databases_that_are_not_there_are_no_agreement(there, look):
    units = "ovn-ovsdb-server-nb.service ovn-ovsdb-server-sb.service"
    with changed(there.central, f"systemctl stop {units}", f"systemctl start {units}"):
        wrong = look()
    connected = "sudo ovn-appctl -t ovn-controller connection-status"
    until("ovn-controller to be connected", lambda: there.home.run(connected).stdout.startswith("connected"), 60)
    assert set(wrong) == {BINDING, ADDRESSES, DHCP, GROUPS_OF_PORT, FLOATING, ARP_OF_OVN}
    assert {check["status"] for check in wrong.values()} == {"unreadable"}
    assert "no host that could be read has OVN's databases" in wrong[BINDING]["reason"]


def test_a_port_that_no_chassis_has(there, look):
    """ovn-controller gives a port back when its interface is gone, and takes it again when that is back."""
    interface, port = f"Interface {there.tap} external_ids", there.port["id"]
    with changed(there.home, f"ovs-vsctl remove {interface} iface-id", f"ovs-vsctl set {interface}:iface-id={port}"):
        find = f"ovn-sbctl --bare --columns=chassis find Port_Binding logical_port={port}"
        until("the port to be released", lambda: not run(there.central, find), 30)
        wrong = look()
    assert {BINDING, TAPS} <= set(wrong)
    assert f"no chassis has claimed the port {port}" in wrong[BINDING]["reason"]
    until("the port to be claimed", lambda: run(there.central, find), 30)


def test_what_is_still_there_is_found_where_nothing_should_be(look):
    wrong = look(phase="removed", STACKPROOF_SETTLE="0")
    assert {GONE, GONE_PROXY} <= set(wrong)
    assert "OVN still has the ports" in wrong[GONE]["reason"]
