# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection needs is said in several places, which have to agree."""

from __future__ import annotations

import re
import tomllib

import yaml
from tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NEEDED = PROJECT["project"]["dependencies"]


def test_an_execution_environment_gets_what_the_tests_ran_with():
    asked = yaml.safe_load((ROOT / "meta/execution-environment.yml").read_text())["dependencies"]
    assert (ROOT / asked["system"]).read_text().strip()
    listed = [line for line in (ROOT / asked["python"]).read_text().splitlines() if not line.startswith("#")]
    assert set(listed) <= {*NEEDED, *PROJECT["dependency-groups"]["test"]}
    assert {re.split("[<>=]", line)[0] for line in listed} == {"jmespath", "openstacksdk", "pytest", "pytest-testinfra"}


def test_the_oldest_ansible_core_is_the_same_everywhere():
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["requires_ansible"]
    (asked,) = (requirement for requirement in NEEDED if requirement.startswith("ansible-core"))
    assert asked.startswith(f"ansible-core{runtime.removesuffix('.0')},")


def test_the_readme_installs_what_is_needed():
    readme = (ROOT / "README.md").read_text()
    (line,) = re.findall(r"^pip install '(ansible-core.*)$", readme, re.MULTILINE)
    for needed in NEEDED:
        name = re.split("[<>=]", needed)[0]
        assert re.search(rf"\b{name}[<>=]", line), f"{name} is not in: {line}"
