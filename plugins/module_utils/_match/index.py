# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The events of a run, by their source and service."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from .._components.tables import project_of
from .._model.event import Event
from .._model.words import Level

LOOPBACK = {"127.0.0.1", "::1"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}")


class EventIndex:
    """The events that may show steps of flows. Errors show none; they are for the judge."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._by_place: defaultdict[tuple[str, str], list[Event]] = (
            defaultdict(list)
        )
        for event in events:
            if event.kind != "error":
                self._by_place[event.source, event.service].append(event)
        self.levels = levels_of(events)
        self.proxied = {
            service for service, logged in self.logged() if is_proxied(logged)
        }
        self.hides_methods = hides_methods(events)
        self.is_request_passed_on = is_request_passed_on(events)

    def of(self, source: str, service: str) -> list[Event]:
        return self._by_place[source, service]

    def logged(self) -> list[tuple[str, list[Event]]]:
        """Return each service with the events of its logs."""
        return sorted(
            (service, events)
            for (source, service), events in self._by_place.items()
            if source == "log"
        )


def levels_of(events: Iterable[Event]) -> dict[str, Level]:
    """Return service to the most detailed level at which it has logged something."""
    levels: dict[str, Level] = {}
    for event in events:
        if event.source == "log":
            known = levels.get(event.service, Level.INFO)
            levels[event.service] = max(
                known, event.level or Level.INFO, key=lambda level: level.rank
            )
    return levels


def is_proxied(events: Iterable[Event]) -> bool:
    """Return whether a proxy on the same host sent all requests, so that their addresses say nothing."""
    addresses = {
        event.get("client") for event in events if event.get("client")
    }
    return bool(addresses) and addresses <= LOOPBACK


def is_request_passed_on(events: Iterable[Event]) -> bool:
    """Return whether the services that Nova asks log the request's id, too.

    They do not where the client has given its request an id of its own, and only Nova's is known.
    """
    logged = [
        event
        for event in events
        if event.source == "log" and "request" in event.keys
    ]
    return any(project_of(event.service) != "nova" for event in logged)


def hides_methods(events: Iterable[Event]) -> bool:
    """Return whether the logs do not name what a message calls: an older oslo.messaging writes only that it is sent."""
    sent = [
        event
        for event in events
        if event.source == "log" and event.get("action") in ("call", "cast")
    ]
    if not sent:
        return False
    return not any(event.get("method") for event in sent)


def once(events: list[Event]) -> list[Event]:
    """Return the requests without those that a web server logged again, in whole seconds, after the service itself."""
    requests = [event for event in events if event.kind == "http"]
    logged_once = [event for event in requests if not event.get("began")]
    return logged_once or events


def path_pattern(request: Event) -> str:
    """Return the path of a request, with the kind of each id in its place."""
    path: str = request.get("path")
    for kind, ids in request.keys.items():
        for text in ids:
            path = path.replace(text, f"<{kind}>")
    return UUID.sub("<id>", path)
