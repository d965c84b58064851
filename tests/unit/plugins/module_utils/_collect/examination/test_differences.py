# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of a kind are compared, files with the last run that passed, and no digest is kept."""

from __future__ import annotations

import io
import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import (
    configuration,
    differences,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.examine import RawExamination
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from recorded_hosts import printed

NOVA = "/etc/nova/nova.conf"
NOW = 1795450000.0
SETTINGS = printed("examined-compute1", "grep")
KINDS = {"option": "digests", "package": "packages"}


def found(**more):
    """What an examination returns of a host on which nothing is wrong."""
    nothing = {"reach": [], "pending": [], "reports": [], "exhausted": [], "files": {}, "packages": {}, "digests": {}}
    return {**nothing, **more}


def compare(hosts, groups=None, offsets=None, passed=None):
    """(what is kept of each host) of hosts that are all in one group, and whose clocks are right."""
    examinations = {host: from_json(RawExamination, data) for host, data in hosts.items()}
    kept = differences.examined(
        examinations,
        groups or {host: ["compute"] for host in hosts},
        {**dict.fromkeys(hosts, 0), **(offsets or {})},
        differences.Reference(NOW, passed),
    )
    return to_json(kept)


def unlike(tables, table="packages", groups=None):
    """Host to the names of what differs, by the tables of hosts."""
    kept = compare({name: found(**{table: values}) for name, values in tables.items()}, groups)
    return {name: [entry["what"] for entry in host["differences"]] for name, host in kept.items()}


A, B = {"nova": "1"}, {"nova": "2"}


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"c1": A, "c2": A, "c3": A}, {}),
        ({"c1": A, "c2": A, "c3": B}, {"c3"}),
        # Of two hosts both are told, and of two halves all: nobody knows which is right.
        ({"c1": A, "c2": B}, {"c1", "c2"}),
        # A value that most others do not agree on is no rule.
        ({"c1": A, "c2": B, "c3": {"nova": "3"}}, set()),
        ({"c1": A, "c2": A, "c3": B, "c4": B}, {"c1", "c2", "c3", "c4"}),
        ({"c1": A, "c2": A, "c3": A, "c4": B, "c5": B}, {"c4", "c5"}),
        ({"c1": A}, {}),
        # One that has what nobody else has, or does not have it
        ({"c1": A, "c2": {**A, "x": "1"}, "c3": A}, {"c2"}),
        ({"c1": {"y": "1", **A}, "c2": {"y": "1", **A}, "c3": {"y": "1"}}, {"c3"}),
        # A table that could not be read differs from nothing, and nothing from it.
        ({"c1": A, "c2": {}}, {}),
        ({"c1": {}, "c2": A, "c3": B}, {"c2", "c3"}),
        ({"c1": {}, "c2": {}}, {}),
    ],
)
@pytest.mark.parametrize("table", KINDS.values())
def test_a_host_is_told_that_is_unlike_most_others_of_its_kind(tables, expected, table):
    assert {name for name, what in unlike(tables, table).items() if what} == set(expected)


@pytest.mark.parametrize(("kind", "table"), KINDS.items())
def test_a_difference_says_its_kind_and_name_and_no_value(kind, table):
    kept = compare({name: found(**{table: values}) for name, values in {"c1": A, "c2": A, "c3": B}.items()})
    assert kept["c3"]["differences"] == [{"kind": kind, "what": "nova"}]


def test_hosts_of_other_groups_are_another_kind():
    tables = {"c1": A, "c2": A, "n1": B}
    groups = {"c1": ["compute", "rack1"], "c2": ["rack1", "compute"], "n1": ["network"]}
    assert unlike(tables, groups=groups) == {"c1": [], "c2": [], "n1": []}
    groups["c2"] = ["compute"]
    assert unlike({"c1": A, "c2": B}, groups={"c1": ["compute", "rack1"], "c2": ["compute"]}) == {"c1": [], "c2": []}


def test_of_very_many_differences_only_the_first_are_kept():
    many = {f"p{number:03}": "1" for number in range(100)}
    assert unlike({"c1": many, "c2": dict.fromkeys(many, "2")})["c1"] == sorted(many)[: differences.MOST]


def test_modes_and_owners_of_files_are_compared_and_their_times_are_not():
    def files(mode, changed):
        return found(files={NOVA: {"changed": changed, "mode": mode, "empty": False}})

    kept = compare({name: files("640 root:nova", at) for name, at in (("c1", 1.0), ("c2", 2.0))})
    assert [host["differences"] for host in kept.values()] == [[], []]
    hosts = {"c1": files("640 root:nova", 1.0), "c2": files("640 root:nova", 1.0), "c3": files("600 root:root", 1.0)}
    kept = compare(hosts)
    assert [host["differences"] for host in kept.values()] == [[], [], [{"kind": "mode", "what": NOVA}]]


def file(changed):
    return {"changed": changed, "mode": "640 root:nova", "empty": False}


def changes(files, passed=None, offset=0):
    (host,) = compare(
        {"c1": found(files={path: file(at) for path, at in files.items()})}, None, {"c1": offset}, passed
    ).values()
    return [(entry["path"], entry["ago_s"]) for entry in host["changed"]]


@pytest.mark.parametrize(
    ("ago", "passed_ago", "is_told"),
    [
        # Since the last run that passed, however long ago that is
        (10, 100, True),
        (99, 100, True),
        (100, 100, False),
        (101, 100, False),
        (86000, 86400, True),
        # Without one, in the last hour
        (10, None, True),
        (differences.RECENT - 1, None, True),
        (differences.RECENT, None, False),
        # Changed while the hosts were read, or by a clock that is wrong
        (0, 100, True),
        (-1, 100, False),
    ],
)
def test_a_file_is_told_that_has_changed_since(ago, passed_ago, is_told):
    passed = None if passed_ago is None else NOW - passed_ago
    assert changes({NOVA: NOW - ago}, passed) == ([(NOVA, ago)] if is_told else [])


@pytest.mark.parametrize("offset", [-7200, 0, 7200.5])
def test_the_clock_of_the_host_makes_no_difference(offset):
    assert changes({NOVA: NOW - 10 + offset, "/etc/nova/old.conf": NOW - 200 + offset}, NOW - 100, offset) == [
        (NOVA, 10.0)
    ]


def test_the_latest_change_stands_first_and_of_very_many_only_the_first_are_kept():
    files = {f"/etc/nova/{number:02}.conf": NOW - number for number in range(1, 60)}
    told = changes(files, NOW - 100)
    assert told == [(path, float(number)) for number, path in enumerate(list(files)[: differences.MOST], 1)]


def test_the_findings_of_a_host_are_kept_as_they_are():
    findings = {
        "reach": [{"component": "a", "address": "b", "port": 1, "how": "open", "named_by": ["c"]}],
        "pending": [{"program": "d", "address": "e", "port": 1, "component": None}],
        "reports": [{"component": "f", "kind": "x", "text": "g"}],
        "exhausted": [{"kind": "y", "where": "h", "text": "i"}],
    }
    (host,) = compare({"c1": found(**findings)}).values()
    assert host == {**findings, "differences": [], "changed": []}


def test_neither_a_digest_nor_a_value_of_a_recorded_host_is_kept():
    def digests(text, salt="0123456789abcdef"):
        return configuration.digests(configuration.options_of(io.BytesIO(text.encode())), salt, ["compute1"])

    tables = {"c1": digests(SETTINGS), "c2": digests(SETTINGS), "c3": digests(SETTINGS.replace("qemu", "kvm"))}
    kept = compare({name: found(digests=table) for name, table in tables.items()})
    assert [host["differences"] for host in kept.values()] == [
        [],
        [],
        [{"kind": "option", "what": "/etc/nova/nova.conf [libvirt] virt_type"}],
    ]
    text = json.dumps(kept)
    assert not any(digest in text for table in tables.values() for digest in table.values())
    assert not any(word in text for word in ("qemu", "kvm", "planted", "10.71"))


def test_without_hosts_nothing_is_compared():
    assert compare({}) == {}
