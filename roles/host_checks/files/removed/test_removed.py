# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After the cleanup: nothing of the instance is left on the hosts."""

from __future__ import annotations

import os
import time

import pytest

# Seconds that agents may take to tidy up after the instance is gone from the API
SETTLE = float(os.environ.get("STACKPROOF_SETTLE") or 30)
# How often a read may fail, because its object vanishes during the read
PATIENCE = 2
# The agent's files, and their keys in the facts
FILES = (("host", "hosts"), ("leases", "leases"))


@pytest.fixture(scope="session")
def record(run_record):
    """The record of the instance's run: nothing else remembers the instance."""
    if run_record is None:
        pytest.exit("Say what is gone: STACKPROOF_RUN=<directory of its run>.", 4)
    return run_record


@pytest.fixture
def gone(here, request, instance, platform):
    """Read the host again until a fact of it is empty."""
    part = request.node.get_closest_marker("part").args[0]

    def wait(pick):
        end, unread = time.monotonic() + SETTLE, 0
        while time.monotonic() < end:
            unread = unread + 1 if here.unread else 0
            if not 0 < unread <= PATIENCE and not pick(here):
                break
            time.sleep(1)
            here.read_parts([part], instance, platform)
        return pick(here)

    return wait


def ports(instance):
    return [port["id"] for port in instance["ports"]]


@pytest.mark.part("compute")
@pytest.mark.shown_by("virsh list --all --uuid --name")
def test_domain(gone, server):
    """No host has the domain any more."""
    assert not gone(lambda here: here.fact("domain", "the domain")), f"libvirt still has the domain {server['id']}"


@pytest.mark.part("compute")
@pytest.mark.shown_by("ovs-vsctl list-ports br-int")
def test_tap(gone, instance, host):
    """No host has its taps any more, in Open vSwitch or as links."""

    def pick(here):
        interfaces = here.fact("interfaces", "the interface")
        return [interfaces[port]["name"] for port in ports(instance) if interfaces[port]]

    left = gone(pick)
    assert not left, f"Open vSwitch still has {', '.join(left)}"
    links = [f"tap{port[:11]}" for port in ports(instance) if host.file(f"/sys/class/net/tap{port[:11]}").exists]
    assert not links, f"the links {', '.join(links)} are still there"


@pytest.mark.part("ceph")
def test_images(gone, not_applicable):
    """Ceph has no image of it any more."""

    def pick(here):
        facts = here.fact("ceph", "the image", "the keyrings")
        if facts["user"] is None:
            not_applicable("no keyring lies in /etc/ceph")
        return [f"{image['pool']}/{image['name']}" for image in facts["images"] if image["exists"]]

    left = gone(pick)
    assert not left, f"Ceph still has {', '.join(left)}"


@pytest.mark.part("network")
@pytest.mark.shown_by("pgrep -af dnsmasq.*{network}")
def test_dhcp(gone, instance):
    """No DHCP agent has its host line or its lease any more."""

    def pick(here):
        facts = here.fact("dhcp", "the state", "the file").values()
        return [f"{dhcp['directory']}/{file}" for dhcp in facts for file, key in FILES if dhcp[key]]

    left = gone(pick)
    assert not left, f"{' and '.join(left)} still have a line of {', '.join(port['mac'] for port in instance['ports'])}"


@pytest.mark.part("network")
@pytest.mark.shown_by("ip netns list")
def test_router(gone, record, not_applicable):
    """No network host has the namespace of a router of the run any more."""
    resources = [resource for stage in record["stages"] for resource in stage["resources"]]
    if not any(resource["kind"] == "router" and resource["created"] for resource in resources):
        not_applicable("the run made no router")

    def pick(here):
        return [router for router, facts in here.fact("routers", "the namespaces").items() if facts]

    left = gone(pick)
    assert not left, f"the namespace of the router {' and '.join(left)} is still there"


@pytest.mark.part("ovn")
@pytest.mark.usefixtures("networks_of_ovn")
@pytest.mark.shown_by("ovn-nbctl list logical_switch_port {port}")
def test_ovn(gone):
    """OVN's databases do not have its ports any more."""

    def pick(here):
        facts = here.fact("ovn", "OVN's").items()
        return [port for port, ovn in facts if ovn and (ovn["logical"] or ovn["binding"])]

    left = gone(pick)
    assert not left, f"OVN still has the ports {', '.join(left)}"


@pytest.mark.part("network")
@pytest.mark.shown_by("pgrep -af haproxy")
def test_proxy(gone, record, instance, not_applicable):
    """The metadata proxy of a network that is gone is gone too."""
    if all(network["distributed"] for network in instance["networks"]):
        not_applicable("OVN's metadata proxies are on the compute hosts")
    assert_no_proxy(gone, record, not_applicable)


@pytest.mark.part("compute")
@pytest.mark.usefixtures("networks_of_ovn")
@pytest.mark.shown_by("pgrep -af haproxy")
def test_proxy_of_ovn(gone, record, not_applicable):
    """OVN's metadata proxy of a network that is gone is gone too."""
    assert_no_proxy(gone, record, not_applicable)


def assert_no_proxy(gone, record, not_applicable):
    resources = [resource for stage in record["stages"] for resource in stage["resources"]]
    if not any(resource["kind"] == "network" and resource["created"] for resource in resources):
        not_applicable("the network was not made by this run, so it stays")

    def pick(here):
        by_port = here.fact("metadata", "the processes of haproxy").values()
        return [proxy["owner"] for proxies in by_port for proxy in proxies if proxy["processes"]]

    left = gone(pick)
    assert not left, f"haproxy still runs for {', '.join(left)}"
