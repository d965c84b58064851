# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema of run.json takes what real runs wrote, and nothing that is damaged."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._end import finish
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from tree import RECORDED, ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RUNS = sorted((RECORDED / "runs").iterdir())
PASSED = "20261121-065105-bdb5f5"


def problems(record):
    return [f"{list(error.absolute_path)}: {error.message}" for error in VALIDATOR.iter_errors(record)]


def as_written(directory):
    """The record of a recorded run as the collection writes it today, with each key that is always there."""
    return codec.to_json(codec.from_json(Record, run_module.read_record(directory)))


@pytest.fixture
def passed():
    record = as_json.read_record(RUNS[0].parent / PASSED)
    for stage in record["stages"]:
        del stage["calls"][3:]  # enough, and quicker
    return record


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_knows_the_same_names_as_the_code():
    assert SCHEMA["properties"]["schema"]["const"] == run_module.SCHEMA
    assert SCHEMA["properties"]["run_id"]["pattern"] == f"^{run_module.RUN_ID.pattern}$"
    every = (*run_module.STAGES, *run_module.OPTIONAL, "removal")
    assert tuple(SCHEMA["$defs"]["stage_name"]["enum"]) == every


@pytest.mark.parametrize("directory", RUNS, ids=lambda path: path.name)
def test_a_recorded_run_is_valid(directory):
    assert problems(as_json.read_record(directory)) == []


def test_a_run_that_has_just_begun_is_valid(run):
    assert problems(json.loads(Path(run.path("run.json")).read_text())) == []


def test_a_run_that_broke_off_at_once_is_valid(run):
    finish.finish(run, finish.earlier_of(run))
    record = json.loads(Path(run.path("run.json")).read_text())
    assert record["verdict"]["result"] == "incomplete"
    assert problems(record) == []


def test_a_run_with_limits_and_history_is_valid(passed):
    record = copy.deepcopy(passed)
    record["thresholds"] = [
        {"name": "boot", "query": "created", "min": None, "max": 3.5, "value": 4, "ok": False, "text": "boot: more"},
        {"name": "odd", "query": "stages", "min": 1, "max": None, "value": None, "ok": False, "text": "odd: no number"},
    ]
    assert record["history"]
    assert problems(record) == []


CONTRACT = {
    "hosts": [
        {
            "host": "compute1",
            "groups": ["compute"],
            "parts": ["compute"],
            "status": "read",
            "reason": None,
            "clock_offset_s": -0.002,
            "clock_error_s": 0.001,
            "health_before": None,
            "facts": {},
            "examination": None,
            "unread": [],
            "checks": [
                {"check": "It runs", "status": "ok", "reason": None, "seconds": 0.1},
                {"check": "It has its memory", "status": "unreadable", "reason": "no ssh", "seconds": 0},
            ],
        }
    ],
    "flows": [
        {
            "name": "provision",
            "title": "Provision an instance",
            "lifelines": ["client", "keystone"],
            "steps": [
                {
                    "id": "1",
                    "phase": "authentication",
                    "source": "client",
                    "target": "keystone",
                    "message": "authenticate",
                    "kind": "rest",
                    "stage": "boot",
                    "repeats": False,
                    "responsible": "client",
                    "follows": [],
                    "numbers": {"table": 1, "slides": ["2"]},
                    "became": "same",
                    "today": None,
                    "status": "seen",
                    "reason": None,
                    "at": "2026-11-21T06:51:06.461663+00:00",
                    "until": "2026-11-21T06:51:06.761663+00:00",
                    "duration_s": 0.3,
                    "resolution_s": 0.000001,
                    "error_s": 0.0,
                    "host": "controller",
                    "covers": ["1"],
                    "evidence": [
                        {
                            "source": "api",
                            "service": "identity",
                            "tier": 0,
                            "grade": "keyed",
                            "level": None,
                            "at": "2026-11-21T06:51:06.461663+00:00",
                            "until": None,
                            "host": None,
                            "text": "POST /v3/auth/tokens 201",
                            "resolution_s": 0.000001,
                            "error_s": 0.0,
                            "proves": "observe",
                        }
                    ],
                }
            ],
            "coverage": [
                {
                    "tier": 2,
                    "level": "debug",
                    **dict.fromkeys(("total", "seen"), 1),
                    **dict.fromkeys(("cached", "absent", "skipped", "unseen", "missing", "window"), 0),
                }
            ],
            "judged": True,
            "shown_as": "guide",
            "parts": [],
            "concurrent_boots": 0,
            "others": [{"what": "a to b: GET /", "count": 2, "reason": None}],
        }
    ],
}


def test_hosts_and_flows_are_as_the_contract_says(passed):
    assert problems({**passed, **CONTRACT}) == []


def change(record, path, value):
    """A copy with one place changed; a path is keys with dots, a minus before the last one takes it away."""
    record = copy.deepcopy(record)
    *way, last = path.split(".")
    place = record
    for key in way:
        place = place[int(key) if key.isdigit() else key]
    if last.startswith("-"):
        del place[last[1:]]
    else:
        place[int(last) if last.isdigit() else last] = value
    return record


DAMAGE = [
    *[(f"-{name}", None) for name in as_json.new_record("run-1", "lab")],
    ("schema", "stackproof.run/1"),
    ("token", "secret"),
    ("run_id", "../other"),
    ("cloud", ""),
    ("started", "2026-11-21 06:51:05"),
    ("started", "2026-11-21T06:51:05+00:00"),
    ("started", "2026-11-21T07:51:05.844899+01:00"),
    ("finished", None),
    ("duration_s", None),
    ("duration_s", -1),
    ("verdict", None),
    ("verdict.result", "passed"),
    ("verdict.stage", "boot"),
    ("verdict.reason", ""),
    ("verdict.-alternatives", None),
    ("verdict.score", 1),
    ("stages", []),
    ("stages.0.stage", "login"),
    ("stages.0.status", "failed"),
    ("stages.0.status", "done"),
    ("stages.0.started", None),
    ("stages.0.finished", None),
    ("stages.0.error", "no"),
    ("stages.0.details", []),
    ("stages.0.secret", "x"),
    ("stages.0.-calls", None),
    ("stages.0.calls.0.-status", None),
    ("stages.0.calls.0.status", None),
    ("stages.0.calls.0.status", "200"),
    ("stages.0.calls.0.path", "/v3?temp_url_sig=abc"),
    ("stages.0.calls.0.headers", {"X-Auth-Token": "x"}),
    ("stages.0.calls.0.-request_id", None),
    ("stages.0.calls.0.seconds", -0.1),
    ("stages.1.resources.0.created", "yes"),
    ("stages.1.resources.0.id", None),
    ("stages.3.waits.0.-states", None),
    ("stages.3.waits.0.states.0.resolution_s", "sharp"),
    ("stages.3.waits.0.timed_out", False),
    ("hosts", {}),
    ("hosts.0.checks.0.status", "fine"),
    ("hosts.0.checks.1.-reason", None),
    ("hosts.0.-clock_error_s", None),
    ("flows.0.steps.0.status", "passed"),
    ("flows.0.steps.0.evidence.0.tier", 4),
    ("flows.0.steps.0.evidence.0.grade", "sure"),
    ("flows.0.steps.0.evidence.0.raw", "x"),
    ("flows.0.-coverage", None),
    ("flows.0.coverage", {"admin": 1}),
    ("flows.0.coverage.0.level", "trace"),
    ("flows.0.steps.0.evidence", []),
    ("flows.0.steps.0.evidence.0.proves", "nothing"),
    ("flows.0.others.0.count", 0),
    ("history.login", {"runs": 1, "median_s": 1, "p95_s": 1}),
    ("history.auth.runs", 0),
    ("created", -1),
    ("kept", None),
    ("leftovers", [{"kind": "server", "id": "x", "name": "y"}]),
    ("thresholds", [{"name": "boot"}]),
]


@pytest.mark.parametrize(("path", "value"), DAMAGE, ids=lambda value: re.sub(r"\W+", "-", str(value))[:40])
def test_a_damaged_record_is_not_valid(passed, path, value):
    assert problems(change({**passed, **CONTRACT}, path, value)) != []


def test_a_failed_stage_must_say_why(passed):
    error = {"kind": "quota", "message": "m", "resource": None, "answer": None, "status": 403, "request_id": None}
    error.update(hint="h", details={})
    failed = change(passed, "stages.0.status", "failed")
    assert problems(change(failed, "stages.0.error", error)) == []
    assert problems(failed) != []
    assert problems(change(passed, "stages.0.error", error)) != []


def test_a_call_without_an_answer_must_say_why(passed):
    call = {**passed["stages"][0]["calls"][0], "status": None, "request_id": None}
    assert problems(change(passed, "stages.0.calls.0", {**call, "error": "ReadTimeout"})) == []
    assert problems(change(passed, "stages.0.calls.0", call)) != []
