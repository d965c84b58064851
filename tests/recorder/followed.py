# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run on a cloud that logs every message, what the logs of its hosts have of it, and one with its flow and page."""

from __future__ import annotations

import json
import subprocess

from runs_under_test import environment
from tree import ROOT

from recorder.making import WHOLE, lines, old, pretty
from recorder.thinning import as_the_run_read, before_it_was_followed, fewer_polls, only_flow, rows

HOST = "compute2"
ADMIN = {"cloud": "lab", "admin_cloud": "lab-admin"}
PAGE = "pages/20261121-152747-af4099/run.json"
# What the tests of the drawings and diagrams need of a record
DRAWN = ("run_id", "cloud", "started", "verdict", "flows")


def followed(making):
    making.forget_tokens()
    with making.only_on(HOST):
        outcome = making.run("followed", *WHOLE, **ADMIN)
    record = outcome.record
    rewrite = making.rewriting(record, old("followed/run.json"))
    making.write("followed/run.json", pretty(rewrite(before_it_was_followed(fewer_polls(record)))))
    logs = as_the_run_read(record, logs_of(making, outcome.directory))
    making.write("followed/logs.jsonl", lines(rewrite(rows(logs)), sort_keys=True, separators=(",", ":")))


def logs_of(making, run):
    """What the logs of each host have of a finished run, by host."""
    answers = making.work / "answers"
    answers.mkdir(exist_ok=True)
    places = {"recorder_root": str(ROOT), "recorder_run": str(run), "recorder_answers": str(answers)}
    command = ["ansible-playbook", *WHOLE, str(ROOT / "tests/recorder/read_logs.yml"), "-e", json.dumps(places)]
    subprocess.run(command, env=environment(), check=True)
    parsed = {path.stem: json.loads(path.read_text()) for path in sorted(answers.glob("*.json"))}
    return {host: {**answer, "events": json.loads(answer["events"])} for host, answer in parsed.items()}


def pages(making):
    with making.only_on(HOST):
        record = making.run("pages", *WHOLE, **ADMIN, floating_ip=True, tcp_port=80).record
    record = making.rewriting(record, old(PAGE))(only_flow(fewer_polls(record), "ops_guide"))
    # What the hosts know is long, and not shown.
    record["hosts"] = [{**host, "facts": {}} for host in record["hosts"]]
    making.write(PAGE, pretty(record))
    making.write("flow-run.json", pretty({name: record[name] for name in DRAWN}))
