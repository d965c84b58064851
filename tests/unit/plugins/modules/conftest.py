# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages as Ansible calls them, on a small cloud."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import as_json
import jsonschema
import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._act import guest
from ansible_collections.stackproof.provision.plugins.module_utils._end import removal
from ansible_collections.stackproof.provision.plugins.module_utils._record import waiting
from ansible_collections.stackproof.provision.plugins.modules import bundle_info, diagnosis
from tree import RECORDED, ROLES

CONSOLE = RECORDED / "consoles" / "probe.txt"
PASSED = "20261121-065105-bdb5f5"
PLURALS = {"network": "networks", "security_group": "security-groups", "volume": "volumes", "server": "servers"}
# What is recorded on it
RUN, SERVER = "20261121-065353-d533bd", "f97fb71b-c28f-4a38-a813-f1cc5a5d9fc6"
NONCES = {"metadata": "d0054cafbe63db80dba32b3a0e8e7597", "user_data": "d7e000ac00e03021ebfab67d973fc719"}


@pytest.fixture
def warned(monkeypatch):
    """What a module warns of. In its result would be all that was warned of before in this process."""
    warnings = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda _self, text: warnings.append(text))
    return warnings


@pytest.fixture
def quick_removal(monkeypatch):
    """A removal looks a hundred times a second, and not for long for what was not answered."""
    monkeypatch.setattr(waiting, "PERIOD", 0.01)
    monkeypatch.setattr(removal, "SETTLE", 0.05)


@pytest.fixture
def go(call, cloud, run):
    """Return a function that runs the module of a stage; its attribute record reads what is in run.json."""
    assert cloud.url

    def stage(name, check=False, **options):
        module = importlib.import_module(f"ansible_collections.stackproof.provision.plugins.modules.{name}")
        return call(module, check=check, **{"cloud": "small", "run_dir": run.directory, **options})

    def record(name):
        stages = json.loads(Path(run.path("run.json")).read_text())["stages"]
        return next((entry for entry in stages if entry["stage"] == name), None)

    stage.record = record
    return stage


@pytest.fixture
def earlier(run, cloud):
    """Return a function that gives the run the stages of a real run, and the cloud what they made."""

    def have(*names):
        text = (RECORDED / "runs" / PASSED / "run.json").read_text().replace(PASSED, run.id)
        for stage in json.loads(text)["stages"]:
            if stage["stage"] not in names:
                continue
            as_json.put_stage(run, stage)
            for resource in stage["resources"]:
                if resource["kind"] in PLURALS:
                    state = {"status": "available"} if resource["kind"] == "volume" else {}
                    cloud.put(PLURALS[resource["kind"]], id=resource["id"], name=resource["name"], **state)

    return have


@pytest.fixture
def console(run):
    """Return a function that gives the recorded console as it would be of a server of this run."""

    def of(server_id):
        text, nonces = CONSOLE.read_text(), guest.nonces(run.id, run.record.started)
        for old, new in (
            (RUN, run.id),
            (SERVER, server_id),
            *((NONCES[what], getattr(nonces, what)) for what in NONCES),
        ):
            assert old in text
            text = text.replace(old, new)
        return text

    return of


@pytest.fixture
def error(go):
    """Return a function that runs the module of a stage, which must fail, and gives the error in its record."""

    def of(name, **options):
        result = go(name, **options)
        assert result["failed"] is True
        failure = go.record(name)["error"]
        assert result["msg"] == f"{name}: {failure['message'].rstrip('.')}. {failure['hint']}".strip()
        assert "Traceback" not in str(result)
        return failure

    return of


SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())


@pytest.fixture
def diagnose(call, bundle, bundle_options, tmp_path):
    """Return a function that reads the bundle and judges it, and gives the record, which is as its schema says."""

    def run(check=False, quotes=True, **options):
        options = bundle_options(bundle.write(), **(options or {"server_id": bundle.boot.server}))
        read = call(bundle_info, **options)["bundle"]
        folder = str(tmp_path / "diagnoses")
        about = {"bundle": read, "flows": options["flows"], "diagnoses": folder, "quotes": quotes}
        run.result = call(diagnosis, check=check, **about)
        if not run.result["directory"]:
            return None
        record = as_json.read_record(run.result["directory"])
        jsonschema.Draft202012Validator(SCHEMA).validate(record)
        return record

    return run
