# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much of a symptom each hypothesis explains, and how strongly a symptom speaks at all."""

from __future__ import annotations

from .._components.tables import depends_on, is_beside_instance
from .weights import (
    ANSWERED,
    BEHIND_DEBTOR,
    BEHIND_ERROR,
    CARRIER,
    ENDS,
    FOR_WANT,
    LEANT_ON,
    MAY_COME_FROM_OTHERS,
    PARTS,
    REACHED_BY_NOBODY,
    SHADES,
    STRENGTH,
    TARGET,
    UNKEYED,
    UNSURE,
    VICTIM,
)
from .world import RESTART, Node, beside, is_cut


def strength(symptom):
    shade = SHADES.get((symptom["kind"], symptom["how"]), 1.0)
    if symptom["kind"] in ("error", "failed at") and not symptom["keyed"]:
        shade *= UNKEYED
    if symptom.get("sure") is False:
        shade *= UNSURE
    return STRENGTH[symptom["kind"]] * shade * symptom.get("share", 1.0)


class Shares(dict):
    """Node: which part of a symptom it explains."""

    def __init__(self, world):
        super().__init__()
        self.world = world

    def give(self, component, host, share):
        for node in self.world.nodes_of(component, host) if component else ():
            self.give_node(node, share)

    def give_node(self, node, share):
        self[node] = max(self.get(node, 0.0), share)

    def give_those_behind(self, component, host, share):
        """The components that one on this host needs: of those that each host has of its own, the one on this host."""
        for other in depends_on(component):
            is_here = host in self.world.places.get(other, ()) and is_beside_instance(other)
            self.give(other, host if is_here else None, share)

    def give_owner(self, component, host, share=1.0):
        """A component that failed at another one may only wait for that, or pass on what it got."""
        behind = self.world.behind_all(component, host) if component else {}
        for node, part in behind.items():
            self.give_node(node, share * part)
        self.give(component, host, share * (VICTIM if behind else 1.0))


def shares(symptom, world):
    """How much of a symptom each node explains."""
    given = Shares(world)
    PARTING.get(symptom["kind"], share_own)(symptom, world, given)
    return given


def share_own(symptom, _world, given):
    """A symptom that a component shows itself lies at it, and may come from another one that it needs."""
    kind, own, host = symptom["kind"], symptom["component"], symptom["host"]
    if kind in MAY_COME_FROM_OTHERS or symptom["how"] in FOR_WANT:
        given.give_owner(own, host)
        given.give_those_behind(own, host, BEHIND_ERROR if kind == "error" else LEANT_ON)
    else:
        given.give(own, host, 1.0)


def share_owed(symptom, _world, given):
    given.give_owner(symptom["component"], None)
    given.give_those_behind(symptom["component"], None, BEHIND_DEBTOR)
    given.give(symptom["peer"], None, TARGET)
    for carrier in symptom.get("carriers", ()):
        given.give(carrier, None, CARRIER)


def share_reach(symptom, world, given):
    """If others reach the peer, the way is cut, or the host that asks is wrong."""
    own_part, peers_part = ENDS if symptom["only_from_here"] else REACHED_BY_NOBODY
    given.give(symptom["component"], symptom["host"], own_part)
    given.give(symptom["peer"], symptom["peer_host"], peers_part)
    if is_cut(symptom) and world.way_of(symptom) in world.ways:
        given.give_node(world.way_of(symptom), 1.0)


def share_failure(symptom, world, given):
    """A failure at a peer: of the peer, of the component that failed there, of the way, or of an earlier restart."""
    peer, how = symptom["peer"], symptom["how"]
    # What the library of a peer raises is an answer of the peer, unless it says more.
    peers_part, own_part = PARTS["error" if symptom.get("answered") and how in ANSWERED else how]
    for asker in world.askers_of(symptom):
        given.give_node(asker, own_part)
    restart = world.restart_behind(symptom)
    if restart:
        given.give_node(restart, 1.0)
        return
    given.give_owner(peer, beside(peer, symptom), peers_part)
    given.give_those_behind(peer, beside(peer, symptom), LEANT_ON * peers_part)
    if world.way_of(symptom) in world.ways and how != "error":
        given.give_node(world.way_of(symptom), 1.0)


def share_restart(symptom, _world, given):
    """It weighs nothing, and is told with the failures that it explains."""
    given.give_node(Node(symptom["component"], symptom["host"], RESTART), 1.0)


PARTING = {"owed": share_owed, "reach": share_reach, "failed at": share_failure, "restart": share_restart}
