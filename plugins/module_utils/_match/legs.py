# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The flows of operations on a server after its boot: those that a run did, and one that was asked about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .._model.details import JourneyDetails, Leg
from .._model.event import Event
from .._model.flow_definition import Flow
from .._model.operation import Operation
from .._model.record import Record
from .._model.words import StageName
from .matcher import LEAD
from .scope import Scope


@dataclass(frozen=True)
class FollowedLeg:
    """An operation of a run with the flow that it follows. until: when the next one began."""

    leg: Leg
    flow: Flow
    began: float
    until: float

    def events(self, events: Iterable[Event]) -> list[Event]:
        """Return the events of its time. Its requests are to its flow what that for the server is to a boot's."""
        own = {action.request_id for action in self.leg.actions}
        return [
            with_requests(event, own)
            for event in events
            if event.timeless
            or self.began - LEAD - event.slack_s <= event.at < self.until
        ]

    def scope(self, scope: Scope) -> Scope:
        return replace(
            on_any_host(scope),
            began=self.began,
            ended=min(scope.ended, self.until),
            facts={**scope.facts, "actions": self.leg.requested},
        )


def with_requests(event: Event, own: set[str | None]) -> Event:
    """Return an event with the ids of an operation's requests as those of a request. Of another they are `asked`."""
    keys = dict(event.keys)
    named = {*keys.pop("request", ()), *keys.pop("asked", ())}
    ours = sorted(named.intersection(own))
    others = sorted(named.difference(own))
    if ours:
        keys["request"] = ours
    if others:
        keys["asked"] = others
    return replace(event, keys=keys)


def on_any_host(scope: Scope) -> Scope:
    """Return a scope without the host of the instance: an operation may move it, so its steps are on two."""
    names = dict(scope.names)
    names.pop("host", None)
    return replace(scope, names=names)


def followed_legs(record: Record, flows: Sequence[Flow]) -> list[FollowedLeg]:
    """Return the operations that a run did and that a flow follows; of several of the same, the last."""
    if record.is_removal:
        return []
    found: dict[str, FollowedLeg] = {}
    until = math.inf
    for leg in reversed(legs_of(record)):
        flow, began = flow_of(leg, flows), leg.started or 0.0
        if flow is not None:
            # A failed stage is judged by its last operation, or by none.
            judged = replace(flow, judged=until == math.inf)
            found.setdefault(
                leg.operation, FollowedLeg(leg, judged, began, until)
            )
        until = began
    return list(reversed(found.values()))


def legs_of(record: Record) -> tuple[Leg, ...]:
    """Return the operations of a run; none for a record of others that has them otherwise."""
    stage = record.stage_or_skipped(StageName.JOURNEY)
    details = stage.details_as(JourneyDetails)
    return () if details is None else details.legs


def flow_of(leg: Leg, flows: Iterable[Flow]) -> Flow | None:
    """Return the flow that knows most of an operation's actions, under the operation's name.

    Several operations may follow one flow.
    """
    fitting = [
        flow
        for flow in flows
        if not set(flow.actions).isdisjoint(leg.requested)
    ]
    if not fitting:
        return None
    return named_after(leg, max(fitting, key=lambda flow: known_of(leg, flow)))


def known_of(leg: Leg, flow: Flow) -> int:
    """Return how many of an operation's actions a flow follows, or asks for in the condition of a phase."""
    conditions = " ".join(phase.when or "" for phase in flow.phases.values())
    return sum(
        action in flow.actions or f"'{action}'" in conditions
        for action in leg.requested
    )


def named_after(leg: Leg, flow: Flow) -> Flow:
    words = leg.operation.replace("_", " ")
    title = f"{flow.title} ({words})" if len(flow.actions) > 1 else flow.title
    return replace(flow, name=leg.operation, title=title)


def flows_asked_about(
    operation: Operation, flows: Iterable[Flow]
) -> list[Flow]:
    """Return the flows of an action that was asked about. Its record has it in the stage of the boot."""
    return [
        replace(flow, stage=StageName.BOOT)
        for flow in flows
        if operation.action in flow.actions
    ]
