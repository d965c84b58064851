# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Levels: what each one gives a run, and that a variable of the user keeps its value."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act.options import OPERATIONS
from ansible_collections.stackproof.provision.plugins.module_utils._model.level import LeftOut
from ansible_collections.stackproof.provision.plugins.plugin_utils import _levels, _specs

NO_EXTERNAL = LeftOut("stackproof_floating_ip", "stackproof_external_network")
NO_HOST = (LeftOut("migrate", "stackproof_host"), LeftOut("live_migrate", "stackproof_host"))
NETWORK = {"stackproof_external_network": "public"}


def take(name: str, **given: Any) -> _levels.Taken:
    return _levels.take(_levels.read_level(name), given, given.__getitem__)


def test_levels_are_the_choices_of_the_variable() -> None:
    assert _levels.names_of_levels() == sorted(_specs.variables_of_run()["stackproof_level"]["choices"])


@pytest.mark.parametrize("name", _levels.names_of_levels())
def test_values_are_ones_that_a_run_can_use(name: str) -> None:
    level = _levels.read_level(name)
    assert level.values.keys() <= _specs.variables_of_run().keys()
    assert list(_specs.problems(level.values)) == []


@pytest.mark.parametrize("name", _levels.names_of_levels())
def test_needs_are_variables_of_what_the_level_has(name: str) -> None:
    level = _levels.read_level(name)
    assert set(level.needs.values()) <= _specs.variables_of_run().keys()
    assert level.needs.keys() <= {*level.values, *level.values.get("stackproof_journey", [])}
    assert set(level.values.get("stackproof_journey", [])) <= set(OPERATIONS)


def test_each_level_from_standard_on_has_all_of_the_one_before() -> None:
    standard, full, day2 = (_levels.read_level(name).values for name in ("standard", "full", "day2"))
    assert standard.items() <= full.items()
    assert full.items() <= {name: value for name, value in day2.items() if name != "stackproof_journey"}.items()


def test_standard_is_a_run_without_a_level() -> None:
    taken = take("standard")
    defaults = {name: _specs.variables_of_run()[name]["default"] for name in taken.values}
    assert (taken.values, taken.left_out) == (defaults, ())


def test_smoke_has_no_volume_and_follows_nothing() -> None:
    values = take("smoke").values
    assert (values["stackproof_volume"], values["stackproof_follow"]) == ("none", False)


@pytest.mark.parametrize("own", [True, False, ""], ids=["on", "off", "empty"])
def test_variable_of_the_user_keeps_its_value(own: Any) -> None:
    taken = take("full", stackproof_floating_ip=own, stackproof_volume="image")
    assert "stackproof_floating_ip" not in taken.values
    assert "stackproof_volume" not in taken.values
    assert taken.left_out == ()


@pytest.mark.parametrize(
    ("given", "left_out"),
    [(NETWORK, ()), ({}, (NO_EXTERNAL,)), ({"stackproof_external_network": ""}, (NO_EXTERNAL,))],
    ids=["named", "not named", "empty"],
)
def test_floating_ip_needs_the_name_of_an_external_network(
    given: dict[str, Any], left_out: tuple[LeftOut, ...]
) -> None:
    taken = take("full", **given)
    assert taken.left_out == left_out
    assert ("stackproof_floating_ip" in taken.values) == (not left_out)


def test_migrations_are_left_out_without_the_host_that_an_administrator_chooses() -> None:
    taken = take("day2", **NETWORK)
    assert taken.values["stackproof_journey"] == ["hard_reboot", "stop", "rebuild", "resize"]
    assert taken.left_out == NO_HOST


def test_administrator_has_all_operations() -> None:
    taken = take("day2", **NETWORK, stackproof_host="compute1")
    assert taken.values["stackproof_journey"][-2:] == ["migrate", "live_migrate"]
    assert taken.left_out == ()


@pytest.mark.parametrize("off", [False, "no", ""])
def test_operations_are_left_out_as_a_whole_without_the_second_guest(off: Any) -> None:
    taken = take("day2", **NETWORK, stackproof_dataplane=off)
    assert "stackproof_journey" not in taken.values
    assert taken.left_out == (LeftOut("stackproof_journey", "stackproof_dataplane"),)
