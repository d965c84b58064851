# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One fault explains it all: how likely each component, each on its host, is the cause of the symptoms.

Each symptom speaks for the hypotheses that explain it: wholly for the component at which it lies, in part for those
that this one depends on; for the connection from a host to a peer, if only that host does not reach it; or for a
restart before the run, which ended the connections of others and is over. What speaks in the same way counts once, and
a little more for each repetition. The scores are logarithms of odds, so that they become probabilities, beside that of
a cause that is not among them.

The numbers are in weights.py. What is known of components is in _components.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .._components.tables import depends_on
from .._model.finding import Cause, Suspect
from .._model.symptom import Kind, Symptom
from .case import Case
from .shares import shares, strength
from .weights import Weights, cut, rounded, rounded_score
from .world import Node, World


class Part(NamedTuple):
    """A symptom that a node explains, with what it adds to the node's score."""

    weight: float
    symptom: Symptom


Explained = dict[Node, list[Part]]


def causes(case: Case, symptoms: Sequence[Symptom]) -> list[Cause]:
    """Return all hypotheses, the likeliest first."""
    world = World(case, symptoms)
    near = near_components(symptoms, world)
    parts_of = with_hosts(explained_by(symptoms, world))
    scores = {
        node: score_of(parts, case.weights) for node, parts in parts_of.items()
    }
    hypotheses: list[Cause] = []
    for node, parts in parts_of.items():
        is_connection = node.suspect == Suspect.CONNECTION
        component = (
            asker_of(node, parts, scores, world)
            if is_connection
            else node.component or ""
        )
        is_far = (
            world.is_elsewhere(component, node.host) or component not in near
        )
        distance = case.weights.far if is_far else near[component]
        if (component, node.host) in world.exonerated:
            distance += case.weights.exonerated
        hypotheses.append(
            hypothesis(node, component, parts, scores[node] + distance)
        )
    by_score = sorted(
        hypotheses,
        key=lambda cause: (-cause.score, cause.component, cause.host or ""),
    )
    return merged_by_name(with_confidence(by_score, case.weights))


def explained_by(symptoms: Sequence[Symptom], world: World) -> Explained:
    """Return the symptoms that each node explains; nodes without any weight are left out."""
    explained: Explained = {}
    for symptom in symptoms:
        whole = strength(symptom, world.weights)
        for node, share in shares(symptom, world).items():
            explained.setdefault(node, []).append(Part(whole * share, symptom))
    return {node: parts for node, parts in explained.items() if weighs(parts)}


def weighs(parts: Sequence[Part]) -> bool:
    return any(part.weight for part in parts)


def merged_by_name(found: Sequence[Cause]) -> list[Cause]:
    """Merge a component with the connections from it, which have its name; a restart is another cause."""
    merged: dict[tuple[str, str | None, bool], Cause] = {}
    for cause in found:
        name = (*cause.place, cause.suspect == Suspect.RESTART)
        first = merged.get(name)
        if first is None:
            merged[name] = cause
        else:
            merged[name] = replace(
                first,
                confidence=rounded(first.confidence + cause.confidence),
                symptoms=tuple(
                    dict.fromkeys([*first.symptoms, *cause.symptoms])
                ),
            )
    return sorted(merged.values(), key=lambda cause: -cause.confidence)


def asker_of(
    connection: Node,
    parts: Sequence[Part],
    scores: Mapping[Node, float],
    world: World,
) -> str:
    """Return the component that a connection is named by: of those that fail at the peer, the one with most to show."""
    askers: set[str] = set()
    for part in parts:
        if part.symptom.peer == connection.peer:
            askers.update(
                filter(
                    None,
                    (node.component for node in world.askers_of(part.symptom)),
                )
            )
    return max(
        sorted(askers),
        key=lambda component: scores.get(
            Node(component, connection.host), 0.0
        ),
    )


def with_hosts(explained: Explained) -> Explained:
    """Count what is known of a component without its host for each of its hosts that is known."""
    places: dict[str | None, set[str | None]] = {}
    for node in explained:
        if node.suspect == Suspect.COMPONENT:
            places.setdefault(node.component, set()).add(node.host)
    merged: Explained = {}
    for node, parts in explained.items():
        hosts = {node.host}
        if node.suspect == Suspect.COMPONENT and node.host is None:
            known = places[node.component] - {None}
            hosts = known or {None}
        for host in hosts:
            merged.setdefault(node._replace(host=host), []).extend(parts)
    return merged


def near_components(
    symptoms: Sequence[Symptom], world: World
) -> dict[str, float]:
    """Return the components that have a part in what failed, or their dependencies, with what their distance costs."""
    near: set[str] = set()
    met: set[str] = set()
    for symptom in symptoms:
        if symptom.kind in (Kind.STEP, Kind.ANSWER):
            near |= components_in(symptom, world)
        elif symptom.own:
            met |= components_in(symptom, world)
    behind: set[str] = set()
    for component in met:
        behind.update(depends_on(component))
    needed = met.copy()
    for component in near:
        needed.update(depends_on(component))
    return {
        **dict.fromkeys(behind, world.weights.behind),
        **dict.fromkeys(near | needed, 0.0),
    }


def components_in(symptom: Symptom, world: World) -> set[str]:
    components: set[str] = set()
    for name in filter(
        None, (symptom.component, symptom.peer, *symptom.carriers)
    ):
        components.update(
            filter(None, (node.component for node in world.nodes_of(name)))
        )
    return components


def score_of(parts: Sequence[Part], weights: Weights) -> float:
    """Return how well a node explains its symptoms. What speaks in the same way counts once, and repeated a little."""
    by_kind: dict[Kind, list[float]] = {}
    for part in sorted(parts, key=lambda part: -part.weight):
        by_kind.setdefault(part.symptom.kind, []).append(part.weight)
    score = 0.0
    for counted in by_kind.values():
        for number, weight in enumerate(counted[: weights.repeats]):
            score += weight * weights.repeated**number
    return score


def hypothesis(
    node: Node, component: str, parts: Sequence[Part], score: float
) -> Cause:
    weightiest = sorted(parts, key=lambda part: -part.weight)
    symptoms = tuple(part.symptom for part in weightiest)
    return Cause(
        node.suspect, component, node.host, rounded_score(score), symptoms
    )


def with_confidence(
    hypotheses: Sequence[Cause], weights: Weights
) -> list[Cause]:
    """Return the hypotheses with their probabilities, beside that of an unknown cause."""
    odds = [
        math.exp(cause.score / weights.temperature) for cause in hypotheses
    ]
    total = sum(odds) + math.exp(weights.unknown / weights.temperature)
    return [
        replace(cause, confidence=cut(share / total))
        for cause, share in zip(hypotheses, odds)
    ]
