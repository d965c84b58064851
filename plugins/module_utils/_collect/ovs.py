# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Open vSwitch and the kernel have of a port."""

from __future__ import annotations

import json
import re

from .host import UnreadError


def read(host, port):
    """The interface of a Neutron port: None where this host has none."""
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
    """A table of ovs-vsctl as dictionaries, its maps and sets as Python's."""
    said = json.loads(text)
    return [dict(zip(said["headings"], map(plain, row))) for row in said["data"]]


def plain(value):
    if isinstance(value, list) and value[0] == "map":
        return dict(value[1])
    if isinstance(value, list) and value[0] == "set":
        return [plain(one) for one in value[1]]
    return value


def interface_of(host, port):
    said = host.ask(
        "ovs", "ovs-vsctl", "--format=json", "--columns=name,ofport,external_ids,error",
        "find", "Interface", f"external_ids:iface-id={port}",
    )  # fmt: skip
    found = rows(said)
    if not found:
        return None
    ids = found[0]["external_ids"]
    ofport = found[0]["ofport"]
    return {
        "name": found[0]["name"],
        "ofport": ofport if isinstance(ofport, int) else None,
        "error": found[0]["error"] or None,
        "port": ids.get("iface-id"),
        "mac": ids.get("attached-mac"),
        "server": ids.get("vm-uuid"),
        "by_ovn": ids.get("ovn-installed") == "true",
        "others": [one["name"] for one in found[1:]],
    }


def bridge_of(host, name):
    return host.ask("ovs", "ovs-vsctl", "iface-to-br", name).strip()


def tag_of(host, name):
    found = rows(host.ask("ovs", "ovs-vsctl", "--format=json", "--columns=tag", "find", "Port", f"name={name}"))
    tag = found[0]["tag"] if found else None
    return tag if isinstance(tag, int) else None


def link_of(host, name):
    """MTU, and whether it is set up; None where the kernel has no such link."""
    try:
        said = json.loads(host.ask("ovs", "ip", "-json", "link", "show", "dev", name, root=False))
    except UnreadError as exc:
        if "does not exist" in exc.said:
            return None
        raise
    return {"mtu": said[0]["mtu"], "up": "UP" in said[0]["flags"]}


def flows_of(host, bridge, ofport):
    """How many flows name the port, and how long the oldest and the youngest have been there."""
    if bridge is None or ofport is None:
        return None
    said = host.ask("ovs", "ovs-ofctl", "dump-flows", bridge, f"in_port={ofport}")
    ages = [float(age) for age in re.findall(r"\bduration=([\d.]+)s", said)]
    return {"count": len(ages), "oldest_s": max(ages, default=None), "youngest_s": min(ages, default=None)}
