# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that somebody has changed, and such records beside a good one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record.ledger import GONE, Ledger
from ansible_collections.stackproof.provision.plugins.modules import report
from mutations import mutated, mutated_bytes
from tree import RECORDED, ROLES

TEMPLATE = str(ROLES / "report/templates/report.html.j2")
PASSED = RECORDED / "runs/20261121-065105-bdb5f5"
# Records of all kinds: that passed and that failed, with flows, of a removal and of a diagnosis
KINDS = [path for path in sorted(RECORDED.rglob("run.json")) if path.stat().st_size < 2_000_000]


def changed(path, chance):
    text = path.read_bytes()
    if chance.random() < 0.2:
        return mutated_bytes(text, chance)
    return json.dumps(mutated(json.loads(text), chance)).encode()


def run_of(text, folder, name):
    """The directory of a run whose record has this text."""
    directory = folder / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, mode=0o700)
    (directory / "run.json").write_bytes(text)
    return directory


def write_ledger(directory, record):
    """Write a ledger that agrees with a record whose resources are all gone."""
    ledger = Ledger(str(directory / "ledger.jsonl"))
    for stage in record["stages"]:
        for resource in filter(lambda resource: resource["created"], stage["resources"]):
            ledger.write(GONE, resource["kind"], resource["name"], id=resource["id"])


def strictly(text):
    """The value of a JSON text; what only Python takes for JSON is refused."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.cases(250)
def test_a_record_is_refused_or_rendered(cases, call, tmp_path):
    for chance in cases:
        path = chance.choice(KINDS)
        name = json.loads(path.read_text()).get("run_id", "run-1")
        directory = run_of(changed(path, chance), tmp_path, name)
        call(report, run_dir=str(directory), template=TEMPLATE, end=False)


@pytest.mark.cases(500)
def test_a_record_keeps_no_other_run_from_its_end(cases, call, tmp_path):
    good = json.loads((PASSED / "run.json").read_text())
    unfinished = json.dumps({**good, "finished": None, "duration_s": None, "history": {}}).encode()
    for chance in cases:
        path = chance.choice(sorted((RECORDED / "runs").glob("*/run.json")))
        run_of(changed(path, chance), tmp_path, "20261121-064729-aaaaaa")
        own = run_of(unfinished, tmp_path, good["run_id"])
        write_ledger(own, good)
        result = call(report, run_dir=str(own), template=TEMPLATE)
        assert result.get("verdict", {}).get("result") == "pass", result["msg"]
        assert strictly((own / "run.json").read_text())["verdict"]["result"] == "pass"
        assert Path(result["page"]).exists()
