# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One fault explains it all: how likely each component, each on its host, is the cause of the symptoms.

Each symptom speaks for the hypotheses that explain it: wholly for the component at which it lies, in part for those
that this one needs for its work; for the way from a host to a peer, if only that host does not reach it; or for a
restart before the run, which ended the connections of others and is over. What speaks in the same way counts once, and
a little more for each repetition. The scores are logarithms of odds, so that they become probabilities, beside that of
a cause that nobody has thought of.

The numbers are in weights.py. What is known of components is in _components.
"""

from __future__ import annotations

import math

from .._components.tables import depends_on
from .shares import shares, strength
from .weights import BEHIND, FAR, REPEATED, TEMPERATURE, UNKNOWN
from .world import COMPONENT, RESTART, WAY, Node, World


def causes(record, symptoms):
    """All hypotheses, the likeliest first: component, host, kind, confidence, score, and the symptoms they explain."""
    world = World(record, symptoms)
    near = near_components(symptoms, world)
    explained = {}
    for symptom in symptoms:
        for node, share in shares(symptom, world).items():
            explained.setdefault(node, []).append((strength(symptom) * share, symptom))
    explained = {node: parts for node, parts in explained.items() if any(weight for weight, _symptom in parts)}
    parts_of = with_hosts(explained)
    scores = {node: score_of(parts) for node, parts in parts_of.items()}
    hypotheses = []
    for node, parts in parts_of.items():
        component = asker_of(node, parts, scores, world) if node.kind == WAY else node.component
        distance = FAR if world.is_elsewhere(component, node.host) else near.get(component, FAR)
        hypotheses.append(hypothesis(node, component, parts, scores[node] + distance))
    by_score = sorted(hypotheses, key=lambda cause: (-cause["score"], cause["component"], cause["host"] or ""))
    return of_one_name(with_confidence(by_score))


def of_one_name(causes):
    """The causes, of which a component and the ways from it are one, as they have one name; a restart is another."""
    merged = {}
    for cause in causes:
        name = (cause["component"], cause["host"], cause["kind"] == RESTART)
        first = merged.setdefault(name, cause)
        if first is not cause:
            merged[name] = {**first, "confidence": round(first["confidence"] + cause["confidence"], 3)}
    return sorted(merged.values(), key=lambda cause: -cause["confidence"])


def asker_of(way, parts, scores, world):
    """The component by whose name a way is called: of those that fail at the peer, the one with most to show."""
    failures = [symptom for _weight, symptom in parts if symptom["peer"] == way.peer]
    askers = {node.component for symptom in failures for node in world.askers_of(symptom)}
    return max(sorted(askers), key=lambda component: scores.get(Node(component, way.host), 0))


def with_hosts(explained):
    """The same, where what is known of a component without its host counts for each of its hosts that is known."""
    places = {}
    for node in explained:
        if node.kind == COMPONENT:
            places.setdefault(node.component, set()).add(node.host)
    merged = {}
    for node, parts in explained.items():
        is_anywhere = node.kind == COMPONENT and node.host is None
        hosts = (places[node.component] - {None} or {None}) if is_anywhere else {node.host}
        for host in hosts:
            merged.setdefault(node._replace(host=host), []).extend(parts)
    return merged


def near_components(symptoms, world):
    """The components that have a part in what failed, or that such a one needs: with what their distance costs them."""
    near, met = set(), set()
    for symptom in symptoms:
        names = [symptom["component"], symptom["peer"], *symptom.get("carriers", ())]
        components = {node.component for name in names if name for node in world.nodes_of(name)}
        if symptom["kind"] in ("owed", "answer"):
            near |= components
        elif symptom["keyed"]:
            met |= components
    behind = {name for component in met for name in depends_on(component)}
    near = near.union(met, *(depends_on(component) for component in near))
    return {**dict.fromkeys(behind, BEHIND), **dict.fromkeys(near, 0.0)}


def score_of(parts):
    """How well a node explains its symptoms. What speaks in the same way counts once, and a little for repetition."""
    kinds = {}
    for weight, symptom in sorted(parts, key=lambda part: -part[0]):
        kinds.setdefault(symptom["kind"], []).append(weight)
    return sum(weight * REPEATED**number for weights in kinds.values() for number, weight in enumerate(weights[:4]))


def hypothesis(node, component, parts, score):
    return {
        "kind": node.kind,
        "component": component,
        "host": node.host,
        "score": round(score, 2),
        "symptoms": [symptom for _weight, symptom in sorted(parts, key=lambda part: -part[0])],
    }


def with_confidence(hypotheses):
    """The hypotheses with their probabilities, beside that of an unknown cause."""
    if not hypotheses:
        return []
    weights = [math.exp(cause["score"] / TEMPERATURE) for cause in hypotheses]
    total = sum(weights) + math.exp(UNKNOWN / TEMPERATURE)
    # Cut and not rounded, so that they are never more than all.
    return [{**cause, "confidence": int(1000 * weight / total) / 1000} for cause, weight in zip(hypotheses, weights)]
