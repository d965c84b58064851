#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: containers
short_description: Makes the hosts of a lab, as containers that run systemd
version_added: 0.1.0
description:
  - Makes, starts, stops and removes the containers of a lab. All share one read-only root file system. The files that a
    host writes are in a directory of its own. They outlive the container, which is recreated at each start.
  - Podman gets a storage, a run directory and a configuration for the lab alone, so that it never touches other
    containers of the machine.
  - All mounts of the lab are in a mount namespace of its own, held by one process (the keeper). There the lab also
    has its own cgroup2 mount, because systemd refuses the older hierarchy of some machines.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
extends_documentation_fragment: [stackproof.lab._lab.name]
options:
  state:
    description:
      - V(started) makes and starts missing hosts, and waits until every host answers on its ssh port.
      - V(stopped) keeps all that the hosts have written. V(absent) keeps nothing.
    type: str
    choices: [started, stopped, absent]
    default: started
  hosts:
    description: Names of the hosts. The first is started first and stopped last.
    type: list
    elements: str
    default: []
  rootfs:
    description: The root file system that the hosts share. Required to start them.
    type: path
  clone:
    description: The directory that holds the lab. From another directory the lab cannot be changed.
    type: path
    required: true
  user:
    description: The user of the hosts who may log in with O(authorized_key).
    type: str
    default: stack
  authorized_key:
    description: The public key for O(user).
    type: str
    default: ''
  shared:
    description: Folders of the machine that all hosts may read, as path on the hosts to path here.
    type: dict
    default: {}
  disks:
    description:
      - Folders of each host that are on the machine's file system. The others are on an overlay, which cannot carry the
        overlays of a container engine.
    type: list
    elements: path
    default: []
  masked:
    description: Units that must not start when a host first boots, because nothing is configured yet.
    type: list
    elements: str
    default: []
  timeout:
    description: How long to wait for all hosts to answer, in seconds.
    type: int
    default: 90
attributes:
  check_mode:
    description: Returns the changes and makes none.
    support: full
"""

EXAMPLES = r"""
- name: Start two hosts
  stackproof.lab.containers:
    name: lab
    hosts: [storage, controller]
    rootfs: /var/cache/stackproof/rootfs/2025.1
    clone: /home/me/provision
    authorized_key: "{{ lookup('ansible.builtin.file', '.lab/ssh/id_ed25519.pub') }}"
"""

RETURN = r"""
made:
  description: Hosts that did not exist before.
  returned: success
  type: list
  elements: str
started:
  description: Hosts that were started.
  returned: success
  type: list
  elements: str
prefix:
  description: The addresses of the lab that was removed.
  returned: when O(state=absent)
  type: str
host_keys:
  description: Public ssh host key of each host.
  returned: when O(state=started)
  type: dict
"""

import os
import shutil
from collections.abc import Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.lab.plugins.module_utils._hosts import (
    Hosts,
    await_ssh,
    host_key,
)
from ansible_collections.stackproof.lab.plugins.module_utils._machine import (
    Claim,
    Lab,
    LabError,
    check_claim,
    end_processes,
    is_running,
    write_claim,
)

Result = dict[str, Any]


def other_lab(made: set[str], names: Sequence[str], claim: Claim | None, rootfs: str) -> str:
    """Return why the existing hosts are not the requested ones; empty if they are."""
    if made - set(names):
        return f"it was made with the hosts {', '.join(sorted(made))}, not with {', '.join(names)}"
    made_on = claim["rootfs"] if claim else "an unknown file system"
    if made and made_on != rootfs:
        return f"its hosts were made on {made_on}, not on {rootfs}, which has other packages"
    return ""


def ensure_started(module: AnsibleModule, lab: Lab, hosts_of: Hosts, result: Result) -> None:
    params = module.params
    names, made, running = params["hosts"], hosts_of.made(), hosts_of.running()
    going = hosts_of.going_down(running)
    reason = other_lab(made, names, hosts_of.claim, params["rootfs"])
    if reason:
        raise LabError(f"{reason}. Make it anew: make lab-destroy lab")
    missing = [host for host in names if host not in made]
    down = [host for host in names if host not in running - going]
    result.update(changed=bool(missing or down), made=missing, started=down)
    if module.check_mode:
        return
    hosts_of.hold(params["clone"], params["rootfs"], params["shared"].values())
    for host in missing:
        hosts_of.make(host, params["rootfs"], params["user"], params["authorized_key"], params["masked"])
    hosts_of.await_end(going)
    start_all(hosts_of, down, params)
    await_ssh(lab, names, params["timeout"])
    result["host_keys"] = {host: host_key(hosts_of.directory(host, "upper")) for host in names}


def start_all(hosts_of: Hosts, names: Sequence[str], params: dict[str, Any]) -> None:
    for host in names:
        hosts_of.start(host, params["rootfs"], params["shared"], params["disks"])


def ensure_stopped(module: AnsibleModule, lab: Lab, hosts_of: Hosts, result: Result) -> None:
    asked, running = module.params["hosts"], hosts_of.running()
    # Hosts that were not named are stopped as well: without the keeper they would lose their mounts.
    names = [*(host for host in asked if host in running), *sorted(running - set(asked))]
    result["changed"] = bool(names or hosts_of.keeper)
    if module.check_mode or not hosts_of.claim:
        return
    if names:
        hosts_of.stop(names)
    hosts_of.release()
    write_claim(lab, dict(hosts_of.claim, keeper=None, stopped=True))


def ensure_absent(module: AnsibleModule, lab: Lab, hosts_of: Hosts, result: Result) -> None:
    result["changed"] = os.path.exists(lab.state) or os.path.exists(lab.run)
    # The wires are removed later, and they have these addresses.
    result["prefix"] = hosts_of.claim["prefix"] if hosts_of.claim else str(lab.prefix)
    if module.check_mode or not result["changed"]:
        return
    names = sorted(hosts_of.running())
    if names:
        # Nothing of it is kept, so an orderly end is not needed.
        hosts_of.podman(["rm", "--force", "--time=0", *names])
    hosts_of.release()
    end_processes(lab)
    for path in (lab.state, lab.run):
        if os.path.exists(path):
            shutil.rmtree(path)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "prefix": {"type": "str", "default": ""},
            "state": {"type": "str", "choices": ["started", "stopped", "absent"], "default": "started"},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "rootfs": {"type": "path"},
            "clone": {"type": "path", "required": True},
            "user": {"type": "str", "default": "stack"},
            "authorized_key": {"type": "str", "default": "", "no_log": False},
            "shared": {"type": "dict", "default": {}},
            "disks": {"type": "list", "elements": "path", "default": []},
            "masked": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 90},
        },
        required_if=[("state", "started", ("hosts", "rootfs"))],
        supports_check_mode=True,
    )
    result: Result = {"changed": False, "made": [], "started": []}
    ensure = {"started": ensure_started, "stopped": ensure_stopped, "absent": ensure_absent}
    try:
        lab = Lab(module.params["name"], module.params["prefix"])
        hosts = Hosts(lab, to_remove=module.params["state"] == "absent")
        for problem in check_claim(hosts.claim, module.params["clone"], lab.name, is_running(lab, hosts.claim)):
            raise LabError(problem)
        ensure[module.params["state"]](module, lab, hosts, result)
    except LabError as exc:
        module.fail_json(msg=f"Hosts of the lab {module.params['name']}: {exc}")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
