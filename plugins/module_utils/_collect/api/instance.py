# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks the API for what the hosts of an instance must agree with."""

from __future__ import annotations

from typing import Any

from ..._cloud.connection import answer_of
from ..._record.clock import now
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

# For so many seconds the guest still sends requests after a boot, and logs still name a server that is gone or failed.
SETTLING, WINDING_UP = 60, 5


def look(cloud, server_id, admin=None):
    """The server with its ports, networks, volumes and image. An administrator also sees their hosts."""
    everything = admin or cloud
    server = answer_of(everything.compute.get(f"/servers/{server_id}", microversion=FLAVOR_SINCE))["server"]
    found = listed(everything, "ports", device_id=server_id)
    ports = found[:MOST_PORTS]
    networks = [describe_network(everything, network) for network in {port["network_id"]: None for port in ports}]
    by_ovn = {network["id"] for network in networks if network["distributed"]}
    routed = {network["id"] for network in networks if network["routers"]}
    rules = rules_of(everything, [port for port in ports if port["network_id"] in by_ovn])
    return {
        "asked": now(),
        "server": describe_server(server),
        "ports": [
            {
                **describe_port(port),
                "floating_ips": floating_ips(everything, port) if port["network_id"] in routed else [],
                **(in_ovn(port, rules) if port["network_id"] in by_ovn else {}),
            }
            for port in ports
        ],
        "networks": networks,
        "volumes": [volume["id"] for volume in server["os-extended-volumes:volumes_attached"]],
        "image": describe_image(cloud, server["image"]["id"]) if server["image"] else None,
    }


def other_boots(admin, server_id, since):
    """The boots of the other servers that changed since a time, deleted ones too; only administrators may ask."""
    asked, query = now(), {"all_tenants": 1, "changes-since": since}
    answer = answer_of(admin.compute.get("/servers/detail", params=query))
    # There is another page: a part of the others is not enough.
    if answer.get("servers_links"):
        return None
    return {"asked": asked, "boots": of_servers(answer["servers"], server_id)}


def of_servers(servers, own):
    """When the boots of other servers began and ended; the end of a boot that may still be under way is None."""
    return [{"began": server["created"], **end_of_server(server)} for server in servers if server["id"] != own]


def end_of_server(server):
    """The end of a boot as nova knows it, and for how many seconds after it the boot may still cause events."""
    launched, gone = server.get("OS-SRV-USG:launched_at"), server.get("OS-SRV-USG:terminated_at")
    if gone or server["status"] in ("DELETED", "ERROR"):
        return {"ended": gone or server["updated"], "settling_s": WINDING_UP}
    return {"ended": launched, "settling_s": SETTLING if launched else None}


def claims(admin, server):
    """How many resource providers hold something for a server, and their names while the server has no host.

    Until nova-compute takes the server, only placement knows its host; only administrators may ask placement.
    """
    providers = sorted(answer_of(admin.placement.get(f"/allocations/{server['id']}"))["allocations"])
    names = [] if server["host"] else [name_of(admin, provider) for provider in providers]
    return {"allocations": len(providers), "claimed_on": names}


def name_of(admin, provider):
    return answer_of(admin.placement.get(f"/resource_providers/{provider}"))["name"]


def listed(cloud, kind, **query):
    """Return what the network service lists. A service that ignores a filter lists those of others, too."""
    things = answer_of(cloud.network.get(f"/{kind.replace('_', '-')}", params=query))[kind]
    asked = {name: value for name, value in query.items() if name != "fields"}
    # With fields, a thing does not show all that was asked for.
    return [thing for thing in things if all(is_like(thing.get(name), value) for name, value in asked.items())]


def is_like(value, asked):
    return value is None or value == asked or (isinstance(asked, list) and value in asked)


def describe_server(server):
    flavor = server["flavor"]
    return {
        "id": server["id"],
        "name": server["name"],
        "status": server["status"],
        "project_id": server["tenant_id"],
        "host": server.get("OS-EXT-SRV-ATTR:host"),
        "host_id": server["hostId"],
        "created": server["created"],
        "vcpus": flavor["vcpus"],
        "memory_mib": flavor["ram"],
        "disk_gib": flavor["disk"],
    }


def describe_port(port):
    return {
        "id": port["id"],
        "mac": port["mac_address"],
        "addresses": [address["ip_address"] for address in port["fixed_ips"]],
        "network": port["network_id"],
        "host": port.get("binding:host_id") or None,
        "kind": port.get("binding:vif_type"),
        "status": port["status"],
        "created": port.get("created_at"),
        "updated": port.get("updated_at"),
        "revision": port.get("revision_number"),
    }


def floating_ips(cloud, port):
    return [entry["floating_ip_address"] for entry in listed(cloud, "floatingips", port_id=port["id"])]


def rules_of(cloud: Any, ports: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the ids of the rules of each security group that one of the ports has."""
    groups = dict.fromkeys(group for port in ports for group in port["security_groups"])
    return {
        group: [rule["id"] for rule in listed(cloud, "security_group_rules", security_group_id=group, fields=["id"])]
        for group in groups
    }


def in_ovn(port: dict[str, Any], rules: dict[str, list[str]]) -> dict[str, Any]:
    """Return all that OVN's databases must have of a port."""
    return {
        "subnets": [address["subnet_id"] for address in port["fixed_ips"]],
        "security_rules": {group: rules[group] for group in port["security_groups"]},
    }


def describe_network(cloud, identity):
    network = answer_of(cloud.network.get(f"/networks/{identity}"))["network"]
    # A shared network may have thousands of other ports.
    ports = listed(cloud, "ports", network_id=identity, device_owner=OWNERS, fields=["device_id", "device_owner"])
    return {
        "id": identity,
        "mtu": network.get("mtu"),
        "subnets": [describe_subnet(subnet) for subnet in listed(cloud, "subnets", network_id=identity)],
        # Each DHCP agent has a port, but not every user may see it.
        "dhcp_ports": [port["device_id"] for port in ports if port["device_owner"] == "network:dhcp"],
        # OVN has a port of its own kind instead of DHCP agents.
        "distributed": any(port["device_owner"] == "network:distributed" for port in ports),
        "routers": sorted({port["device_id"] for port in ports if "router" in port["device_owner"]}),
        # Then the compute hosts translate floating IPs.
        "on_computes": any(port["device_owner"] == "network:router_interface_distributed" for port in ports),
    }


def describe_subnet(subnet):
    return {
        "id": subnet["id"],
        "version": subnet["ip_version"],
        "cidr": subnet["cidr"],
        "gateway": subnet["gateway_ip"],
        "dhcp": subnet["enable_dhcp"],
        "routes": [f"{route['destination']},{route['nexthop']}" for route in subnet["host_routes"]],
    }


def describe_image(cloud, identity):
    answer = cloud.image.get(f"/images/{identity}")
    # The image may be deleted while the instance lives on.
    try:
        image = answer_of(answer) if answer.status_code == 200 else {}
    except StageError:
        image = {}
    # The address in another store may hold a password.
    address = image.get("direct_url") or ""
    return {
        "id": identity,
        "direct_url": address if address.startswith("rbd://") else None,
        "stores": image.get("stores"),
        "disk_format": image.get("disk_format"),
    }
