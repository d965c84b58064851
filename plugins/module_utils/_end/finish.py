# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run: account, limits, history, verdict, and the files for readers."""

from __future__ import annotations

import os

from .._judge import verdict
from .._judge.history import earlier_records, summarize
from .._judge.thresholds import apply_limits
from .._model.codec import from_json
from .._model.record import Record
from .._record.masking import bounded
from .._record.run import write_whole
from .._report.messages.verdict import of_record
from .._report.metrics import FILE as METRICS
from .._report.metrics import metrics
from .._report.page import render as page
from .._report.sequence import drawing, rows, text
from .._report.text import PAGE, junit
from . import accounts


def finish(run, thresholds=(), history=20, broke_off=None):
    """End the record. broke_off: why not all was done after the stages; with it no run passes."""
    record = run.record
    record["leftovers"] = [*record["leftovers"], *unaccounted(run)]
    record["stages"] = verdict.with_skipped(record["stages"])
    earlier = earlier_records(os.path.dirname(run.directory), record, history)
    record["history"] = summarize(earlier)
    run.finish(None)  # limits may be about the whole duration
    record["thresholds"] = apply_limits(thresholds, record)
    record["verdict"] = of_record(record, broke_off)
    run.save()


def unaccounted(run):
    """Return what is neither gone nor named yet: it was not removed, or one account of the run alone knows it."""
    open_entries = [] if run.record["kept"] else accounts.to_remove(run)
    found = [*accounts.differences(run), *(accounts.leftover(entry, "it was not removed") for entry in open_entries)]
    named = {leftover["name"] for leftover in run.record["leftovers"]}
    new = {leftover["name"]: leftover for leftover in reversed(found) if leftover["name"] not in named}
    return bounded(list(reversed(new.values())))


def render(run, template=None, history=20):
    """Write the files for readers. The page needs its template, which lies in the role that reports."""
    record = from_json(Record, run.record)
    write_whole(run.path("junit.xml"), junit(run.record))
    write_whole(run.path(METRICS), metrics(record))
    pictures = [write_diagram(run, name, flow, record) for name, flow in rows.drawn(record)]
    if template is None:
        return
    earlier = earlier_records(os.path.dirname(run.directory), run.record, history)
    write_whole(run.path(PAGE), page.render(record, run.record, template, pictures, earlier))


def write_diagram(run, name, flow, record):
    """Write the files of a flow's diagram, and return its picture for the page."""
    diagram = rows.diagram(flow)
    picture = drawing.picture(diagram, record)
    write_whole(run.path(f"{name}.svg"), picture.file)
    write_whole(run.path(f"{name}.mmd"), text.mermaid(diagram))
    write_whole(run.path(f"{name}.puml"), text.plantuml(diagram))
    return picture
