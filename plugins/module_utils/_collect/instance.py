# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API says of an instance, as far as its hosts must agree with it."""

from __future__ import annotations

from .._cloud.connection import answer_of
from .._record.clock import now
from .._record.errors import StageError

# Since this version a server shows its flavor's sizes.
FLAVOR_SINCE = "2.47"
# Whose ports tell how a network is served
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

# How long after a boot its guest may still be heard, and after a server is gone or given up what is still written of it
SETTLING, WINDING_UP = 60, 5


def look(cloud, server_id, admin=None):
    """The server with its ports, networks, volumes and image. An administrator also sees on which hosts they are."""
    everything = admin or cloud
    server = answer_of(everything.compute.get(f"/servers/{server_id}", microversion=FLAVOR_SINCE))["server"]
    ports = [port for port in listed(everything, "ports", device_id=server_id) if port["device_id"] == server_id]
    networks = {port["network_id"]: None for port in ports}
    return {
        "asked": now(),
        "server": describe_server(server),
        "ports": [describe_port(port) for port in ports],
        "networks": [describe_network(everything, network) for network in networks],
        "volumes": [one["id"] for one in server["os-extended-volumes:volumes_attached"]],
        "image": describe_image(cloud, server["image"]["id"]) if server["image"] else None,
    }


def other_boots(admin, server_id, since):
    """Which other servers changed since a time, those that are gone among them; only administrators are told."""
    asked, query = now(), {"all_tenants": 1, "changes-since": since}
    answer = answer_of(admin.compute.get("/servers/detail", params=query))
    # There are more than one page of them: who knows a part of the others does not know them.
    return None if answer.get("servers_links") else {"asked": asked, "boots": of_servers(answer["servers"], server_id)}


def of_servers(servers, own):
    """When others' boots began and ended, as an administrator is told; None where one may still be under way."""
    return [{"began": one["created"], **end_of_server(one)} for one in servers if one["id"] != own]


def end_of_server(server):
    """The moment that nova knows, and for how long after it something of the boot may still be heard."""
    launched, gone = server.get("OS-SRV-USG:launched_at"), server.get("OS-SRV-USG:terminated_at")
    if gone or server["status"] in ("DELETED", "ERROR"):
        return {"ended": gone or server["updated"], "settling_s": WINDING_UP}
    return {"ended": launched, "settling_s": SETTLING if launched else None}


def claims(admin, server):
    """How many resource providers hold something for a server, and which, as long as nova-compute has not taken it.

    Until then only placement knows where it is to go; only administrators may ask placement.
    """
    held = sorted(answer_of(admin.placement.get(f"/allocations/{server['id']}"))["allocations"])
    return {"allocations": len(held), "claimed_on": [] if server["host"] else [named(admin, one) for one in held]}


def named(admin, provider):
    return answer_of(admin.placement.get(f"/resource_providers/{provider}"))["name"]


def listed(cloud, kind, **query):
    return answer_of(cloud.network.get(f"/{kind}", params=query))[kind]


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


def describe_network(cloud, identity):
    network = answer_of(cloud.network.get(f"/networks/{identity}"))["network"]
    # A network that many share may have thousands of others.
    ports = listed(cloud, "ports", network_id=identity, device_owner=OWNERS, fields=["device_id", "device_owner"])
    return {
        "id": identity,
        "mtu": network.get("mtu"),
        "subnets": [describe_subnet(subnet) for subnet in listed(cloud, "subnets", network_id=identity)],
        # The DHCP agents have a port each, if this user may see them.
        "dhcp_ports": [port["device_id"] for port in ports if port["device_owner"] == "network:dhcp"],
        # OVN has ports of its own where others have DHCP agents.
        "distributed": any(port["device_owner"] == "network:distributed" for port in ports),
        "routers": sorted({port["device_id"] for port in ports if "router" in port["device_owner"]}),
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
    # The image may be gone while the instance lives on; what is not told of it keeps nothing else from being told.
    try:
        image = answer_of(answer) if answer.status_code == 200 else {}
    except StageError:
        image = {}
    # Those of other stores may hold a password.
    address = image.get("direct_url") or ""
    return {
        "id": identity,
        "direct_url": address if address.startswith("rbd://") else None,
        "stores": image.get("stores"),
    }
