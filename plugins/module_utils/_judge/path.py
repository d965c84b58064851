# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The path from a cause to the failed stage: who failed for want of whom, and by what evidence each hop is known."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from .._components.tables import APIS, carriers_of, depends_on, stands_for
from .._model.finding import Arrow, Cause
from .._model.flow import Step
from .._model.symptom import Kind, Symptom
from .case import Case
from .evidence import main_symptom
from .weights import Weights

# A hop from a component to one that it failed at, with the symptom that shows it; None where it only depends on it
Hop = tuple[str, "Symptom | None"]
# What a symptom of these kinds shows is that one component failed at another.
BETWEEN = (Kind.FAILED_AT, Kind.REACH)


def path_of(cause: Cause, case: Case, step: Step | None, symptoms: Sequence[Symptom]) -> tuple[Arrow, ...]:
    """Return the hops from a cause to the stage that failed, each with what shows it, if anything does.

    The first arrow is what is wrong with the cause itself, the last one what is missing in the stage.
    """
    goals = goals_of(case, step)
    hops = shortest(goals, cause.component, edges_of(symptoms), case.weights)
    own = Arrow(cause.place, cause.place, main_symptom(cause))
    missing = next((symptom for symptom in symptoms if step and symptom.step == step.id), None)
    arrows = [own]
    place = cause.place
    for component, symptom in hops:
        host = symptom.host if symptom else None
        arrows.append(Arrow(place, (component, host), symptom))
        place = (component, host)
    if missing is not None:
        arrows.append(Arrow(place, (None, None), missing))
    return tuple(arrows)


def goals_of(case: Case, step: Step | None) -> list[str]:
    """Return the components that have to do with the missing step, or with the last request of the stage."""
    if step is not None:
        names = [*stands_for(step.responsible or step.source), *stands_for(step.target), *carriers_of(step.kind)]
        return list(dict.fromkeys(names))
    services = [call.service for call in case.stage.calls[-1:]]
    return [APIS[service] for service in services if service in APIS]


def edges_of(symptoms: Sequence[Symptom]) -> dict[str, list[Hop]]:
    """Return for each component those that failed at it, with the symptoms that show it."""
    edges: dict[str, list[Hop]] = {}
    for symptom in symptoms:
        if symptom.kind not in BETWEEN or symptom.component is None or symptom.peer is None:
            continue
        for peer in stands_for(symptom.peer):
            for component in stands_for(symptom.component):
                edges.setdefault(peer, []).append((component, symptom))
    return edges


def shortest(goals: Sequence[str], start: str, edges: dict[str, list[Hop]], weights: Weights) -> list[Hop]:
    """Return the hops from a component to the nearest goal; none if it is one itself, or if no path leads there."""
    waiting: list[tuple[float, int, str, list[Hop]]] = [(0.0, 0, start, [])]
    known: set[str] = set()
    number = 0
    while waiting:
        cost, _number, component, hops = heapq.heappop(waiting)
        if component in goals:
            return hops
        if component in known:
            continue
        known.add(component)
        for name, symptom in next_hops(component, goals, edges):
            number += 1
            step_cost = weights.shown_hop if symptom else weights.assumed_hop
            heapq.heappush(waiting, (cost + step_cost, number, name, [*hops, (name, symptom)]))
    return []


def next_hops(component: str, goals: Sequence[str], edges: dict[str, list[Hop]]) -> Iterator[Hop]:
    """Yield those that failed at a component, and the goals that depend on it."""
    yield from edges.get(component, ())
    for goal in goals:
        if component in depends_on(goal):
            yield goal, None
        else:
            for between in depends_on(goal):
                if component in depends_on(between):
                    yield between, None
