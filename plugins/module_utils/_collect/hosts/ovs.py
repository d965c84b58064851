# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port in Open vSwitch and in the kernel."""

from __future__ import annotations

import json
import re

from ..commands import UnreadError


def read(host, port):
    """The interface of a Neutron port; None if this host has none."""
    interface = host.attempt("the interface in Open vSwitch", interface_of, port)
    if not interface:
        return {"interface": None}
    name = interface["name"]
    interface["bridge"] = host.attempt("the interface's bridge", bridge_of, name)
    interface["tag"] = host.attempt("the port's tag", tag_of, name)
    interface["link"] = host.attempt("the link", link_of, name)
    interface["flows"] = host.attempt("the flows", flows_of, interface["bridge"], interface["ofport"])
    return {"interface": interface}


def rows(text):
    """The rows of a table of ovs-vsctl; maps, sets and UUIDs in them become dictionaries, lists and texts."""
    table = json.loads(text)
    return [dict(zip(table["headings"], map(plain, row))) for row in table["data"]]


def plain(value):
    if isinstance(value, list) and value[0] == "map":
        return dict(value[1])
    if isinstance(value, list) and value[0] == "set":
        return [plain(item) for item in value[1]]
    if isinstance(value, list) and value[0] == "uuid":
        return value[1]
    return value


def interface_of(host, port):
    columns = "--columns=name,ofport,external_ids,error"
    condition = f"external_ids:iface-id={port}"
    interfaces = rows(host.ask("ovs", "ovs-vsctl", "--format=json", columns, "find", "Interface", condition))
    if not interfaces:
        return None
    interface, *others = interfaces
    ids = interface["external_ids"]
    return {
        "name": interface["name"],
        "ofport": number(interface["ofport"]),
        "error": interface["error"] or None,
        "port": ids.get("iface-id"),
        "mac": ids.get("attached-mac"),
        "server": ids.get("vm-uuid"),
        "by_ovn": ids.get("ovn-installed") == "true",
        "others": [other["name"] for other in others],
    }


def number(value):
    """An empty column is an empty list."""
    return value if isinstance(value, int) else None


def bridge_of(host, name):
    return host.ask("ovs", "ovs-vsctl", "iface-to-br", name).strip()


def tag_of(host, name):
    ports = rows(host.ask("ovs", "ovs-vsctl", "--format=json", "--columns=tag", "find", "Port", f"name={name}"))
    return number(ports[0]["tag"]) if ports else None


def link_of(host, name):
    """The MTU, and whether the link is up; None if the kernel has no such link."""
    try:
        links = json.loads(host.ask("ovs", "ip", "-json", "link", "show", "dev", name, root=False))
    except UnreadError as exc:
        if "does not exist" in exc.output:
            return None
        raise
    return {"mtu": links[0]["mtu"], "up": "UP" in links[0]["flags"]}


def flows_of(host, bridge, ofport):
    """The number of flows that name the port, and the ages of the oldest and the youngest."""
    if bridge is None or ofport is None:
        return None
    flows = host.ask("ovs", "ovs-ofctl", "dump-flows", bridge, f"in_port={ofport}")
    ages = [float(age) for age in re.findall(r"\bduration=([\d.]+)s", flows)]
    return {"count": len(ages), "oldest_s": max(ages, default=None), "youngest_s": min(ages, default=None)}
