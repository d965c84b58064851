# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the verdict of a run into the description of its kept servers, for whoever finds them in a dashboard."""

from __future__ import annotations

import textwrap

from .._cloud import connection, token_cache
from .._cloud.connection import Params, answer_of
from .._cloud.errors import failure_of
from .._model.record import LONGEST_DESCRIPTION, ServerDescription
from .._model.stage import Call
from .._model.verdict import Verdict
from .._model.words import Result
from .._record.ledger import Entry
from .._record.masking import bounded_copy, words_of
from .._record.run import Run
from .._record.waiting import Deadline
from . import accounts, removal

# Since this version of the API a server has a description of its own.
DESCRIPTION_SINCE = "2.19"
# The seconds that all of it may take: the verdict is known, and somebody waits for it.
LONGEST = 15


def describe(run: Run, params: Params) -> None:
    """Write the verdict into the description of each kept server, and record how. A refusal fails no run."""
    servers = kept_servers(run) if run.record.kept else []
    if not servers:
        return
    text = text_of(run.id, run.record.verdict)
    calls: list[Call] = []
    error = None
    try:
        write(run, params, servers, text, calls)
    except Exception as exc:
        # Whatever is wrong there, the run has its verdict
        doing = "writing the verdict into the description of the server"
        error = " ".join(words_of(failure_of(exc, doing).message).split())
    run.update(
        server_description=bounded_copy(
            ServerDescription(text, tuple(calls), error)
        )
    )
    run.save()


def kept_servers(run: Run) -> list[Entry]:
    """Return the servers of the run that exist, as far as its ledger and its record know them."""
    servers = [
        entry
        for entry in accounts.to_remove(run)
        if entry["kind"] in removal.SERVERS and entry["id"]
    ]
    return [
        entry
        for entry in servers
        if removal.why_foreign(entry, run.mark) is None
    ]


def text_of(run_id: str, verdict: Verdict) -> str:
    """Return the description: the result, and what is wrong, as far as a description has room."""
    parts = [f"Kept by stackproof, run {run_id}", verdict.result.upper()]
    if verdict.result is not Result.PASS:
        parts.append(verdict.headline or verdict.reason)
    return textwrap.shorten(
        words_of(": ".join(parts)),
        LONGEST_DESCRIPTION,
        break_on_hyphens=False,
        placeholder=" ...",
    )


def write(
    run: Run,
    params: Params,
    servers: list[Entry],
    text: str,
    calls: list[Call],
) -> None:
    cloud = connection.connect(
        {**params, **removal.place_of(run, params)},
        calls,
        [],
        Deadline(LONGEST),
    )
    token_cache.take(run.token_path, cloud.session.auth)
    body = {"server": {"description": text}}
    for server in servers:
        answer_of(
            cloud.compute.put(
                f"/servers/{server['id']}",
                json=body,
                microversion=DESCRIPTION_SINCE,
            )
        )
