# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths between two guests, on the terminal, on the page and in the verdict."""

from __future__ import annotations

import hashlib

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._report import journey, paths
from ansible_collections.stackproof.provision.plugins.module_utils._report import text as text_module
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import verdict
from ansible_collections.stackproof.provision.plugins.module_utils._report.page import render
from cases_by_hand import record_of

HASH = hashlib.sha224(b"ph2").hexdigest()
CHECK = {"check": "ping", "source": "first", "target": "second", "status": "ok", "text": "3 of 3 packets were answered"}


def record(*checks, **details):
    server = {"id": "s2", "zone": None, "host": None, "host_id": HASH, "launched": None, "ports": [], "fixed_ips": []}
    stage = as_json.stage("dataplane", "ok", details={"server": server, "checks": list(checks), **details})
    hosts = [as_json.host("h1", facts={"domain": {"name": "d"}}), as_json.host("h2")]
    return record_of(hosts, stages=[stage], instance=as_json.instance())


def test_a_path_has_its_guests_with_their_hosts():
    (row,) = paths.rows_of(record(CHECK))
    assert (row.route, row.status.value, row.text) == ("first (h1) -> second (h2)", "ok", CHECK["text"])


def test_a_check_of_what_is_outside_the_run_has_no_target():
    (row,) = paths.rows_of(record({**CHECK, "target": None}))
    assert row.route == "first (h1)"


def test_a_run_without_a_data_plane_has_no_paths():
    plain = record_of([], stages=[as_json.stage("boot", "ok")])
    assert paths.rows_of(plain) == []
    assert text_module.path_lines(plain) == []
    assert verdict.paths_sentence(plain) == ""


def test_the_terminal_and_the_page_have_all_checks():
    assert text_module.path_lines(record(CHECK)) == [
        "",
        "  paths between the guests",
        "  ok       first (h1) -> second (h2): 3 of 3 packets were answered",
    ]
    assert [row.text for row in render.page_of(record(CHECK)).paths] == [CHECK["text"]]


UNASKED = {**CHECK, "check": "name", "target": None, "status": "not_applicable", "text": "no name was resolved"}


def test_a_check_that_was_not_made_is_reported_and_not_counted():
    assert text_module.path_lines(record(CHECK, UNASKED))[2:] == [
        "  ok             first (h1) -> second (h2): 3 of 3 packets were answered",
        "  not applicable first (h1): no name was resolved",
    ]
    assert verdict.paths_sentence(record(CHECK, UNASKED)).endswith(": 1 check passed.")


@pytest.mark.parametrize(("spread", "where"), [(True, ""), (None, ""), (False, ", both on one host")])
def test_a_verdict_reports_the_paths(spread, where):
    sentence = verdict.paths_sentence(record(CHECK, spread=spread))
    assert sentence == f" It carries packets between two guests{where}: 1 check passed."


LEG = {"operation": "live_migrate", "status": "ok", "seconds": 25.49, "lost": 0, "outage_s": 0.0}


@pytest.mark.parametrize(
    ("leg", "text"),
    [
        (LEG, "25.5 s, no packet lost"),
        ({**LEG, "moved": True, "host_before": "h1", "host_after": "h2"}, "25.5 s, h1 -> h2, no packet lost"),
        ({**LEG, "moved": True}, "25.5 s, to another host, no packet lost"),
        ({**LEG, "lost": 93, "outage_s": 18.6}, "25.5 s, no answer for 18.6 s (93 packets)"),
        ({"operation": "live_migrate", "status": "failed"}, "not ended"),
    ],
)
def test_an_operation_has_its_seconds_its_hosts_and_its_outage(leg, text):
    stage = as_json.stage("journey", leg["status"], details={"legs": [leg]})
    (row,) = journey.rows_of(record_of([], stages=[stage]))
    assert (row.operation, row.text) == ("live migrate", text)
    assert text in text_module.leg_lines(record_of([], stages=[stage]))[-1]
