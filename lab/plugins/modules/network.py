#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: network
short_description: Connects the hosts of a lab
version_added: 0.1.0
description:
  - Connects the hosts of a lab to each other and to the machine, with network namespaces and veth pairs.
  - The two switches of a lab (management, and data with the external network) are bridges in a namespace of their own.
    No firewall and no forwarding rule of the machine applies there. The machine has one interface in each.
  - While the interfaces are missing, a route makes every address of the lab unreachable, so that no packet for the lab
    can leave by another route.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
extends_documentation_fragment: [stackproof.lab._lab.name]
options:
  hosts:
    description: Names of the hosts, in the order of their addresses.
    type: list
    elements: str
    default: []
  state:
    description: Whether the wires are there.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    description: Returns the commands and runs none.
    support: full
"""

EXAMPLES = r"""
- name: Wire five hosts
  stackproof.lab.network:
    name: lab
    hosts: [controller, network, compute1, compute2, storage]
"""

RETURN = r"""
commands:
  description: The commands that were run.
  returned: success
  type: list
  elements: str
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.lab.plugins.module_utils._machine import (
    Lab,
    LabError,
    namespaces,
    run,
    run_json,
)

Command = list[str]
# The kernel's record of an interface, and those of a namespace by name
Link = dict[str, Any]
Links = dict[str, Link]
# Returns the interfaces of a namespace, or those of the machine
LinksOf = Callable[["str | None"], Links]
NETWORKS = ("mgmt", "data")


def links(namespace: str | None = None) -> Links:
    """Return the interfaces of a namespace, or of the machine without one."""
    where = ["-n", namespace] if namespace else []
    argv = ["ip", "-j", *where, "address", "show"]
    return {link["ifname"]: link for link in run_json(argv)}


def addresses(link: Link) -> set[str]:
    return {f"{entry['local']}/{entry['prefixlen']}" for entry in link.get("addr_info", [])}


def up(link: Link | None) -> bool:
    return link is not None and "UP" in link.get("flags", [])


def is_complete(link: Link, far: Link | None, bridge: str, address: str | None) -> bool:
    """Return whether both ends of a pair are up, the far one is on its bridge, and the near one has its address."""
    if not up(link) or not far or not up(far):
        return False
    return far.get("master") == bridge and (not address or address in addresses(link))


def pair(
    lab: Lab,
    namespace: str | None,
    name: str,
    port: str,
    bridge: str,
    address: str | None,
    inside: Links,
    ports: Links,
) -> list[Command]:
    """Return the commands for a veth pair between a namespace (None: the machine) and a switch, unless it is complete.

    A pair that an interrupted build left half done is made again: deleting one end deletes both.
    """
    link = inside.get(name)
    if link and is_complete(link, ports.get(port), bridge, address):
        return []
    near = ["ip", "-n", namespace] if namespace else ["ip"]
    switch = ["ip", "-n", lab.switch]
    commands = [[*near, "link", "delete", name]] if link else []
    commands += [
        [*near, "link", "add", name, "type", "veth", "peer", "name", port, "netns", lab.switch],
        # With a link-local address the kernel would send packets of its own.
        [*near, "link", "set", name, "addrgenmode", "none"],
        [*switch, "link", "set", port, "addrgenmode", "none"],
        [*switch, "link", "set", port, "master", bridge, "up"],
    ]
    if address:
        commands.append([*near, "address", "add", address, "dev", name])
    commands.append([*near, "link", "set", name, "up"])
    return commands


def plan_present(
    lab: Lab, hosts: Iterable[str], have_namespaces: Collection[str], links_of: LinksOf, guarded: bool
) -> list[Command]:
    """Return the commands that are missing to a complete network. Pure: the present state comes as arguments."""
    guard = [] if guarded else [["ip", "route", "replace", "unreachable", str(lab.prefix)]]
    ports = links_of(lab.switch)
    return [
        *guard,
        *plan_namespaces(lab, hosts, have_namespaces),
        *plan_bridges(lab, ports),
        *plan_machine(lab, ports, links_of(None)),
        *plan_hosts(lab, hosts, ports, links_of),
    ]


def plan_namespaces(lab: Lab, hosts: Iterable[str], have_namespaces: Collection[str]) -> list[Command]:
    commands: list[Command] = []
    for namespace in [lab.switch, *map(lab.namespace, hosts)]:
        if namespace not in have_namespaces:
            commands += [
                ["ip", "netns", "add", namespace],
                ["ip", "-n", namespace, "link", "set", "lo", "up"],
            ]
    return commands


def plan_bridges(lab: Lab, ports: Links) -> list[Command]:
    commands: list[Command] = []
    for network in NETWORKS:
        if network not in ports:
            commands.append(["ip", "-n", lab.switch, "link", "add", network, "type", "bridge"])
        if not up(ports.get(network)):
            commands += [
                ["ip", "-n", lab.switch, "link", "set", network, "addrgenmode", "none"],
                ["ip", "-n", lab.switch, "link", "set", network, "up"],
            ]
    return commands


def plan_machine(lab: Lab, ports: Links, machine_links: Links) -> list[Command]:
    """Return the commands that connect the machine itself to both networks."""
    commands: list[Command] = []
    for network, address in (("mgmt", lab.machine_management), ("data", lab.machine_external)):
        name = f"{lab.name}-{network}"
        made = pair(lab, None, name, f"{network}-machine", network, f"{address}/24", machine_links, ports)
        if made:
            # The userspace datapath at the other end does not complete checksums: TCP would hang.
            commands += [*made, ["ethtool", "-K", name, "tx", "off"]]
    return commands


def plan_hosts(lab: Lab, hosts: Iterable[str], ports: Links, links_of: LinksOf) -> list[Command]:
    """Return the commands that connect each host's namespace to both networks."""
    commands: list[Command] = []
    for index, host in enumerate(hosts):
        namespace = lab.namespace(host)
        inside = links_of(namespace)
        for number, network in enumerate(NETWORKS):
            address = f"{lab.host_address(index)}/24" if network == "mgmt" else None
            # Interface names hold 15 characters, so the switch ports are numbered.
            port = f"{network}-{index}"
            commands += pair(lab, namespace, f"eth{number}", port, network, address, inside, ports)
    return commands


def plan_absent(lab: Lab, have_namespaces: Iterable[str], machine_links: Links, guarded: bool) -> list[Command]:
    names = [f"{lab.name}-{network}" for network in NETWORKS]
    of_links = [["ip", "link", "delete", name] for name in names if name in machine_links]
    own = [namespace for namespace in sorted(have_namespaces) if namespace.startswith(f"{lab.name}-")]
    of_namespaces = [["ip", "netns", "delete", namespace] for namespace in own]
    guard = [["ip", "route", "delete", "unreachable", str(lab.prefix)]] if guarded else []
    return [*of_links, *of_namespaces, *guard]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "prefix": {"type": "str", "default": ""},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        lab = Lab(module.params["name"], module.params["prefix"])
        have = namespaces()
        routes = run_json(["ip", "-j", "route", "show", "type", "unreachable"])
        guarded = str(lab.prefix) in {route.get("dst") for route in routes}

        def links_of(namespace: str | None) -> Links:
            return links(namespace) if namespace is None or namespace in have else {}

        if module.params["state"] == "present":
            commands = plan_present(lab, module.params["hosts"], have, links_of, guarded)
        else:
            commands = plan_absent(lab, have, links_of(None), guarded)
        if not module.check_mode:
            for command in commands:
                run(command)
    except LabError as exc:
        module.fail_json(msg=f"Network of the lab {module.params['name']}: {exc}")
    module.exit_json(changed=bool(commands), commands=[" ".join(command) for command in commands])


if __name__ == "__main__":
    main()
