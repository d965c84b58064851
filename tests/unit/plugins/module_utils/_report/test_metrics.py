# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OpenMetrics of recorded runs and of a sweep, also where a cloud's words are hostile."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import datetime

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import Slice
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._report import metrics as metrics_module
from ansible_collections.stackproof.provision.plugins.module_utils._report.metrics import metrics_of_sweeps
from ansible_collections.stackproof.provision.plugins.module_utils._sweep.sweep import new_sweep
from harmless import is_harmless
from tree import RECORDED

PATHS = sorted((RECORDED / "runs").iterdir())


def metrics(record):
    return metrics_module.metrics(from_json(Record, record))


def parse_metrics(text):
    """The samples as the format's own rules read them: {(name, labels): value}; anything else is an error."""
    string = r'"((?:[^"\\\n]|\\[\\"n])*)"'
    sample = re.compile(rf"([a-z_]+)\{{([a-z]+={string}(?:,[a-z]+={string})*)\}} (\S+)")
    assert text.endswith("# EOF\n")
    samples, typed = {}, None
    for line in text.split("\n")[:-2]:
        if line.startswith("# "):
            kind, name, rest = line[2:].split(" ", 2)
            assert kind == "HELP" or (kind == "TYPE" and rest == "gauge")
            typed = name
            continue
        match = sample.fullmatch(line)
        assert match, line
        assert match[1] == typed
        labels = tuple(re.findall(rf"([a-z]+)={string}", match[2]))
        assert (match[1], labels) not in samples
        samples[match[1], labels] = float(match[5])
    return samples


@pytest.mark.parametrize("directory", PATHS, ids=lambda path: path.name)
def test_a_recorded_run_is_rendered_as_it_was(directory):
    record = as_json.read_record(directory)
    assert parse_metrics(metrics(record)) == parse_metrics((directory / "metrics.prom").read_text())


def test_metrics_of_a_pass(passed):
    samples = parse_metrics(metrics(passed))
    whole, boot = (("cloud", "lab"),), (("cloud", "lab"), ("stage", "boot"))
    assert samples["stackproof_run_passed", whole] == 1
    assert samples["stackproof_run_leftovers", whole] == 0
    assert samples["stackproof_run_duration_seconds", whole] == passed["duration_s"]
    finished = datetime.fromisoformat(passed["finished"]).timestamp()
    assert samples["stackproof_run_finished_timestamp_seconds", whole] == pytest.approx(finished, abs=1e-6)
    assert samples["stackproof_stage_passed", boot] == 1
    calls = next(stage["calls"] for stage in passed["stages"] if stage["stage"] == "boot")
    assert samples["stackproof_stage_requests", boot] == len(calls) > 10
    assert samples["stackproof_stage_request_seconds", boot] == pytest.approx(sum(call["seconds"] for call in calls))


def test_metrics_of_a_failure_leave_out_what_did_not_run(failed):
    samples = parse_metrics(metrics(failed))
    assert samples["stackproof_run_passed", (("cloud", "lab"),)] == 0
    stages = {labels[1][1]: value for (name, labels), value in samples.items() if name == "stackproof_stage_passed"}
    assert stages == {"auth": 1, "image": 1, "network": 1, "volume": 1, "boot": 0}
    (place,) = [dict(labels) for name, labels in samples if name == "stackproof_run_failed_at"]
    assert place == {"cloud": "lab", "stage": "boot", "step": "", "component": "", "host": ""}


def test_metrics_of_a_run_that_has_just_begun(run):
    samples = parse_metrics(metrics_module.metrics(run.record))
    assert {name.removeprefix("stackproof_run_") for name, _labels in samples} == {"passed", "failed_at", "leftovers"}


def test_hostile_words_stay_within_their_label(hostile, tmp_path):
    run_module.write_whole(tmp_path / "metrics.prom", metrics(hostile))
    samples = parse_metrics((tmp_path / "metrics.prom").read_text())
    clouds = {labels[0][1] for _name, labels in samples}
    assert len(clouds) == 1
    assert is_harmless(clouds.pop())
    assert all(math.isfinite(value) for value in samples.values())


def test_each_target_of_a_sweep_has_its_own_samples(passed, failed):
    whole = new_sweep("sweep-1", "lab", [], part=Slice(2, 3, 6))
    sweep = replace(whole, finished=whole.started + 60, verdict=replace(whole.verdict, result=Result.FAIL))
    runs = [("compute1", as_json.typed(passed)), ("compute2", as_json.typed(failed))]
    samples = parse_metrics(metrics_of_sweeps([(sweep, runs)]))
    assert samples["stackproof_sweep_passed", (("cloud", "lab"), ("slice", "2/3"))] == 0
    of_runs = {
        dict(labels)["target"]: value for (name, labels), value in samples.items() if name.endswith("run_passed")
    }
    assert of_runs == {"compute1": 1, "compute2": 0}
    (place,) = [dict(labels) for name, labels in samples if name == "stackproof_run_failed_at"]
    assert (place["target"], place["stage"]) == ("compute2", "boot")
