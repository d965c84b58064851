# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of doors, called as their deployers call them, on the fake cloud."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from newcomer import LONGEST, VARIABLES, Newcomer
from tree import ROOT

DOORS = ROOT / "doors"
# What openstack.osa.setup_openstack imports last
OSA = """\
- ansible.builtin.import_playbook: "{{ post_setup_openstack_hook | default('openstack.osa.hook_dummy') }}"
"""
# The name of the cloud is for the door to know.
GIVEN = {name: value for name, value in VARIABLES.items() if name != "stackproof_cloud"}


@dataclass(frozen=True)
class Door:
    """How a deployer calls the file, and what the record then has."""

    name: str
    cloud: str
    playbook: str
    arguments: tuple[str, ...] = ()
    variables: dict[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    has_volume: bool = True
    # The folder of the runs, below that of the test
    runs: str = "runs"


CASES = [
    Door("kolla-ansible", "kolla-admin", "kolla-ansible/stackproof.yml", has_volume=False,
         variables={"kolla_action": "check"}),
    Door("kolla-ansible with Cinder", "kolla-admin", "kolla-ansible/stackproof.yml",
         variables={"kolla_action": "check", "enable_cinder": "yes", "kolla_container_engine": "podman"}),
    Door("kayobe", "kolla-admin", "kayobe/ansible/stackproof.yml", has_volume=False,
         arguments=("--tags", "nova,kayobe-generate-config"), variables={"kolla_enable_cinder": "no"},
         environment={"ANSIBLE_ALLOW_BROKEN_CONDITIONALS": "true"}),
    Door("OpenStack-Ansible", "default", "setup_openstack.yml",
         arguments=("-e", f"@{DOORS}/openstack-ansible/user_stackproof.yml"),
         environment={"ANSIBLE_INJECT_FACT_VARS": "false", "ANSIBLE_FORCE_HANDLERS": "true"}),
    Door("Automation controller", "devstack", "automation-controller/verify.yml", runs="storage/verify",
         variables={"stackproof_cloud": "devstack", "awx_job_id": 7, "stackproof_image": "", "stackproof_slice": ""}),
]  # fmt: skip


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Callable[[Door], tuple[int, str]]]:
    """Return a function that calls the file of a door in a folder of the test."""
    newcomer = Newcomer(tmp_path, "default")

    def run(door: Door) -> tuple[int, str]:
        newcomer.write_clouds(**{door.cloud: newcomer.cloud.entry()})
        playbook = DOORS / door.playbook
        if not playbook.exists():
            playbook = newcomer.work / door.playbook
            playbook.write_text(OSA)
        folder = {"runs_folder": str(newcomer.work / "storage")}
        own = {} if door.runs != "runs" else {"stackproof_runs": str(newcomer.work / "runs")}
        variables = {**GIVEN, **folder, **own, **door.variables}
        program = str(Path(sys.executable).parent / "ansible-playbook")
        command = [program, str(playbook), *door.arguments, "-e", json.dumps(variables)]
        environment = {**newcomer.environment, **door.environment}
        done = subprocess.run(
            command, env=environment, cwd=newcomer.work, capture_output=True, text=True, check=False, timeout=LONGEST
        )
        return done.returncode, done.stdout + done.stderr

    with newcomer.closing:
        yield run


@pytest.mark.parametrize("door", CASES, ids=lambda door: door.name)
def test_a_door_verifies_the_cloud_of_its_deployer(door: Door, call: Callable, tmp_path: Path):
    status, output = call(door)
    assert status == 0, output
    assert "PASS" in output
    (directory,) = [
        path for path in (tmp_path / "work" / door.runs).iterdir() if path.name != "latest" and path.is_dir()
    ]
    record = json.loads((directory / "run.json").read_text())
    assert record["verdict"]["result"] == "pass"
    stages = {stage["stage"]: stage["status"] for stage in record["stages"]}
    assert (stages["volume"] == "ok") == door.has_volume
