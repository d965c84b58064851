# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The requests of each stage, and the slowest of them all."""

from __future__ import annotations

from dataclasses import dataclass

from ..._model.record import Record
from ..._model.stage import Call, Stage
from ..units import duration, share

SLOWEST = 10
FIRST_ERROR = 400


@dataclass(frozen=True)
class StageRequests:
    """The requests of a stage. refused: how many were answered with an error, or not at all."""

    stage: str
    count: int
    total: str | None
    mean: str | None
    longest: str | None
    refused: int


@dataclass(frozen=True)
class SlowCall:
    """A request. width: its duration in percent of the longest."""

    stage: str
    service: str | None
    method: str
    path: str
    answer: str
    request_id: str | None
    seconds: str | None
    width: float


def of_stage(stage: Stage) -> StageRequests:
    times = [call.seconds for call in stage.calls]
    return StageRequests(
        stage=stage.stage,
        count=len(times),
        total=duration(sum(times)) if times else None,
        mean=duration(sum(times) / len(times)) if times else None,
        longest=duration(max(times, default=None)),
        refused=sum(map(is_refused, stage.calls)),
    )


def is_refused(call: Call) -> bool:
    return call.status is None or call.status >= FIRST_ERROR


def slowest(record: Record) -> list[SlowCall]:
    calls: list[tuple[str, Call]] = []
    for stage in record.stages_and_removal:
        calls += [(stage.stage, call) for call in stage.calls]
    calls.sort(key=lambda pair: -pair[1].seconds)
    longest = calls[0][1].seconds if calls else 0.0
    return [slow_call(name, call, longest) for name, call in calls[:SLOWEST]]


def slow_call(stage: str, call: Call, longest: float) -> SlowCall:
    return SlowCall(
        stage=stage,
        service=call.service,
        method=call.method,
        path=call.path,
        answer=call.error or "no answer"
        if call.status is None
        else str(call.status),
        request_id=call.request_id,
        seconds=duration(call.seconds),
        width=share(call.seconds, longest),
    )
