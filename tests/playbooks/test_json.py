# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The standard output is one JSON document for those who ask for it, whatever a playbook came to."""

from __future__ import annotations

import json

import pytest
from tree import ROOT

SETTINGS = {"ANSIBLE_STDOUT_CALLBACK": "stackproof.provision.json"}
KEYS = {"schema", "playbook", "result", "verdict", "data", "errors"}


@pytest.fixture
def answer(run_playbook):
    """Return a function that runs a playbook, and gives its status and the document."""

    def run(name, *arguments, **variables):
        done = run_playbook(name, *arguments, settings=SETTINGS, **variables)
        document = json.loads(done.stdout)
        assert set(document) == KEYS
        assert (document["schema"], document["playbook"]) == ("stackproof.answer/1", name)
        return done.returncode, document

    return run


def test_verdict_of_a_diagnosis(answer, bundle, tmp_path):
    bundle.stop("14:43:41.999")
    bundle.write()
    variables = {"stackproof_bundle": bundle.top.name, "stackproof_server_id": bundle.boot.server}
    # Of the steps of today's cloud not all lines were recorded.
    flows = [str(ROOT / "roles/flow/files/flows/ops_guide.yml")]
    zones = {"compute2": "Asia/Kolkata"}
    status, document = answer("diagnose", **variables, stackproof_flows=flows, stackproof_time_zones=zones)
    assert (status, document["result"], document["errors"]) == (0, "fail", [])
    verdict = document["verdict"]
    assert (verdict["component"], verdict["host"]) == ("neutron-l2-agent", "compute2")
    assert document["data"]["page"] == str((tmp_path / "diagnoses/latest").resolve() / "report.html")


def test_mistake_of_a_user_is_an_error(answer):
    status, document = answer("verify", stackproof_cloud="x", stackproof_volum="none")
    assert (status, document["result"], document["verdict"]) == (2, "error", None)
    (error,) = document["errors"]
    assert "stackproof_volum" in error["message"]
    assert error["host"] == "localhost"


def test_playbook_that_judges_nothing_is_done(answer, tmp_path):
    (tmp_path / "runs").mkdir()
    status, document = answer("cleanup")
    assert (status, document["result"], document["verdict"], document["errors"]) == (0, "done", None, [])
