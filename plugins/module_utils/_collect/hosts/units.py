# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The services of a cloud on a host, and whether each of them runs, is stopped, has failed, or is frozen."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._model.facts import ServiceUnit
from ..commands import Host

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
    "Result",
)
# Its words for an end that was not the program's own
ENDS = ("signal", "oom-kill", "core-dump", "watchdog", "timeout", "resources")
# A stopped unit in one of these states was not meant to run here.
NOT_MEANT = ("", "disabled", "masked", "indirect", "bad")
NOT_HERE = ("not-found", "masked", "error", None)
MASKED_FOR_NOW = "masked-runtime"
WELL = "running"
# It has ended because nothing needed it, and a socket starts it again.
ON_DEMAND = "on demand"

# A unit as systemctl shows it: its properties by their names
Unit = Mapping[str, str]
# A service of a platform's profile: component and units
Service = Mapping[str, Any]


@dataclass(frozen=True)
class Uptime:
    """The uptime and the time of a host, read at the same moment, in seconds."""

    up_s: float
    now: float


def read(host: Host, services: Sequence[Service]) -> tuple[ServiceUnit, ...]:
    """Return the units of services. services: list of component and units (patterns)."""
    names: list[str] = []
    for service in services:
        names += service["units"]
    if not names:
        return ()
    # Without --all a pattern does not match stopped units.
    units = parsed(shown(host, names))
    sockets = active_triggers(host, units)
    processes = process_states(host)
    uptime = Uptime(
        float(host.ask(None, "cat", "/proc/uptime", root=False).split()[0]),
        host.clock(),
    )
    entries = {}
    for unit in units:
        name = unit["Id"]
        component = component_of(name, services)
        waits = bool(sockets.intersection(triggers_of(unit)))
        state = state_of(unit, processes.get(name, ()), waits)
        if component and state:
            entries[name] = service_unit(component, unit, state, uptime)
    return tuple(entries[name] for name in sorted(entries))


def service_unit(
    component: str, unit: Unit, state: str, uptime: Uptime
) -> ServiceUnit:
    changed = changed_at(unit, state)
    result = unit.get("Result")
    # A container may show a time since its own start, and systemd's is since that of its host.
    is_known = 0 < changed <= uptime.up_s
    return ServiceUnit(
        component=component,
        unit=unit["Id"],
        state=state,
        for_s=round(uptime.up_s - changed, 1) if is_known else None,
        since=round(uptime.now - uptime.up_s + changed, 1)
        if is_known
        else None,
        restarts=int(unit.get("NRestarts") or 0),
        result=result if result in ENDS else None,
    )


def active_triggers(host: Host, units: Iterable[Unit]) -> set[str]:
    """Return the active sockets and others that start one of the units that are inactive."""
    names: set[str] = set()
    for unit in units:
        if unit.get("ActiveState") == "inactive":
            names.update(triggers_of(unit))
    triggers = parsed(shown(host, sorted(names)))
    return {
        unit["Id"] for unit in triggers if unit.get("ActiveState") == "active"
    }


def shown(host: Host, names: Sequence[str]) -> str:
    if not names:
        return ""
    return host.ask(
        None,
        "systemctl",
        "show",
        "--all",
        f"--property={','.join(PROPERTIES)}",
        "--",
        *names,
        root=False,
    )


def triggers_of(unit: Unit) -> list[str]:
    """Return the sockets and others that start a unit when it is needed."""
    return unit.get("TriggeredBy", "").split()


def parsed(output: str) -> list[Unit]:
    """Parse the properties of each unit: systemctl show prints one a line, and an empty line between units."""
    blocks = filter(None, output.strip().split("\n\n"))
    return list(map(properties_in, blocks))


def properties_in(block: str) -> Unit:
    properties = {}
    for line in block.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            properties[name] = value
    return properties


def component_of(unit: str, services: Iterable[Service]) -> str | None:
    for service in services:
        if any(
            fnmatch.fnmatchcase(unit, pattern) for pattern in service["units"]
        ):
            component: str = service["component"]
            return component
    return None


def process_states(host: Host) -> dict[str, list[str]]:
    """Return the states of each unit's processes by the kernel: T is stopped by a signal, D waits for a disk."""
    states: dict[str, list[str]] = {}
    for line in host.ask(
        None, "ps", "-e", "-o", "unit=,stat=", root=False
    ).splitlines():
        unit, _space, state = line.strip().rpartition(" ")
        states.setdefault(unit.strip(), []).append(state[:1])
    return states


def state_of(
    unit: Unit, states: Sequence[str], waits: bool = False
) -> str | None:
    """Return None for a unit that is not on this host, or not meant to run here. waits: a socket would start it."""
    if not is_here(unit):
        return None
    active = unit.get("ActiveState")
    if active == "inactive":
        return state_of_inactive(unit, waits)
    # systemd waits before it starts the unit again.
    if active == "failed" or unit.get("SubState", "").startswith(
        "auto-restart"
    ):
        return "failed"
    if active in ("activating", "deactivating"):
        return active
    if unit.get("FreezerState", "").startswith("frozen"):
        return "frozen"
    return "frozen" if is_suspended(states) else WELL


def is_suspended(states: Sequence[str]) -> bool:
    """Return whether signals have stopped the oldest process of a unit, or most of them.

    A sudo that a service has begun may stop itself, and what it runs goes on.
    """
    stopped = states.count("T")
    return states[:1] == ["T"] or 2 * stopped > len(states)


def is_here(unit: Unit) -> bool:
    """Return whether a host has a unit. One that somebody has masked until the host starts again was meant to run."""
    state = unit.get("UnitFileState")
    return unit.get("LoadState") not in NOT_HERE or state == MASKED_FOR_NOW


def state_of_inactive(unit: Unit, waits: bool) -> str | None:
    if waits:
        return ON_DEMAND
    return "stopped" if was_meant(unit) else None


def changed_at(unit: Unit, state: str) -> float:
    """Return when a unit came into its state, in seconds since the host's start. A reload of it changes nothing."""
    microseconds = int(unit.get("StateChangeTimestampMonotonic") or 0)
    started = int(unit.get("ActiveEnterTimestampMonotonic") or 0)
    if state == WELL and started:
        microseconds = started
    return microseconds / 1e6


def was_meant(unit: Unit) -> bool:
    """Return whether a stopped unit was meant to run. A static unit is started by others: it was, if it ever ran."""
    if unit.get("UnitFileState", "") == "static":
        return int(unit.get("StateChangeTimestampMonotonic") or 0) > 0
    return unit.get("UnitFileState", "") not in NOT_MEANT
