# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removes what one run has made, with a connection of its own, and updates the account in its record."""

from __future__ import annotations

from .._cloud import connection, token_cache
from .._model import codec
from .._record import shapes
from .._record.clock import Stopwatch, now
from .._record.errors import StageError
from .._record.masking import bounded
from .._record.run import REMOVAL, in_words
from .._record.waiting import Deadline
from . import removal


def clean(run, params):
    """Remove all that the run has made, and record how, and what is left. Returns what is left."""
    deadline = Deadline(params["timeout"])
    calls, samples, waits, texts, watch = [], [], [], set(), Stopwatch()

    def say(text):
        if text not in texts:
            texts.add(text)
            run.say("cleanup", text)

    cloud = connection.connect(params, calls, samples, deadline)
    token_cache.take(run.token_path, cloud.session.auth)
    left = removal.remove_all(cloud, run, deadline, waits, say)
    run.record["kept"] = False
    run.record["removal"] = bounded(
        shapes.stage(
            REMOVAL,
            "failed" if left else "ok",
            started=watch.started,
            finished=now(),
            duration_s=watch.seconds(),
            calls=codec.to_json(calls),
            waits=codec.to_json(waits),
            error=error_of(left),
        )
    )
    removal.settle_account(run, left)
    run.save()
    return left


def error_of(left):
    """The error of a removal that has left something."""
    if not left:
        return None
    hint = "Look for the ids of what is left in the logs of its service."
    return StageError("service", f"this could not be removed: {in_words(left)}", hint=hint).record


def keep(run):
    """Record that everything the run has made is meant to stay."""
    run.record["kept"] = True
    removal.settle_account(run, [])
    run.save()
