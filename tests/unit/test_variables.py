# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/variables.md is what tools/variables-page writes, with every variable, and its default as the module has it."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.lookup import level_values
from ansible_collections.stackproof.provision.plugins.plugin_utils import _specs
from module_docs import block_of
from tree import FLOWS, ROOT

loader = SourceFileLoader("variables_page", str(ROOT / "tools/variables-page"))
variables_page = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(variables_page)

PAGE = variables_page.PAGE.read_text()
SPECS = variables_page.specs()
TASKS = "roles/{}/tasks/{}.yml"
# Playbooks and tasks of the product
CODE = {
    path: path.read_text()
    for path in sorted([*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/tasks/*.yml")])
    if "lab" not in path.relative_to(ROOT).as_posix()
}
# `option: "{{ variable | default(omit`, as a playbook, or a role with several modules, passes its variables
PASSED = re.compile(r"^ +(\w+): \"{{ (stackproof_\w+) \| default\((?:omit|\d+)", re.MULTILINE)
CALLED = re.compile(r"^( +)stackproof\.provision\.(\w+):(?: &\w+)?\n((?:\1  .*\n)+)", re.MULTILINE)


def documented(text):
    """Variable to the second cell of its row."""
    rows = re.findall(r"^\| (`stackproof_[^|]*?) \| ([^|]*?) ?\|", text, re.MULTILINE)
    return {name: cell for names, cell in rows for name in re.findall(r"`(stackproof_\w+)`", names)}


def options_of(module):
    return block_of(module, "DOCUMENTATION")["options"]


def passed():
    """Return each default of a variable that is passed to a module, with the module and its option."""
    defaults = {name: option for options in SPECS.values() for name, option in options.items() if "default" in option}
    return [
        pytest.param(variable, defaults[variable]["default"], module, option, id=f"{module}-{variable}")
        for text in CODE.values()
        for _indent, module, call in CALLED.findall(text)
        for option, variable in PASSED.findall(call)
        if variable in defaults and option in options_of(module)
    ]


def test_the_page_is_what_the_tool_writes():
    assert variables_page.page() == PAGE, "python tools/variables-page writes it"


def test_every_variable_of_the_specs_is_on_the_page():
    assert {name for options in SPECS.values() for name in options if name.startswith("stackproof_")} == set(
        documented(PAGE)
    )


def test_every_variable_that_is_used_is_on_the_page_or_is_set_on_the_way():
    used = {name for text in CODE.values() for name in re.findall(r"\bstackproof_[a-z0-9_]+\b", text)}
    on_the_way = {
        name
        for text in CODE.values()
        for name in re.findall(r"(?:register: |^ +)(stackproof_\w+)(?::|$)", text, re.MULTILINE)
    }
    on_the_way |= {
        name for path in ROOT.glob("roles/*/vars/main.yml") for name in yaml.safe_load(path.read_text(encoding="utf-8"))
    }
    on_the_way.add(level_values.LEFT_OUT)
    groups = {"stackproof_targets", "stackproof_load"}
    assert len(used) > 60
    assert used - set(documented(PAGE)) - on_the_way - groups == set()
    # The other way round: nothing is documented that nobody reads.
    defaults = "".join(path.read_text() for path in ROOT.glob("roles/*/defaults/main.yml"))
    options = {
        variable
        for place in SPECS
        if "/" in place
        for variable in _specs.options_of_task(
            str(ROOT / TASKS.format(*place.split("/"))), place.split("/")[0]
        ).values()
    }
    assert set(documented(PAGE)) - used - options - set(re.findall(r"\bstackproof_\w+\b", defaults)) == set()


@pytest.mark.parametrize(("variable", "default", "module", "option"), passed())
def test_a_default_is_that_of_the_module(variable, default, module, option):
    assert options_of(module)[option].get("default") == default, variable


def test_enough_defaults_are_compared():
    assert len({case.values[0] for case in passed()}) > 7


@pytest.mark.parametrize("role", ["canary", "diagnosis"])
def test_a_default_is_that_of_the_role(role):
    defaults = yaml.safe_load((ROOT / f"roles/{role}/defaults/main.yml").read_text())
    ours = {
        name: option
        for place, options in SPECS.items()
        if place.startswith(f"{role}/")
        for name, option in options.items()
    }
    compared = {name for name, option in ours.items() if "default" in option}
    assert compared
    assert {name: defaults[name] for name in compared} == {name: ours[name]["default"] for name in compared}


@pytest.mark.parametrize("page", ["acceptance", "diagnose"])
def test_tables_of_other_pages_have_the_same_variables_and_defaults(page):
    table = documented((ROOT / f"docs/{page}.md").read_text())
    assert len(table) > 8
    for name, cell in table.items():
        ours = documented(PAGE)[name]
        assert not re.fullmatch(r"`[^`]+`", cell) or not ours.startswith("`") or cell == ours, name


def test_flow_and_report_name_all_flows_of_the_collection_in_the_same_order():
    named = []
    for role in ("flow", "report"):
        defaults = yaml.safe_load((ROOT / f"roles/{role}/defaults/main.yml").read_text())
        named.append(re.findall(r"'(\w+)'", defaults["stackproof_flows"].split("]")[0]))
    assert named[0] == named[1]
    assert sorted(named[0]) == sorted(path.stem for path in FLOWS.glob("*.yml"))
