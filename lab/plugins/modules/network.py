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

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.lab.plugins.module_utils._machine import (
    Lab,
    LabError,
    namespaces,
    run,
    run_json,
)

NETWORKS = ("mgmt", "data")


def links(namespace=None):
    """Interfaces of a namespace (of the machine without one): name to the kernel's record."""
    where = ["-n", namespace] if namespace else []
    argv = ["ip", "-j", *where, "address", "show"]
    return {link["ifname"]: link for link in run_json(argv)}


def addresses(link):
    return {f"{entry['local']}/{entry['prefixlen']}" for entry in link.get("addr_info", [])}


def up(link):
    return bool(link) and "UP" in link.get("flags", [])


def pair(lab, namespace, name, port, bridge, address, inside, ports):
    """Commands for one veth pair between a namespace (None: the machine) and a switch, unless it is complete.

    A pair that an interrupted build left half done is made again: deleting one end deletes both.
    """
    link = inside.get(name)
    wired = up(ports.get(port)) and ports[port].get("master") == bridge
    if up(link) and wired and (not address or address in addresses(link)):
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


def plan_present(lab, hosts, have_namespaces, links_of, guarded):
    """The commands that are missing to a complete network. Pure: the present state comes as arguments."""
    commands = []
    if not guarded:
        commands.append(["ip", "route", "replace", "unreachable", str(lab.prefix)])
    for namespace in [lab.switch, *map(lab.namespace, hosts)]:
        if namespace not in have_namespaces:
            commands += [
                ["ip", "netns", "add", namespace],
                ["ip", "-n", namespace, "link", "set", "lo", "up"],
            ]
    ports = links_of(lab.switch)
    for network in NETWORKS:
        if network not in ports:
            commands.append(["ip", "-n", lab.switch, "link", "add", network, "type", "bridge"])
        if not up(ports.get(network)):
            commands += [
                ["ip", "-n", lab.switch, "link", "set", network, "addrgenmode", "none"],
                ["ip", "-n", lab.switch, "link", "set", network, "up"],
            ]
    machine = links_of(None)
    for network, address in (("mgmt", lab.machine_management), ("data", lab.machine_external)):
        name = f"{lab.name}-{network}"
        made = pair(lab, None, name, f"{network}-machine", network, f"{address}/24", machine, ports)
        if made:
            # The userspace datapath at the other end does not complete checksums: TCP would hang.
            commands += [*made, ["ethtool", "-K", name, "tx", "off"]]
    for index, host in enumerate(hosts):
        namespace = lab.namespace(host)
        inside = links_of(namespace)
        for number, network in enumerate(NETWORKS):
            address = f"{lab.host_address(index)}/24" if network == "mgmt" else None
            # Interface names hold 15 characters, so the switch ports are numbered.
            port = f"{network}-{index}"
            commands += pair(lab, namespace, f"eth{number}", port, network, address, inside, ports)
    return commands


def plan_absent(lab, have_namespaces, machine_links, guarded):
    commands = []
    for network in NETWORKS:
        if f"{lab.name}-{network}" in machine_links:
            commands.append(["ip", "link", "delete", f"{lab.name}-{network}"])
    for namespace in sorted(have_namespaces):
        if namespace.startswith(f"{lab.name}-"):
            commands.append(["ip", "netns", "delete", namespace])
    if guarded:
        commands.append(["ip", "route", "delete", "unreachable", str(lab.prefix)])
    return commands


def main():
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

        def links_of(namespace):
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
