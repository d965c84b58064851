# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""libvirt and Open vSwitch on the compute hosts."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.all_facts import listed
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.metadata_proxy import telling

pytestmark = pytest.mark.part("compute")


@pytest.fixture
def home(here, homes):
    """The reading of the host that runs the instance, by nova."""
    if homes and here not in homes:
        pytest.skip("elsewhere")
    here.fact("names", "the host's name")
    if not homes:
        pytest.skip("elsewhere")  # a check of the inventory fails then
    return here


@pytest.fixture
def domain(home, server):
    domain = home.fact("domain", "the domain")
    assert domain, f"libvirt on {home.name} has no domain {server['id']}"
    return domain


def disk_of(domain, name):
    return next((disk for disk in domain["disks"] if disk["source"] and disk["source"].endswith(name)), None)


def assert_rbd(disk, domain, home, pool):
    place = f"{disk['target']} of {domain['name']} on {home.name}"
    pools = listed(pool)
    if disk["source"].partition("/")[0] not in pools:
        home.stop(f"{place} lies in {disk['source']}; the platform's profile names {', '.join(pools)}")
    assert disk["monitors"], f"{place} names no monitor of Ceph"
    assert disk["secret"] in home.fact("domain", "libvirt's secrets")["secrets"], (
        f"{place} needs the secret {disk['secret']}, which libvirt there does not have: virsh secret-list"
    )


@pytest.mark.shown_by("virsh list --all --uuid --name")
def test_home(here, homes, server):
    """The domain runs where nova says that it does, and on no other host."""
    domain = here.fact("domain", "the domain")
    if here not in homes:
        assert not domain, f"{here.name} has a domain {server['id']} too, though nova says it is on another host"
        return
    assert domain, f"nova says that the server {server['id']} is on {here.name}, but libvirt there has no such domain"
    state, reason = domain["state"]["name"], domain["state"]["reason"]
    assert state == "running", f"the domain {domain['name']} on {here.name} is {state} ({reason}), not running"
    here.fact("domain", "the process of the domain")
    assert domain["process"], f"no process runs the domain {domain['name']} on {here.name}"


@pytest.mark.shown_by("virsh dumpxml {server}")
def test_size(domain, server):
    """It has the processors and the memory of its flavor."""
    has = (domain["vcpus"], domain["memory_mib"])
    wants = (server["vcpus"], server["memory_mib"])
    assert has == wants, (
        f"{domain['name']} has {has[0]} processors and {has[1]} MiB, its flavor {wants[0]} and {wants[1]}"
    )


@pytest.mark.shown_by(
    "openstack server show {server}; openstack resource provider allocation show {server}; "
    "openstack --os-placement-api-version 1.6 resource provider trait list $provider"
)
def test_traits(domain, home, server, instance, not_applicable):
    """It runs where Placement knows each trait that its flavor requires, and none that it forbids."""
    asked = server.get("traits")
    if not asked:
        not_applicable("the flavor asks for no traits")
    has = instance.get("provider_traits")
    if has is None:
        not_applicable("Placement shows the traits of hosts to administrators only")
    if instance["allocations"] != 1:
        not_applicable(f"{instance['allocations']} resource providers hold something for the server, each with traits")
    for trait, word in asked.items():
        assert (trait in has) is (word == "required"), (
            f"the flavor of {domain['name']} has {trait} {word}, and the traits of {home.name} are {', '.join(has)}"
        )


@pytest.mark.shown_by("virsh domblklist {server}")
def test_root_disk(domain, home, server, instance, platform, not_applicable):
    """Its root disk is its own RBD image, with a secret that libvirt has."""
    if not instance["image"]:
        not_applicable("the instance boots from a volume")
    root = domain["disks"][0] if domain["disks"] else None
    assert root, f"{domain['name']} on {home.name} has no disk"
    if root["protocol"] != "rbd":
        not_applicable(f"the root disk is {root['source']}, which is not in Ceph")
    disk = disk_of(domain, f"/{server['id']}_disk")
    assert disk, f"{domain['name']} on {home.name} has the root disk {root['source']}, not {server['id']}_disk"
    assert_rbd(disk, domain, home, platform["pools"]["vms"])


@pytest.mark.shown_by("virsh domblklist {server}")
def test_volumes(domain, home, instance, platform, not_applicable):
    """Each volume that the API says is attached is a disk with the volume's id."""
    if not instance["volumes"]:
        not_applicable("the instance has no volume")
    disks = {disk["serial"]: disk for disk in domain["disks"]}
    for volume in instance["volumes"]:
        assert volume in disks, f"{domain['name']} on {home.name} has no disk for the volume {volume}"
        if disks[volume]["protocol"] != "rbd":
            not_applicable(f"the volume is {disks[volume]['source']}, which is not in Ceph")
        assert_rbd(disks[volume], domain, home, platform["pools"]["volumes"])


@pytest.fixture
def volume(record, not_applicable):
    """What the API says about the volume that the run has made."""
    stages = record.get("stages") or ()
    made = [stage["details"].get("volume") for stage in stages if stage["stage"] == "volume"]
    if not made or not made[0]:
        not_applicable("the run has made no volume")
    return made[0]


@pytest.fixture
def volume_disk(domain, instance, not_applicable):
    """The disk of that volume, which is the only one that the instance has."""
    if len(instance["volumes"]) != 1:
        not_applicable(f"the instance has {len(instance['volumes'])} volumes")
    disks = [disk for disk in domain["disks"] if disk["serial"] == instance["volumes"][0]]
    if not disks:
        not_applicable("the domain has no disk for the volume, as the check of its volumes says")
    return disks[0]


@pytest.mark.shown_by("virsh dumpxml {server}")
def test_encryption(home, volume, volume_disk, domain, not_applicable):
    """A volume of a type that encrypts is decrypted by QEMU, with a secret that libvirt has."""
    if not volume.get("encrypted"):
        not_applicable(f"the volume type {volume['type']} does not encrypt")
    place = f"{volume_disk['target']} of {domain['name']} on {home.name}"
    if volume_disk["protocol"] is None and not volume_disk.get("encryption"):
        not_applicable(f"{place} is {volume_disk['source']}; whether the host decrypts it is not read")
    assert volume_disk.get("encryption"), (
        f"{place} is written as it is, though the volume type {volume['type']} encrypts"
    )
    secret = volume_disk.get("encryption_secret")
    assert secret in home.fact("domain", "libvirt's secrets")["secrets"], (
        f"{place} needs the secret {secret}, which libvirt there does not have: virsh secret-list"
    )


@pytest.mark.shown_by("virsh dumpxml {server}")
def test_sharing(home, volume, volume_disk, domain, not_applicable):
    """A volume of a type for several servers is a disk that others may have as well."""
    if not volume.get("multiattach"):
        not_applicable(f"a volume of the type {volume['type']} has one server at a time")
    assert volume_disk.get("shareable"), (
        f"{volume_disk['target']} of {domain['name']} on {home.name} is not shareable, so QEMU may cache what it writes"
    )


@pytest.mark.shown_by("ovs-vsctl find interface external_ids:iface-id={port}; ip -details link show")
def test_taps(domain, home, instance, host, not_applicable):
    """The tap of each port is up, on br-int with the port's id, with the network's MTU."""
    networks = {network["id"]: network for network in instance["networks"]}
    taps = {interface["mac"]: interface for interface in domain["interfaces"]}
    for port in instance["ports"]:
        assert port["mac"] in taps, f"{domain['name']} on {home.name} has no interface {port['mac']}"
        tap, network = taps[port["mac"]]["tap"], networks[port["network"]]
        if tap is None:
            not_applicable(f"the port {port['id']} is a device of the host, which no switch of Open vSwitch has")
        # A port in user space has a socket, not a link.
        is_link = not tap.startswith("vhu")
        assert not is_link or host.file(f"/sys/class/net/{tap}").exists, f"{home.name} has no link {tap}"
        interface = home.fact("interfaces", "the interface", "the port's tag", "the link")[port["id"]]
        assert interface, f"Open vSwitch on {home.name} has no interface for the port {port['id']}"
        # With the hybrid firewall a bridge is between tap... of libvirt and qvo... of Open vSwitch.
        assert interface["name"][3:] == tap[3:], (
            f"the port {port['id']} is {interface['name']} in Open vSwitch, but {tap} in libvirt"
        )
        assert not interface["error"], f"Open vSwitch on {home.name} says of {tap}: {interface['error']}"
        # A trunk has a bridge of its own, which is wired to br-int.
        on_trunk = (interface["bridge"] or "").startswith("tbr-")
        assert interface["bridge"] == "br-int" or on_trunk, (
            f"{tap} on {home.name} is on {interface['bridge']}, not on br-int"
        )
        if on_trunk:
            not_applicable(f"{tap} is the parent of a trunk, whose bridge keeps its networks apart")
        if network["distributed"]:
            # OVN keeps networks apart by its own datapaths.
            assert interface["by_ovn"], f"{tap} on {home.name} is not ovn-installed: ovn-controller has not wired it"
        else:
            wired = interface["by_ovn"] or interface["tag"] not in (None, 4095)
            assert wired, f"{tap} on {home.name} has no VLAN: the agent has not wired it"
        if is_link:
            assert_up(interface["link"], tap, home, network["mtu"])


def assert_up(link, tap, home, mtu):
    assert link["up"], f"{tap} on {home.name} is down: ip link set {tap} up"
    assert link["mtu"] == mtu, f"{tap} on {home.name} has the MTU {link['mtu']}, the network {mtu}"


@pytest.mark.usefixtures("waited_for")
@pytest.mark.shown_by("pgrep -af haproxy")
def test_metadata_proxy(home, networks_of_ovn, instance, not_applicable):
    """With OVN a metadata proxy of each network runs on this host, and has answered the instance's last request."""
    if not any(subnet["version"] == 4 for network in networks_of_ovn.values() for subnet in network["subnets"]):
        not_applicable("the instance has no address of IPv4, so the proxies know it by none of Neutron's")
    facts = home.fact("metadata", "the processes of haproxy", "the log of the metadata proxy")
    found = [(port, proxy) for port in instance["ports"] for proxy in facts[port["id"]]]
    proxies = [(port, proxy) for port, proxy in found if proxy["owner"] in networks_of_ovn]
    for _port, proxy in proxies:
        assert proxy["processes"], f"{home.name} runs no metadata proxy for the network {proxy['owner']}"
    if proxies and all(proxy["requests"] is None for _port, proxy in proxies):
        return  # it is not known where they log, so that they run is all that can be checked
    answers = [(port, request) for port, proxy in proxies for request in telling(proxy["requests"] or ())]
    if not answers and instance["server"].get("config_drive"):
        not_applicable("the instance has a config drive, so its guest need not ask for metadata")
    assert answers, f"the metadata proxies on {home.name} have had no request of the instance"
    port, last = max(answers, key=lambda answer: answer[1]["at"])
    assert last["status"] == 200, (
        f"the metadata proxy on {home.name} has answered {port['addresses'][0]} {last['status']} at last"
    )
