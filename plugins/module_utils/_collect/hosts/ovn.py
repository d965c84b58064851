# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port in OVN's northbound and southbound databases: its binding, its DHCP, its port groups and its routers."""

from __future__ import annotations

from ..commands import UnreadError
from .ovs import rows

# A follower answers, too: what is read here need not be newer than some milliseconds.
NORTHBOUND = ("ovn_nb", "ovn-nbctl", "--no-leader-only", "--format=json")
SOUTHBOUND = ("ovn_sb", "ovn-sbctl", "--no-leader-only", "--format=json")


class NoDatabaseError(Exception):
    """This host has no database of OVN, as not each host of the control plane has."""


def read(host, port, routers):
    """The facts about a port; None if no database of OVN runs here. routers: ids of the routers of its network."""
    try:
        logical = host.attempt("OVN's port", logical_port, port["id"])
    except NoDatabaseError:
        return None
    return {
        "logical": logical,
        "binding": host.attempt("OVN's binding of the port", binding, port["id"]),
        "dhcp": host.attempt("OVN's DHCP options", dhcp_options, logical, port.get("subnets", ())),
        "groups": host.attempt("OVN's port groups", port_groups, logical),
        "routers": host.attempt("OVN's routers", routers_of, routers, port["addresses"]),
    }


def table(host, database, columns, *words):
    part, *command = database
    return rows(host.ask(part, *command, f"--columns={columns}", *words))


def logical_port(host, port):
    columns = "_uuid,up,enabled,addresses,dhcpv4_options"
    try:
        found = table(host, NORTHBOUND, columns, "find", "Logical_Switch_Port", f"name={port}")
    except UnreadError as exc:
        if exc.kind == "missing" or "database connection failed (No such file" in exc.output:
            raise NoDatabaseError from exc
        raise
    if not found:
        return None
    row = found[0]
    return {
        "uuid": row["_uuid"],
        "up": row["up"] is True,
        # An empty column means that it is enabled.
        "enabled": row["enabled"] is not False,
        "addresses": listed(row["addresses"]),
        "dhcp": next(iter(listed(row["dhcpv4_options"])), None),
    }


def listed(value):
    """The values of a column: a single value is not a list."""
    return value if isinstance(value, list) else [value]


def binding(host, port):
    """Whether a port is up in the southbound database, and the host of the chassis that has claimed it."""
    found = table(host, SOUTHBOUND, "chassis,up", "find", "Port_Binding", f"logical_port={port}")
    if not found:
        return None
    return {"host": host_of(host, found[0]["chassis"]), "up": found[0]["up"] is True}


def host_of(host, chassis):
    """The name of a chassis' host; None for a port that no chassis has claimed."""
    if not isinstance(chassis, str):
        return None
    return table(host, SOUTHBOUND, "hostname", "list", "Chassis", chassis)[0]["hostname"]


def dhcp_options(host, logical, subnets):
    """The range and the options that ovn-controller gives out, of the row that the port refers to."""
    for subnet in subnets if logical else ():
        condition = f"external_ids:subnet_id={subnet}"
        for row in table(host, NORTHBOUND, "_uuid,cidr,options", "find", "DHCP_Options", condition):
            if row["_uuid"] == logical["dhcp"]:
                return {"cidr": row["cidr"], "options": row["options"]}
    return None


def port_groups(host, logical):
    """The name of each group that the port is in, with the number of its ACLs."""
    if not logical:
        return {}
    found = table(host, NORTHBOUND, "name,acls", "find", "Port_Group", f"ports{{>=}}{logical['uuid']}")
    return {row["name"]: len(listed(row["acls"])) for row in found}


def routers_of(host, routers, addresses):
    """Of each router the host and the MAC of its gateway, and the floating IPs of the port's addresses."""
    facts = {}
    for router in routers:
        for row in table(host, NORTHBOUND, "ports,nat", "find", "Logical_Router", f"name=neutron-{router}"):
            floating = floating_ips(host, set(listed(row["nat"])), addresses) if listed(row["nat"]) else []
            facts[router] = {**gateway_of(host, listed(row["ports"])), "floating_ips": floating}
    return facts


def floating_ips(host, rules, addresses):
    """The floating IP of each address, by a router's NAT rules. Other projects may have the same addresses."""
    columns, found = "_uuid,external_ip,external_mac,logical_ip,type", []
    for address in addresses:
        found += table(host, NORTHBOUND, columns, "find", "NAT", f"logical_ip={address}")
    return [
        # With a MAC of its own it is answered for where the port is, else by the router's gateway.
        {
            "address": row["external_ip"],
            "fixed": row["logical_ip"],
            "mac": next(iter(listed(row["external_mac"])), None),
        }
        for row in found
        if row["type"] == "dnat_and_snat" and row["_uuid"] in rules
    ]


def gateway_of(host, ports):
    """The gateway port of a router: its MAC, and the host whose chassis has it; None and None without one."""
    for port in ports:
        columns = "name,mac,gateway_chassis,ha_chassis_group"
        row = table(host, NORTHBOUND, columns, "list", "Logical_Router_Port", port)[0]
        # Neutron gives a gateway chassis of its own, in 2026.2 a group of them.
        if listed(row["gateway_chassis"]) or listed(row["ha_chassis_group"]):
            return {"gateway": (binding(host, f"cr-{row['name']}") or {}).get("host"), "mac": row["mac"]}
    return {"gateway": None, "mac": None}
