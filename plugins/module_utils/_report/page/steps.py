# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of flows: each of them by phase, the boot in few steps, and those that nothing showed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby

from ..._model.flow import Evidence, FollowedFlow, Step
from ..._model.words import Since, StepStatus
from ..statuses import IN_GUIDE, LOOKS
from ..units import doubt, duration, first_time, milliseconds_since, moment

NOT_SHOWN = (StepStatus.UNSEEN, StepStatus.MISSING, StepStatus.SKIPPED)


@dataclass(frozen=True)
class EvidenceRow:
    at: str | None
    doubt: str | None
    host: str | None
    service: str
    source: str
    tier: int
    grade: str
    level: str | None
    proves: str
    text: str


@dataclass(frozen=True)
class StepRow:
    """A step. is_counted: whether it is one of the operations guide. covers: the steps that it stands for."""

    id: str
    source: str
    target: str
    message: str
    kind: str
    is_counted: bool
    changed: str | None
    today: str | None
    status: str
    reason: str | None
    at: str | None
    offset: str | None
    doubt: str | None
    duration: str | None
    host: str | None
    covers: str
    evidence: list[EvidenceRow]


@dataclass(frozen=True)
class Phase:
    """Steps of one phase that follow each other. number: of the phase, for the filter."""

    name: str
    number: int
    rows: list[StepRow]
    seen: int

    @property
    def is_all_seen(self) -> bool:
        return self.seen == len(self.rows)


@dataclass(frozen=True)
class Guide:
    """Each step of the boot. zero: the time from which milliseconds count. concurrent_boots: how many there were."""

    title: str
    groups: list[Phase]
    phases: list[str]
    of: int
    counted: int
    not_seen: int
    counts: list[tuple[str, int]]
    concurrent_boots: int
    zero: str | None


@dataclass(frozen=True)
class Story:
    title: str
    steps: list[StepRow]


@dataclass(frozen=True)
class UnseenGroup:
    """Steps with one status for one reason. steps: (id, message)."""

    status: str
    reason: str
    steps: list[tuple[str, str]]


@dataclass(frozen=True)
class Unseen:
    title: str
    groups: list[UnseenGroup]


def guide(flow: FollowedFlow) -> Guide:
    """Return the steps of a flow by their phases, in the order of the flow."""
    zero = first_time(flow.steps)
    runs = [
        (name or "other", list(steps))
        for name, steps in groupby(flow.steps, key=lambda step: step.phase)
    ]
    phases = list(dict.fromkeys(name for name, _steps in runs))
    groups = [
        phase(name, phases.index(name), steps, zero) for name, steps in runs
    ]
    numbers = Counter(step.status for step in flow.steps)
    counts = [
        (look.status.value, numbers[look.status])
        for look in LOOKS
        if numbers[look.status]
    ]
    return Guide(
        title=flow.title,
        groups=groups,
        phases=phases,
        of=len(flow.steps),
        counted=sum(map(is_counted, flow.steps)),
        not_seen=len(flow.steps) - numbers[StepStatus.SEEN],
        counts=counts,
        concurrent_boots=flow.concurrent_boots,
        zero=moment(zero, 6),
    )


def phase(
    name: str, number: int, steps: list[Step], zero: float | None
) -> Phase:
    seen = sum(step.status == StepStatus.SEEN for step in steps)
    return Phase(
        name=name,
        number=number,
        rows=[step_row(step, zero) for step in steps],
        seen=seen,
    )


def is_counted(step: Step) -> bool:
    return IN_GUIDE in step.numbers


def step_row(step: Step, zero: float | None) -> StepRow:
    is_changed = step.became not in (None, Since.SAME)
    return StepRow(
        id=step.id,
        source=step.source,
        target=step.target,
        message=step.message,
        kind=step.kind,
        is_counted=is_counted(step),
        changed=step.became if is_changed else None,
        today=step.today,
        status=step.status,
        reason=None if step.status == StepStatus.SEEN else step.reason,
        at=moment(step.at),
        offset=milliseconds_since(zero, step.at),
        doubt=None
        if step.at is None
        else doubt(step.resolution_s, step.error_s),
        duration=duration(step.duration_s),
        host=step.host,
        covers=", ".join(step.covers),
        evidence=list(map(evidence_row, step.evidence)),
    )


def evidence_row(evidence: Evidence) -> EvidenceRow:
    return EvidenceRow(
        at=moment(evidence.at, 6),
        doubt=None
        if evidence.at is None
        else doubt(evidence.resolution_s, evidence.error_s),
        host=evidence.host,
        service=evidence.service,
        source=evidence.source,
        tier=evidence.tier,
        grade=evidence.grade,
        level=evidence.level,
        proves=evidence.proves,
        text=evidence.text,
    )


def story(flow: FollowedFlow) -> Story:
    zero = first_time(flow.steps)
    return Story(
        title=flow.title, steps=[step_row(step, zero) for step in flow.steps]
    )


def unseen(flow: FollowedFlow) -> Unseen:
    """Return the steps that nothing showed, by the reason that says what would show them; the most frequent first."""
    steps_by_reason = defaultdict(list)
    for step in flow.steps:
        if step.status in NOT_SHOWN:
            key = step.status.value, step.reason or "no reason is known"
            steps_by_reason[key].append((step.id, step.message))
    groups = [
        UnseenGroup(status, reason, steps)
        for (status, reason), steps in steps_by_reason.items()
    ]
    groups.sort(key=lambda group: -len(group.steps))
    return Unseen(title=flow.title, groups=groups)
