# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the API for what the hosts of an instance must agree with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from ..._cloud.connection import answer_of
from ..._model.codec import from_json
from ..._model.instance import (
    DHCP_PORT,
    DISTRIBUTED_INTERFACE,
    LOCALPORT,
    REPLICATED_INTERFACE,
    ROUTER_INTERFACE,
    BootImage,
    Claims,
    DescribedInstance,
    Network,
    Port,
    Server,
    ServingPort,
    Subnet,
)
from ..._model.record import OtherBoot, OtherBoots
from ..._record.clock import now, seconds_of
from ..._record.errors import StageError
from .answers import (
    BootAnswer,
    FloatingIpAnswer,
    OwnerAnswer,
    PortAnswer,
    RuleAnswer,
    ServerAnswer,
    SubnetAnswer,
)
from .placement_request import traits_in

T = TypeVar("T")

# Since this version Placement shows traits.
TRAITS_SINCE = "1.6"
# Since this version a server shows the sizes of its flavor.
FLAVOR_SINCE = "2.47"
# The rules of security groups, by the id of the group
Rules = Mapping[str, tuple[RuleAnswer, ...]]
EGRESS, ID = "egress", attrgetter("id")
# The owners of the ports that show how a network is served
OWNERS = [
    DHCP_PORT,
    LOCALPORT,
    ROUTER_INTERFACE,
    DISTRIBUTED_INTERFACE,
    "network:router_gateway",
    "network:router_centralized_snat",
    "network:router_ha_interface",
    REPLICATED_INTERFACE,
]

# What is asked of each of these ports
SERVING_FIELDS = [
    "id",
    "device_id",
    "device_owner",
    "mac_address",
    "binding:host_id",
    "binding:vif_type",
    "fixed_ips",
]

# An instance with more ports than a hypervisor attaches is known by the first of them: each is asked about on its own,
# and all that follows a run looks for each.
MOST_PORTS = 500

# In seconds: how long the guest still sends requests after a boot, and how long logs still name a server that is gone.
SETTLING, WINDING_UP = 60, 5


def look(cloud: Any, server_id: str, admin: Any = None) -> DescribedInstance:
    """Return the server with its ports, networks, volumes and image. An administrator also sees their hosts."""
    everything = admin or cloud
    answer = answer_of(
        everything.compute.get(
            f"/servers/{server_id}", microversion=FLAVOR_SINCE
        )
    )
    server = from_json(ServerAnswer, answer["server"], "the server")
    ports = listed(everything, "ports", PortAnswer, device_id=server_id)[
        :MOST_PORTS
    ]
    networks = {}
    for identity in dict.fromkeys(port.network for port in ports):
        networks[identity] = describe_network(everything, identity)
    return DescribedInstance(
        queried=seconds_of(now()),
        server=describe_server(server),
        ports=describe_ports(everything, ports, networks),
        networks=tuple(networks.values()),
        volumes=tuple(volume.id for volume in server.volumes),
        image=describe_image(cloud, server.image["id"])
        if server.image
        else None,
    )


def other_boots(admin: Any, server_id: str, since: str) -> OtherBoots | None:
    """Return the boots of other servers that changed since a time, deleted ones too; only administrators may ask."""
    asked = seconds_of(now())
    query = {"all_tenants": 1, "changes-since": since}
    answer = answer_of(admin.compute.get("/servers/detail", params=query))
    # There is another page: a part of the others is not enough.
    if answer.get("servers_links"):
        return None
    servers = [
        from_json(BootAnswer, server, "a server")
        for server in answer["servers"]
    ]
    boots = [boot_of(server) for server in servers if server.id != server_id]
    return OtherBoots(asked, tuple(boots))


def boot_of(server: BootAnswer) -> OtherBoot:
    """Return when a boot began and ended as nova knows it. The end of one that may still be under way is None.

    For some seconds after its end it may still cause events.
    """
    if server.terminated or server.status in ("DELETED", "ERROR"):
        ended = server.terminated or server.updated
        return OtherBoot(server.created, ended, WINDING_UP)
    settling = SETTLING if server.launched else None
    return OtherBoot(server.created, server.launched, settling)


def claims(admin: Any, server: Server) -> Claims:
    """Return how many resource providers hold something for a server, and their names while the server has no host.

    Until nova-compute takes the server, only placement knows its host; only administrators may ask placement.
    """
    providers = sorted(
        answer_of(admin.placement.get(f"/allocations/{server.id}"))[
            "allocations"
        ]
    )
    names = (
        []
        if server.host
        else [name_of(admin, provider) for provider in providers]
    )
    return Claims(len(providers), tuple(names))


def traits_of(admin: Any, server: Server) -> tuple[str, ...]:
    """Return the traits that any of the resource providers has which hold something for a server."""
    providers = answer_of(admin.placement.get(f"/allocations/{server.id}"))[
        "allocations"
    ]
    found: set[str] = set()
    for provider in providers:
        answer = admin.placement.get(
            f"/resource_providers/{provider}/traits",
            microversion=TRAITS_SINCE,
        )
        found.update(answer_of(answer)["traits"])
    return tuple(sorted(found))


def name_of(admin: Any, provider: str) -> str:
    name: str = answer_of(
        admin.placement.get(f"/resource_providers/{provider}")
    )["name"]
    return name


def listed(cloud: Any, kind: str, answer: type[T], **query: Any) -> list[T]:
    """Return what the network service lists. A service that ignores a filter lists those of others, too."""
    things = answer_of(
        cloud.network.get(f"/{kind.replace('_', '-')}", params=query)
    )[kind]
    filters = {
        name: value for name, value in query.items() if name != "fields"
    }
    return [
        from_json(answer, thing, kind)
        for thing in things
        if passes(thing, filters)
    ]


def passes(thing: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    # With fields, a thing does not show all that was asked for.
    return all(
        is_like(thing.get(name), value) for name, value in filters.items()
    )


def is_like(value: Any, asked: Any) -> bool:
    return (
        value is None
        or value == asked
        or (isinstance(asked, list) and value in asked)
    )


def describe_server(server: ServerAnswer) -> Server:
    return Server(
        id=server.id,
        name=server.name,
        status=server.status,
        project_id=server.project_id,
        host=server.host,
        host_id=server.host_id,
        created=server.created,
        vcpus=server.flavor.vcpus,
        memory_mib=server.flavor.ram,
        disk_gib=server.flavor.disk,
        config_drive=bool(server.config_drive),
        traits=traits_in(server.flavor.extra_specs or {}) or None,
    )


def describe_ports(
    cloud: Any, ports: list[PortAnswer], networks: Mapping[str, Network]
) -> tuple[Port, ...]:
    """Return the ports, those that OVN serves with all that OVN's databases must have of them."""
    rules = rules_of(cloud, ports)
    described = []
    for port in ports:
        network = networks[port.network]
        floating = floating_ips(cloud, port) if network.routers else ()
        own = dataclasses.replace(
            describe_port(port, floating), egress_rules=egress_of(port, rules)
        )
        described.append(
            in_ovn(own, port, rules) if network.distributed else own
        )
    return tuple(described)


def describe_port(port: PortAnswer, floating: tuple[str, ...] = ()) -> Port:
    return Port(
        id=port.id,
        mac=port.mac,
        addresses=tuple(address.address for address in port.addresses),
        network=port.network,
        host=port.host or None,
        kind=port.kind,
        status=port.status,
        created=port.created,
        updated=port.updated,
        revision=port.revision,
        floating_ips=floating,
        disabled=not port.enabled,
    )


def egress_of(port: PortAnswer, rules: Rules) -> int | None:
    """Return how many rules of a port's security groups let packets out."""
    if not port.security_groups:
        return None
    known = chain.from_iterable(map(rules.__getitem__, port.security_groups))
    return sum(rule.direction == EGRESS for rule in known)


def in_ovn(described: Port, port: PortAnswer, rules: Rules) -> Port:
    """Return a port with its subnets and the rules of its security groups."""
    return dataclasses.replace(
        described,
        subnets=tuple(address.subnet for address in port.addresses),
        security_rules={
            group: tuple(map(ID, rules[group]))
            for group in port.security_groups or ()
        },
    )


def floating_ips(cloud: Any, port: PortAnswer) -> tuple[str, ...]:
    found = listed(cloud, "floatingips", FloatingIpAnswer, port_id=port.id)
    return tuple(floating.address for floating in found)


def rules_of(cloud: Any, ports: Iterable[PortAnswer]) -> Rules:
    """Return the rules of each security group that one of the ports has."""
    groups: dict[str, None] = {}
    for port in ports:
        groups.update(dict.fromkeys(port.security_groups or ()))
    rules = {}
    for group in groups:
        found = listed(
            cloud,
            "security_group_rules",
            RuleAnswer,
            security_group_id=group,
            fields=["id", "direction"],
        )
        rules[group] = tuple(found)
    return rules


def describe_network(cloud: Any, identity: str) -> Network:
    network = answer_of(cloud.network.get(f"/networks/{identity}"))["network"]
    # A shared network may have thousands of other ports.
    devices: dict[str, list[str]] = {}
    ports = listed(
        cloud,
        "ports",
        OwnerAnswer,
        network_id=identity,
        device_owner=OWNERS,
        fields=SERVING_FIELDS,
    )
    for port in ports:
        devices.setdefault(port.owner, []).append(port.device)
    routers: set[str] = set()
    for owner, own in devices.items():
        if "router" in owner:
            routers.update(own)
    subnets = listed(cloud, "subnets", SubnetAnswer, network_id=identity)
    return Network(
        id=identity,
        mtu=network.get("mtu"),
        subnets=tuple(map(describe_subnet, subnets)),
        # Each DHCP agent has a port, but not every user may see it.
        dhcp_ports=tuple(devices.get(DHCP_PORT, ())),
        # OVN has a port of its own kind instead of DHCP agents.
        distributed=LOCALPORT in devices,
        routers=tuple(sorted(routers)),
        # Then the compute hosts translate floating IPs.
        on_computes="network:router_interface_distributed" in devices,
        kind=network.get("provider:network_type"),
        physical=network.get("provider:physical_network"),
        serving=tuple(describe_serving(port) for port in ports if port.id),
        disabled=network.get("admin_state_up") is False,
        segment=network.get("provider:segmentation_id"),
    )


def describe_serving(port: OwnerAnswer) -> ServingPort:
    addresses = tuple(entry.address for entry in port.addresses)
    return ServingPort(
        port.id, port.owner, port.mac, port.host or None, port.kind, addresses
    )


def describe_subnet(subnet: SubnetAnswer) -> Subnet:
    return Subnet(
        id=subnet.id,
        version=subnet.version,
        cidr=subnet.cidr,
        gateway=subnet.gateway,
        dhcp=subnet.dhcp,
        routes=tuple(
            f"{route.destination},{route.nexthop}" for route in subnet.routes
        ),
        resolvers=subnet.resolvers,
    )


def describe_image(cloud: Any, identity: str) -> BootImage:
    answer = cloud.image.get(f"/images/{identity}")
    # The image may be deleted while the instance lives on.
    try:
        image = answer_of(answer) if answer.status_code == 200 else {}
    except StageError:
        image = {}
    # The address in another store may hold a password.
    address = image.get("direct_url") or ""
    return BootImage(
        id=identity,
        direct_url=address if address.startswith("rbd://") else None,
        stores=image.get("stores"),
        disk_format=image.get("disk_format"),
    )
