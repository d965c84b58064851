# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook diagnose as it is called: without a cloud, a host or an inventory."""

from __future__ import annotations

import json
import re

import pytest
from tree import ROOT


@pytest.fixture
def diagnose(playbook, bundle):
    """Return a function that runs the playbook where the bundle is, and gives its status and what it printed."""

    def run(*arguments, **variables):
        return playbook("diagnose", *arguments, **{"stackproof_bundle": bundle.top.name, **variables})

    return run


def test_a_boot_that_stopped_is_named_with_its_step_service_and_host(diagnose, bundle, tmp_path):
    bundle.stop("14:43:41.999")
    bundle.write()
    # Of the steps of today's cloud not all lines were recorded.
    flows = [str(ROOT / f"roles/flow/files/flows/{name}.yml") for name in ("ops_guide", "http_trace")]
    more = {"stackproof_time_zones": {"compute2": "Asia/Kolkata"}, "stackproof_flows": flows}
    status, output = diagnose(stackproof_server_id=bundle.boot.server, **more)
    assert status == 0, output
    assert "failed at: step 34, component neutron-l2-agent, host compute2" in output
    assert "FAIL: neutron-l2-agent (compute2): its step 34 did not happen, for no known reason" in output
    assert re.search(r"missing step: +.* \(step 34\)", output)
    assert "[WARNING]" not in output
    files = {path.name for path in (tmp_path / "diagnoses/latest").iterdir()}
    assert {"run.json", "events.jsonl", "report.html", "flow.svg", "flow.mmd", "flow.puml", "junit.xml"} <= files
    assert len(json.loads((tmp_path / "diagnoses/latest/run.json").read_text())["flows"]) == 2


def test_an_id_that_is_nowhere_ends_the_playbook_with_words(diagnose, bundle, tmp_path):
    bundle.write()
    status, output = diagnose(stackproof_request_id="req-00000000-6468-4371-a2d5-864347bcb436")
    assert status == 2
    assert "no log line contains req-00000000-6468-4371-a2d5-864347bcb436. The 27 files of compute1" in " ".join(
        output.split()
    )
    assert not (tmp_path / "diagnoses").exists()


def test_check_mode_writes_nothing(diagnose, bundle, tmp_path):
    bundle.write()
    status, output = diagnose("--check", stackproof_since="2026-11-21T14:43:00Z")
    assert status == 0, output
    assert not (tmp_path / "diagnoses").exists()
