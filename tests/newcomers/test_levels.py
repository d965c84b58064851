# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks with a level, on the fake cloud: what the record and the archive have, and what is created."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from newcomer import Newcomer

RUN_ID = "leveled"
# What acceptance asks for before the first run, and the recorded answer
PREFLIGHT = {
    r"/compute/v2.1/os-services$": "nova services",
    r"/compute/v2.1/os-hypervisors/detail$": "nova hypervisors",
    r"/compute/v2.1/limits$": "nova limits",
    r"/network/v2.0/agents$": "neutron agents",
    r"/network/v2.0/quotas/": "neutron quota details",
}
NO_EXTERNAL = {"part": "stackproof_floating_ip", "needs": "stackproof_external_network"}


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    somebody = Newcomer(tmp_path, "default")
    somebody.variables["stackproof_run_id"] = RUN_ID
    with somebody.closing:
        yield somebody


def record_of(newcomer: Newcomer, run_id: str = RUN_ID) -> dict[str, Any]:
    return json.loads((newcomer.run_dir(run_id) / "run.json").read_text())


def statuses(record: dict[str, Any]) -> dict[str, str]:
    return {stage["stage"]: stage["status"] for stage in record["stages"]}


def archived(path: Path) -> list[str]:
    """Return the names in an archive, without those of its folders."""
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def created(newcomer: Newcomer) -> set[str]:
    """Return the last part of the path of each collection in which something was created."""
    posts = [request.path for request in newcomer.cloud.requests if request.method == "POST"]
    return {path.rpartition("/")[2] for path in posts}


def test_smoke_creates_no_volume(newcomer: Newcomer) -> None:
    newcomer.variables |= {"stackproof_level": "smoke", "stackproof_archive": True}
    status, output = newcomer.verify()
    assert status == 0, output
    assert "on small, level smoke, " in output
    record = record_of(newcomer)
    assert record["level"] == {"name": "smoke"}
    assert statuses(record)["volume"] == "skipped"
    assert "volumes" not in created(newcomer)
    assert record["tools"]["collection"]
    path = newcomer.work / f"runs/{RUN_ID}.tar.gz"
    assert f"archive: {path}" in output
    files = [f"{RUN_ID}/{name}" for name in ("junit.xml", "report.html", "run.json")]
    assert archived(path) == ["inventory.json", *files, "SHA256SUMS"]
    assert "<dt>level</dt><dd>smoke</dd>" in (newcomer.run_dir(RUN_ID) / "report.html").read_text()


def test_full_leaves_out_the_floating_ip_without_an_external_network(newcomer: Newcomer) -> None:
    newcomer.variables["stackproof_level"] = "full"
    status, output = newcomer.verify()
    assert status == 0, output
    words = "left out: stackproof_floating_ip needs stackproof_external_network, which is not set"
    assert words in output
    assert record_of(newcomer)["level"] == {"name": "full", "left_out": [NO_EXTERNAL]}
    assert not (newcomer.work / f"runs/{RUN_ID}.tar.gz").exists()
    assert "routers" in created(newcomer)
    assert "floatingips" not in created(newcomer)


def test_full_with_an_external_network_has_a_floating_ip_and_the_variable_of_an_inventory_wins(
    newcomer: Newcomer,
) -> None:
    newcomer.cloud.put("networks", name="public", **{"router:external": True})
    newcomer.variables |= {"stackproof_level": "full", "stackproof_external_network": "public"}
    # The fake cloud does not show whose port it is that a run creates for two guests.
    newcomer.variables["stackproof_dataplane"] = False
    variables = newcomer.folder / "inventory" / "group_vars" / "all.yml"
    variables.parent.mkdir(parents=True)
    variables.write_text("stackproof_volume: none\n")
    (variables.parents[1] / "hosts").write_text("localhost ansible_connection=local\n")
    newcomer.arguments += ["-i", str(variables.parents[1])]
    status, output = newcomer.verify()
    assert status == 0, output
    assert record_of(newcomer)["level"] == {"name": "full"}
    assert {"routers", "floatingips"} <= created(newcomer)
    assert "volumes" not in created(newcomer)


def test_unknown_level_is_refused_before_anything_is_created(newcomer: Newcomer) -> None:
    newcomer.variables["stackproof_level"] = "ful"
    status, output = newcomer.verify()
    assert status == 2
    assert "stackproof_level cannot be 'ful': it is not one of smoke, standard, full, day2" in " ".join(output.split())
    assert not newcomer.run_dir(RUN_ID).exists()
    assert created(newcomer) == set()


def test_every_target_of_acceptance_has_the_level_and_is_in_one_archive(newcomer: Newcomer) -> None:
    del newcomer.variables["stackproof_run_id"]
    for path, name in PREFLIGHT.items():
        newcomer.cloud.trouble("GET", path, name, times=1000)
    newcomer.playbook = "acceptance"
    newcomer.variables |= {
        "stackproof_level": "full",
        "stackproof_sweep_id": "nightly",
        "stackproof_targets": ["compute1", "compute2"],
        "stackproof_volume": "none",
        "stackproof_follow": False,
    }
    _status, output = newcomer.verify()
    sweep = json.loads((newcomer.work / "runs/sweep-nightly/sweep.json").read_text())
    assert sweep["level"] == "full"
    assert [target["left_out"] for target in sweep["targets"]] == [[NO_EXTERNAL]] * 2
    assert "level full" in output
    assert "stackproof_external_network, which is not set (2 targets)" in output
    for target in sweep["targets"]:
        record = record_of(newcomer, target["run_id"])
        assert record["level"]["name"] == "full"
        assert statuses(record)["volume"] == "skipped"
    assert [path.name for path in (newcomer.work / "runs").glob("*.tar.gz")] == ["sweep-nightly.tar.gz"]
    names = archived(newcomer.work / "runs/sweep-nightly.tar.gz")
    assert {f"{target['run_id']}/run.json" for target in sweep["targets"]} | {"sweep-nightly/sweep.html"} <= set(names)
    assert "routers" in created(newcomer)
    newcomer.playbook = "report"
    newcomer.variables = {"stackproof_run_dir": "runs/sweep-nightly", "stackproof_compare": "runs/sweep-nightly.tar.gz"}
    status, output = newcomer.verify()
    assert status == 0, output
    assert "Nothing is different on 2 targets." in output
    assert (newcomer.work / "runs/sweep-nightly/comparison-nightly-nightly.json").exists()
