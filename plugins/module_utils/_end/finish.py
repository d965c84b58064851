# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""End a run: account, limits, history, verdict, and the files for readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._judge import verdict
from .._judge.thresholds import apply_limits
from .._model import codec
from .._model.flow import FollowedFlow
from .._model.record import EarlierRun, Record
from .._model.stage import Leftover, Stage
from .._model.words import Result, StageStatus
from .._record.masking import bounded_copy
from .._record.run import Run, write_whole
from .._report.messages.verdict import of_record
from .._report.metrics import FILE as METRICS
from .._report.metrics import metrics
from .._report.page import render as page
from .._report.sequence import drawing, rows, text
from .._report.text import PAGE, junit
from .._runs.earlier import earlier_runs, summarize
from . import accounts

# A limit on the record, as the playbook gives it
Threshold = dict[str, Any]
# How many earlier runs the history of a run is about
HISTORY = 20


def earlier_of(run: Run, most: int = HISTORY) -> list[EarlierRun]:
    """Return the last runs before this one on the same cloud; none before what others have done."""
    if run.record.operation:
        return []
    return earlier_runs(os.path.dirname(run.directory), run.record, most)


def finish(
    run: Run,
    earlier: Sequence[EarlierRun],
    thresholds: Sequence[Threshold] = (),
    broke_off: str | None = None,
) -> None:
    """End the record. broke_off is a sentence on work that was not done after the stages: with it no run passes."""
    # A stage that failed before the login has left it.
    run.forget_login_key()
    run.update(
        leftovers=(*run.record.leftovers, *unaccounted(run)),
        stages=verdict.with_skipped(run.record),
        history=summarize(earlier),
    )
    run.finish()  # limits may be about the whole duration
    run.update(thresholds=apply_limits(thresholds, codec.to_json(run.record)))
    run.update(verdict=of_record(run.record, broke_off))
    if run.record.verdict.result is not Result.FAIL:
        run.update(
            stages=tuple(
                cleared(stage, run.record.verdict.result)
                for stage in run.record.stages
            )
        )
    run.save()


def cleared(stage: Stage, result: Result) -> Stage:
    """Return a stage without a suspicion that was not confirmed, be it for want of anything to examine."""
    if stage.error_kind != verdict.SUSPECTED:
        return stage
    if result is Result.PASS:
        return replace(stage, status=StageStatus.OK, error=None)
    return Stage.skipped(stage.stage, "nothing of it could be examined")


def unaccounted(run: Run) -> list[Leftover]:
    """Return what is neither gone nor named yet: it was not removed, or one account of the run alone knows it."""
    open_entries = [] if run.record.kept else accounts.to_remove(run)
    not_removed = [
        accounts.leftover(entry, "it was not removed")
        for entry in open_entries
    ]
    named = {leftover.name for leftover in run.record.leftovers}
    new: list[Leftover] = []
    for leftover in (*accounts.differences(run), *not_removed):
        if leftover.name not in named:
            named.add(leftover.name)
            new.append(bounded_copy(leftover))
    return new


def render(
    run: Run, template: str | None = None, earlier: Sequence[EarlierRun] = ()
) -> None:
    """Write the files for readers. The page needs its template, which lies in the role that reports."""
    record = run.record
    write_whole(run.path("junit.xml"), junit(record))
    write_whole(run.path(METRICS), metrics(record))
    pictures = [
        write_diagram(run, name, flow, record)
        for name, flow in rows.drawn(record)
    ]
    if template is None:
        return
    write_whole(
        run.path(PAGE), page.render(record, template, pictures, earlier)
    )


def write_diagram(
    run: Run, name: str, flow: FollowedFlow, record: Record
) -> drawing.Picture:
    """Write the files of a flow's diagram, and return its picture for the page."""
    diagram = rows.diagram(flow)
    picture = drawing.picture(diagram, record)
    write_whole(run.path(f"{name}.svg"), picture.file)
    write_whole(run.path(f"{name}.mmd"), text.mermaid(diagram))
    write_whole(run.path(f"{name}.puml"), text.plantuml(diagram))
    return picture
