# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the logs that were read can show, and what it means that they do not show it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .._collect.sources import SOURCES
from .._components.tables import (
    is_beside_instance,
    project_of,
    working_on_boots,
)
from .._model.flow_definition import Rule, StepDefinition
from .._model.words import Level
from .expressions import names_in
from .index import EventIndex
from .scope import ReadLog, Scope

# Services that send others the same requests as nova-compute
ALSO_ASK = working_on_boots() - {"nova-compute"}
# What only the client of an operation sees: its own requests, the states that it waited for, and the guest's console
SEEN_BY_CLIENT = {("api", "http"), ("api", "state"), ("console", None)}
NAME_OF_CALL = re.compile(r"\bmethod\b")


def asks_for_caller(rule: Rule) -> bool:
    return "caller" in rule.where


def is_in_logs_alone(rule: Rule) -> bool:
    """Return whether logs that were read without their cloud must show what a rule looks for."""
    if rule.source != "log":
        return False
    if rule.needs == "asked":
        return False
    return not rule.window


class Visibility:
    """Which rules can be answered by what was read."""

    def __init__(self, scope: Scope, index: EventIndex) -> None:
        self._scope, self._index = scope, index
        self.levels = {**index.levels, **scope.levels}
        on_host = {log.service for log in scope.logs if log.host == scope.host}
        self._beside = sorted(on_host & ALSO_ASK)

    def hidden(self, rule: Rule) -> str | None:
        """Return why no event can show what a rule asks for, or None."""
        caller = self.hidden_caller(rule) or self._only_caller(rule)
        if caller:
            return f"it is not known who sent such requests: {caller}"
        return self.hidden_name(rule) or self._without_requests(rule)

    def hidden_name(self, rule: Rule) -> str | None:
        """Return why a message in a log does not show what it calls, if a rule asks for it."""
        is_logged_call = rule.source == "log" and rule.kind == "rpc"
        if not is_logged_call or not NAME_OF_CALL.search(rule.where):
            return None
        if self._index.hides_methods:
            return "the services log their messages without the names of what they call"
        return None

    def hidden_caller(self, rule: Rule) -> str | None:
        """Return why the address that a request came from does not show who asked, if a rule asks for it."""
        if not asks_for_caller(rule):
            return None
        if not self._scope.caller_known:
            return "the addresses of the hosts are not known"
        if rule.service in self._index.proxied:
            return f"a proxy in front of {rule.service} hides the address"
        return (
            f"{', '.join(self._beside)} and nova-compute have one address"
            if self._beside
            else None
        )

    def _only_caller(self, rule: Rule) -> str | None:
        """Return why the lack of a request by somebody proves nothing: all may have come by a load balancer."""
        if not asks_for_caller(rule):
            return None
        requests = [
            event
            for event in self._index.of("log", rule.service)
            if event.get("client")
        ]
        callers = {event.get("caller") for event in requests}
        if len(callers) == 1 and callers != {self._scope.host}:
            return f"all requests to {rule.service} came from {callers.pop()}, as from a load balancer"
        return None

    def _without_requests(self, rule: Rule) -> str | None:
        """Return why the lack of a request in a log proves nothing: some web servers log none."""
        if (rule.source, rule.kind) != ("log", "http"):
            return None
        is_shown = any(
            event.kind == "http"
            for event in self._index.of("log", rule.service)
        )
        shows_requests = any(
            log.requests for log in self._scope.logs_of(rule.service)
        )
        return (
            None
            if is_shown or shows_requests
            else f"the log of {rule.service} shows no request at all"
        )

    def _hides_request(self, rule: Rule) -> bool:
        """Return whether a service may have logged a request under an id that is not known.

        Whoever was not the client knows Nova's id alone.
        """
        is_of_others = (
            rule.needs == "request" and project_of(rule.service) != "nova"
        )
        return (
            is_of_others
            and not self._scope.watched
            and not self._index.is_request_passed_on
        )

    def must_be_shown(self, rule: Rule) -> bool:
        """Return whether what a rule looks for would have been seen if it happened."""
        unknown_names = names_in(rule.where) - set(self._scope.names)
        if unknown_names:
            return False  # the run has no such name, and nothing could have been found
        if rule.edge == "later":
            return False  # it may still come
        only_client_sees = (rule.source, rule.kind) in SEEN_BY_CLIENT
        if only_client_sees and not self._scope.watched:
            return False
        if self._hides_request(rule):
            return False
        if self._scope.logs_alone and not is_in_logs_alone(rule):
            return False
        return self.hidden(rule) is None

    def is_uncertain(self, rule: Rule) -> bool:
        """Return whether an event without an id, or with a hidden sender or name, may be there unknown."""
        if rule.window or self.hidden_name(rule):
            return True
        return (
            self._scope.caller_known and self.hidden_caller(rule) is not None
        )

    def logs_read_whole(self, rule: Rule) -> Sequence[ReadLog]:
        """Return the logs of a rule's service, if all were read whole at the level that it needs; else none."""
        return self._if_whole(rule, self._scope.logs_of(rule.service))

    def logs_that_must_show(self, rule: Rule) -> Sequence[ReadLog]:
        """Return the same for the logs that must show it: those beside the instance, if the service stands there."""
        logs = self._scope.logs_of(rule.service)
        here = [log for log in logs if log.host == self._scope.host]
        near = here if here and is_beside_instance(rule.service) else logs
        return self._if_whole(rule, near)

    def _if_whole(
        self, rule: Rule, logs: Sequence[ReadLog]
    ) -> Sequence[ReadLog]:
        are_complete = all(log.complete for log in logs)
        is_detailed = (
            rule.needed_level.rank
            <= self.levels.get(rule.service, Level.INFO).rank
        )
        return (
            logs
            if are_complete and is_detailed and self.hidden_name(rule) is None
            else ()
        )

    def how_to_see(self, definition: StepDefinition) -> str:
        """Return which log, at which level, or which access would show a step that nothing showed."""
        read = {log.service for log in self._scope.logs}
        sights = [
            SOURCES[rule.source].to_see(rule, self.levels, read)
            for rule in definition.observe
        ]
        unique = dict.fromkeys(filter(None, sights))
        if unique:
            return "would be shown by " + ", or ".join(unique)
        reasons = map(self.hidden, definition.observe)
        return next(filter(None, reasons), "nothing that was read shows it")
