# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of components: its entries agree, and one file more makes a project known everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._components import catalogue, tables
from tree import ROOT

FOLDER = ROOT / "plugins/module_utils/_components"
# Those of the package that are not the file of a project
FRAME = {"__init__", "catalogue", "component", "tables"}
FILES = sorted({path.stem for path in FOLDER.glob("*.py")} - FRAME)
NAMES = [component.name for component in catalogue.COMPONENTS]


def twice(things):
    return [thing for thing, count in Counter(things).items() if count > 1]


@pytest.mark.parametrize("name", FILES)
def test_each_file_of_a_project_is_in_the_catalogue(name):
    missing = f"name {name} in {FOLDER.name}/catalogue.py: Ansible sends only what is imported there to the hosts"
    assert f"*{name}.PROJECTS," in (FOLDER / "catalogue.py").read_text(), missing


def test_a_component_has_one_entry():
    assert twice(NAMES) == []
    assert twice(project.name for project in catalogue.PROJECTS) == []


@pytest.mark.parametrize("component", catalogue.COMPONENTS, ids=NAMES)
def test_an_entry_names_only_components_that_have_one(component):
    assert {*component.depends_on, *component.run_by} <= set(NAMES) - {component.name}


@pytest.mark.parametrize(
    "field", ["ports", "url_schemes", "host_options", "libraries", "programs", "reports_as", "url_options"]
)
def test_what_a_component_is_recognised_by_belongs_to_it_alone(field):
    found = [entry for component in catalogue.COMPONENTS for entry in getattr(component, field)]
    assert found
    assert twice(found) == []


def test_a_log_belongs_to_one_component():
    names = [component.log_name or component.name for component in catalogue.COMPONENTS]
    assert twice(names) == []
    assert not set(tables.WRITERS) & set(NAMES)


def test_an_option_that_names_a_host_has_a_usual_port():
    assert all(component.ports for component in catalogue.COMPONENTS if component.host_options)


@pytest.mark.parametrize("component", catalogue.COMPONENTS, ids=NAMES)
def test_patterns_of_words_can_be_compiled(component):
    for pattern in (*component.mentioned_as, *component.sends_back):
        re.compile(pattern)


def test_a_component_that_is_not_in_the_catalogue_has_an_empty_entry():
    assert tables.depends_on("somebody") == ()
    assert tables.stands_for("somebody") == ["somebody"]
    assert tables.project_of("some-body") == "some"
    assert tables.writer_of("somebody") == "somebody"
    assert not tables.is_beside_instance("somebody")
    assert tables.api_stage_of("some") == "boot"
    assert tables.service_type_of("some") is None
    assert tables.component_at(1) is None


@pytest.mark.parametrize(
    ("back_end", "missing", "present"),
    [("ovn", "neutron-l2-agent", "ovn-northd"), ("agents", "ovn-northd", "neutron-l2-agent")],
)
def test_a_cloud_with_one_back_end_of_neutron_does_not_have_the_components_of_the_other(back_end, missing, present):
    assert missing in tables.missing_with(back_end)
    assert not {present, "nova-api"} & tables.missing_with(back_end)
    assert tables.missing_with(None) == set()


OCTAVIA = """
from __future__ import annotations

from .component import Api, Commands, Component, Log, Port, Project, UsualError

PROJECTS = (
    Project(
        "octavia",
        configuration=("/etc/octavia",),
        has_options=True,
        packages=("octavia-*",),
        components=(
            Component(
                "octavia-api",
                depends_on=("octavia-worker", "keystone", "database", "rabbitmq"),
                stages=("network",),
                works_on_boot=True,
                api=Api(("load-balancer",), stage="network", url_paths=("load-balancer",)),
                log_name="octavia",
                mentioned_as=("octavia", "load[ -]balancer"),
                libraries=("octaviaclient",),
                ports=(Port(9876),),
                programs=("octavia-api",),
                usual_errors=(UsualError("octavia.noise", None, 0.9),),
                units=("octavia-api.service",),
                log=Log(files=("/var/log/octavia/octavia-api.log",)),
                commands=Commands(rights="openstack role assignment list", overview="openstack loadbalancer list"),
            ),
            Component(
                "octavia-worker",
                depends_on=("nova-api", "neutron-server", "database", "rabbitmq"),
                answers_calls=True,
                reports_as=("octavia-controller",),
                exceptions=("AmphoraTimeout",),
                starts=("amphora-agent",),
                units=("octavia-worker.service",),
            ),
        ),
    ),
)
"""
# What the code finds in the catalogue, as JSON: {what: the answer}
ASK = """
import json
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import agents
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import profiles
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import error_text
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import (
    configuration, examine, machine, peer_probes,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import request_causes
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice, model
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import cloud, logs, owners, steps
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._match import visibility
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import LoggedError
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
import as_json
from cases_by_hand import call, case_of, cause, logged, seen, stage

RUNS = {
    "component": "octavia-api", "unit": "octavia-api.service", "state": "running", "program": "octavia-api",
    "for_s": 60.0, "restarts": 0,
}
HOST = as_json.host("ctl", facts={"names": ["ctl"], "services": [RUNS]})
CASE = case_of([HOST])
FAILED = seen(Kind.STATE, "octavia-api", "ctl", how=How.FAILED)


class Files:
    def ask(self, *words, **_options):
        self.words = words
        return "644 1 /usr/bin/amphora-agent\\n"


def error(service, **more):
    return codec.from_json(LoggedError, logged(service, **{"logger": "octavia.noise", **more}))


def peers(service, exception):
    return logs.peers_of(error(service, exception=exception), service)


def command(case):
    found = advice.command_for(cause("octavia-api", "ctl"), case)
    return [found.host, found.command]


bad = case_of(stage=stage(calls=[call(503, "load-balancer", "/")]))
profile = profiles.profile_of("kolla")
print(json.dumps({
    "matched": "octavia-api" in visibility.ALSO_ASK,
    "behind a failure": sorted(cause.component for cause in model.causes(CASE, [FAILED])),
    "of an answer": [one.component for one in cloud.answers(bad)],
    "works for": "octavia-api" in [one.component for one in steps.workers(case_of(stage=stage("network")))],
    "of a library": peers("nova-compute", "octaviaclient.Failed"),
    "of an exception": peers("nova-compute", "x.AmphoraTimeout"),
    "called over the queue": peers("octavia-api", "MessagingTimeout"),
    "usual": logs.unusual(error("octavia"), WEIGHTS) < 1,
    "killed": owners.components_that_run("octavia-api", CASE.record.hosts[0]),
    "mentioned": error_text.mentioned_in("the load balancer failed"),
    "by its port": codec.to_json(peer_probes.peers_of("", "http://10.0.0.1:9876/")),
    "by its path": codec.to_json(peer_probes.peers_of("", "http://10.0.0.1/load-balancer/v2")),
    "database": "octavia-worker" in examine.DATABASE_CLIENTS,
    "programs": [one.where for one in machine.programs(Files(), {"octavia-worker"})],
    "folder": "/etc/octavia" in configuration.FOLDERS,
    "options": configuration.is_setting_of("/etc/octavia/octavia.conf", {"octavia"}),
    "package": "octavia-*" in configuration.PACKAGES,
    "reported": agents.component_of("octavia-controller"),
    "unit": [entry["units"] for entry in profile["units"] if entry["component"] == "octavia-api"],
    "log": [entry["files"] for entry in profile["logs"] if entry["service"] == "octavia"],
    "stage": request_causes.stage_name_of("octavia", "/v2/lbaas"),
    "next": command(CASE),
    "next without its unit": command(case_of()),
}))
"""


@pytest.fixture
def with_octavia(tmp_path):
    """Return what the code answers in a copy of the collection that has one file more."""
    top = tmp_path / "ansible_collections/stackproof/provision"
    for folder in ("plugins", "roles/evidence/vars"):
        shutil.copytree(ROOT / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    package = top / "plugins/module_utils/_components"
    (package / "octavia.py").write_text(OCTAVIA)
    name_in(package / "catalogue.py", "octavia")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    asked = subprocess.run(
        [sys.executable, "-c", ASK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def name_in(path: Path, project: str) -> None:
    text = path.read_text().replace("    nova,\n", f"    nova,\n    {project},\n")
    path.write_text(text.replace("    *nova.PROJECTS,\n", f"    *nova.PROJECTS,\n    *{project}.PROJECTS,\n"))


def test_a_project_is_known_everywhere_by_one_file(with_octavia):
    assert with_octavia == {
        "matched": True,
        "behind a failure": ["database", "keystone", "octavia-api", "octavia-worker", "rabbitmq"],
        "of an answer": ["octavia-api"],
        "works for": True,
        "of a library": ["octavia-api"],
        "of an exception": ["octavia-worker"],
        "called over the queue": ["octavia-worker", "rabbitmq"],
        "usual": True,
        "killed": ["octavia-api"],
        "mentioned": ["octavia-api"],
        "by its port": [["octavia-api", "10.0.0.1", 9876, "http"]],
        "by its path": [["octavia-api", "10.0.0.1", 80, "http"]],
        "database": True,
        "programs": ["amphora-agent"],
        "folder": True,
        "options": True,
        "package": True,
        "reported": "octavia-worker",
        "unit": [["octavia-api.service"]],
        "log": [["/var/log/octavia/octavia-api.log"]],
        "stage": "network",
        "next": ["ctl", "systemctl status octavia-api.service; journalctl --unit octavia-api.service --since -15min"],
        "next without its unit": [None, "openstack loadbalancer list"],
    }
