# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The path from a cause to the failed stage: who failed for want of whom, and by what evidence each hop is known."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .._components.tables import (
    APIS,
    carriers_of,
    depends_on,
    project_of,
    stands_for,
)
from .._model.chain import Chain, Link, LinkState
from .._model.finding import Arrow, Cause
from .._model.flow import Step
from .._model.symptom import Code, Kind, Symptom
from .case import Case
from .evidence import main_symptom
from .weights import Weights

Place = tuple["str | None", "str | None"]
STAGE: Place = (None, None)
Edges = dict[str, list[Symptom]]
# What a symptom of these kinds shows is that one component failed at another.
BETWEEN = (Kind.FAILED_AT, Kind.REACH)


class Hop(NamedTuple):
    """A hop to a component. symptom: what shows that it failed there; None if it only depends on the one before."""

    component: str
    host: str | None
    symptom: Symptom | None

    @property
    def place(self) -> Place:
        return self.component, self.host


class Trail(NamedTuple):
    """A path as far as it has been followed. number: to keep those of equal cost in their order."""

    cost: float
    number: int
    component: str
    host: str | None
    hops: tuple[Hop, ...]


def path_of(
    cause: Cause, case: Case, step: Step | None, symptoms: Sequence[Symptom]
) -> tuple[Arrow, ...]:
    """Return the hops from a cause to the stage that failed, each with what shows it, if anything does.

    The first arrow is what is wrong with the cause itself, the last one what is missing in the stage. Where no path
    leads to the stage, there is only the first.
    """
    hops = hops_to_stage(cause, case, step, symptoms)
    if hops is None:
        return own_arrow(cause, None, case.weights)
    place: Place = cause.place
    last = hops[-1].component if hops else cause.component
    failure = missing(step, symptoms) or answer_of(last, symptoms)
    first = hops[0].symptom if hops else failure
    arrows = own_arrow(cause, first, case.weights)
    for hop in hops:
        arrows += (
            Arrow(
                place, hop.place, hop.symptom or named_peer(hop, place, case)
            ),
        )
        place = hop.place
    return (*arrows, Arrow(place, STAGE, failure))


def named_peer(hop: Hop, peer: Place, case: Case) -> Symptom | None:
    """Return that a component is configured to use another one, where nothing shows that it failed there."""
    component, peer_host = peer
    for host, service in case.services:
        if service.component != hop.component or hop.host not in (
            None,
            host.host,
        ):
            continue
        for entry in host.examined.reach:
            if (
                entry.component == component
                and project_of(hop.component) in entry.named_by
            ):
                return Symptom(
                    Code.PEER_NAMED,
                    hop.component,
                    host=host.host,
                    peer=component,
                    peer_host=peer_host,
                    address=entry.address,
                    port=entry.port,
                )
    return None


def missing(step: Step | None, symptoms: Iterable[Symptom]) -> Symptom | None:
    """Return the symptom that a step is missing."""
    if step is None:
        return None
    return next(
        (symptom for symptom in symptoms if symptom.step == step.id), None
    )


def answer_of(
    component: str | None, symptoms: Iterable[Symptom]
) -> Symptom | None:
    """Return how a component answered the run, which failed at that."""
    answers = (one for one in symptoms if one.kind is Kind.ANSWER)
    return next((one for one in answers if one.component == component), None)


def own_arrow(
    cause: Cause, first: Symptom | None, weights: Weights
) -> tuple[Arrow, ...]:
    """Return what is wrong with a cause; nothing if only its missing step shows it, or the first arrow from it."""
    main = main_symptom(cause, weights)
    if main.kind == Kind.STEP or main == first:
        return ()
    return (Arrow(cause.place, cause.place, main),)


def hops_to_stage(
    cause: Cause, case: Case, step: Step | None, symptoms: Sequence[Symptom]
) -> tuple[Hop, ...] | None:
    """Return the hops from a cause to what the stage failed at; None if no path leads there."""
    chain = chain_broken_by(cause, case.chains)
    if chain is not None:
        return behind_break(chain, cause)
    return shortest(
        goals_of(case, step), cause, edges_of(symptoms), case.weights
    )


# By a chain


def chain_broken_by(cause: Cause, chains: Iterable[Chain]) -> Chain | None:
    """Return the first chain that breaks at a cause: it leads to the stage."""
    for chain in chains:
        link = chain.broken
        if link is not None and is_of(cause, link):
            return chain
    return None


def is_of(cause: Cause, link: Link) -> bool:
    """Return whether a cause has to make a link hold."""
    return link.owner == cause.component and link.host in (None, cause.host)


def behind_break(chain: Chain, cause: Cause) -> tuple[Hop, ...]:
    """Return the last link behind the break that does not hold either, if another component has to make it hold."""
    last = [link for link in chain.links if link.state is LinkState.BROKEN][-1]
    if is_of(cause, last):
        return ()
    symptom = Symptom(
        Code.LINK_BROKEN, last.owner, host=last.host, own=True, link=last
    )
    return (Hop(last.owner, last.host, symptom),)


# By what failed at what


def goals_of(case: Case, step: Step | None) -> list[str]:
    """Return the components that have to do with the missing step, or with the last request of the stage."""
    if step is not None:
        names = [
            *stands_for(step.doer),
            *stands_for(step.taker),
            *carriers_of(step.kind),
        ]
        return list(dict.fromkeys(names))
    services = [call.service for call in case.stage.calls[-1:]]
    return [APIS[service] for service in services if service in APIS]


def edges_of(symptoms: Sequence[Symptom]) -> Edges:
    """Return for each component the symptoms that another failed at it."""
    edges: Edges = {}
    for symptom in symptoms:
        if symptom.kind not in BETWEEN or symptom.peer is None:
            continue
        for peer in stands_for(symptom.peer):
            edges.setdefault(peer, []).append(symptom)
    return edges


def shortest(
    goals: Sequence[str], cause: Cause, edges: Edges, weights: Weights
) -> tuple[Hop, ...] | None:
    """Return the hops from a cause to the nearest goal, empty if it is one itself; None if no path leads there."""
    waiting = [Trail(0.0, 0, cause.component, cause.host, ())]
    known: set[str] = set()
    number = 0
    while waiting:
        trail = heapq.heappop(waiting)
        if trail.component in goals:
            return trail.hops
        if trail.component in known:
            continue
        known.add(trail.component)
        for hop in next_hops(trail, goals, edges):
            number += 1
            cost = trail.cost + (
                weights.shown_hop if hop.symptom else weights.assumed_hop
            )
            heapq.heappush(
                waiting,
                Trail(
                    cost, number, hop.component, hop.host, (*trail.hops, hop)
                ),
            )
    return None


def next_hops(
    trail: Trail, goals: Sequence[str], edges: Edges
) -> Iterator[Hop]:
    """Yield those that failed at a component, and the goals that depend on it."""
    for symptom in edges.get(trail.component, ()):
        # Only where both hosts are known, the failure may have been at another one.
        if (
            None in (trail.host, symptom.peer_host)
            or symptom.peer_host == trail.host
        ):
            yield from hops_by(symptom)
    for goal in goals:
        for name in depending(goal, trail.component):
            yield Hop(name, None, None)


def hops_by(symptom: Symptom) -> list[Hop]:
    """Return the hops that a symptom shows: to the component that failed, or to those that run it."""
    names = stands_for(symptom.component) if symptom.component else []
    return [Hop(name, symptom.host, symptom) for name in names]


def depending(goal: str, component: str) -> list[str]:
    """Return a goal if it depends on a component; otherwise what does so, of what the goal depends on."""
    if component in depends_on(goal):
        return [goal]
    return [
        between
        for between in depends_on(goal)
        if component in depends_on(between)
    ]
