# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The services of a cloud on a host, and whether each of them runs, is stopped, has failed, or is frozen."""

from __future__ import annotations

import fnmatch
import time

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
    "ActiveEnterTimestampMonotonic",
    "TriggeredBy",
)
# A stopped unit in one of these states was not meant to run here.
NOT_MEANT = ("", "disabled", "masked", "indirect", "bad")
WELL = "running"
# It has ended because nobody needed it, and a socket starts it again.
ON_DEMAND = "on demand"


def read(host, services):
    """List of component, unit, state and when it changed by the host's clock. services: list of component and units."""
    names = [unit for service in services for unit in service["units"]]
    if not names:
        return []
    # Without --all a pattern does not match stopped units.
    units = parsed(shown(host, names))
    triggers = sorted({name for unit in units if unit.get("ActiveState") == "inactive" for name in triggers_of(unit)})
    active = {unit["Id"] for unit in parsed(shown(host, triggers)) if unit.get("ActiveState") == "active"}
    states = process_states(host)
    up, now = float(host.ask(None, "cat", "/proc/uptime", root=False).split()[0]), time.time()
    entries = {}
    for unit in units:
        component = component_of(unit["Id"], services)
        waits = bool(active.intersection(triggers_of(unit)))
        state = state_of(unit, states.get(unit["Id"], ()), waits)
        if component and state:
            changed = changed_at(unit, state)
            # A container may show a time since its own start, and systemd's is since that of its host.
            changed = changed if changed <= up else 0
            entries[unit["Id"]] = {
                "component": component,
                "unit": unit["Id"],
                "state": state,
                "for_s": round(up - changed, 1) if changed else None,
                "since": round(now - up + changed, 1) if changed else None,
                "restarts": int(unit.get("NRestarts") or 0),
            }
    return [entries[name] for name in sorted(entries)]


def shown(host, names):
    if not names:
        return ""
    return host.ask(None, "systemctl", "show", "--all", f"--property={','.join(PROPERTIES)}", "--", *names, root=False)


def triggers_of(unit):
    """The sockets and others that start a unit when it is needed."""
    return unit.get("TriggeredBy", "").split()


def parsed(output):
    """The properties of each unit: systemctl show prints one a line, and an empty line between units."""
    blocks = output.strip().split("\n\n")
    return [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks if block]


def component_of(unit, services):
    for service in services:
        if any(fnmatch.fnmatchcase(unit, pattern) for pattern in service["units"]):
            return service["component"]
    return None


def process_states(host):
    """Unit to the states of its processes by the kernel: T is stopped by a signal, D waits for a disk."""
    states = {}
    for line in host.ask(None, "ps", "-e", "-o", "unit=,stat=", root=False).splitlines():
        unit, _space, state = line.strip().rpartition(" ")
        states.setdefault(unit.strip(), []).append(state[:1])
    return states


def state_of(unit, states, waits=False):
    """None for a unit that is not on this host, or not meant to run here. waits: a socket would start it."""
    if unit.get("LoadState") in ("not-found", "masked", "error", None):
        return None
    active = unit.get("ActiveState")
    if active == "inactive" and waits:
        return ON_DEMAND
    if active == "inactive":
        return "stopped" if was_meant(unit) else None
    if active == "failed":
        return "failed"
    # systemd waits before it starts the unit again.
    if unit.get("SubState", "").startswith("auto-restart"):
        return "failed"
    if active in ("activating", "deactivating"):
        return active
    if unit.get("FreezerState", "").startswith("frozen") or "T" in states:
        return "frozen"
    return WELL


def changed_at(unit, state):
    """When a unit came into its state, in seconds since the host's start. A service that was reloaded runs on."""
    of_state, since_started = (
        int(unit.get(f"{name}TimestampMonotonic") or 0) for name in ("StateChange", "ActiveEnter")
    )
    return (since_started if state == WELL and since_started else of_state) / 1e6


def was_meant(unit):
    """Whether a stopped unit was meant to run. A static unit is started by others: it was, if it ever ran."""
    if unit.get("UnitFileState", "") == "static":
        return int(unit.get("StateChangeTimestampMonotonic") or 0) > 0
    return unit.get("UnitFileState", "") not in NOT_MEANT
