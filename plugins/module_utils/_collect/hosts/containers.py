# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The containers of a cloud's services: what their engine knows, and systemd does not.

The unit of a container that is paused runs, and so does that of one whose health check fails. Some containers are no
units at all: an agent starts them, and they go on without it.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..._model.codec import from_json
from ..._model.facts import ServiceUnit
from ..commands import Host
from .units import WELL

# docker and podman have the same words for these.
COLUMNS = r"{{.Names}}\t{{.State}}\t{{.Status}}"
UNHEALTHY = "unhealthy"
# The states of the engines, as those of units
STATES = {
    "exited": "stopped",
    "created": "stopped",
    "dead": "failed",
    "restarting": "failed",
    "initialized": "stopped",
}


@dataclass(frozen=True)
class Kind:
    """Containers that are no units, by patterns of their names, with the component that they run."""

    component: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Engine:
    """What a platform says of its containers. units: how the unit of a container is called, with * for its name."""

    engine: str
    units: str = ""
    others: tuple[Kind, ...] = ()

    def container_of(self, unit: str) -> str | None:
        """Return the name of a unit's container."""
        start, _star, end = self.units.partition("*")
        if not fnmatch.fnmatchcase(unit, self.units):
            return None
        return unit[len(start) : len(unit) - len(end)]

    def component_of(self, container: str) -> str | None:
        """Return the component of a container that is no unit."""
        for kind in self.others:
            if any(
                fnmatch.fnmatchcase(container, name) for name in kind.names
            ):
                return kind.component
        return None


def read(
    host: Host,
    platform: Mapping[str, object] | None,
    services: Sequence[ServiceUnit],
) -> tuple[ServiceUnit, ...]:
    """Return services with what the engine says of their containers, and the containers that are no units."""
    if not platform:
        return tuple(services)
    engine = from_json(Engine, platform, "containers")
    output = host.ask(
        None, engine.engine, "ps", "--all", "--no-trunc", "--format", COLUMNS
    )
    states = dict(listed(output))
    units = [with_container(service, engine, states) for service in services]
    return (*units, *others(engine, states))


def listed(output: str) -> Iterable[tuple[str, str]]:
    """Yield each container with its state, in the words that units have."""
    for line in output.splitlines():
        name, _tab, columns = line.partition("\t")
        state, _tab, status = columns.lower().partition("\t")
        yield (
            name,
            UNHEALTHY if UNHEALTHY in status else STATES.get(state, state),
        )


def with_container(
    service: ServiceUnit, engine: Engine, states: Mapping[str, str]
) -> ServiceUnit:
    """Return a service whose unit runs in the state of its container, which the unit does not know."""
    container = engine.container_of(service.unit)
    if container is None:
        return service
    named = dataclasses.replace(
        service, container=container, engine=engine.engine
    )
    state = states.get(container)
    if service.state != WELL or state in (WELL, None, ""):
        return named
    # It is not known since when.
    return dataclasses.replace(named, state=state, for_s=None, since=None)


def others(engine: Engine, states: Mapping[str, str]) -> list[ServiceUnit]:
    """Return the containers that are no units."""
    found = []
    for name, state in sorted(states.items()):
        component = engine.component_of(name)
        if component is not None:
            unit = ServiceUnit(
                component,
                name,
                state,
                None,
                None,
                0,
                container=name,
                engine=engine.engine,
            )
            found.append(unit)
    return found
