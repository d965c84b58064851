# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read all parts of a host for an instance, each part once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ..._model.codec import from_json
from ..._model.facts import (
    Ceph,
    ComputeFacts,
    Dhcp,
    Facts,
    MetadataProxy,
    OvnPort,
    ProxiedRequest,
    ServiceUnit,
)
from ..._model.instance import DescribedInstance, Port
from ..._record.clock import seconds_of
from ..commands import Host, UnreadError, addresses_of
from ..logs.matching_lines import zone_of
from . import (
    ceph,
    containers,
    dnsmasq,
    libvirt,
    metadata_proxy,
    ovn,
    ovs,
    router,
    units,
)

# A platform's profile
Platform = Mapping[str, Any]


def names_of(host: Host) -> tuple[str, ...]:
    """Return the names that the host gives itself."""
    short = host.ask(None, "hostname", root=False).strip()
    try:
        long = host.ask(None, "hostname", "--fqdn", root=False).strip()
    except UnreadError:
        return (short,)  # no resolver knows the name
    return tuple(sorted({short, long}))


def pool_images(
    instance: DescribedInstance, platform: Platform
) -> list[tuple[str, str]]:
    """Return (pool, name) of the images that the instance may have in Ceph: in each pool where there are several."""
    images = []
    pools = platform["pools"]
    if instance.image:
        images += [
            (pool, f"{instance.server.id}_disk")
            for pool in listed(pools["vms"])
        ]
    for volume in instance.volumes:
        images += [
            (pool, f"volume-{volume}") for pool in listed(pools["volumes"])
        ]
    return images


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def read(
    host: Host,
    parts: Sequence[str],
    instance: Mapping[str, Any] | None,
    platform: Platform,
) -> Facts:
    """Return the facts of the named parts of a host about an instance.

    Without an instance, because an earlier stage failed, only the facts about the host itself.
    """
    facts = Facts(
        names=host.attempt("the host's name", names_of, default=()),
        addresses=tuple(
            host.attempt("the host's addresses", addresses_of, default=[])
        ),
        zone_s=host.attempt("the host's time zone", zone_of),
        services=services_of(host, platform),
    )
    if not instance:
        if "ceph" in parts:
            return dataclasses.replace(
                facts, ceph=ceph.read(host, [], platform["ceph_users"])
            )
        return facts
    return Reading(
        host, from_json(DescribedInstance, instance, "instance"), platform
    ).add_to(facts, parts)


def services_of(host: Host, platform: Platform) -> tuple[ServiceUnit, ...]:
    """Return the services of a host, with what the engine of containers knows of them."""
    found: tuple[ServiceUnit, ...] = host.attempt(
        "the host's services",
        units.read,
        platform.get("units") or [],
        default=(),
    )
    services: tuple[ServiceUnit, ...] = host.attempt(
        "the host's containers",
        containers.read,
        platform.get("containers"),
        found,
        default=found,
    )
    return services


class Reading:
    """A host while it is read for an instance."""

    def __init__(
        self, host: Host, instance: DescribedInstance, platform: Platform
    ) -> None:
        self.host = host
        self.instance = instance
        self.platform = platform
        self.since = seconds_of(instance.server.created)
        self.has_ovn = any(
            network.distributed for network in instance.networks
        )

    def add_to(self, facts: Facts, parts: Sequence[str]) -> Facts:
        """Return facts with those of the named parts."""
        if "compute" in parts:
            facts = self.with_compute(facts)
        if "network" in parts:
            facts = dataclasses.replace(facts, dhcp=self.dhcp())
            facts = dataclasses.replace(
                facts, routers=router.read(self.host, self.routers())
            )
        # With OVN the proxies are on the compute hosts.
        has_proxies = "network" in parts or (
            self.has_ovn and "compute" in parts
        )
        if has_proxies:
            facts = dataclasses.replace(facts, metadata=self.metadata())
        if self.has_ovn and "ovn" in parts:
            facts = dataclasses.replace(facts, ovn=self.ovn())
        if "ceph" in parts:
            facts = dataclasses.replace(facts, ceph=self.ceph())
        return facts

    def with_compute(self, facts: Facts) -> ComputeFacts:
        domain = libvirt.read(self.host, self.instance.server.id)
        interfaces = {
            port.id: ovs.read(self.host, port.id)
            for port in self.instance.ports
        }
        return ComputeFacts(
            facts.names,
            facts.addresses,
            facts.zone_s,
            facts.services,
            domain=domain,
            interfaces=interfaces,
        )

    def dhcp(self) -> dict[str, Dhcp]:
        ports = [
            port
            for port in self.instance.ports
            if not self.instance.network_of(port).distributed
        ]
        states, logs = self.platform["dhcp_states"], self.platform["dhcp_logs"]
        return {
            port.id: dnsmasq.read(
                self.host, port.network, port.mac, self.since, states, logs
            )
            for port in ports
        }

    def routers(self) -> list[str]:
        """Return the routers of the instance's networks whose work agents do."""
        routers: set[str] = set()
        for network in self.instance.networks:
            if not network.distributed:
                routers.update(network.routers)
        return sorted(routers)

    def metadata(self) -> dict[str, tuple[MetadataProxy, ...]]:
        return {port.id: self.proxies(port) for port in self.instance.ports}

    def proxies(self, port: Port) -> tuple[MetadataProxy, ...]:
        """Return the proxies of a port's network and its routers, with the requests of all addresses of the port."""
        network = self.instance.network_of(port)
        owners = [network.id, *network.routers]
        logs = self.platform["metadata_logs"]
        merged: tuple[MetadataProxy, ...] = ()
        for address in port.addresses:
            proxies = metadata_proxy.read(
                self.host, owners, address, self.since, logs
            )
            merged = tuple(map(merge, merged, proxies)) if merged else proxies
        return tuple(
            metadata_proxy.with_addresses(self.host, proxy) for proxy in merged
        )

    def ovn(self) -> dict[str, OvnPort | None]:
        return {port.id: self.ovn_port(port) for port in self.instance.ports}

    def ovn_port(self, port: Port) -> OvnPort | None:
        network = self.instance.network_of(port)
        if not network.distributed:
            return None
        return ovn.read(
            self.host,
            port.id,
            port.addresses,
            port.subnets or (),
            network.routers,
        )

    def ceph(self) -> Ceph:
        images = pool_images(self.instance, self.platform)
        return ceph.read(
            self.host, images, self.platform["ceph_users"], self.origin()
        )

    def origin(self) -> tuple[str, str] | None:
        """Return (pool, name) of the instance's image in Ceph, where Glance shows it."""
        url = (self.instance.image and self.instance.image.direct_url) or ""
        # rbd://cluster/pool/image/snapshot
        _scheme, _empty, _cluster, pool, name, *_snapshot = [
            *url.split("/"),
            "",
            "",
            "",
            "",
        ]
        return (pool, name) if url.startswith("rbd://") and name else None


def merge(proxy: MetadataProxy, other: MetadataProxy) -> MetadataProxy:
    """Return a proxy with the requests that were read for two addresses."""
    if proxy.requests is None or other.requests is None:
        return proxy
    requests = sorted([*proxy.requests, *other.requests], key=answered_at)
    return dataclasses.replace(proxy, requests=tuple(requests))


def answered_at(request: ProxiedRequest) -> float:
    return request.at
