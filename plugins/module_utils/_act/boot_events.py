# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The events that the compute service records of the boot. It writes an end a moment after the state that it led to.

In: the stage that asks, and the record of the stage boot. Out: the events, in the details of the stage boot.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from .._cloud import servers
from .._model import codec
from .._model.details import BootDetails, ServerEvent
from .._model.stage import Call
from .._model.words import StageName
from .._record.errors import DeadlinePassed
from .._record.waiting import Deadline, Look, wait_until
from .stage import Stage

# In seconds: the compute service writes the ends of its events in this time.
LIMIT = 1


def request_in(calls: Iterable[Call]) -> str | None:
    """Return the id by which the compute service knows the request that made the server: its answer names it."""
    ids = {
        (call.method, os.path.basename(call.path)): call.request_id
        for call in calls
    }
    return ids.get(("POST", "servers"))


def have_ended(events: Iterable[ServerEvent]) -> bool:
    return all(map(attrgetter("finish_time"), events))


def until_ended(
    stage: Stage[Any], server_id: str, request_id: str | None
) -> tuple[ServerEvent, ...]:
    """Return the events with their ends, as far as these come in time."""
    events: tuple[ServerEvent, ...] = ()

    def look() -> Look:
        nonlocal events
        events = servers.events_of(stage.cloud.compute, server_id, request_id)
        ended = list(filter(attrgetter("finish_time"), events))
        return have_ended(events), f"{len(ended)} of {len(events)}", None

    with contextlib.suppress(DeadlinePassed):
        wait_until(
            "the server's events to end",
            look,
            Deadline(LIMIT),
            stage.waits,
            lambda _text: None,
        )
    return events


def complete(stage: Stage[Any]) -> None:
    """Add the ends that the stage boot did not wait for to its record: it ended as soon as the server was active."""
    boot = stage.run.record.stage_or_skipped(StageName.BOOT)
    details = stage.details_of(StageName.BOOT, BootDetails)
    if not details.events or have_ended(details.events):
        return
    server = stage.needed("server")
    events = until_ended(stage, server.id, request_in(boot.calls))
    if events:
        known = codec.to_json(replace(details, events=events))
        stage.run.put_stage(replace(boot, details=known))
