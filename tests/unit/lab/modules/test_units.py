# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemctl says of units."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.lab.plugins.modules.units import PROPERTIES, is_stale, parse_show


@pytest.fixture
def units(recorded):
    (text,) = recorded("systemctl.txt").values()
    return parse_show(text)


@pytest.mark.parametrize(
    ("name", "load", "active", "enabled"),
    [
        ("keystone.service", "loaded", "active", "enabled"),
        ("nova-conductor.service", "loaded", "activating", "enabled"),
        ("ceph-mon@a.service", "loaded", "inactive", "disabled"),
        ("haproxy.service", "masked", "inactive", "masked"),
        ("nosuch.service", "not-found", "inactive", ""),
    ],
)
def test_states(units, name, load, active, enabled):
    unit = units[name]
    assert (unit["LoadState"], unit["ActiveState"], unit["UnitFileState"]) == (load, active, enabled)


def test_every_unit_has_every_property_that_is_asked_for(units):
    assert len(units) == 8
    assert all(set(unit) == set(PROPERTIES.split(",")) for unit in units.values())


def test_an_alias_is_found_by_the_name_of_its_unit(units):
    assert "redis-server.service" in units
    assert "redis.service" not in units


def test_nothing_shown():
    assert parse_show("") == {}
    assert parse_show("\n") == {}


def test_a_unit_that_has_run_since_before_a_change_is_stale(units):
    keystone = units["keystone.service"]
    since = int(keystone["InactiveExitTimestamp"].removeprefix("@"))
    # Within one second nobody can tell which was first.
    assert is_stale(keystone, since)
    assert not is_stale(keystone, since - 1)


def test_a_unit_that_was_starting_during_a_change_is_stale(units):
    conductor = units["nova-conductor.service"]
    assert conductor["ActiveState"] == "activating"
    assert is_stale(conductor, int(conductor["InactiveExitTimestamp"].removeprefix("@")) + 1)


@pytest.mark.parametrize("name", ["keystone.service", "nova-conductor.service", "ceph-mon@a.service"])
def test_nothing_is_stale_where_nothing_has_changed(units, name):
    assert not is_stale(units[name], 0)
