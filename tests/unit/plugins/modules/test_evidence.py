# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How what was read on the hosts is filed in the record of a run."""

from __future__ import annotations

import json
from pathlib import Path

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.modules import evidence as module
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
UNREAD = {"what": "the domain", "kind": "refused", "command": "virsh", "reason": "sudo refuses: virsh: sudo: no"}
ADVICE = "docs/security.md has the rules for sudo."
BECOME = (
    "Task failed: Premature end of stream waiting for become success.\n>>> Standard Error\nsudo: a password is required"
)
FOUND = {
    "groups": ["compute"],
    "clock": {"offset_s": 0.002, "error_s": 0.009},
    "read": {"changed": False, "facts": {"names": ["compute2"]}, "unread": []},
    "before": {"health": {"status": "HEALTH_OK", "checks": {}}, "user": "admin"},
}
RECORD = {
    "host": "compute2",
    "groups": ["compute"],
    "parts": ["compute"],
    "status": "read",
    "reason": None,
    "clock_offset_s": 0.002,
    "clock_error_s": 0.009,
    "health_before": {"status": "HEALTH_OK", "checks": {}},
    "facts": {"names": ["compute2"]},
    "examination": None,
    "unread": [],
    "checks": [],
}
PLATFORM = {"groups": {"compute": ["compute"]}}
NOTHING = {**RECORD, "facts": {}, "clock_offset_s": None, "clock_error_s": None, "health_before": None}
LOST = {**FOUND, "clock": {"unreachable": True, "msg": "ssh: no"}, "before": None}


@pytest.fixture
def asked(run, instance):
    """A run that has asked about its instance."""
    as_json.change(run, instance=instance)
    run.save()
    return run


def host_of(name, results, platform):
    return to_json(module.host_of(name, results, platform))


def record(run):
    return json.loads(Path(run.path("run.json")).read_text())


def test_a_host_that_was_read_is_recorded_with_all_that_it_said():
    assert host_of("compute2", FOUND, PLATFORM) == RECORD


def test_a_host_that_was_read_in_part_says_what_was_not():
    second = {**UNREAD, "what": "the link", "reason": "failed"}
    read = {**FOUND["read"], "unread": [UNREAD, second]}
    reason = f"the domain: sudo refuses: virsh: sudo: no; the link: failed. {ADVICE}"
    expected = {**RECORD, "reason": reason, "unread": [UNREAD, second]}
    assert host_of("compute2", {**FOUND, "read": read}, PLATFORM) == expected


def test_a_host_that_was_read_in_part_though_sudo_allows_all_has_no_advice_about_it():
    unread = {**UNREAD, "kind": "failed", "reason": "failed: virsh: error: Domain not found"}
    host = host_of("compute2", {**FOUND, "read": {**FOUND["read"], "unread": [unread]}}, PLATFORM)
    assert host["reason"] == "the domain: failed: virsh: error: Domain not found"


@pytest.mark.parametrize(
    ("read", "status", "reason"),
    [
        ({"unreachable": True, "msg": "ssh: no route", "changed": False}, "unreachable", "ssh: no route"),
        ({"unreachable": True}, "unreachable", "no reason was given"),
        (
            {"unreachable": True, "msg": "kex: closed by remote host\r\nclosed by 10.0.0.1 port 22\r\n"},
            "unreachable",
            "kex: closed by remote host closed by 10.0.0.1 port 22",
        ),
        ({"failed": True, "msg": "no python"}, "unreadable", "no python"),
        ({"failed": True, "msg": BECOME}, "unreadable", f"{' '.join(BECOME.split())}. {ADVICE}"),
        (
            {"failed": True, "msg": "Task failed: Missing sudo password."},
            "unreadable",
            f"Task failed: Missing sudo password. {ADVICE}",
        ),
        ({"failed": True, "msg": ""}, "unreadable", "no reason was given"),
        (None, "unreadable", "it was not asked"),
    ],
)
def test_a_host_that_could_not_be_read_says_why(read, status, reason):
    assert host_of("compute2", {**LOST, "read": read}, PLATFORM) == {
        **NOTHING,
        "status": status,
        "reason": reason,
    }


def test_a_clock_and_a_health_that_were_not_asked_for_are_none():
    host = host_of("a", {**FOUND, "clock": None, "before": None}, PLATFORM)
    assert (host["clock_offset_s"], host["clock_error_s"], host["health_before"]) == (None, None, None)


def test_hosts_are_filed_in_the_order_of_their_names(call, asked, warned):
    lost = {**LOST, "read": {"unreachable": True, "msg": "ssh: no"}}
    partly = {**FOUND, "read": {**FOUND["read"], "unread": [UNREAD]}}
    result = call(
        module, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads={"n1": partly, "c2": FOUND, "c1": lost}
    )
    assert result["changed"]
    assert result["hosts"] == [
        {"host": "c1", "status": "unreachable", "reason": "ssh: no"},
        {"host": "c2", "status": "read", "reason": None},
        {"host": "n1", "status": "read", "reason": f"the domain: sudo refuses: virsh: sudo: no. {ADVICE}"},
    ]
    assert warned == [
        "c1 is unreachable: ssh: no",
        f"n1 was read only in part: the domain: sudo refuses: virsh: sudo: no. {ADVICE}",
    ]
    filed = record(asked)
    assert [host["host"] for host in filed["hosts"]] == ["c1", "c2", "n1"]
    assert filed["hosts"][1] == {**RECORD, "host": "c2"}
    assert filed["evidence"]["started"] == filed["instance"]["queried"] < filed["evidence"]["finished"]
    assert not list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(filed))


def test_without_an_instance_the_reading_begins_with_the_first_clock(call, asked):
    as_json.change(asked, instance=None)
    asked.save()
    clocks = [{**FOUND, "clock": {**FOUND["clock"], "began": at}} for at in (1795262400.0, 1795262300.0)]
    call(module, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads=dict(zip("ab", clocks, strict=True)))
    filed = as_json.read_record(asked.directory)["evidence"]
    assert filed["started"] == "2026-11-21T11:58:20.000000+00:00" < filed["finished"]


@pytest.mark.parametrize(
    ("passed", "known"), [("2026-11-20T08:00:00.000000+00:00", "2026-11-20T08:00:00.000000+00:00"), (None, None)]
)
def test_settings_are_compared_with_the_end_of_the_baseline(asked, passed, known):
    """Without one, or with logs, they are compared with the last passed run in the same folder: there is none here."""
    baseline = {"source": "x", "cloud": None, "passed": passed, "errors": [], "idle": [], "health": []}
    as_json.change(asked, baseline=baseline)
    assert module.last_pass(asked) == (known and seconds_of(known))


def test_no_hosts_are_filed_as_none(call, asked):
    assert call(module, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads={})["hosts"] == []
    assert record(asked)["hosts"] == []


def test_check_mode_files_nothing(call, asked, warned):
    result = call(
        module, check=True, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads={"c2": {**LOST, "read": None}}
    )
    assert result["hosts"] == [{"host": "c2", "status": "unreadable", "reason": "it was not asked"}]
    assert record(asked)["hosts"] == []
    assert warned == ["c2 is unreadable: it was not asked"]


def test_a_folder_that_is_no_run_is_said(call, tmp_path):
    result = call(module, run_dir=str(tmp_path), hosts=[], platform=PLATFORM, reads={})
    assert result["failed"]
    assert "is not the directory of a run" in result["msg"]


def test_a_run_that_another_process_works_on_is_left_alone(call, asked):
    with asked.alone():
        result = call(module, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads={"c2": FOUND})
    assert "another process works on the run" in result["msg"]


def test_hosts_read_again_after_a_removal_keep_what_they_knew_of_the_instance(call, asked):
    call(module, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads={"compute2": FOUND})
    check = {"check": "the domain runs", "status": "ok"}
    [host] = record(asked)["hosts"]
    known = {**host, "facts": {**host["facts"], "domain": {"state": "running"}}, "checks": [check]}
    as_json.change(asked, hosts=[known, {**NOTHING, "host": "localhost"}])
    as_json.change(asked, removal=as_json.stage("removal", "failed"))
    asked.save()
    read = {"changed": False, "facts": {"names": ["compute2"], "zone_s": 0}, "unread": []}
    reads = {"compute2": {**FOUND, "read": read, "before": None}}
    call(module, run_dir=asked.directory, hosts=[], platform=PLATFORM, reads=reads)
    host, other = record(asked)["hosts"]
    assert other["host"] == "localhost"
    assert host["facts"] == {"names": ["compute2"], "zone_s": 0, "domain": {"state": "running"}}
    assert host["health_before"] == RECORD["health_before"]
    assert [check["check"] for check in host["checks"]] == ["the domain runs"]
