# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run: account, limits, history, verdict, and the files for readers."""

from __future__ import annotations

import os

from .._judge import verdict
from .._judge.history import earlier_records, summarize
from .._judge.thresholds import apply_limits
from .._record import ledger
from .._record.run import write_whole
from .._report import page, sequence_svg, sequence_text
from .._report.text import PAGE, junit, metrics

# Why a run is no pass that somebody else ends than its playbook
AFTER_STAGES = "The run broke off after its stages."


def finish(run, thresholds=(), history=20, broke_off=None):
    """End the record. broke_off is a sentence on what was not done after the stages: then it is no pass."""
    record = run.record
    record["leftovers"] = record["leftovers"] + forgotten(run)
    record["stages"] = verdict.with_skipped(record["stages"])
    earlier = earlier_records(os.path.dirname(run.directory), record, history)
    record["history"] = summarize(earlier)
    run.finish(None)  # limits may be about the whole duration
    record["thresholds"] = apply_limits(thresholds, record)
    record["verdict"] = verdict.judge(record, broke_off)
    run.save()


def forgotten(run):
    """What the ledger still has, that nobody was asked to keep, and no removal has named."""
    if run.record["kept"]:
        return []
    named = {one["name"] for one in run.record["leftovers"]}
    there = [entry for entry in run.ledger.entries.values() if entry["event"] in ledger.OPEN]
    why = "it was not removed"
    return [
        {"kind": entry["kind"], "id": entry["id"], "name": entry["name"], "why": why}
        for entry in there
        if entry["name"] not in named
    ]


def render(run, template=None, history=20):
    """Write the files for readers; the page only with its template, which is with the role that reports."""
    write_whole(run.path("junit.xml"), junit(run.record))
    write_whole(run.path("metrics.prom"), metrics(run.record))
    diagram = None
    for flow in run.record["flows"][:1]:
        diagram = sequence_svg.svg(flow, run.record)
        write_whole(run.path("flow.svg"), diagram)
        write_whole(run.path("flow.mmd"), sequence_text.mermaid(flow))
        write_whole(run.path("flow.puml"), sequence_text.plantuml(flow))
    if template is None:
        return
    with open(template, encoding="utf-8") as stream:
        text = stream.read()
    earlier = earlier_records(os.path.dirname(run.directory), run.record, history)
    write_whole(run.path(PAGE), page.render(run.record, text, diagram, earlier))
