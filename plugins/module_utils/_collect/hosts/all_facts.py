# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads all parts of a host for an instance, each part once."""

from __future__ import annotations

from ..._record.clock import seconds_of
from ..commands import UnreadError, addresses_of
from ..logs.matching_lines import zone_of
from . import ceph, dnsmasq, libvirt, metadata_proxy, ovn, ovs, router, units


def names_of(host):
    """The names that the host gives itself."""
    short = host.ask(None, "hostname", root=False).strip()
    try:
        return sorted({short, host.ask(None, "hostname", "--fqdn", root=False).strip()})
    except UnreadError:
        return [short]  # no resolver knows the name


def parts_of(groups, platform):
    """The parts of the cloud that the inventory says are on a host."""
    return [part for part, names in platform["groups"].items() if set(names) & set(groups)]


def pool_images(instance, platform):
    """The names of the images that the instance may have in Ceph: in each pool where there are several."""
    root = [f"{instance['server']['id']}_disk"] if instance["image"] else []
    volumes = [f"volume-{volume}" for volume in instance["volumes"]]
    return [
        f"{pool}/{name}"
        for kind, names in (("vms", root), ("volumes", volumes))
        for name in names
        for pool in listed(platform["pools"][kind])
    ]


def listed(value):
    return [value] if isinstance(value, str) else value


def read(host, parts, instance, platform):
    """The facts of the named parts of a host about an instance. A part that is not on the host has no key.

    Without an instance, because an earlier stage failed, only the facts about the host itself.
    """
    facts = {
        "names": host.attempt("the host's name", names_of, default=[]),
        "addresses": host.attempt("the host's addresses", addresses_of, default=[]),
        "zone_s": host.attempt("the host's time zone", zone_of, default=None),
        "services": host.attempt("the host's services", units.read, platform.get("units") or [], default=[]),
    }
    if not instance:
        if "ceph" in parts:
            facts["ceph"] = ceph.read(host, [], platform["ceph_users"])
        return facts
    server = instance["server"]
    since = seconds_of(server["created"])
    if "compute" in parts:
        facts.update(libvirt.read(host, server["id"]))
        facts["interfaces"] = {port["id"]: ovs.read(host, port["id"])["interface"] for port in instance["ports"]}
    if "network" in parts:
        by_agents = [port for port in instance["ports"] if not network_of(port, instance)["distributed"]]
        facts["dhcp"] = {port["id"]: read_dhcp(host, port, since, platform) for port in by_agents}
        facts["routers"] = router.read(host, routers_of(instance))
    # With OVN the proxies are on the compute hosts.
    by_ovn = any(network["distributed"] for network in instance["networks"])
    if "network" in parts or ("compute" in parts and by_ovn):
        facts["metadata"] = {
            port["id"]: read_proxies(host, port, instance, since, platform) for port in instance["ports"]
        }
    if "ovn" in parts and by_ovn:
        facts["ovn"] = {port["id"]: read_ovn(host, port, instance) for port in instance["ports"]}
    if "ceph" in parts:
        images = [name.split("/", 1) for name in pool_images(instance, platform)]
        facts["ceph"] = ceph.read(host, images, platform["ceph_users"], origin_of(instance))
    return facts


def origin_of(instance):
    """(pool, name) of the instance's image in Ceph, where Glance shows it; else None."""
    url = (instance["image"] or {}).get("direct_url") or ""
    return tuple(url.split("/")[3:5]) if url.startswith("rbd://") else None


def read_dhcp(host, port, since, platform):
    return dnsmasq.read(host, port["network"], port["mac"], since, platform["dhcp_states"], platform["dhcp_logs"])


def routers_of(instance):
    """The routers of the instance's networks whose work agents do."""
    networks = [network for network in instance["networks"] if not network["distributed"]]
    return sorted({router for network in networks for router in network["routers"]})


def read_ovn(host, port, instance):
    network = network_of(port, instance)
    return ovn.read(host, port, network["routers"]) if network["distributed"] else None


def network_of(port, instance):
    return next(network for network in instance["networks"] if network["id"] == port["network"])


def read_proxies(host, port, instance, since, platform):
    network = network_of(port, instance)
    owners = [network["id"], *network["routers"]]
    by_address = [
        metadata_proxy.read(host, owners, address, since, platform["metadata_logs"])["proxies"]
        for address in port["addresses"]
    ]
    proxies = by_address[0] if by_address else []
    for others in by_address[1:]:
        for proxy, other in zip(proxies, others):
            if proxy["requests"] is not None and other["requests"] is not None:
                requests = [*proxy["requests"], *other["requests"]]
                proxy["requests"] = sorted(requests, key=lambda request: request["at"])
    return proxies
