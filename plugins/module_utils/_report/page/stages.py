# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stages of a run, and the reading of the hosts after them, as bars on one axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..._model.flow import FollowedFlow, Step
from ..._model.record import EarlierRuns, Record
from ..._model.stage import Stage, Wait
from ..._model.words import StageName, StageStatus, StepStatus, View
from ..messages.words import plural
from ..text import ENOUGH_RUNS, is_slow
from ..units import doubt, duration, first_time, share, ticks
from .steps import StepRow, step_row

# Left end and width, in percent of the axis
Bar = tuple[float, float]


@dataclass(frozen=True)
class StateRow:
    state: str
    after: str
    resolution: str | None


@dataclass(frozen=True)
class WaitRow:
    awaited: str
    seconds: str
    resolution: str | None
    timed_out: bool
    polls: str
    extent: Bar
    states: list[StateRow]


@dataclass(frozen=True)
class Compared:
    """How a duration differs from those of earlier runs."""

    text: str
    p95: str
    is_slow: bool


@dataclass(frozen=True)
class FlowRow:
    """A flow whose steps are shown beside a stage."""

    text: str
    rows: list[StepRow]


@dataclass(frozen=True)
class StageRow:
    """A stage. median: the place of the median of earlier runs, in percent of the axis."""

    name: str
    status: str
    offset: str | None
    seconds: str | None
    extent: Bar | None
    reason: str | None = None
    median: float | None = None
    compared: Compared | None = None
    waits: tuple[WaitRow, ...] = ()
    flows: tuple[FlowRow, ...] = ()


@dataclass(frozen=True)
class Waterfall:
    rows: list[StageRow]
    ticks: list[tuple[float, str]]
    whole: str | None


@dataclass(frozen=True)
class Axis:
    """The axis of a whole run: when it begins, and its length in seconds."""

    started: float
    whole: float

    def extent(self, begin: float, seconds: float | None) -> Bar:
        return share(begin - self.started, self.whole), share(
            seconds or 0, self.whole
        )


def waterfall(record: Record) -> Waterfall:
    axis = axis_of(record)
    rows = [stage_row(stage, axis, record) for stage in record.stages]
    if record.evidence is not None:
        begin = record.evidence.started
        rows.append(
            bar_row(
                "hosts read",
                "done",
                begin,
                record.evidence.finished - begin,
                axis,
            )
        )
    if record.removal is not None:
        rows.append(removal_row(record.removal, axis, record))
    return Waterfall(
        rows=rows, ticks=ticks(axis.whole), whole=duration(axis.whole)
    )


def axis_of(record: Record) -> Axis:
    if record.duration_s:
        return Axis(record.started, record.duration_s)
    ends = [
        stage.finished for stage in record.stages if stage.finished is not None
    ]
    if record.evidence is not None:
        ends.append(record.evidence.finished)
    return Axis(
        record.started, max(ends, default=record.started) - record.started
    )


def bar_row(
    name: str,
    status: str,
    begin: float | None,
    seconds: float | None,
    axis: Axis,
) -> StageRow:
    if begin is None:
        return StageRow(
            name, status, offset=None, seconds=duration(seconds), extent=None
        )
    offset = f"+{begin - axis.started:.1f} s"
    return StageRow(
        name,
        status,
        offset=offset,
        seconds=duration(seconds),
        extent=axis.extent(begin, seconds),
    )


def stage_row(stage: Stage, axis: Axis, record: Record) -> StageRow:
    row = bar_row(
        stage.stage, stage.status, stage.started, stage.duration_s, axis
    )
    reason = (
        stage.details.get("reason")
        if stage.error is None
        else stage.error.message
    )
    waits = tuple(wait_row(wait, axis) for wait in stage.waits)
    flows = tuple(flows_beside(record, stage.stage))
    return with_median(
        replace(row, reason=reason, waits=waits, flows=flows),
        stage,
        axis,
        record,
    )


def with_median(
    row: StageRow, stage: Stage, axis: Axis, record: Record
) -> StageRow:
    """Return the row of a stage that worked with the times of earlier runs, if there are any."""
    usual = record.history.get(stage.stage)
    if (
        usual is None
        or stage.status != StageStatus.OK
        or stage.started is None
        or stage.duration_s is None
    ):
        return row
    median = share(stage.started - axis.started + usual.median_s, axis.whole)
    row = replace(row, median=min(100.0, median))
    if usual.runs < ENOUGH_RUNS:
        return row
    return replace(row, compared=compared(stage.duration_s, usual))


def removal_row(removal: Stage, axis: Axis, record: Record) -> StageRow:
    row = stage_row(removal, axis, replace(record, history={}))
    if (
        record.finished is None
        or removal.started is None
        or removal.started <= record.finished
    ):
        return row
    # What was kept may have been removed an hour later, far outside the axis.
    return replace(row, extent=None, waits=())


def compared(seconds: float, usual: EarlierRuns) -> Compared:
    more = seconds - usual.median_s
    side = "below" if more < 0 else "above"
    text = f"{duration(abs(more))} {side} the median of {plural(usual.runs, 'run')}"
    return Compared(
        text=text,
        p95=f"p95 {duration(usual.p95_s)}",
        is_slow=is_slow(seconds, usual),
    )


def wait_row(wait: Wait, axis: Axis) -> WaitRow:
    states = [
        StateRow(
            state.state,
            duration(state.after_s) or "",
            doubt(state.resolution_s),
        )
        for state in wait.states
    ]
    return WaitRow(
        awaited=wait.awaited,
        seconds=duration(wait.seconds) or "",
        resolution=doubt(wait.resolution_s),
        timed_out=wait.timed_out,
        polls=plural(wait.polls, "poll"),
        extent=axis.extent(wait.started, wait.seconds),
        states=states,
    )


def flows_beside(record: Record, stage: StageName) -> Iterator[FlowRow]:
    """Yield the flows that are shown beside this stage, with their steps in any stage that are a part of the run."""
    for flow in record.flows:
        if flow.shown_as == View.STAGE and main_stage(flow) == stage:
            yield flow_row(flow)


def main_stage(flow: FollowedFlow) -> StageName | None:
    """Return the stage with most of a flow's steps that are a part of the run; None if there are none."""
    counts = Counter(step.stage for step in steps_of_run(flow))
    return max(counts, key=lambda stage: counts[stage], default=None)


def steps_of_run(flow: FollowedFlow) -> list[Step]:
    return [step for step in flow.steps if step.status != StepStatus.SKIPPED]


def flow_row(flow: FollowedFlow) -> FlowRow:
    steps = steps_of_run(flow)
    zero = first_time(steps)
    seen = sum(step.status == StepStatus.SEEN for step in steps)
    text = f"{flow.title}: {seen} of {plural(len(steps), 'step')} seen"
    return FlowRow(text=text, rows=[step_row(step, zero) for step in steps])
