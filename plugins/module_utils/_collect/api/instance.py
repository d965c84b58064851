# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the API for what the hosts of an instance must agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..._cloud.connection import answer_of
from ..._model.instance import BootImage, Claims, DescribedInstance, Network, Port, Server, Subnet
from ..._model.record import OtherBoot, OtherBoots
from ..._record.clock import now, seconds_of
from ..._record.errors import StageError

# Since this version a server shows the sizes of its flavor.
FLAVOR_SINCE = "2.47"
# The owners of the ports that show how a network is served
OWNERS = [
    "network:dhcp",
    "network:distributed",
    "network:router_interface",
    "network:router_interface_distributed",
    "network:router_gateway",
    "network:router_centralized_snat",
    "network:router_ha_interface",
    "network:ha_router_replicated_interface",
]

# An instance with more ports than a hypervisor attaches is known by the first of them: each is asked about on its own,
# and all that follows a run looks for each.
MOST_PORTS = 500

# In seconds: how long the guest still sends requests after a boot, and how long logs still name a server that is gone.
SETTLING, WINDING_UP = 60, 5

# A JSON object of an answer
Json = Mapping[str, Any]


def look(cloud: Any, server_id: str, admin: Any = None) -> DescribedInstance:
    """Return the server with its ports, networks, volumes and image. An administrator also sees their hosts."""
    everything = admin or cloud
    answer = answer_of(everything.compute.get(f"/servers/{server_id}", microversion=FLAVOR_SINCE))
    server = answer["server"]
    found = listed(everything, "ports", device_id=server_id)[:MOST_PORTS]
    networks = {}
    for identity in dict.fromkeys(port["network_id"] for port in found):
        networks[identity] = describe_network(everything, identity)
    ports = describe_ports(everything, found, networks)
    volumes = [volume["id"] for volume in server["os-extended-volumes:volumes_attached"]]
    return DescribedInstance(
        asked=seconds_of(now()),
        server=describe_server(server),
        ports=tuple(ports),
        networks=tuple(networks.values()),
        volumes=tuple(volumes),
        image=describe_image(cloud, server["image"]["id"]) if server["image"] else None,
    )


def other_boots(admin: Any, server_id: str, since: str) -> OtherBoots | None:
    """Return the boots of other servers that changed since a time, deleted ones too; only administrators may ask."""
    asked = seconds_of(now())
    query = {"all_tenants": 1, "changes-since": since}
    answer = answer_of(admin.compute.get("/servers/detail", params=query))
    # There is another page: a part of the others is not enough.
    if answer.get("servers_links"):
        return None
    boots = [boot_of(server) for server in answer["servers"] if server["id"] != server_id]
    return OtherBoots(asked, tuple(boots))


def boot_of(server: Json) -> OtherBoot:
    """Return when a boot began and ended as nova knows it. The end of one that may still be under way is None.

    For some seconds after its end it may still cause events.
    """
    began = server["created"]
    launched, gone = server.get("OS-SRV-USG:launched_at"), server.get("OS-SRV-USG:terminated_at")
    if gone or server["status"] in ("DELETED", "ERROR"):
        return OtherBoot(began, gone or server["updated"], WINDING_UP)
    return OtherBoot(began, launched, SETTLING if launched else None)


def claims(admin: Any, server: Server) -> Claims:
    """Return how many resource providers hold something for a server, and their names while the server has no host.

    Until nova-compute takes the server, only placement knows its host; only administrators may ask placement.
    """
    providers = sorted(answer_of(admin.placement.get(f"/allocations/{server.id}"))["allocations"])
    names = [] if server.host else [name_of(admin, provider) for provider in providers]
    return Claims(len(providers), tuple(names))


def name_of(admin: Any, provider: str) -> str:
    name: str = answer_of(admin.placement.get(f"/resource_providers/{provider}"))["name"]
    return name


def listed(cloud: Any, kind: str, **query: Any) -> list[Json]:
    """Return what the network service lists. A service that ignores a filter lists those of others, too."""
    things = answer_of(cloud.network.get(f"/{kind.replace('_', '-')}", params=query))[kind]
    filters = {name: value for name, value in query.items() if name != "fields"}
    return [thing for thing in things if passes(thing, filters)]


def passes(thing: Json, filters: Json) -> bool:
    # With fields, a thing does not show all that was asked for.
    return all(is_like(thing.get(name), value) for name, value in filters.items())


def is_like(value: Any, asked: Any) -> bool:
    return value is None or value == asked or (isinstance(asked, list) and value in asked)


def describe_server(server: Json) -> Server:
    flavor = server["flavor"]
    return Server(
        id=server["id"],
        name=server["name"],
        status=server["status"],
        project_id=server["tenant_id"],
        host=server.get("OS-EXT-SRV-ATTR:host"),
        host_id=server["hostId"],
        created=server["created"],
        vcpus=flavor["vcpus"],
        memory_mib=flavor["ram"],
        disk_gib=flavor["disk"],
    )


def describe_ports(cloud: Any, found: list[Json], networks: Mapping[str, Network]) -> list[Port]:
    """Return the ports, those that OVN serves with all that OVN's databases must have of them."""
    by_ovn = [port for port in found if networks[port["network_id"]].distributed]
    rules = rules_of(cloud, by_ovn)
    ports = []
    for port in found:
        network = networks[port["network_id"]]
        floating = floating_ips(cloud, port) if network.routers else ()
        ports.append(describe_port(port, floating, rules if network.distributed else None))
    return ports


def describe_port(
    port: Json, floating: tuple[str, ...] = (), rules: Mapping[str, tuple[str, ...]] | None = None
) -> Port:
    addresses = port["fixed_ips"]
    subnets = [address["subnet_id"] for address in addresses] if rules is not None else ()
    own_rules = {group: rules[group] for group in port["security_groups"]} if rules is not None else None
    return Port(
        id=port["id"],
        mac=port["mac_address"],
        addresses=tuple(address["ip_address"] for address in addresses),
        network=port["network_id"],
        host=port.get("binding:host_id") or None,
        kind=port.get("binding:vif_type"),
        status=port["status"],
        created=port.get("created_at"),
        updated=port.get("updated_at"),
        revision=port.get("revision_number"),
        floating_ips=floating,
        subnets=None if rules is None else tuple(subnets),
        security_rules=own_rules,
    )


def floating_ips(cloud: Any, port: Json) -> tuple[str, ...]:
    return tuple(entry["floating_ip_address"] for entry in listed(cloud, "floatingips", port_id=port["id"]))


def rules_of(cloud: Any, ports: Iterable[Json]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the rules of each security group that one of the ports has."""
    rules: dict[str, tuple[str, ...]] = {}
    for port in ports:
        for group in port["security_groups"]:
            if group not in rules:
                found = listed(cloud, "security_group_rules", security_group_id=group, fields=["id"])
                rules[group] = tuple(rule["id"] for rule in found)
    return rules


def describe_network(cloud: Any, identity: str) -> Network:
    network = answer_of(cloud.network.get(f"/networks/{identity}"))["network"]
    # A shared network may have thousands of other ports.
    fields = ["device_id", "device_owner"]
    owners: dict[str, list[str]] = {}
    for port in listed(cloud, "ports", network_id=identity, device_owner=OWNERS, fields=fields):
        owners.setdefault(port["device_owner"], []).append(port["device_id"])
    routers: set[str] = set()
    for owner, devices in owners.items():
        if "router" in owner:
            routers.update(devices)
    subnets = listed(cloud, "subnets", network_id=identity)
    return Network(
        id=identity,
        mtu=network.get("mtu"),
        subnets=tuple(map(describe_subnet, subnets)),
        # Each DHCP agent has a port, but not every user may see it.
        dhcp_ports=tuple(owners.get("network:dhcp", ())),
        # OVN has a port of its own kind instead of DHCP agents.
        distributed="network:distributed" in owners,
        routers=tuple(sorted(routers)),
        # Then the compute hosts translate floating IPs.
        on_computes="network:router_interface_distributed" in owners,
    )


def describe_subnet(subnet: Json) -> Subnet:
    return Subnet(
        id=subnet["id"],
        version=subnet["ip_version"],
        cidr=subnet["cidr"],
        gateway=subnet["gateway_ip"],
        dhcp=subnet["enable_dhcp"],
        routes=tuple("{destination},{nexthop}".format(**route) for route in subnet["host_routes"]),
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
