# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Match the events of a run to the steps of a flow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any

from .._collect.sources import SOURCES
from .._model.chain import Link, LinkState
from .._model.event import Event
from .._model.flow import Evidence, OtherExchange, Step
from .._model.flow_definition import Flow, Rule, StepDefinition
from .._model.words import Grade, Proof, StepStatus
from . import order
from .condensed import condensed
from .expressions import agrees, compiled, search
from .index import EventIndex, once, path_pattern
from .rivals import rivals_in
from .scope import ReadLog, Scope, hosts_of
from .status import status_of
from .visibility import Visibility

# The rules are applied in turns, as some need the times of steps that others have shown.
TURNS = 4
# In seconds. Two clocks that are in step may still differ by this.
LEAD = 1
# In seconds: for how long before a run what was cached may have been asked for
TOKEN_CACHE = 300
# In seconds. Of two times of a step the earlier one counts, unless it is less exact than this.
EXACT = 0.5
# The facts of a cloud that say how it works are looked up with an administrator's access or for hosts to read.
BY_ADMIN = 1
# What the stores of hosts have needs ssh.
BY_HOSTS = 2
# The part of the events that a rule takes
PICKED = {"first": slice(1), "last": slice(-1, None), None: slice(None)}
# The run itself knows all its own requests, and looked at the state to the end.
KNOWN_TO_RUN = (("api", "http"), ("api", "state"))

Interval = tuple[float, float]


def turn_of(rule: Rule, proof: Proof) -> int:
    if proof is Proof.ABSENT:
        return TURNS - 1
    if rule.window:
        return 2
    return 1 if rule.within else 0


def is_within(event: Event, interval: Interval) -> bool:
    """Return whether an event may lie in an interval; one without a time of its own always does."""
    first, last = interval
    return (
        event.timeless
        or first - event.slack_s <= event.at <= last + event.slack_s
    )


def has_asked(event: Event, rule: Rule) -> bool:
    """Return whether an event has what a rule asks for, without the time and the expression."""
    if rule.kind and rule.kind != event.kind:
        return False
    if rule.says and rule.says not in event.phrases:
        return False
    if rule.window:
        if rule.window not in event.texts:
            return False
        if event.own_keys:
            return False
    if not rule.needs:
        return True
    return rule.needs in event.keys


class Matcher:
    """Events of one run, ready to be matched with any flow."""

    def __init__(self, events: Sequence[Event], scope: Scope) -> None:
        self.scope = scope
        self.index = EventIndex(events)
        self.visibility = Visibility(scope, self.index)
        nova_api = self.index.of("log", "nova-api")
        self._rivals = rivals_in(
            nova_api, self.index.of("log", "nova-compute"), scope.other_boots
        )
        self._rivals_known = are_known_whole(scope.logs_of("nova-api"))

    @property
    def rivals(self) -> int:
        """Return how many other boots may have been under way during this one."""
        return sum(
            first <= self.scope.ended and last >= self.scope.began
            for first, last in self._rivals
        )

    def match(
        self, flow: Flow
    ) -> tuple[tuple[Step, ...], tuple[OtherExchange, ...] | None]:
        """Return the steps of a flow, and of an exclusive flow the exchanges that none of them has shown."""
        if flow.base:
            return condensed(flow, self.match(flow.base)[0]), None
        matching = Matching(self, flow)
        return matching.steps(), matching.others() if flow.exclusive else None

    def candidates(
        self, rule: Rule, interval: Interval | None, certain: bool = True
    ) -> list[Event]:
        """Return the events that a rule takes; if not certain, also those that could as well be of others."""
        if interval is None or self.visibility.hidden_caller(rule):
            return []
        events = [
            event
            for event in self.index.of(rule.source, rule.service)
            if has_asked(event, rule)
        ]
        ours = [
            event
            for event in events
            if is_within(event, interval)
            and self._is_ours(event, rule, certain)
        ]
        return self.agreeing(ours, rule.where) if rule.where else ours

    def agreeing(self, events: Sequence[Event], where: str) -> list[Event]:
        """Return the events for which an expression holds."""
        try:
            expression = compiled(where, self.scope.names)
        except KeyError:
            return []  # the run has no such name: no volume, or no host known
        return [
            event for event in events if agrees(expression, event.searchable)
        ]

    def _is_ours(self, event: Event, rule: Rule, certain: bool) -> bool:
        """Return whether an event is ours: by an id, or because there was no other boot to cause it."""
        if not SOURCES[event.source].of_others:
            return True
        if event.own_keys:
            return True
        if rule.needs == "asked" and "asked" in event.keys:
            return True
        if not rule.window and "shared" not in event.keys:
            return False
        if not certain:
            return True
        return self._ours_alone(event)

    def _ours_alone(self, event: Event) -> bool:
        """Return whether no other boot could have caused an event that carries no id."""
        return self._rivals_known and not any(
            first - 1 <= event.at <= last for first, last in self._rivals
        )


def are_known_whole(logs: Sequence[ReadLog]) -> bool:
    """Return whether on each host one log was read whole: the web server of nova-api may have a log of its own."""
    if not logs:
        return False
    hosts = {log.host for log in logs}
    known_whole = {log.host for log in logs if log.complete}
    return known_whole == hosts


class Matching:
    """One flow, while it is matched: its steps so far, and the events that they have used."""

    def __init__(self, matcher: Matcher, flow: Flow) -> None:
        self._matcher, self._flow = matcher, flow
        self._scope, self._visibility = matcher.scope, matcher.visibility
        self._steps = {
            definition.id: self._new_step(definition)
            for definition in flow.steps
        }
        # In a list of exchanges that may repeat themselves each event shows one step, in their order.
        self._used: set[int] = set()

    def steps(self) -> tuple[Step, ...]:
        for turn in range(TURNS):
            for definition in self._flow.steps:
                if self._steps[definition.id].status is StepStatus.UNSEEN:
                    self._apply_rules(definition, turn)
        for definition in self._flow.steps:
            self._add_state(definition)
            self._settle(definition)
        if self._scope.complete:
            self._mark_missing()
        return tuple(self._steps.values())

    def _new_step(self, definition: StepDefinition) -> Step:
        """Return a step before any rule is applied. It need not be a part of this run at all."""
        step = Step(
            definition.id,
            definition.source,
            definition.target,
            definition.message,
            definition.kind,
            phase=definition.phase,
            stage=self._flow.stage_of(definition),
            repeats=self._flow.repeats(definition),
            responsible=order.NOBODY
            if definition.is_optional
            else definition.responsible,
            follows=definition.follows,
            numbers=definition.numbers,
            became=definition.became,
            today=definition.today,
        )
        if definition.when is None or search(
            definition.when, self._scope.facts
        ):
            return step
        if definition.instead is None:
            reason = definition.unless or f"it needs {definition.when}"
            return dataclasses.replace(
                step, status=StepStatus.SKIPPED, reason=reason
            )
        # The cloud itself has shown that it does this in another way.
        shown = Evidence(
            "api", "network", BY_ADMIN, definition.instead, proves=Proof.ABSENT
        )
        return dataclasses.replace(
            step,
            status=StepStatus.ABSENT,
            reason=definition.instead,
            evidence=(shown,),
        )

    def _change(self, step: Step, **changes: Any) -> None:
        self._steps[step.id] = dataclasses.replace(step, **changes)

    def _apply_rules(self, definition: StepDefinition, turn: int) -> None:
        """Add the evidence of the rules that have this turn to a step."""
        step = self._steps[definition.id]
        found: list[Evidence] = []
        for proof, rule in rules_with_proofs(definition):
            if turn_of(rule, proof) == turn:
                found += self._evidence(rule, proof)
        if found:
            evidence = (*step.evidence, *found)
            self._change(step, evidence=evidence, **time_by(evidence))

    def _evidence(self, rule: Rule, proof: Proof) -> Iterable[Evidence]:
        """Return the evidence that a rule gives."""
        if proof is Proof.ABSENT and rule.source == "log":
            return self._proof_of_absence(rule)
        events = self._matcher.candidates(rule, self._interval(rule))
        if self._flow.exclusive:
            events = [
                event for event in once(events) if id(event) not in self._used
            ][:1]
            self._used.update(map(id, events))
        else:
            events = events[PICKED[rule.pick]]
        return [evidence_of(event, rule, proof) for event in events]

    def _proof_of_absence(self, rule: Rule) -> Iterable[Evidence]:
        """Return the evidence of a log that was read whole on every host that has it, and shows nothing."""
        logs = self._visibility.logs_read_whole(rule)
        if not logs or not self._is_silent(rule):
            return
        yield Evidence(
            "log",
            rule.service,
            tier_of(rule),
            rule.text
            or f"the log of {rule.service} was read whole and does not show it",
            level=rule.needed_level,
            host=hosts_of(logs),
            proves=Proof.ABSENT,
        )

    def _is_silent(self, rule: Rule) -> bool:
        """Return whether logs that were read whole do not show what a rule looks for.

        Without the interval nothing was looked at, and an event that may be of others may be ours too.
        """
        interval = self._interval(rule)
        return interval is not None and not self._matcher.candidates(
            rule, interval, certain=False
        )

    def _interval(self, rule: Rule) -> Interval | None:
        """Return the time in which a rule's evidence may lie: between two steps, or in the run. None if unknown."""
        began, ended = self._scope.began, self._scope.ended
        if rule.within is None:
            return began - (TOKEN_CACHE if rule.window else LEAD), ended
        first, last = rule.within
        start = (
            began - TOKEN_CACHE
            if first is None
            else start_of(self._steps[first])
        )
        end = ended if last is None else end_of(self._steps[last])
        return None if start is None or end is None else (start, end)

    def _links_of(
        self, definition: StepDefinition, state: LinkState
    ) -> list[Link]:
        """Return the links by which a step is proved done, or not done."""
        known = filter(None, map(self._scope.links.get, definition.state))
        return [link for link in known if link.state is state]

    def _add_state(self, definition: StepDefinition) -> None:
        """Add to a step that nobody has shown what the stores have of it now."""
        step = self._steps[definition.id]
        if step.status is not StepStatus.UNSEEN or step.evidence:
            return
        evidence = tuple(
            Evidence(
                "host",
                link.owner,
                BY_HOSTS,
                f"{definition.message}: found in its store",
                host=link.host,
            )
            for link in self._links_of(definition, LinkState.HOLDS)
        )
        self._change(step, evidence=evidence)

    def _settle(self, definition: StepDefinition) -> None:
        """Give a step its status by all its evidence, and the reason if it was not seen."""
        step = self._steps[definition.id]
        if step.status is not StepStatus.UNSEEN:
            return
        status, reason = status_of(step.evidence), None
        if status is StepStatus.CACHED:
            reason = "served from a cache; the earlier message is the evidence"
        elif status is StepStatus.UNSEEN and definition.otherwise:
            status, reason = StepStatus.SKIPPED, definition.otherwise
        elif status is StepStatus.UNSEEN:
            reason = self._visibility.how_to_see(definition)
        host = step.host
        if host is None and step.evidence:
            host = step.evidence[0].host
        self._change(step, status=status, reason=reason, host=host)

    def _mark_missing(self) -> None:
        """Mark each step that had to come next, was looked for, and is not proved by a later one."""
        happened = order.happened(tuple(self._steps.values()))
        for definition in self._flow.steps:
            step = self._steps[definition.id]
            if (
                step.status is StepStatus.UNSEEN
                and step.id not in happened
                and self._is_certain(definition, step)
            ):
                places = dict.fromkeys(self._silent_places(definition))
                if places:
                    reason = f"it is not in {' and '.join(places)}"
                    self._change(
                        step, status=StepStatus.MISSING, reason=reason
                    )
        next_steps = {
            path[-1].id for path in order.paths(tuple(self._steps.values()))
        }
        for step in tuple(self._steps.values()):
            if step.status is StepStatus.MISSING and step.id not in next_steps:
                self._change(
                    step,
                    status=StepStatus.UNSEEN,
                    reason="a step that it follows did not happen",
                )

    def _is_certain(self, definition: StepDefinition, step: Step) -> bool:
        """Return whether somebody had to make a step happen, and it could not have been overlooked."""
        if step.responsible == order.NOBODY or any(
            map(self._visibility.is_uncertain, definition.observe)
        ):
            return False
        return not any(
            (self._steps[before].at or 0) > self._scope.settled
            for before in step.follows
        )

    def _silent_places(self, definition: StepDefinition) -> Iterable[str]:
        """Return the places that would show a step, were read to their end, and do not show it."""
        for link in self._links_of(definition, LinkState.BROKEN):
            if link.host:
                yield f"the stores on {link.host}"
            else:
                yield "its store"
        for rule in definition.observe:
            if self._visibility.must_be_shown(rule):
                yield from self._silent_places_of(rule)

    def _silent_places_of(self, rule: Rule) -> Iterator[str]:
        """Yield the place that does not show what a rule looks for, though it would be shown there."""
        if (rule.source, rule.kind) in KNOWN_TO_RUN:
            yield "what the run itself saw"
            return
        if rule.source != "log":
            return
        logs = self._visibility.logs_that_must_show(rule)
        if logs and self._is_silent(rule):
            yield f"the log of {rule.service} on {hosts_of(logs)}"

    def others(self) -> tuple[OtherExchange, ...]:
        """Return the exchanges between services that no step has shown, with what explains them."""
        exchanges: dict[str, list[Event]] = {}
        # A call that the run made before it had a catalog is of no service; a line is always of the log of one.
        for service, events in self._matcher.index.logged():
            for request in once(events):
                if (
                    id(request) not in self._used
                    and request.get("client")
                    and request.own_keys
                ):
                    exchanges.setdefault(
                        exchange_of(request, service), []
                    ).append(request)
        return tuple(
            OtherExchange(what, len(requests), self._explained(requests[0]))
            for what, requests in exchanges.items()
        )

    def _explained(self, request: Event) -> str | None:
        for explanation in self._flow.others:
            if self._matcher.agreeing([request], explanation.where):
                return explanation.reason
        return None


def exchange_of(request: Event, service: str) -> str:
    return f"{request.get('caller')} to {service}: {request.get('method')} {path_pattern(request)}"


def rules_with_proofs(
    definition: StepDefinition,
) -> Iterator[tuple[Proof, Rule]]:
    """Return each rule of a step with what it proves."""
    return chain(
        product([Proof.OBSERVE], definition.observe),
        product([Proof.CACHED], definition.cached),
        product([Proof.ABSENT], definition.absent),
    )


def start_of(step: Step) -> float | None:
    return None if step.at is None else step.at - (step.error_s or 0)


def end_of(step: Step) -> float | None:
    if step.at is None:
        return None
    return max(step.at, step.until or 0) + (step.error_s or 0)


def time_by(evidence: Sequence[Evidence]) -> dict[str, Any]:
    """Return the best time of a step: of the evidence that shows the step itself, the first of the finest.

    Evidence with an id counts before that by time and place.
    """
    timed = [
        item
        for item in evidence
        if item.at is not None and item.proves is Proof.OBSERVE
    ]
    if not timed:
        return {}
    best = min(
        timed,
        key=lambda item: (
            item.grade is not Grade.KEYED,
            item.slack_s > EXACT,
            item.at,
        ),
    )
    return {
        "at": best.at,
        "until": best.until,
        "resolution_s": best.resolution_s,
        "error_s": best.error_s,
        "host": best.host,
        "duration_s": None
        if best.until is None or best.at is None
        else round(max(0, best.until - best.at), 6),
    }


def tier_of(rule: Rule) -> int:
    """Return the access that is needed to see what a rule takes."""
    return SOURCES[rule.source].tier if rule.tier is None else rule.tier


def evidence_of(event: Event, rule: Rule, proof: Proof) -> Evidence:
    """Return an event as the evidence that a rule takes it for."""
    source = SOURCES[event.source]
    evidence = Evidence(
        source.name,
        event.service,
        tier_of(rule),
        rule.text or event.text,
        grade=Grade.WINDOW
        if source.of_others and not event.is_keyed
        else Grade.KEYED,
        level=event.level,
        host=event.host,
        proves=proof,
    )
    # A fact that is true later shows that something happened, but not when.
    if event.timeless or rule.edge == "later":
        return evidence
    at = event.end if rule.edge == "end" else event.at
    return dataclasses.replace(
        evidence,
        at=at,
        until=None if at == event.until else event.until,
        resolution_s=event.resolution_s,
        error_s=event.error_s,
    )
