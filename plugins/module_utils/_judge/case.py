# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A failed run as the judge sees it: its record, the stage that failed, and what is asked of both again and again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from .._components.tables import APIS, writer_of
from .._match import moves, order, places
from .._model.baseline import IdleService
from .._model.chain import Chain
from .._model.details import AuthDetails, JourneyDetails
from .._model.flow import DESTINATION, SOURCE, Step
from .._model.host import Host
from .._model.record import Record
from .._model.service import RUNNING, Service, services_of
from .._model.stage import Known, Stage
from .._model.words import StageName
from .weights import WEIGHTS, Weights

LOOPBACK = ("127.0.0.1", "::1", "localhost")
# The stage ran out of time: it may only have been slow.
DEADLINE = "deadline"
# The program that shows packets while they pass
LISTENING = "tcpdump"


@dataclass(frozen=True)
class Case:
    """A stage of a run that failed, with the numbers by which it is judged."""

    record: Record
    stage: Stage
    weights: Weights = WEIGHTS

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the flow by which the stage is judged."""
        return order.judged_steps(self.record.flows, self.stage.stage)

    @cached_property
    def paths(self) -> list[list[Step]]:
        """Return the steps that come next after all that happened; none if no flow follows the stage."""
        is_followed = any(
            step.stage is self.stage.stage for step in self.steps
        )
        if not is_followed:
            return []
        return order.paths(self.steps, self.stage.stage)

    @cached_property
    def last_seen(self) -> Step | None:
        return order.last_seen(self.steps)

    @cached_property
    def pause_s(self) -> float | None:
        """Return how long before the stage's time was over the last step was seen; None if too long to be slow."""
        if self.stage.error_kind != DEADLINE:
            return None
        finished = self.stage.finished
        seen = self.last_seen
        if finished is None or seen is None or seen.at is None:
            return None
        seconds = finished - seen.at
        if seconds >= self.weights.pause_s:
            return None
        return max(seconds, 0.0)

    @cached_property
    def made(self) -> frozenset[str]:
        """Return the ids of what the run has created."""
        return frozenset(item.id for item in self.record.made)

    @cached_property
    def removed(self) -> frozenset[str]:
        """Return what a command has in it that needs what is no longer there: ids, addresses of ports, a program."""
        record = self.record
        if not record.is_removed:
            return frozenset()
        # A guest that is no longer there sends nothing.
        ids = {*self.made, LISTENING}
        for port in record.ports:
            ids.update((port.id, port.mac))
        return frozenset(ids)

    def is_about_removed(self, command: str | None) -> bool:
        """Return whether a command needs something that the run has removed."""
        return any(name in (command or "") for name in self.removed)

    @cached_property
    def instance_host(self) -> str | None:
        """Return the host of the instance, which may still be on its way there."""
        return places.host_of(self.record)

    @cached_property
    def second_host(self) -> str | None:
        """Return the host of the second server, which a run has that checks the paths between two."""
        return places.second_host_of(self.record)

    def is_far(self, host: str) -> bool:
        """Return whether a compute host has none of the run's servers, so that its wires carry nothing of them."""
        if self.instance_host is None or self.may_move:
            return False
        return host not in (self.instance_host, self.second_host)

    @cached_property
    def may_move(self) -> bool:
        """Return whether the failed operation looked for another host, which may be any."""
        details = self.details(JourneyDetails)
        return details is not None and details.ends_anywhere

    @cached_property
    def source(self) -> str | None:
        """Return the host from which the failed operation moves the server, which only administrators see."""
        return moves.source_of(self.record, self.stage)

    @cached_property
    def destination(self) -> str | None:
        """Return the host to which the failed operation moves the server; None if it may be one of several."""
        return moves.destination_of(self.record, self.stage)

    def is_at_move(self, host: str) -> bool:
        """Return whether the failed operation may have moved the server from or to a host."""
        ends = {self.source, self.destination}
        return self.may_move and (None in ends or host in ends)

    def host_of_lifeline(self, lifeline: str) -> str | None:
        """Return the host of a lifeline of the flow; None where the flow leaves it open, or it is not known."""
        if lifeline.endswith(DESTINATION):
            return self.destination
        return self.source if lifeline.endswith(SOURCE) else None

    @cached_property
    def back_end(self) -> str | None:
        """Return the back end of Neutron, if it is known."""
        return places.back_end_of(self.record)

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the inventory's name of each host, by the names that the host has for itself."""
        return self.record.hosts_by_name

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Return the host that has each address."""
        return self.record.hosts_by_address

    def host_at(self, place: str | None) -> str | None:
        """Return the host that has an address or a name, as a line of a log has it."""
        return self.addresses.get(place or "") or self.names.get(place or "")

    @cached_property
    def givers(self) -> dict[str, tuple[str, str]]:
        """Return the component, and its host, that gives an address as its own which is that of another host.

        Only moves use such addresses.
        """
        found: dict[str, tuple[str, str]] = {}
        if not self.may_move:
            return found
        for host in self.record.hosts:
            for report in host.examined.reports:
                if report.given:
                    found[report.given.address] = report.component, host.host
        return found

    def place_of(self, component: str, host: str | None) -> str | None:
        """Return a host that was named for a component; None if the component is on other hosts and not on that one."""
        if self.units(component) and not self.units(component, host):
            return None
        return host

    @cached_property
    def services(self) -> list[tuple[Host, Service]]:
        """Return each service with its host."""
        found: list[tuple[Host, Service]] = []
        for host in self.record.hosts:
            found += [(host, service) for service in services_of(host)]
        return found

    def details(self, kind: type[Known]) -> Known | None:
        """Return the details of the failed stage; None for a record of others that has them otherwise."""
        return self.stage.details_as(kind)

    @cached_property
    def catalog(self) -> frozenset[str] | None:
        """Return the components that the catalog has an endpoint of; None if the run does not know."""
        auth = self.record.stage_or_skipped(StageName.AUTH)
        details = auth.details_as(AuthDetails)
        if details is None or details.catalog is None:
            return None
        return frozenset(filter(None, map(APIS.get, details.catalog)))

    def units(
        self, component: str | None, host: str | None = None
    ) -> list[tuple[str, Service]]:
        """Return (host, service) of a component, on one host or on all; those that do not run come first."""
        found = [
            (place.host, service)
            for place, service in self.services
            if service.component == component and host in (None, place.host)
        ]
        return sorted(found, key=lambda pair: pair[1].state == RUNNING)

    def log_files(self, component: str, host: str) -> list[str]:
        """Return the paths of a component's logs that were read on a host."""
        of_host = (
            logs.sources
            for logs in self.record.known_logs
            if logs.host == host
        )
        wanted = "/", component
        return [
            log.path
            for log in chain.from_iterable(of_host)
            if (log.path[:1], writer_of(log.service)) == wanted
        ]

    def host_of(self, component: str | None) -> str | None:
        """Return the host of a component, the first one if there are several."""
        hosts = [host for host, _service in self.units(component)]
        return next(iter(hosts), None)

    def places_from(self, host: str) -> dict[str, str]:
        """Return the addresses of hosts, with those by which a host calls itself."""
        return {**self.addresses, **dict.fromkeys(LOOPBACK, host)}

    def named_hosts(self, component: str) -> set[str | None]:
        """Return the hosts on which the settings of services look for a component; None is an address of no host."""
        named: set[str | None] = set()
        for host in self.record.hosts:
            places = self.places_from(host.host)
            for reach in host.examined.reach:
                if reach.component == component and reach.named_by:
                    named.add(places.get(reach.address))
        return named

    def hosts_like(self, name: str | None) -> list[str]:
        """Return the other hosts with the same groups in the inventory."""
        groups = {host.host: set(host.groups) for host in self.record.hosts}
        own = groups.pop(name or "", None)
        if not own:
            return []
        return [host for host, others in groups.items() if others == own]

    def was_idle(self, host: str, service: Service) -> bool:
        """Return whether a service was in the same state while all worked."""
        idle = self.record.baseline.idle if self.record.baseline else ()
        return IdleService(host, service.component, service.state) in idle

    def listening_on(self, name: str) -> tuple[int, ...]:
        """Return the TCP ports that something listens on at a host."""
        for host in self.record.hosts:
            if host.host == name and host.stores is not None:
                return host.stores.listening or ()
        return ()

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Return the chains that were walked."""
        return self.record.known_chains

    @property
    def is_seen(self) -> bool:
        """Return whether anything is known of the hosts or from logs, and not only from the API."""
        return bool(self.record.hosts or self.record.diagnosis)
