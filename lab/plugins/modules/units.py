#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: units
short_description: Brings the systemd units of a lab host into their state, all at once
version_added: 0.1.0
description:
  - Starts and enables the units that belong on a host, restarts those whose configuration has changed, and masks those
    that do not belong there.
  - Units start in parallel. A unit may fail at first, because another one that it needs is not up yet. Systemd starts
    it again, and it has until O(timeout) to recover.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
options:
  active:
    description: Units that must run and be enabled.
    type: list
    elements: str
    default: []
  masked:
    description: Units that must neither run nor be startable.
    type: list
    elements: str
    default: []
  restart:
    description:
      - Units whose configuration has changed. Those of O(active) are restarted if they have run since before
        O(changed_at); others are ignored.
    type: list
    elements: str
    default: []
  changed_at:
    description: When the configuration changed, in seconds since 1970.
    type: int
    default: 0
  timeout:
    description: How long to wait until all units run, in seconds.
    type: int
    default: 180
attributes:
  check_mode:
    description: Returns the changes and makes none.
    support: full
"""

EXAMPLES = r"""
- name: Start what the network host carries
  stackproof.lab.units:
    active: [neutron-dhcp-agent.service, neutron-l3-agent.service]
    masked: [keystone.service]
"""

RETURN = r"""
started:
  description: Units that were started.
  returned: success
  type: list
  elements: str
restarted:
  description: Units that were restarted.
  returned: success
  type: list
  elements: str
masked:
  description: Units that were masked.
  returned: success
  type: list
  elements: str
"""

import time

from ansible.module_utils.basic import AnsibleModule

PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,InactiveExitTimestamp"


def parse_show(text):
    """The output of systemctl show, as unit name to its properties."""
    units = {}
    for block in text.strip().split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if unit.get("Id"):
            units[unit["Id"]] = unit
    return units


def is_stale(unit, moment):
    """Whether a running unit may have read its configuration before a moment."""
    # A start may take long, and reads the configuration at its beginning: so the end of the inactive state counts.
    since = unit.get("InactiveExitTimestamp", "").lstrip("@")
    return moment > 0 and (not since.isdigit() or int(since) <= moment)


class Systemctl:
    def __init__(self, module):
        self.module = module

    def __call__(self, *arguments):
        if arguments and not self.module.check_mode:
            code, out, err = self.module.run_command(["systemctl", *arguments])
            if code != 0:
                self.module.fail_json(msg=f"systemctl {' '.join(arguments)}: {(err or out).strip()}")

    def show(self, units):
        if not units:
            return {}
        code, out, err = self.module.run_command(
            ["systemctl", "show", "--timestamp=unix", "--property", PROPERTIES, *units]
        )
        if code != 0:
            self.module.fail_json(msg=f"systemctl show: {(err or out).strip()}")
        return parse_show(out)

    def enable(self, units):
        """Have units start with the host. Some packages name an alias that is none, and systemd refuses the unit."""
        for unit in units if not self.module.check_mode else ():
            code, _out, err = self.module.run_command(["systemctl", "enable", "--quiet", unit])
            if code != 0:
                if "Cannot alias" not in err:
                    self.module.fail_json(msg=f"systemctl enable {unit}: {err.strip()}")
                self("add-wants", "--quiet", "multi-user.target", unit)


def await_active(module, systemctl, units):
    """Wait for all units, and return those that still do not run, with their state."""
    deadline = time.monotonic() + module.params["timeout"]
    while True:
        shown = systemctl.show(units)
        waiting = [name for name in units if shown.get(name, {}).get("ActiveState") != "active"]
        if not waiting or time.monotonic() > deadline:
            return {name: shown.get(name, {}).get("ActiveState", "unknown") for name in waiting}
        # A unit with a start limit stays failed if a unit that it needs came up too late.
        failed = [name for name in waiting if shown.get(name, {}).get("ActiveState") == "failed"]
        if failed:
            time.sleep(2)
            systemctl("reset-failed", *failed)
            systemctl("start", "--no-block", *failed)
        time.sleep(0.5)


def journal(module, unit):
    out = module.run_command(["journalctl", "--no-pager", "--lines=8", "--output=cat", "--unit", unit])[1]
    return out.strip() or "its journal is empty"


def main():
    module = AnsibleModule(
        argument_spec={
            "active": {"type": "list", "elements": "str", "default": []},
            "masked": {"type": "list", "elements": "str", "default": []},
            "restart": {"type": "list", "elements": "str", "default": []},
            "changed_at": {"type": "int", "default": 0},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    systemctl = Systemctl(module)
    active = module.params["active"]
    before = systemctl.show([*active, *module.params["masked"]])

    mask = [name for name in module.params["masked"] if before.get(name, {}).get("LoadState") not in ("masked", None)]
    unmask = [name for name in active if before.get(name, {}).get("LoadState") == "masked"]
    if mask:
        systemctl("mask", "--now", *mask)
    if unmask:
        systemctl("unmask", *unmask)
    shown = systemctl.show(active) if unmask else before
    enable = [name for name in active if shown.get(name, {}).get("UnitFileState") == "disabled"]
    if enable:
        systemctl.enable(enable)
    start = [name for name in active if shown.get(name, {}).get("ActiveState") not in ("active", "activating")]
    restart = [
        name
        for name in module.params["restart"]
        if name in active and name not in start and is_stale(shown[name], module.params["changed_at"])
    ]
    if restart:
        systemctl("daemon-reload")
        systemctl("restart", "--no-block", *restart)
        time.sleep(1)
    if start:
        systemctl("daemon-reload")
        systemctl("start", "--no-block", *start)
    if not module.check_mode:
        dead = await_active(module, systemctl, active)
        if dead:
            states = "\n".join(f"{name} is {state}. It said: {journal(module, name)}" for name, state in dead.items())
            module.fail_json(msg=f"Not running after {module.params['timeout']} s:\n{states}")
    module.exit_json(
        changed=bool(mask or unmask or enable or start or restart), started=start, restarted=restart, masked=mask
    )


if __name__ == "__main__":
    main()
