# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a run as a whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ..._model.flow import FollowedFlow
from ..._model.record import EarlierRun, Record
from ..._model.words import View
from .. import frame, journey
from ..messages.level import all_left_out
from ..paths import PathRow, rows_of
from ..sequence.drawing import Picture, legend_of_page
from . import boot, chains, coverage, earlier, hosts, stages, steps, verdict
from .requests import SlowCall, StageRequests, of_stage, slowest


@dataclass(frozen=True)
class Page:
    """What the template of a run's page lays out: a field for each of its sections."""

    run_id: str
    cloud: str | None
    level: str | None
    left_out: list[str]
    verdict: verdict.Card
    chains: list[chains.ChainCard]
    waterfall: stages.Waterfall
    flow: steps.Guide | None
    story: steps.Story | None
    coverage: list[coverage.Table]
    paths: list[PathRow]
    journey: list[journey.LegRow]
    hosts: list[hosts.HostCard]
    slowest: list[SlowCall]
    requests: list[StageRequests]
    boot: boot.Timeline | None
    plots: earlier.Comparison | None
    unseen: list[steps.Unseen]


def render(
    record: Record,
    template: str | os.PathLike[str],
    pictures: Sequence[Picture] = (),
    history: Sequence[EarlierRun] = (),
) -> str:
    """Return the page of a run. history: earlier runs."""
    page = page_of(record, history)
    legend = legend_of_page() if pictures else []
    return frame.render(
        template, {**vars(page), "pictures": pictures, "legend": legend}
    )


def page_of(record: Record, history: Sequence[EarlierRun] = ()) -> Page:
    guide = shown_as(record, View.GUIDE)
    story = shown_as(record, View.STORY)
    tables = [coverage.table(flow) for flow in record.flows if flow.coverage]
    cards = list(map(hosts.card, record.hosts))
    counts = list(map(of_stage, record.stages_and_removal))
    unseen = list(map(steps.unseen, record.flows))
    return Page(
        run_id=record.run_id,
        cloud=record.cloud,
        level=record.level_name,
        left_out=all_left_out(record.level),
        verdict=verdict.card(record),
        chains=[chains.card(chain) for chain in record.known_chains],
        waterfall=stages.waterfall(record),
        flow=None if guide is None else steps.guide(guide),
        story=None if story is None else steps.story(story),
        coverage=tables,
        paths=rows_of(record),
        journey=journey.rows_of(record),
        hosts=cards,
        slowest=slowest(record),
        requests=counts,
        boot=None if guide is None else boot.timeline(guide),
        plots=earlier.comparison(record, history),
        unseen=unseen,
    )


def shown_as(record: Record, view: View) -> FollowedFlow | None:
    """Return the flow that the page shows like this."""
    return next((flow for flow in record.flows if flow.shown_as == view), None)
