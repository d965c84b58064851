#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: units
short_description: Brings the systemd units of a lab host into their state, all in parallel
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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible.module_utils.basic import AnsibleModule

# The properties of each unit, by its name
Units = dict[str, dict[str, str]]
PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,InactiveExitTimestamp"


def parse_show(text: str) -> Units:
    """Return the units in the output of systemctl show."""
    units: Units = {}
    for block in text.strip().split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if unit.get("Id"):
            units[unit["Id"]] = unit
    return units


def is_stale(unit: dict[str, str], moment: int) -> bool:
    """Return whether a running unit may have read its configuration before a moment."""
    # A start may take long, and reads the configuration at its beginning: so the end of the inactive state counts.
    since = unit.get("InactiveExitTimestamp", "").lstrip("@")
    return moment > 0 and (not since.isdigit() or int(since) <= moment)


class Systemctl:
    def __init__(self, module: AnsibleModule) -> None:
        self.module = module

    def __call__(self, *arguments: str) -> None:
        if arguments and not self.module.check_mode:
            code, out, err = self.module.run_command(["systemctl", *arguments])
            if code != 0:
                self.module.fail_json(msg=f"systemctl {' '.join(arguments)}: {(err or out).strip()}")

    def show(self, units: Sequence[str]) -> Units:
        if not units:
            return {}
        code, out, err = self.module.run_command(
            ["systemctl", "show", "--timestamp=unix", "--property", PROPERTIES, *units]
        )
        if code != 0:
            self.module.fail_json(msg=f"systemctl show: {(err or out).strip()}")
        return parse_show(out)

    def enable(self, units: Iterable[str]) -> None:
        """Have units start with the host. Some packages name an alias that is none, and systemd refuses the unit."""
        if self.module.check_mode:
            return
        for unit in units:
            code, _out, err = self.module.run_command(["systemctl", "enable", "--quiet", unit])
            if code != 0:
                if "Cannot alias" not in err:
                    self.module.fail_json(msg=f"systemctl enable {unit}: {err.strip()}")
                self("add-wants", "--quiet", "multi-user.target", unit)


def state_of(units: Units, name: str, key: str) -> str | None:
    """Return a property of a unit; None if systemd does not know the unit."""
    return units.get(name, {}).get(key)


def await_active(module: AnsibleModule, systemctl: Systemctl, units: Sequence[str]) -> dict[str, str]:
    """Wait for all units, and return those that still do not run, with their state."""
    deadline = time.monotonic() + module.params["timeout"]
    while True:
        shown = systemctl.show(units)
        states = {name: state_of(shown, name, "ActiveState") or "unknown" for name in units}
        waiting = {name: state for name, state in states.items() if state != "active"}
        if not waiting or time.monotonic() > deadline:
            return waiting
        start_failed(systemctl, waiting)
        time.sleep(0.5)


def start_failed(systemctl: Systemctl, states: dict[str, str]) -> None:
    """Start failed units again: one with a start limit stays failed if a unit that it needs came up too late."""
    failed = [name for name, state in states.items() if state == "failed"]
    if failed:
        time.sleep(2)
        systemctl("reset-failed", *failed)
        systemctl("start", "--no-block", *failed)


def journal(module: AnsibleModule, unit: str) -> str:
    out: str = module.run_command(["journalctl", "--no-pager", "--lines=8", "--output=cat", "--unit", unit])[1]
    return out.strip() or "its journal is empty"


@dataclass(frozen=True)
class Changes:
    """The units to change, by what is to be done with them."""

    mask: list[str]
    unmask: list[str]
    enable: list[str]
    start: list[str]
    restart: list[str]

    def __bool__(self) -> bool:
        return any((self.mask, self.unmask, self.enable, self.start, self.restart))


def set_masks(
    systemctl: Systemctl, before: Units, masked: Iterable[str], active: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Mask and unmask units. Returns the names of both."""
    mask = [name for name in masked if state_of(before, name, "LoadState") not in ("masked", None)]
    unmask = [name for name in active if state_of(before, name, "LoadState") == "masked"]
    if mask:
        systemctl("mask", "--now", *mask)
    if unmask:
        systemctl("unmask", *unmask)
    return mask, unmask


def begin(systemctl: Systemctl, restart: list[str], start: list[str]) -> None:
    """Restart and start units without waiting for them."""
    if restart:
        systemctl("daemon-reload")
        systemctl("restart", "--no-block", *restart)
        time.sleep(1)
    if start:
        systemctl("daemon-reload")
        systemctl("start", "--no-block", *start)


def change(module: AnsibleModule, systemctl: Systemctl) -> Changes:
    """Begin all that is to be done with the units. Their start is awaited later."""
    params = module.params
    active = params["active"]
    before = systemctl.show([*active, *params["masked"]])
    mask, unmask = set_masks(systemctl, before, params["masked"], active)
    shown = systemctl.show(active) if unmask else before
    enable = [name for name in active if state_of(shown, name, "UnitFileState") == "disabled"]
    systemctl.enable(enable)
    start = [name for name in active if state_of(shown, name, "ActiveState") not in ("active", "activating")]
    running = set(active).difference(start)
    stale = {name for name in running if is_stale(shown[name], params["changed_at"])}
    restart = [name for name in params["restart"] if name in stale]
    begin(systemctl, restart, start)
    return Changes(mask, unmask, enable, start, restart)


def main() -> None:
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
    changes = change(module, systemctl)
    if not module.check_mode:
        dead = await_active(module, systemctl, module.params["active"])
        if dead:
            states = "\n".join(f"{name} is {state}. It said: {journal(module, name)}" for name, state in dead.items())
            module.fail_json(msg=f"Not running after {module.params['timeout']} s:\n{states}")
    module.exit_json(changed=bool(changes), started=changes.start, restarted=changes.restart, masked=changes.mask)


if __name__ == "__main__":
    main()
