# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The components that lean on a cause, as far as its symptoms show them: the edges of a small drawing."""

from __future__ import annotations

from itertools import pairwise

from .._components.tables import depends_on, stands_for
from .wording import is_of, telling

# More edges than these tell no more.
MOST = 8


def edges(cause):
    """From, to, and how it failed there: of those that lean on the cause, and of the cause itself."""
    found = {}
    for symptom in telling(cause):
        for start, end, how in edges_of(symptom, cause):
            if start != end:
                found[start, end] = found.get((start, end)) or how
    placed = {}
    for (start, end), how in found.items():
        edge = (at(start, found), at(end, found))
        placed[edge] = placed.get(edge) or how
    return [{"from": node(start), "to": node(end), "how": how} for (start, end), how in list(placed.items())[:MOST]]


def node(place):
    return dict(zip(("component", "host"), place))


def at(place, found):
    """A component at the first of its hosts that is known, as the weightiest symptoms come first."""
    component, host = place
    known = [other for edge in found for name, other in edge if name == component and other is not None]
    return (component, known[0]) if host is None and known else place


def edges_of(symptom, cause):
    """(from, to, how) of what a symptom shows: the component that failed, the peer, and then the cause."""
    culprit = (cause["component"], cause["host"])
    names = stands_for(symptom["component"])
    if not names or names[0] is None:
        return
    start = culprit if is_of(symptom, cause) else (names[0], symptom["host"])
    if symptom["kind"] in ("failed at", "reach"):
        peer = culprit if symptom["peer"] == cause["component"] else (symptom["peer"], symptom["peer_host"])
        yield start, peer, symptom["how"]
        if start == culprit or cause["component"] not in depends_on(peer[0]):
            return
        start = peer
    way = [start, *((hop, None) for hop in hops(start[0], cause["component"])), culprit]
    yield from ((one, other, None) for one, other in pairwise(way))


def hops(component, needed):
    """The components between one and another that it needs: none, if it needs that directly or nobody knows."""
    if needed in depends_on(component):
        return []
    return [name for name in depends_on(component) if needed in depends_on(name)][:1]
