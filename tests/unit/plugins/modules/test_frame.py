# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each module that works on the control node says a defect of ours in one sentence, with a traceback if asked."""

from __future__ import annotations

import importlib

import pytest
import yaml
from ansible.module_utils._internal import _traceback
from ansible_collections.stackproof.provision.plugins.modules import cleanup
from tree import FLOWS, ROOT

PLUGINS = "ansible_collections.stackproof.provision.plugins"
ROUTES = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
ROUTED = [name for name, route in ROUTES.items() if "action_plugin" in route]
FLOW = str(FLOWS / "ops_guide.yml")
AT = {"run_dir": "/nowhere"}
# Options of a module, and what in it is broken; of all others the run's directory is opened by the frame of stages.
BROKEN = {
    "bundle_info": ({"directory": "/nowhere", "services": [], "flows": []}, "modules.bundle_info", "read"),
    "capacity_info": ({"cloud": "small", "flavor": "a"}, "module_utils._cloud.connection", "connect"),
    "cleanup": (AT, "modules.cleanup", "chosen_runs"),
    "comparison": ({"before": "/nowhere", "now": "/nowhere"}, "module_utils._runs.results", "read"),
    "diagnosis": ({"bundle": {}, "flows": [], "diagnoses": "/nowhere"}, "modules.diagnosis", "file"),
    "evidence": ({**AT, "hosts": ["a"], "platform": {}, "reads": {"a": {}}}, "modules.evidence", "host_of"),
    "evidence_info": ({"parts": [], "platform": {}}, "module_utils._collect.hosts.all_facts", "read"),
    "flow": ({**AT, "flows": [FLOW]}, "module_utils._match.flow", "load"),
    "flow_info": ({**AT, "flows": [FLOW]}, "module_utils._match.flow", "load"),
    "host_checks": (
        {**AT, "suite": "/nowhere", "inventory": ["a"], "hosts": ["a"]}, "modules.host_checks", "results_or_why_not"
    ),
    "history": ({"runs": "/nowhere"}, "module_utils._history.files", "write"),
    "instance": ({"cloud": "small", "server": "a"}, "modules.instance", "look_or_file_why_not"),
    "load": ({"runs": "/nowhere", "state": "begun"}, "module_utils._load.files", "begin"),
    "preflight": ({"cloud": "small"}, "modules.preflight", "Look"),
    "report": (AT, "modules.report", "Run"),
    "run": ({"cloud": "small", "runs": "/nowhere"}, "modules.run", "begin"),
    "stuck_info": ({"cloud": "small"}, "module_utils._cloud.connection", "connect"),
    "sweep": ({"runs": "/nowhere", "state": "begun"}, "module_utils._sweep.files", "begin"),
}  # fmt: skip
STAGE = ({**AT, "cloud": "small"}, "module_utils._act.stage", "Run")


@pytest.mark.defect
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", sorted(ROUTED))
def test_a_defect_is_one_sentence_and_its_traceback_is_there_for_who_asks(call, run, monkeypatch, name, traced):
    options, place, what = BROKEN.get(name, STAGE)
    module = importlib.import_module(f"{PLUGINS}.modules.{name}")

    def broken(*_args, **_options):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(importlib.import_module(f"{PLUGINS}.{place}"), what, broken)
    monkeypatch.setattr(_traceback, "_is_traceback_enabled", lambda _event: traced)
    if name == "host_checks":
        options = {**options, "run_dir": run.directory}
    result = call(module, **options)
    assert result["failed"] is True
    assert ": RuntimeError: no such thing. This is a defect of stackproof.provision: " in result["msg"]
    assert "\n" not in result["msg"]
    assert ("exception" in result) == traced
    assert not traced or "in broken" in result["exception"]


@pytest.mark.defect
def test_a_defect_in_the_removal_of_one_run_of_many_keeps_its_traceback(call, run, monkeypatch):
    def broken(*_args):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(cleanup, "clean_run", broken)
    monkeypatch.setattr(_traceback, "_is_traceback_enabled", lambda _event: True)
    result = call(cleanup, run_dir=run.directory)
    assert result["msg"].startswith(
        f"Not everything could be removed: cleaning up the run {run.id}: RuntimeError: no such thing. This is a defect "
    )
    assert "in broken" in result["exception"]
