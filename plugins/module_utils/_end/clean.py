# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remove what one run has made, with a connection of its own, and update the account in its record."""

from __future__ import annotations

from .._cloud import connection, token_cache
from .._cloud.connection import Params
from .._cloud.transport import Sample
from .._model.stage import Call, Failure, Leftover, Stage, Wait
from .._model.words import StageName, StageStatus
from .._record.clock import Stopwatch, now, seconds_of
from .._record.errors import StageError
from .._record.masking import bounded_copy
from .._record.run import Run
from .._record.waiting import Deadline
from . import removal


def clean(run: Run, params: Params) -> list[Leftover]:
    """Remove all that the run has made, and record how, and what is left. Return what is left."""
    deadline = Deadline(params["timeout"])
    watch = Stopwatch()
    calls: list[Call] = []
    samples: list[Sample] = []
    waits: list[Wait] = []
    texts: set[str] = set()

    def say(text: str) -> None:
        if text not in texts:
            texts.add(text)
            run.say("cleanup", text)

    cloud = connection.connect(params, calls, samples, deadline)
    token_cache.take(run.token_path, cloud.session.auth)
    left = removal.remove_all(cloud, run, deadline, waits, say)
    removal.settle_account(run, left)
    record = Stage(
        stage=StageName.REMOVAL,
        status=StageStatus.FAILED if left else StageStatus.OK,
        started=watch.began,
        finished=seconds_of(now()),
        duration_s=watch.seconds(),
        calls=tuple(calls),
        waits=tuple(waits),
        error=failure_of(run) if left else None,
    )
    run.update(kept=False, removal=bounded_copy(record))
    run.save()
    return left


def failure_of(run: Run) -> Failure:
    """Return the failure of a removal that has left something."""
    hint = "Look for the ids of what is left in the logs of its service."
    message = f"this could not be removed: {run.record.leftovers_in_words}"
    return StageError("service", message, hint=hint).failure


def keep(run: Run) -> None:
    """Record that everything the run has made is meant to stay."""
    run.update(kept=True)
    removal.settle_account(run, [])
    run.save()
