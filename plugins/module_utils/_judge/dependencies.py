# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The components that depend on a cause, as far as its symptoms show them: the edges of a small drawing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .._components.tables import depends_on, stands_for
from .._model.finding import Cause
from .._model.symptom import Kind, Symptom
from .._model.verdict import Connection, Place
from .evidence import reportable
from .weights import Weights

Name = tuple["str | None", "str | None"]
Edges = dict[tuple[Name, Name], "str | None"]


def edges(cause: Cause, weights: Weights) -> tuple[Connection, ...]:
    """Return who depends on the cause, and on what the cause itself depends, with how that failed."""
    placed = with_hosts(edges_in(cause))
    connections = [
        Connection(Place(*start), Place(*end), how)
        for (start, end), how in placed.items()
    ]
    return tuple(connections[: weights.dependencies])


def edges_in(cause: Cause) -> Edges:
    found: Edges = {}
    for symptom in reportable(cause):
        for start, end, how in edges_of(symptom, cause):
            if start != end:
                found[start, end] = found.get((start, end)) or how
    return found


def with_hosts(found: Edges) -> Edges:
    """Return the edges with the host of each end, if another edge knows it."""
    placed: Edges = {}
    for (start, end), how in found.items():
        edge = (with_host(start, found), with_host(end, found))
        placed[edge] = placed.get(edge) or how
    return placed


def with_host(name: Name, found: Edges) -> Name:
    """Return a component at the first of its hosts that is known, as the weightiest symptoms come first."""
    component, host = name
    if host is not None:
        return name
    for edge in found:
        for other, other_host in edge:
            if other == component and other_host is not None:
                return component, other_host
    return name


def edges_of(
    symptom: Symptom, cause: Cause
) -> Iterator[tuple[Name, Name, str | None]]:
    """Yield what a symptom shows: the component that failed, its peer, and from there to the cause."""
    if symptom.component is None:
        return
    names = stands_for(symptom.component)
    if not names:
        return
    start: Name = (names[0], symptom.host)
    if cause.shows(symptom):
        start = cause.place
    if symptom.kind not in (Kind.FAILED_AT, Kind.REACH):
        yield from path_to(cause, start)
        return
    peer = symptom.peer_place
    if symptom.peer == cause.component:
        peer = cause.place
    yield start, peer, symptom.how
    if start != cause.place and cause.component in depends_on(peer[0]):
        yield from path_to(cause, peer)


def path_to(cause: Cause, start: Name) -> Iterator[tuple[Name, Name, None]]:
    """Yield the dependencies from a component to the cause."""
    between: list[Name] = [
        (hop, None) for hop in hops(start[0], cause.component)
    ]
    for one, other in pairwise([start, *between, cause.place]):
        yield one, other, None


def hops(component: str | None, needed: str) -> list[str]:
    """Return the component between one and another that it depends on; none if it does so directly, or not known."""
    if needed in depends_on(component):
        return []
    return [
        name for name in depends_on(component) if needed in depends_on(name)
    ][:1]
