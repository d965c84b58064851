# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a terminal shows of recorded runs, judged and printed by the code of today.

The pages quote it, and tools/pictures.py draws it.
"""

from __future__ import annotations

import failed_runs
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._report import text
from as_json import Json, plain, typed, verdict_on
from tree import RECORDED

# The run of make demo, and the one of docs/first-verdict.md that fails
DEMO, TUTORIAL = "demo/20261130-101141-628278", "demo/20261130-090254-0e816e"
# A run whose flow is drawn
DRAWN = "pages/20261121-152747-af4099"
CONTROL_NODE = (None, "localhost")
# The errors of stages in the words of the day when the runs were recorded, and in those of today, which stages print:
# unit/plugins/modules/test_quoted_errors.py checks it.
IN_WORDS_OF_TODAY = {"making the server": "creating the server", "the cloud said": "the cloud answered"}


def judged(record: Json) -> Record:
    """Return a record of the model with the verdict of today, and the error of a stage in today's words."""
    reworded = {**record, "stages": [with_error_of_today(stage) for stage in record["stages"]]}
    return typed({**reworded, "verdict": verdict_on(reworded)})


def with_error_of_today(stage: Json) -> Json:
    error = stage["error"]
    if error is None:
        return stage
    message = error["message"]
    for then, today in IN_WORDS_OF_TODAY.items():
        message = message.replace(then, today)
    return {**stage, "error": {**error, "message": message}}


def read(directory: str) -> Record:
    """Return the record in a directory of recorded, judged again."""
    return judged(plain(run.read_record(str(RECORDED / directory))))


def failed(fault: str) -> Record:
    """Return the run of a fault in recorded/failed."""
    return judged(failed_runs.run_of(fault))


def failed_without_hosts(fault: str) -> Record:
    """Return the same run as an administrator's cloud alone shows it, where no host could be read."""
    record = failed_runs.run_of(fault)
    for step in record["flows"][0]["steps"]:
        if step["status"] == "missing" or step["host"] not in CONTROL_NODE:
            step.update(status="unseen", at=None, host=None)
    return judged({**record, "hosts": [], "errors": []})


def summary(directory: str) -> list[str]:
    """Return the summary of a recorded run with its page, without empty lines around it."""
    record = read(directory)
    shown = f"runs/{record.run_id}"
    page = f"  page: {shown}/{text.PAGE}"
    return [*text.summary(record, shown)[1:-1], page]


def verdict(record: Record) -> list[str]:
    """Return the lines of a verdict: its headline, and its parts."""
    lines = text.ending(record, "runs")
    return [line for line in lines if line and not line.startswith("  files:")]


def path(record: Record) -> list[str]:
    """Return the lines of the path in a verdict."""
    lines = verdict(record)
    start = next(number for number, line in enumerate(lines) if line.startswith("    path:"))
    arrows = [line for line in lines[start + 1 :] if line.lstrip().startswith("-> ")]
    return [lines[start], *arrows]
