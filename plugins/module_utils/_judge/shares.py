# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much of a symptom each hypothesis explains, and how strongly a symptom speaks at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._components.tables import depends_on, is_beside_instance
from .._model.finding import Suspect
from .._model.how import How
from .._model.symptom import Code, Kind, Symptom
from .weights import Parts, Weights
from .world import LOGGED, REJECTIONS, Node, World, is_cut

# Kinds that a component shows, and that may come from another one which it depends on. A service that was stopped or
# frozen was so by somebody, and one that has failed may have done so for want of another.
MAY_COME_FROM_OTHERS = (
    Kind.STEP,
    Kind.LINK,
    Kind.NOT_REPORTING,
    Kind.DISABLED,
    Kind.ERROR,
    Kind.ANSWER,
)
FOR_WANT = (How.FAILED, How.STARTING)
# A component's own setting is its own, whatever failed for it at the peer.
OWN_SETTING = (Code.WRONG_ADDRESS, Code.OPTION_OF_PEER)
# Ways of failing that an answer has as well: who reports that something is missing was reached, and did not find it
ANSWERED = (How.MISSING, None)


def strength(symptom: Symptom, weights: Weights) -> float:
    """Return how strongly a symptom speaks for its cause, as a logarithm of odds."""
    number = weights.strength[symptom.kind] * symptom.share
    if symptom.how is not None:
        number *= weights.faint.get((symptom.kind, symptom.how), 1.0)
    if symptom.kind in LOGGED and not symptom.own:
        number *= weights.foreign
    if not symptom.certain:
        number *= weights.uncertain
    return number


class Shares(dict[Node, float]):
    """Which part of a symptom each node explains."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def give(
        self, component: str | None, host: str | None, share: float
    ) -> None:
        if component:
            for node in self.world.nodes_of(component, host):
                self.give_node(node, share)

    def give_node(self, node: Node, share: float) -> None:
        self[node] = max(self.get(node, 0.0), share)

    def give_all(self, shares_of: Mapping[Node, float]) -> None:
        for node, share in shares_of.items():
            self.give_node(node, share)

    def give_dependencies(
        self, component: str | None, host: str | None, share: float
    ) -> None:
        """Give what a component depends on a share: of those that each host has of its own, the one on this host."""
        for other in depends_on(component):
            is_here = host in self.world.places.get(other, ())
            is_local = is_here and is_beside_instance(other)
            self.give(other, host if is_local else None, share)

    def give_owner(
        self, component: str | None, host: str | None, share: float = 1.0
    ) -> None:
        """Give a component its share; one that failed at another one may only wait for that, or relay what it got."""
        behind = self.world.behind_all(component, host) if component else {}
        for node, part in behind.items():
            self.give_node(node, share * part)
        self.give(
            component,
            host,
            share * (self.world.weights.victim if behind else 1.0),
        )


def shares(symptom: Symptom, world: World) -> Shares:
    """Return how much of a symptom each node explains."""
    given = Shares(world)
    share = BY_KIND.get(symptom.kind, share_own)
    share(symptom, world, given)
    return given


def share_own(symptom: Symptom, world: World, given: Shares) -> None:
    """Share what a component shows itself: it lies there, and may come from another one that it depends on."""
    may_come = symptom.kind in MAY_COME_FROM_OTHERS or symptom.how in FOR_WANT
    if not may_come or symptom.code in OWN_SETTING:
        given.give(symptom.component, symptom.host, 1.0)
        return
    weights = world.weights
    behind = (
        weights.behind_error
        if symptom.kind == Kind.ERROR
        else weights.dependency
    )
    given.give_owner(symptom.component, symptom.host)
    given.give_dependencies(symptom.component, symptom.host, behind)


def share_silence(symptom: Symptom, world: World, given: Shares) -> None:
    """Share that a service does not report. If others stopped in the same moment, it is what all of them share."""
    shared = world.shared_by(symptom)
    if not shared:
        share_own(symptom, world, given)
        return
    given.give_owner(symptom.component, symptom.host, world.weights.set_member)
    for component in shared:
        given.give(component, None, world.weights.set_shared)


def share_step(symptom: Symptom, world: World, given: Shares) -> None:
    """Share that a step did not happen: its owner did not do it, or waited for who explains that."""
    weights = world.weights
    behind = behind_step(symptom, world)
    given.give_all(behind)
    given.give_owner(
        symptom.component, symptom.host, weights.victim if behind else 1.0
    )
    given.give_dependencies(
        symptom.component, symptom.host, weights.behind_step
    )
    given.give(symptom.peer, symptom.peer_host, weights.step_target)
    for carrier in symptom.carriers:
        given.give(carrier, None, weights.step_carrier)


def behind_step(symptom: Symptom, world: World) -> Shares:
    """Return who explains that a step did not happen.

    What is broken in a chain explains what did not happen behind it, and so does an error with which the run ended; or
    else what the owner of the step depends on, if that shows itself that it does not work.
    """
    found = Shares(world)
    for component, host in world.breaks:
        found.give_owner(component, host)
    for halt in world.halts:
        if symptom.component not in (halt.component, halt.peer):
            found.give_all(shares(halt, world))
    if not found:
        for component in world.unwell.intersection(
            depends_on(symptom.component)
        ):
            found.give(component, None, 1.0)
    return found


def share_reach(symptom: Symptom, world: World, given: Shares) -> None:
    """Share that a peer was not reached. If others reach it, the connection is cut, or the host that asks is wrong."""
    parts = (
        world.weights.ends
        if symptom.only_from_here
        else world.weights.unreached
    )
    given.give(symptom.component, symptom.host, parts.own)
    given.give(symptom.peer, symptom.peer_host, parts.peer)
    connection = world.connection_of(symptom)
    if is_cut(symptom) and connection in world.connections:
        given.give_node(connection, 1.0)


def share_failure(symptom: Symptom, world: World, given: Shares) -> None:
    """Share a failure at a peer: among the peer, the component that failed, the connection, and an earlier restart."""
    # What the library of a peer raises is an answer of the peer, unless it says more.
    how = (
        How.ERROR
        if symptom.answered and symptom.how in ANSWERED
        else symptom.how
    )
    parts = parts_of(symptom, how, world)
    for asker in world.askers_of(symptom):
        given.give_node(asker, parts.own)
    restart = world.restart_behind(symptom)
    if restart:
        given.give_node(restart, 1.0)
        return
    peer_host = world.host_of_peer(symptom)
    given.give_owner(symptom.peer, peer_host, parts.peer)
    given.give_dependencies(
        symptom.peer, peer_host, world.weights.dependency * parts.peer
    )
    connection = world.connection_of(symptom)
    if connection in world.connections and symptom.how != How.ERROR:
        given.give_node(connection, 1.0)


def parts_of(symptom: Symptom, how: How | None, world: World) -> Parts:
    """Return how much of a failure at a peer the peer explains, and how much who asked it."""
    if how in REJECTIONS:
        return world.rejected_by(symptom)
    if how is How.MALFORMED and symptom.peer in world.puzzled:
        return world.weights.rejected_all
    if how is How.UNRESOLVED and symptom.peer in world.unresolved:
        return world.weights.unnamed
    if world.is_contradicted(symptom):
        return world.weights.contradicted
    if world.is_renewed(symptom):
        return world.weights.renewed
    return world.weights.parts[how]


def share_restart(symptom: Symptom, _world: World, given: Shares) -> None:
    """Give a restart itself: it weighs nothing, and is reported with the failures that it explains."""
    given.give_node(
        Node(symptom.component, symptom.host, Suspect.RESTART), 1.0
    )


BY_KIND: dict[Kind, Callable[[Symptom, World, Shares], None]] = {
    Kind.STEP: share_step,
    Kind.NOT_REPORTING: share_silence,
    Kind.REACH: share_reach,
    Kind.FAILED_AT: share_failure,
    Kind.RESTART: share_restart,
}
