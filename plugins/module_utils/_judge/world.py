# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cloud behind the symptoms of a run: where components are, which failed at which, which connections are cut."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import filterfalse
from typing import NamedTuple

from .._collect.logs.error_text import is_about_locked_account
from .._components.tables import (
    answering_calls_of,
    depends_on,
    is_beside_instance,
    missing_with,
    project_of,
    stands_for,
    writer_of,
)
from .._model.chain import LinkState
from .._model.finding import Suspect
from .._model.host import OPEN
from .._model.how import How
from .._model.symptom import Code, Kind, Symptom
from .._record.sole import sole
from .case import Case
from .evidence import is_cut_off, is_recent_change
from .symptoms.logs import HTTP_CLIENT, QUEUE, module_of
from .weights import Parts, Weights

# How MySQL and RabbitMQ refuse somebody whom they know: by the number of the error, and by the name of the queue
FORBIDDEN = re.compile(
    r"\((?:1044|1130|1142|1143|1227), |access to (?:\w+ '[^']*' in )?vhost '[^']*' refused for user"
    r"|(?:HTTP|Got) 403|'code': 403|disallowed by policy|Policy doesn't allow"
)
# How a connection fails that a restart of the peer has ended
ENDED = (How.BROKEN_OFF,)
# How a connection fails that was not made
NOT_CONNECTED = (How.REFUSED, How.UNREACHABLE)
# How a component and its peer do not accept each other
REJECTIONS = (How.DENIED, How.UNTRUSTED)
# How a peer fails that gives no answer
UNANSWERED = (How.REFUSED, How.UNREACHABLE, How.SILENT, *ENDED)
LOGGED = (Kind.ERROR, Kind.FAILED_AT)


class Node(NamedTuple):
    """A component on its host, or the connection from that host to a peer, or the restart of a component there."""

    component: str | None
    host: str | None
    suspect: Suspect = Suspect.COMPONENT
    peer: str | None = None
    peer_host: str | None = None


Peers = dict[Node, float]


class World:
    """Where components are, which of them this cloud lacks, which failed at which, and which connections are cut."""

    def __init__(self, case: Case, symptoms: Sequence[Symptom]) -> None:
        self.weights = case.weights
        self.host = case.instance_host
        self.may_move = case.may_move
        self.places = places_of(case)
        self.reached = reached(case)
        self.not_here = missing_with(case.back_end)
        self.running_for = running_for(symptoms)
        self.rejected = rejected(symptoms)
        self.silent = of_kind(Kind.NOT_REPORTING, symptoms)
        self.breaks = [
            symptom.place
            for symptom in of_kind(Kind.LINK, symptoms)
            if symptom.certain
        ]
        self.halts = halts(case, symptoms)
        halted = {symptom.place for symptom in of_kind(Kind.STATE, symptoms)}
        cleared = exonerated(case) - halted
        self.exonerated = cleared - self.rejecting_breaks(symptoms, cleared)
        self.unwell = {
            symptom.component for symptom in filter(is_unwell, symptoms)
        }
        self.changed = changed_just_now(symptoms, case.weights)
        self.rejecting = several(self.rejected)
        self.failing = failing_several(symptoms, UNANSWERED) | self.rejecting
        # Not all of them ask wrongly.
        self.puzzled = failing_several(symptoms, (How.MALFORMED,))
        self.unresolved = failing_several(symptoms, (How.UNRESOLVED,))
        self.broken_off = {
            symptom.component
            for symptom in of_kind(Kind.ANSWER, symptoms)
            if symptom.how in ENDED
        }
        self.connections = set(
            map(self.connection_of, filter(self.is_way, symptoms))
        )
        # The peers, connections and restarts at which each node failed, with how much of it they explain
        self.failed_at: dict[Node, Peers] = {}
        for symptom in filter(self.is_failure, symptoms):
            self.note_failure(symptom)

    def rejecting_breaks(
        self,
        symptoms: Sequence[Symptom],
        places: set[tuple[str, str | None]],
    ) -> set[tuple[str, str | None]]:
        """Return which of some places reject a host that breaks a chain: they do their part for others at most."""
        peers = {
            symptom.peer
            for symptom in symptoms
            if symptom.is_denied and symptom.place in self.breaks
        }
        return {place for place in places if place[0] in peers}

    def is_way(self, symptom: Symptom) -> bool:
        """Return whether the way from one host to a peer may be wrong, of those who ask there."""
        if symptom.is_denied and (
            symptom.peer in self.rejecting or self.is_peer_changed(symptom)
        ):
            return False
        return is_cut(symptom) and bool(self.askers_of(symptom))

    def is_failure(self, symptom: Symptom) -> bool:
        """Return whether the run failed at a peer. At one that is unwell, or fails several projects, all count.

        So do those of who broke off the run's own request, as it cannot log the id of that any more, and what rejects
        one that breaks a chain, or gives it what it cannot read.
        """
        if symptom.kind == Kind.REACH:
            return True
        return symptom.kind == Kind.FAILED_AT and (
            symptom.own
            or symptom.peer in self.unwell | self.failing
            or symptom.component in self.broken_off
            or (
                symptom.place in self.breaks
                and symptom.how in (*REJECTIONS, How.MALFORMED)
            )
        )

    def note_failure(self, symptom: Symptom) -> None:
        own = self.nodes_of(symptom.component, symptom.host)
        for node in dict.fromkeys([*self.askers_of(symptom), *own]):
            self.failed_at.setdefault(node, {}).update(self.behind(symptom))

    def behind(self, symptom: Symptom) -> Peers:
        """Return what may be behind a failure at a peer, with how much of that it explains."""
        restart = self.restart_behind(symptom)
        if restart:
            return {restart: 1.0}
        nodes = self.nodes_of(symptom.peer, self.host_of_peer(symptom))
        # What one that did its part has sent back is about what it was asked for.
        if symptom.how is How.ERROR:
            nodes = list(filterfalse(self.did_its_part, nodes))
        peers = dict.fromkeys(nodes, self.weights.passed_on)
        connection = self.connection_of(symptom)
        if connection in self.connections:
            peers[connection] = 1.0
        return peers

    def did_its_part(self, node: Node) -> bool:
        return (node.component, node.host) in self.exonerated

    def behind_all(self, component: str, host: str | None) -> Peers:
        """Return the same for all failures of a component; one whose host is unknown may be on each of its hosts."""
        found: Peers = {}
        for node in self.nodes_of(component, host):
            for other, peers in self.failed_at.items():
                if other.component != node.component:
                    continue
                if node.host is None or other.host in (None, node.host):
                    found.update(peers)
        return found

    def restart_behind(self, symptom: Symptom) -> Node | None:
        """Return the restart of a peer that ended a connection of an older client; it is over since the run began."""
        if symptom.how not in ENDED:
            return None
        runtimes = [
            self.running_for.get(client, math.inf)
            for client in self.askers_of(symptom)
        ]
        youngest = min(runtimes, default=math.inf)
        for peer in self.nodes_of(symptom.peer, symptom.peer_host):
            if self.running_for.get(peer, math.inf) < youngest:
                return peer._replace(suspect=Suspect.RESTART)
        return None

    def connection_of(self, symptom: Symptom) -> Node:
        """Return the connection from the host of a symptom to the peer."""
        peer_host = symptom.peer_host or self.place_of(symptom.peer)
        hosts = {asker.host for asker in self.askers_of(symptom)}
        host = hosts.pop() if len(hosts) == 1 else symptom.host
        return Node(None, host, Suspect.CONNECTION, symptom.peer, peer_host)

    def askers_of(self, symptom: Symptom) -> list[Node]:
        """Return the nodes that asked a peer: a component may relay the failure of another one that it called."""
        own, peer = symptom.component, symptom.peer
        if is_of_own_request(symptom):
            return self.nodes_of(own, symptom.host)
        relayed_by = (
            []
            if peer in depends_on(own)
            else [name for name in called_by(own) if peer in depends_on(name)]
        )
        return (
            self.nodes_of(relayed_by[0])
            if len(relayed_by) == 1
            else self.nodes_of(own, symptom.host)
        )

    def rejected_by(self, symptom: Symptom) -> Parts:
        """Return how much of a rejection the peer explains, and how much who was rejected: by what others get.

        Compute hosts accept each other without credentials, so either may be the cause. Who is forbidden something was
        recognized: the rules of the peer are as likely wrong as the rights of the caller. A peer that was given other
        settings just now, and not its caller, has lost the accounts of others.
        """
        if is_of_other_host(symptom) or is_forbidden(symptom):
            return self.weights.parts[symptom.how]
        is_locked = is_about_locked_account(symptom.quote or "")
        if is_locked or self.is_peer_changed(symptom):
            return self.weights.rejected_all
        callers = self.rejected.get(symptom.peer or "", set())
        changed = {
            (project_of(node.component), node.host) for node in self.changed
        }
        # What was deployed to all of them just now is wrong on each.
        is_deployed = callers <= changed
        return (
            self.weights.rejected_alone
            if is_deployed or len(callers) <= 1
            else self.weights.rejected_all
        )

    def is_contradicted(self, symptom: Symptom) -> bool:
        """Return whether a host reaches a peer to which a component there could not connect."""
        return symptom.how in NOT_CONNECTED and self.answers(symptom)

    def is_renewed(self, symptom: Symptom) -> bool:
        """Return whether a connection to the queue was lost that a service makes again when it needs it.

        It may have been lost long before the run, and is found out by the next message.
        """
        is_lost = symptom.how in ENDED and symptom.peer == QUEUE
        return is_lost and self.answers(symptom)

    def answers(self, symptom: Symptom) -> bool:
        """Return whether the peer of a symptom answers its host, and is not known to fail."""
        way = (symptom.host, symptom.peer)
        is_elsewhere = symptom.peer in self.failing | self.unwell
        return way in self.reached and not is_elsewhere

    def is_peer_changed(self, symptom: Symptom) -> bool:
        """Return whether the settings of a peer were changed just now, and not those of who has asked it."""
        peers = self.nodes_of(symptom.peer, self.host_of_peer(symptom))
        askers = self.askers_of(symptom)
        return not self.changed.isdisjoint(peers) and self.changed.isdisjoint(
            askers
        )

    def host_of_peer(self, symptom: Symptom) -> str | None:
        """Return the host of a peer: where no other one is named, its own for one that each compute host has."""
        is_named = symptom.peer_host is not None
        if is_named or not is_beside_instance(symptom.peer):
            return symptom.peer_host
        here = symptom.host
        # A controller has none of those that lie beside instances.
        places = self.places.get(symptom.peer or "", {here})
        return here if here in places else None

    def shared_by(self, symptom: Symptom) -> list[str]:
        """Return what all services depend on that stopped to report in the same moment as one; none for one alone."""
        together = [
            other
            for other in self.silent
            if is_near(symptom.since, other.since, self.weights.same_onset_s)
        ]
        if len({other.place for other in together}) <= 1:
            return []
        needed = [needs(other.component) for other in together]
        return sorted(set.intersection(*needed) - self.not_here)

    def place_of(self, component: str | None) -> str | None:
        """Return the host of a component, if there is only one where it can have failed this run."""
        if is_beside_instance(component):
            return None if self.may_move else self.host
        return sole(self.places.get(component or "", ()))

    def is_elsewhere(self, component: str, host: str | None) -> bool:
        """Return whether a component lies beside other instances, and not beside this one."""
        beside_others = (
            host in self.places.get("nova-compute", ()) and host != self.host
        )
        return (
            is_beside_instance(component)
            and self.host is not None
            and beside_others
            and not self.may_move
        )

    def nodes_of(
        self, component: str | None, host: str | None = None
    ) -> list[Node]:
        """Return the nodes of a name in a symptom: a name in a flow may stand for several components."""
        if component is None:
            return [Node(None, host)]
        names = stands_for(component)
        return [
            Node(name, host or self.place_of(name))
            for name in names
            if name not in self.not_here
        ]


def halts(case: Case, symptoms: Sequence[Symptom]) -> list[Symptom]:
    """Return the errors of the run with which it ended: no step was seen after them.

    Of several errors the first one counts, as the others may follow it.
    """
    last = case.last_seen
    if last is None or last.at is None:
        return []
    began = last.at - case.weights.reraised_s
    firm = filter(is_firm, symptoms)
    return [symptom for symptom in firm if (symptom.at or 0.0) >= began]


def is_firm(symptom: Symptom) -> bool:
    """Return whether it is the first error of the run and leaves no choice: who waited may have waited for a step."""
    if symptom.kind not in LOGGED or symptom.how is How.SILENT:
        return False
    return symptom.own and symptom.certain and symptom.share >= 1.0


def of_kind(kind: Kind, symptoms: Sequence[Symptom]) -> list[Symptom]:
    return [symptom for symptom in symptoms if symptom.kind == kind]


def exonerated(case: Case) -> set[tuple[str, str | None]]:
    """Return the components that did their part: a chain is broken, and all links that they carry over hold."""
    breaks = [walked.broken.place for walked in case.chains if walked.broken]
    if not breaks:
        return set()
    holding = {
        link.place
        for link in case.record.known_links
        if link.state is LinkState.HOLDS
    }
    return holding.difference(breaks)


def running_for(symptoms: Sequence[Symptom]) -> Mapping[Node, float]:
    """Return the seconds since a component was restarted; of several units the last one counts."""
    found: dict[Node, float] = {}
    for symptom in symptoms:
        if symptom.kind == Kind.RESTART and symptom.ago_s is not None:
            node = Node(symptom.component, symptom.host)
            found[node] = min(symptom.ago_s, found.get(node, symptom.ago_s))
    return found


def called_by(component: str | None) -> list[str]:
    """Return the components that one calls, over the queue or otherwise."""
    over_queue = answering_calls_of(project_of(component))
    return [
        name
        for name in dict.fromkeys([*depends_on(component), *over_queue])
        if depends_on(name)
    ]


def rejected(
    symptoms: Sequence[Symptom],
) -> dict[str, set[tuple[str, str | None]]]:
    """Return whom each component rejects: the projects on each host, as each has settings of its own there."""
    callers: dict[str, set[tuple[str, str | None]]] = {}
    for symptom in symptoms:
        # What an API answers names no host; its log does.
        if symptom.host and is_rejection(symptom) and symptom.peer:
            caller = (project_of(symptom.component), symptom.host)
            callers.setdefault(symptom.peer, set()).add(caller)
    return callers


def is_rejection(symptom: Symptom) -> bool:
    """Return whether a component and its peer do not accept each other, as one has other credentials than agreed."""
    return symptom.kind == Kind.FAILED_AT and symptom.how in REJECTIONS


def several(rejected: Mapping[str, Collection[object]]) -> set[str]:
    """Return the components that reject more than one caller."""
    return {peer for peer, callers in rejected.items() if len(callers) > 1}


def is_of_own_request(symptom: Symptom) -> bool:
    """Return whether a component has asked a peer itself: no queue carries the exception of an HTTP client."""
    return module_of(symptom.exception) == HTTP_CLIENT


def is_near(one: float | None, other: float | None, seconds: float) -> bool:
    return (
        one is not None and other is not None and abs(one - other) <= seconds
    )


def needs(component: str | None) -> set[str]:
    """Return what a component depends on, and what that depends on."""
    direct = depends_on(component)
    found = set(direct)
    for name in direct:
        found.update(depends_on(name))
    return found


def is_unwell(symptom: Symptom) -> bool:
    """Return whether a component shows itself that it cannot do its work."""
    if symptom.kind == Kind.STATE or symptom.code is Code.COMMAND_HANGS:
        return True
    return symptom.kind == Kind.REPORT and symptom.how == How.ALARM


def changed_just_now(
    symptoms: Sequence[Symptom], weights: Weights
) -> set[Node]:
    return {
        Node(*change.place)
        for change in symptoms
        if is_recent_change(change, weights)
    }


def failing_several(
    symptoms: Sequence[Symptom], hows: Collection[How]
) -> set[str]:
    """Return the peers at which components of more than one project failed in one of some ways."""
    failed = {
        (symptom.peer or "", project_of(symptom.component))
        for symptom in of_kind(Kind.FAILED_AT, symptoms)
        if symptom.how in hows
    }
    projects = Counter(peer for peer, _project in failed)
    return {peer for peer, number in projects.items() if number > 1}


def is_cut(symptom: Symptom) -> bool:
    """Return whether only this host does not reach a peer, or the peer does not let it in."""
    if is_cut_off(symptom):
        return True
    if not symptom.is_denied or symptom.component == symptom.peer:
        return False
    # Who is forbidden something has been let in.
    if is_of_other_host(symptom) or is_forbidden(symptom):
        return False
    return symptom.own and symptom.certain


def is_forbidden(symptom: Symptom) -> bool:
    """Return whether a peer knows who has asked, and does not allow it."""
    is_named = (symptom.exception or "").endswith("Forbidden")
    return is_named or FORBIDDEN.search(symptom.quote or "") is not None


def is_of_other_host(symptom: Symptom) -> bool:
    """Return whether a component of a compute host failed at one of another compute host."""
    if symptom.peer_host in (None, symptom.host):
        return False
    return all(map(is_beside_instance, (symptom.component, symptom.peer)))


def reached(case: Case) -> set[tuple[str | None, str | None]]:
    """Return the hosts with each component that answers them at all of its addresses."""
    answers: dict[tuple[str | None, str | None], set[str]] = {}
    for host in case.record.hosts:
        for entry in host.examined.reach:
            way = (host.host, entry.component)
            answers.setdefault(way, set()).add(entry.how)
    return {way for way, found in answers.items() if found == {OPEN}}


def places_of(case: Case) -> dict[str, set[str]]:
    """Return the hosts that have each component."""
    places: dict[str, set[str]] = {}
    for host, service in case.services:
        places.setdefault(service.component, set()).add(host.host)
    # A diagnosis knows only logs: a component is where it logs.
    if case.record.diagnosis:
        for logs in case.record.known_logs:
            for source in logs.sources:
                places.setdefault(writer_of(source.service), set()).add(
                    logs.host
                )
    return places
