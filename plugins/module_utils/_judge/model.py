# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One fault explains it all: how likely each component, each on its host, is the cause of the symptoms.

Each symptom speaks for the hypotheses that explain it: wholly for the component at which it lies, in part for those
that this one needs for its work. What speaks in the same way counts once, and a little more for each repetition. The
scores are logarithms of odds, so that they become probabilities, beside that of a cause that nobody has thought of.

No number here belongs to a component: what is known of components is the tables of _match/components.py.
"""

from __future__ import annotations

import math

from .._match.components import LEANS_ON, STANDS_FOR, is_beside, lacking_with, writer_of
from .._normalise.places import back_end_of, host_of

# How strongly a symptom of each kind speaks for its cause, as a logarithm of odds
STRENGTH = {
    "state": 7.0, "words": 5.0, "ground": 4.5, "reach": 5.0, "answer": 4.0, "unheard": 3.5, "failed at": 4.0,
    "error": 4.0, "change": 3.0, "difference": 1.5, "disabled": 1.5, "owed": 5.0,
}  # fmt: skip
# What differs from that, by how
SHADES = {
    ("state", "activating"): 0.6,
    ("state", "deactivating"): 0.6,
    ("words", "warning"): 0.4,
    ("words", "error"): 0.5,
    # A component that waited in vain has broken nothing.
    ("error", "silent"): 0.2,
    ("owed", "unseen"): 0.4,
    ("owed", "part"): 0.1,
}
# A symptom without an id of the run may be of anybody.
UNKEYED = 0.4
# A line that names several components points at each of them a little.
UNSURE = 0.5
# How much of a failure at a peer is the peer's, and how much that of the component that failed there
PARTS = {
    "refused": (0.9, 0.15), "silent": (0.8, 0.1), "error": (0.9, 0.15), "denied": (0.6, 0.4), "full": (0.9, 0.3),
    "broken off": (0.7, 0.2), "missing": (0.5, 0.4), "read-only": (0.9, 0.2), "unreachable": (0.8, 0.4),
    "malformed": (0.4, 0.7), None: (0.6, 0.4),
}  # fmt: skip
# Ways of failing that an answer has as well: who says that something is missing was reached, and did not find it
ANSWERED = ("missing", "malformed", None)
# A component explains what is wrong with those that need it, less surely than what is wrong with itself.
LEANT_ON = 0.4
# An error that says nothing of another component seldom comes from one.
BEHIND_ERROR = 0.15
# The parts in a step that is lacking of those whom its debtor needs, of its receiver, and of its carrier
BEHIND_DEBTOR, TARGET, CARRIER = 0.2, 0.25, 0.25
# The part of a component in what is wrong with it if it has failed at another one, and the part of that one
VICTIM, PASSED_ON = 0.5, 0.6
# The parts of the two ends of a way, if the peer is reached by other hosts, and if it is not
WAY, REACHED_BY_NOBODY = (0.8, 0.3), (0.15, 0.9)
# Each further symptom of a kind counts so much of the one before it.
REPEATED = 0.3
# Kinds that lie at a component, and may come from another one that it needs; a service that was stopped or frozen was
# so by somebody, and one that has failed maybe for want of another.
MAY_COME_FROM_OTHERS = ("owed", "unheard", "error", "answer")
FOR_WANT = ("failed", "activating")
# A component that has no part in what failed needs more evidence.
FAR = -2.5
# The score of a cause that nobody has thought of
UNKNOWN = 3.0
TEMPERATURE = 1.0


class World:
    """What the symptoms of a run are seen against: where components are, which this cloud lacks, who failed at whom."""

    def __init__(self, record, symptoms):
        self.host = host_of(record)
        self.places = places_of(record)
        self.not_here = lacking_with(back_end_of(record))
        self.failed_at = {}
        for symptom in symptoms:
            if symptom["kind"] == "reach" or (symptom["kind"] == "failed at" and symptom["keyed"]):
                peers = self.failed_at.setdefault(symptom["component"], {})
                peers.setdefault(symptom["peer"], set()).add(symptom["peer_host"])

    def place_of(self, component):
        """The host of a component, if there is only one where it can have failed this run."""
        if is_beside(component):
            return self.host
        places = self.places.get(component, ())
        return next(iter(places)) if len(places) == 1 else None

    def is_elsewhere(self, component, host):
        """Whether a component lies beside other instances, and not beside this one."""
        beside_others = host in self.places.get("nova-compute", ()) and host != self.host
        return is_beside(component) and self.host is not None and beside_others

    def nodes_of(self, component, host=None):
        """(component, host) of a name in a symptom: a name in a flow may stand for several components."""
        names = STANDS_FOR.get(component, [component])
        return [(name, host or self.place_of(name)) for name in names if name not in self.not_here]


def places_of(record):
    """Component to the hosts that have it."""
    places = {}
    for host in record["hosts"]:
        for service in host["facts"].get("services") or []:
            places.setdefault(service["component"], set()).add(host["host"])
    # A diagnosis knows only logs: a component is where it logs.
    if record.get("diagnosis"):
        for host in record["logs"]:
            for source in host["sources"]:
                places.setdefault(writer_of(source["service"]), set()).add(host["host"])
    return places


def causes(record, symptoms):
    """All hypotheses, the likeliest first: component, host, confidence, score, and the symptoms that each explains."""
    world = World(record, symptoms)
    near = near_components(symptoms, world)
    explained = {}
    for symptom in symptoms:
        for node, share in shares(symptom, world).items():
            explained.setdefault(node, []).append((strength(symptom) * share, symptom))
    hypotheses = [
        hypothesis(node, parts, node[0] in near and not world.is_elsewhere(*node))
        for node, parts in with_hosts(explained).items()
    ]
    by_score = sorted(hypotheses, key=lambda cause: (-cause["score"], cause["component"], cause["host"] or ""))
    return with_confidence(by_score)


def with_hosts(explained):
    """The same, where what is known of a component without its host counts for each of its hosts that is known."""
    places = {}
    for component, host in explained:
        places.setdefault(component, set()).add(host)
    merged = {}
    for (component, host), parts in explained.items():
        hosts = places[component] - {None} if host is None else {host}
        for place in hosts or {None}:
            merged.setdefault((component, place), []).extend(parts)
    return merged


def strength(symptom):
    shade = SHADES.get((symptom["kind"], symptom["how"]), 1.0)
    if symptom["kind"] in ("error", "failed at") and not symptom["keyed"]:
        shade *= UNKEYED
    if symptom.get("sure") is False:
        shade *= UNSURE
    return STRENGTH[symptom["kind"]] * shade * symptom.get("share", 1.0)


def shares(symptom, world):
    """{node: which part of a symptom it explains}."""
    kind, how, peer = symptom["kind"], symptom["how"], symptom["peer"]
    parts = {}

    def give(component, host, share):
        for node in world.nodes_of(component, host) if component else ():
            parts[node] = max(parts.get(node, 0.0), share)

    def give_those_behind(component, share):
        for other in LEANS_ON.get(component, ()):
            give(other, None, share)

    own = symptom["component"]
    # A component that failed at another one may only wait for that, or pass on what it got.
    failed_at = world.failed_at.get(own) or {} if kind in MAY_COME_FROM_OTHERS else {}
    for other, places in failed_at.items():
        for place in places:
            give(other, place, PASSED_ON)
    owners_part = VICTIM if failed_at else 1.0
    if kind == "owed":
        give(own, None, owners_part)
        give_those_behind(own, BEHIND_DEBTOR)
        give(peer, None, TARGET)
        for carrier in symptom.get("carriers", ()):
            give(carrier, None, CARRIER)
    elif kind == "reach":
        # If others reach the peer, the way is cut, or the host that asks is wrong.
        own_part, peers_part = WAY if symptom["only_from_here"] else REACHED_BY_NOBODY
        give(own, symptom["host"], own_part)
        give(peer, symptom["peer_host"], peers_part)
    elif kind == "failed at":
        # What the library of a peer raises is an answer of the peer, unless it says more.
        peers_part, own_part = PARTS["error" if symptom.get("answered") and how in ANSWERED else how]
        give(own, symptom["host"], own_part)
        give(peer, beside(peer, symptom), peers_part)
        give_those_behind(peer, LEANT_ON * peers_part)
    else:
        give(own, symptom["host"], owners_part)
        if how in FOR_WANT or kind in MAY_COME_FROM_OTHERS:
            give_those_behind(own, BEHIND_ERROR if kind == "error" else LEANT_ON)
    return parts


def beside(peer, symptom):
    """The host of a peer that each host has of its own."""
    return symptom["host"] if is_beside(peer) else symptom["peer_host"]


def near_components(symptoms, world):
    """The components that have a part in what failed, and those that they need."""
    near = set()
    for symptom in symptoms:
        if symptom["kind"] in ("owed", "answer"):
            named = [symptom["component"], symptom["peer"], *symptom.get("carriers", ())]
            near |= {component for name in named if name for component, _host in world.nodes_of(name)}
    return near.union(*(LEANS_ON.get(component, ()) for component in near))


def hypothesis(node, parts, is_near):
    """How well a node explains the symptoms. What speaks in the same way counts once, and a little for repetition."""
    component, host = node
    kinds = {}
    for weight, symptom in sorted(parts, key=lambda part: -part[0]):
        kinds.setdefault(symptom["kind"], []).append(weight)
    score = sum(weight * REPEATED**number for weights in kinds.values() for number, weight in enumerate(weights[:4]))
    ordered = [symptom for _weight, symptom in sorted(parts, key=lambda part: -part[0])]
    return {
        "component": component,
        "host": host,
        "score": round(score + (0 if is_near else FAR), 2),
        "symptoms": ordered,
    }


def with_confidence(hypotheses):
    """The hypotheses with their probabilities, beside that of an unknown cause."""
    if not hypotheses:
        return []
    weights = [math.exp(cause["score"] / TEMPERATURE) for cause in hypotheses]
    total = sum(weights) + math.exp(UNKNOWN / TEMPERATURE)
    # Cut and not rounded, so that they are never more than all.
    return [{**cause, "confidence": int(1000 * weight / total) / 1000} for cause, weight in zip(hypotheses, weights)]
