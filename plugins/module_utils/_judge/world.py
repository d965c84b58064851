# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cloud behind the symptoms of a run: where components are, who failed at whom, and which ways are cut."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._components.tables import (
    answering_calls_of,
    depends_on,
    is_beside_instance,
    missing_with,
    project_of,
    stands_for,
    writer_of,
)
from .._match.places import back_end_of, host_of
from .weights import ENDED, PASSED_ON

# The kinds of hypotheses
COMPONENT, WAY, RESTART = "component", "way", "restart"


class Node(NamedTuple):
    """A component on its host, or the end of a way from that host, or the restart of a component there."""

    component: str | None
    host: str | None
    kind: str = COMPONENT
    peer: str | None = None
    peer_host: str | None = None


class World:
    """Where the components are, which this cloud lacks, which failed at which, and which ways are cut."""

    def __init__(self, record, symptoms):
        self.host = host_of(record)
        self.places = places_of(record)
        self.not_here = missing_with(back_end_of(record))
        # Node: the seconds since it was started anew; of several units the last one counts.
        self.running_for = {}
        for symptom in symptoms:
            if symptom["kind"] == "restart":
                node = Node(symptom["component"], symptom["host"])
                self.running_for[node] = min(symptom["ago_s"], self.running_for.get(node, symptom["ago_s"]))
        self.ways = {self.way_of(symptom) for symptom in symptoms if is_cut(symptom) and self.askers_of(symptom)}
        # Node: {the peers, ways and restarts at which it failed: how much of what it owes itself they explain}
        self.failed_at = {}
        for symptom in symptoms:
            if symptom["kind"] == "reach" or (symptom["kind"] == "failed at" and symptom["keyed"]):
                own = self.nodes_of(symptom["component"], symptom["host"])
                for node in dict.fromkeys([*self.askers_of(symptom), *own]):
                    self.failed_at.setdefault(node, {}).update(self.behind(symptom))

    def behind(self, symptom):
        """The peer, way or restart that may be behind a failure at a peer, with how much of it that explains."""
        way, restart = self.way_of(symptom), self.restart_behind(symptom)
        if restart:
            return {restart: 1.0}
        peers = dict.fromkeys(self.nodes_of(symptom["peer"], beside(symptom["peer"], symptom)), PASSED_ON)
        return {**peers, way: 1.0} if way in self.ways else peers

    def behind_all(self, component, host):
        """The same for all failures of a component; one whose host nobody knows may be on each of its hosts."""
        found = {}
        for node in self.nodes_of(component, host):
            for other, peers in self.failed_at.items():
                if other.component == node.component and (node.host is None or other.host in (None, node.host)):
                    found.update(peers)
        return found

    def restart_behind(self, symptom):
        """The restart of a peer that has ended a connection, if the client is older; it is over since the run began."""
        if symptom["how"] not in ENDED:
            return None
        clients = self.askers_of(symptom)
        for peer in self.nodes_of(symptom["peer"], symptom["peer_host"]):
            ago = self.running_for.get(peer)
            if ago is not None and all(self.running_for.get(client, math.inf) > ago for client in clients):
                return peer._replace(kind=RESTART)
        return None

    def way_of(self, symptom):
        """The way from the host of a symptom to the peer."""
        peer_host = symptom["peer_host"] or self.place_of(symptom["peer"])
        hosts = {asker.host for asker in self.askers_of(symptom)}
        return Node(None, hosts.pop() if len(hosts) == 1 else symptom["host"], WAY, symptom["peer"], peer_host)

    def askers_of(self, symptom):
        """The nodes that have asked a peer: a component may only pass on the failure of another one that it called."""
        own, peer, host = symptom["component"], symptom["peer"], symptom["host"]
        called = [] if peer in depends_on(own) else [name for name in called_by(own) if peer in depends_on(name)]
        return self.nodes_of(called[0]) if len(called) == 1 else self.nodes_of(own, host)

    def place_of(self, component):
        """The host of a component, if there is only one where it can have failed this run."""
        if is_beside_instance(component):
            return self.host
        places = self.places.get(component, ())
        return next(iter(places)) if len(places) == 1 else None

    def is_elsewhere(self, component, host):
        """Whether a component lies beside other instances, and not beside this one."""
        beside_others = host in self.places.get("nova-compute", ()) and host != self.host
        return is_beside_instance(component) and self.host is not None and beside_others

    def nodes_of(self, component, host=None):
        """The nodes of a name in a symptom: a name in a flow may stand for several components."""
        names = stands_for(component)
        return [Node(name, host or self.place_of(name)) for name in names if name not in self.not_here]


def called_by(component):
    """The components that one calls, over the queue or otherwise."""
    over_queue = answering_calls_of(project_of(component or ""))
    return [name for name in dict.fromkeys([*depends_on(component), *over_queue]) if depends_on(name)]


def is_cut(symptom):
    """Whether a symptom says that only this host does not reach a peer, or that the peer does not let it in."""
    if symptom["kind"] == "reach":
        return symptom["only_from_here"] and symptom["component"] is not None
    is_sure = symptom["keyed"] and symptom.get("sure", True) and symptom["component"] != symptom["peer"]
    return symptom["kind"] == "failed at" and symptom["how"] == "denied" and is_sure


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


def beside(peer, symptom):
    """The host of a peer that each host has of its own."""
    return symptom["host"] if is_beside_instance(peer) else symptom["peer_host"]
