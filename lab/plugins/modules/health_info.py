#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: health_info
short_description: Checks the health of a lab host
version_added: 0.1.0
description:
  - Checks units, listening ports and commands that must succeed, and lists all problems.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
extends_documentation_fragment: [stackproof.lab._lab.reads]
options:
  units:
    description: Units that must be active.
    type: list
    elements: str
    default: []
  ports:
    description: TCP ports on which a program must listen.
    type: list
    elements: int
    default: []
  commands:
    description: Shell commands that must succeed.
    type: list
    elements: str
    default: []
  packages:
    description: Packages whose versions are returned.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Check the storage host
  stackproof.lab.health_info:
    units: [ceph-mon@a.service]
    ports: [6789]
    commands: [ceph health | grep -q HEALTH_OK]
"""

RETURN = r"""
problems:
  description: The problems, one sentence each.
  returned: success
  type: list
  elements: str
versions:
  description: Upstream version of each package of O(packages), without the additions of the distribution.
  returned: success
  type: dict
checked:
  description: The number of checks.
  returned: success
  type: int
"""

from collections.abc import Iterator

from ansible.module_utils.basic import AnsibleModule

LISTEN = "0A"


def parse_listening(text: str) -> set[int]:
    """Return the ports in state LISTEN, from the text of /proc/net/tcp or tcp6."""
    rows = (line.split() for line in text.splitlines()[1:])
    return {int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == LISTEN}


def listening() -> set[int]:
    ports: set[int] = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="ascii") as file:
            ports |= parse_listening(file.read())
    return ports


def examine(module: AnsibleModule) -> Iterator[str]:
    yield from inactive_units(module)
    yield from failed_units(module)
    yield from closed_ports(module)
    yield from failing_commands(module)


def inactive_units(module: AnsibleModule) -> Iterator[str]:
    units = module.params["units"]
    if not units:
        return
    states = module.run_command(["systemctl", "is-active", *units])[1].split()
    if len(states) != len(units):
        yield f"systemd tells the states of {len(states)} of {len(units)} units"
    for unit, state in zip(units, states):
        if state != "active":
            yield f"{unit} is {state}"


def failed_units(module: AnsibleModule) -> Iterator[str]:
    """Report units that have failed and were not asked for: those are reported as inactive."""
    status, failed, errors = module.run_command(["systemctl", "list-units", "--failed", "--no-legend", "--plain"])
    if status:
        yield f"systemd does not say which units have failed: {errors.strip()}"
    for line in failed.splitlines():
        name = line.split()[0]
        if name not in module.params["units"]:
            yield f"{name} has failed"


def closed_ports(module: AnsibleModule) -> Iterator[str]:
    open_ports = listening()
    for port in module.params["ports"]:
        if port not in open_ports:
            yield f"nothing listens on port {port}"


def failing_commands(module: AnsibleModule) -> Iterator[str]:
    for command in module.params["commands"]:
        code, out, err = module.run_command(["timeout", "20", "/bin/sh", "-c", command])
        if code != 0:
            yield f"{command}: exit status {code}. {(err or out).strip()[-300:]}"


def upstream(version: str) -> str:
    """Return the upstream part of a Debian version, without epoch, revision and marks of repackaging."""
    return version.partition(":")[2 if ":" in version else 0].partition("-")[0].partition("+")[0]


def versions(module: AnsibleModule) -> dict[str, str]:
    if not module.params["packages"]:
        return {}
    query = ["dpkg-query", "--show", "--showformat=${Package} ${Version}\\n", *module.params["packages"]]
    code, out, err = module.run_command(query)
    if code != 0:
        module.fail_json(msg=f"The versions of packages cannot be read: {err.strip()}")
    pairs = map(str.split, out.splitlines())
    return {name: upstream(version) for name, version in pairs}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "default": []},
            "ports": {"type": "list", "elements": "int", "default": []},
            "commands": {"type": "list", "elements": "str", "default": []},
            "packages": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    checked = sum(len(module.params[name]) for name in ("units", "ports", "commands")) + 1
    module.exit_json(changed=False, problems=list(examine(module)), checked=checked, versions=versions(module))


if __name__ == "__main__":
    main()
