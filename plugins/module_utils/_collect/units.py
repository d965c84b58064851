# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which of a cloud's services a host has, and whether each of them runs, is stopped, has failed, or is frozen."""

from __future__ import annotations

import fnmatch

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "FreezerState",
    "ExecMainStatus",
    "NRestarts",
    "StateChangeTimestampMonotonic",
)
# A stopped unit of which systemd says one of these was not meant to run here.
NOT_MEANT = ("", "disabled", "masked", "indirect", "bad")
WELL = "running"


def read(host, services):
    """List of component, unit, state and for how long it has been so. services: list of component and units."""
    names = [unit for service in services for unit in service["units"]]
    if not names:
        return []
    # Without --all a pattern finds no unit that is stopped, though systemd knows it.
    said = host.ask(None, "systemctl", "show", "--all", f"--property={','.join(PROPERTIES)}", "--", *names, root=False)
    states = processes(host)
    up = float(host.ask(None, "cat", "/proc/uptime", root=False).split()[0])
    found = {}
    for unit in parsed(said):
        component = component_of(unit["Id"], services)
        state = state_of(unit, states.get(unit["Id"], ()))
        if component and state:
            changed = int(unit.get("StateChangeTimestampMonotonic") or 0) / 1e6
            found[unit["Id"]] = {
                "component": component,
                "unit": unit["Id"],
                "state": state,
                "for_s": round(up - changed, 1) if changed else None,
                "restarts": int(unit.get("NRestarts") or 0),
            }
    return [found[name] for name in sorted(found)]


def parsed(said):
    """systemctl show prints the properties of each unit, one a line, with an empty line between units."""
    blocks = said.strip().split("\n\n")
    return [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks if block]


def component_of(unit, services):
    for service in services:
        if any(fnmatch.fnmatchcase(unit, pattern) for pattern in service["units"]):
            return service["component"]
    return None


def processes(host):
    """Unit to the states of its processes, as the kernel has them: T is stopped by a signal, D waits for a disk."""
    found = {}
    for line in host.ask(None, "ps", "-e", "-o", "unit=,stat=", root=False).splitlines():
        unit, _space, state = line.strip().rpartition(" ")
        found.setdefault(unit.strip(), []).append(state[:1])
    return found


def state_of(unit, processes_of_it):
    """None for a unit that is not on this host, or not meant to run here."""
    if unit.get("LoadState") in ("not-found", "masked", "error", None):
        return None
    active = unit.get("ActiveState")
    if active == "inactive":
        return "stopped" if was_meant(unit) else None
    if active == "failed":
        return "failed"
    # Between two attempts of systemd to start it
    if unit.get("SubState", "").startswith("auto-restart"):
        return "failed"
    if active in ("activating", "deactivating"):
        return active
    if unit.get("FreezerState", "").startswith("frozen") or "T" in processes_of_it:
        return "frozen"
    return WELL


def was_meant(unit):
    """Whether a stopped unit was meant to run; one that only others start was, if it ever did."""
    if unit.get("UnitFileState", "") == "static":
        return int(unit.get("StateChangeTimestampMonotonic") or 0) > 0
    return unit.get("UnitFileState", "") not in NOT_MEANT
