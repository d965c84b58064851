# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Definitions of variables: which values they refuse, and which options they become."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._act import options
from ansible_collections.stackproof.provision.plugins.plugin_utils import _specs
from module_docs import block_of
from tree import ROOT

# What a definition and the option of a module that it becomes have in common. A module may leave out what is usual.
COMMON = {"type": "str", "elements": None, "choices": None, "default": None}
FRAGMENTS = "ansible_collections.stackproof.provision.plugins.doc_fragments"
ROLES = sorted(path.parents[1].name for path in ROOT.glob(f"roles/*/{_specs.SPECS}"))
# Its default follows from another variable.
WITHOUT_DEFAULT = {"stackproof_network_rules"}
# The table of limits has more cases.
REFUSED = [
    ("stackproof_volume_size", "big", "'big': it is not a whole number"),
    ("stackproof_volume_size", 0, "0: it is not a whole number from 1 to 2147483647"),
    ("stackproof_volume_size", [1], "[1]: it is not a whole number"),
    ("stackproof_attach", "x", "'x': it is not one of at_boot, after, root"),
    ("stackproof_volume", ["empty"], "['empty']: it is not a text"),
    ("stackproof_router", True, "True: it is not one of auto, always, never"),
    ("stackproof_journey", ["reboot", "fly"], "['reboot', 'fly']: 'fly' is not one of reboot, hard_reboot"),
    ("stackproof_interface", "outside", "'outside': it is not one of public, internal, admin"),
    ("stackproof_floating_ip", "perhaps", "'perhaps': it is not true or false"),
    ("stackproof_heartbeat", "1m", "'1m': it is not a number"),
    ("stackproof_sweep", "network", "'network': it is not a dictionary"),
    ("stackproof_ramp", [1, "x"], "[1, 'x']: 'x' is not a whole number"),
    ("stackproof_ramp", {"a": 1}, "{'a': 1}: it is not a list"),
    ("stackproof_network_rules", 5, "5: it is not a list"),
    ("stackproof_thresholds", ["x"], "['x']: 'x' is not a dictionary"),
    ("stackproof_timeouts", {"bot": 9}, "{'bot': 9}: it has no key 'bot'; its keys are auth, image, network, volume, "),
    ("stackproof_timeouts", {"boot": "x"}, "{'boot': 'x'}: its boot is not a number"),
    ("stackproof_timeouts", {"boot": -1}, "{'boot': -1}: its boot is not a number of seconds above 0, at most 604800"),
    ("stackproof_network_cidr", "10.0.0.0/30", "'10.0.0.0/30': it has 4 addresses; a range of /29 is the smallest"),
    ("stackproof_profiler_key", {"a": "secret"}, "the value given: it is not a text"),
]
ACCEPTED = [
    ("stackproof_volume_size", "20"),
    ("stackproof_volume_size", ""),
    ("stackproof_volume", None),
    ("stackproof_floating_ip", "yes"),
    ("stackproof_ramp", "1,2,4"),
    # The module knows the keys of a limit.
    ("stackproof_thresholds", [{"name": "boot", "query": "duration_s", "max": 60}]),
    ("stackproof_ramp", [1, "2"]),
    ("stackproof_timeouts", {"boot": "600", "image": None}),
    ("stackproof_cloud", {"auth": {"username": "demo"}}),
    ("stackproof_canary_state", "another role's"),
    ("stackproof_mine", object()),
]


def problems(values: dict[str, Any]) -> list[str]:
    return list(_specs.problems(values))


@pytest.mark.parametrize(("name", "value", "why"), REFUSED)
def test_wrong_value_is_refused_with_its_name_and_what_is_allowed(name: str, value: Any, why: str) -> None:
    (problem,) = problems({"stackproof_dataplane": True, name: value})
    assert problem.startswith(f"{name} cannot be {why}")
    assert "secret" not in problem


@pytest.mark.parametrize("dataplane", [{}, {"stackproof_dataplane": False}, {"stackproof_dataplane": ""}])
def test_a_journey_needs_a_second_guest(dataplane: dict[str, Any]) -> None:
    (problem,) = problems({"stackproof_journey": ["pause"], **dataplane})
    assert problem.startswith("stackproof_journey needs stackproof_dataplane: ")


@pytest.mark.parametrize(
    ("operation", "more", "why"),
    [
        ("extend_volume", {"stackproof_volume": "none"}, "has extend_volume, which needs a volume"),
        ("reattach_volume", {"stackproof_attach": "root"}, "has reattach_volume, and stackproof_attach is root"),
        ("boot_snapshot", {"stackproof_attach": "root"}, "has boot_snapshot, and stackproof_attach is root"),
    ],
)
def test_an_operation_with_a_volume_needs_one_that_can_be_detached(
    operation: str, more: dict[str, Any], why: str
) -> None:
    given = {"stackproof_journey": [operation], "stackproof_dataplane": True}
    assert list(problems(given)) == []
    (problem,) = problems({**given, **more})
    assert problem.startswith(f"stackproof_journey {why}")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"stackproof_host": "c1"}, ["stackproof_journey has evacuate, which needs stackproof_evacuate_from: "]),
        (
            {"stackproof_evacuate_from": "c1"},
            ["stackproof_evacuate_from is 'c1', and stackproof_host has to be the same"],
        ),
        ({"stackproof_evacuate_from": "c1", "stackproof_host": "c1"}, []),
        (
            {"stackproof_evacuate_from": "c1", "stackproof_host": "c1", "stackproof_second_host": "c1"},
            ["stackproof_evacuate_from and stackproof_second_host are 'c1'"],
        ),
    ],
)
def test_the_host_to_evacuate_is_named_twice(more: dict[str, Any], why: list[str]) -> None:
    given = {"stackproof_journey": ["evacuate"], "stackproof_dataplane": True, **more}
    found = list(problems(given))
    assert len(found) == len(why)
    assert all(map(str.startswith, found, why))


def test_a_run_makes_one_image_of_its_server() -> None:
    given = {"stackproof_journey": ["snapshot", "pause", "boot_snapshot"], "stackproof_dataplane": True}
    (problem,) = problems(given)
    assert problem.startswith("stackproof_journey has snapshot and boot_snapshot")


@pytest.mark.parametrize("value", [True, 5, {"pause": True}])
def test_a_journey_that_is_no_list_of_operations_is_refused_in_words(value: Any) -> None:
    assert all(problem.startswith("stackproof_journey") for problem in problems({"stackproof_journey": value}))
    assert problems({"stackproof_journey": value})


@pytest.mark.parametrize(
    "given", [{"stackproof_journey": []}, {"stackproof_journey": "pause", "stackproof_dataplane": "yes"}]
)
def test_a_journey_with_a_second_guest_is_no_problem(given: dict[str, Any]) -> None:
    assert problems(given) == []


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_value_that_a_run_can_use_is_no_problem(name: str, value: Any) -> None:
    assert problems({name: value}) == []


def test_all_wrong_values_are_found_at_once() -> None:
    assert len(problems({"stackproof_attach": "x", "stackproof_volume_size": 0, "stackproof_image": "debian"})) == 2


def test_every_limit_is_about_a_variable_of_a_run() -> None:
    assert options.LIMITS.keys() <= _specs.variables_of_run().keys()


@pytest.mark.parametrize(
    ("place", "module", "given"),
    [
        (
            "roles/volume/tasks/main.yml",
            "volume",
            {
                "source": "stackproof_volume",
                "size": "stackproof_volume_size",
                "volume_type": "stackproof_volume_type",
                "availability_zone": "stackproof_volume_zone",
                "timeout": "stackproof_timeouts",
            },
        ),
        ("roles/volume/tasks/main.yml", "boot", {}),
        ("roles/volume/main.yml", "volume", {}),
        ("roles/diagnosis/tasks/main.yml", "diagnosis", {}),
        ("playbooks/tasks/begin.yml", "run", {}),
        ("../roles/volume/tasks/main.yml", "volume", {}),
    ],
    ids=["a role's task", "another module", "no task of a role", "options of two modules", "a playbook", "not ours"],
)
def test_variables_become_options_in_a_task_of_their_role_alone(place: str, module: str, given: dict[str, str]) -> None:
    assert _specs.options_of_task(str(ROOT / place), module) == given


def test_given_variables_become_options() -> None:
    values = {"stackproof_volume": "none", "stackproof_volume_type": "", "stackproof_volume_size": 0}
    path = str(ROOT / "roles/volume/tasks/main.yml")
    assert _specs.options_given(path, "volume", values.get) == {"source": "none", "size": 0}


@pytest.mark.parametrize(
    ("timeouts", "given"), [({"volume": 5, "boot": 6}, {"timeout": 5}), ({"boot": 6}, {}), (None, {}), ("x", {})]
)
def test_timeout_of_a_role_is_the_one_of_its_name(timeouts: Any, given: dict[str, Any]) -> None:
    path = str(ROOT / "roles/volume/tasks/main.yml")
    assert _specs.options_given(path, "volume", {"stackproof_timeouts": timeouts}.get) == given


def becoming_options() -> list[Any]:
    """Return each variable that becomes an option: the role, the option, and the definition."""
    cases = []
    for role in ROLES:
        for entry, variables in _specs.role_specs(role).items():
            path = ROOT / f"roles/{role}/tasks/{entry}.yml"
            if f"stackproof.provision.{role}:" not in path.read_text():
                continue
            for option, variable in _specs.options_of_task(str(path), role).items():
                case = pytest.param(role, option, variable, variables[variable], id=f"{role}-{entry}-{variable}")
                cases.append(case)
    return cases


@pytest.mark.parametrize(("role", "option", "variable", "spec"), becoming_options())
def test_option_of_a_module_is_as_the_variable_is_defined(
    role: str, option: str, variable: str, spec: dict[str, Any]
) -> None:
    document = block_of(role, "DOCUMENTATION")
    documented = {**fragment_options(document), **document["options"]}
    assert option in documented, f"{variable} is no option of the module {role}: see OTHER_OPTIONS"
    if variable == _specs.TIMEOUTS:
        spec = _specs.variables()[variable]["options"][role]
    for part, usual in COMMON.items():
        ours, theirs = spec.get(part, usual), documented[option].get(part, usual)
        if part == "default" and (not ours or variable in WITHOUT_DEFAULT):
            assert not ours
            assert not theirs or variable in WITHOUT_DEFAULT
        elif part == "choices" and ours:
            assert sorted(ours) == sorted(theirs), part
        elif part != "choices":
            assert ours == theirs, part


def fragment_options(document: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the fragments of documentation that a module extends."""
    found: dict[str, Any] = {}
    for name in document.get("extends_documentation_fragment", []):
        file, _point, part = name.removeprefix("stackproof.provision.").partition(".")
        fragments = importlib.import_module(f"{FRAGMENTS}.{file}").ModuleDocFragment
        found |= yaml.safe_load(getattr(fragments, part.upper() or "DOCUMENTATION")).get("options", {})
    return found


def test_enough_variables_become_options() -> None:
    assert len(becoming_options()) > 40


def test_variable_is_defined_once() -> None:
    """Where several roles take it, each definition is the same but for a pointer to the timeouts."""
    found: dict[str, dict[str, Any]] = {}
    for place in (_specs.playbook_specs(), *map(_specs.role_specs, ROLES)):
        for variables in place.values():
            for name, spec in variables.items():
                if name in _specs.SET_BY_PLAYBOOKS | {_specs.TIMEOUTS}:
                    continue
                known = found.setdefault(name, dict(spec))
                assert known == spec, name
