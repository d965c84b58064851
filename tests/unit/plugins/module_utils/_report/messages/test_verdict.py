# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on recorded runs, and on the same runs with something changed."""

from __future__ import annotations

import copy

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import verdict as verdict_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import CheckStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import verdict as messages
from as_json import typed
from cases_by_hand import error
from tree import RECORDED

RUNS = RECORDED / "runs"
EXPECTED = {
    "20261121-064729-83fa19": ("pass", None),
    "20261121-065322-ce7f74": ("fail", "boot"),
    "20261121-065330-a90299": ("fail", "volume"),
    "20261121-065335-3d402b": ("fail", "auth"),
    "20261121-065405-617d6b": ("incomplete", "metadata"),
    "20261121-065813-30e86c": ("pass", None),
    "20261121-073057-d8aefd": ("fail", "boot"),
}


@pytest.fixture
def passed():
    return as_json.read_record(RUNS / "20261121-065105-bdb5f5")


def stage(record, name):
    return next(stage for stage in record["stages"] if stage["stage"] == name)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_run_is_judged_as_it_was(name):
    record = as_json.read_record(RUNS / name)
    verdict = as_json.verdict_on(record)
    assert (verdict["result"], verdict["stage"]) == EXPECTED[name]
    assert verdict["reason"].endswith(".")
    # These runs were recorded when a verdict had fewer keys.
    assert record["verdict"].keys() <= verdict.keys()
    assert verdict.keys() - {"then"} == as_json.verdict("pass", None, "x").keys()


def test_a_failure_names_its_reason_and_what_to_look_at():
    verdict = as_json.verdict_on(as_json.read_record(RUNS / "20261121-065330-a90299"))
    assert verdict["reason"] == (
        "volume: the cloud has no volume type nope; it has __DEFAULT__, ceph."
        " Look at the name or id, and whether this project may see it."
    )


def test_the_first_failed_stage_counts(passed):
    for name in ("boot", "network"):
        stage(passed, name).update(status="failed", error=error("quota", f"{name} broke"))
    assert as_json.verdict_on(passed)["stage"] == "network"


def test_a_stage_that_is_missing_makes_the_run_incomplete(passed):
    passed["stages"] = [stage for stage in passed["stages"] if stage["stage"] != "metadata"]
    verdict = as_json.verdict_on(passed)
    assert (verdict["result"], verdict["stage"]) == ("incomplete", "metadata")


def test_a_stage_that_could_not_begin_says_why():
    reason = as_json.verdict_on(
        {**as_json.new_record("r", "c"), "stages": []}, "Stage auth: parameters are mutually exclusive: a|b"
    )["reason"]
    assert (
        reason == "The run was interrupted before the stage auth. Stage auth: parameters are mutually exclusive: a|b."
    )


def test_a_stage_that_was_skipped_on_purpose_is_no_failure(passed):
    stage(passed, "volume").update(status="skipped", details={"reason": "no volume is asked for"})
    assert as_json.verdict_on(passed)["result"] == "pass"


def test_a_guest_that_was_not_asked_is_not_said_to_have_its_metadata(passed):
    stage(passed, "metadata").update(status="skipped", details={"reason": "the guest is not to be asked"})
    verdict = as_json.verdict_on(passed)
    assert verdict["result"] == "pass"
    assert verdict["reason"].endswith(" s; the guest was not checked.")


def test_no_stages_at_all_is_incomplete(passed):
    verdict = as_json.verdict_on({**passed, "stages": []})
    assert (verdict["result"], verdict["stage"]) == ("incomplete", "auth")


def limit(ok, said):
    return {"name": "x", "query": "x", "min": None, "max": 1.0, "value": 1.0, "ok": ok, "text": said}


def test_a_breached_limit_fails_a_run_whose_stages_worked(passed):
    passed["thresholds"] = [limit(True, "a: 1"), limit(False, "b: 2 is more than 1")]
    verdict = as_json.verdict_on(passed)
    assert (verdict["result"], verdict["stage"]) == ("fail", None)
    assert "b: 2 is more than 1" in verdict["reason"]
    assert "a: 1" not in verdict["reason"]


def test_what_is_left_fails_a_run_whose_stages_worked(passed):
    passed["leftovers"] = [{"kind": "server", "id": "x", "name": "stackproof-x-server", "reason": "it is still there"}]
    verdict = as_json.verdict_on(passed)
    assert verdict["result"] == "fail"
    assert "stackproof-x-server (it is still there)" in verdict["reason"]


def test_skipped_stages_say_which_one_failed_before_them(passed):
    stages = copy.deepcopy(passed["stages"][:3])
    stages[2].update(status="failed", error=error())
    record = typed({**passed, "stages": stages})
    whole = verdict_module.with_skipped(record)
    assert [stage.stage for stage in whole] == list(run.STAGES)
    assert whole[:3] == record.stages
    for stage in whole[3:]:
        assert (stage.status, stage.started, stage.error) == ("skipped", None, None)
        assert stage.details == {"reason": "the stage network failed before"}


def test_skipped_stages_of_a_run_that_broke_off_say_so(passed):
    whole = verdict_module.with_skipped(typed({**passed, "stages": passed["stages"][:1]}))
    assert whole[1].details == {"reason": "the run broke off before"}


def test_stages_come_in_their_order(passed):
    assert verdict_module.with_skipped(typed({**passed, "stages": passed["stages"][::-1]})) == typed(passed).stages


def checks_with(record, status):
    return [(host.host, check.reason) for host, check in messages.checks_with(typed(record), status)]


def hosts_sentence(record):
    return messages.hosts_sentence(typed(record))


def check(status, reason=None):
    return {"check": "A check", "status": status, "reason": reason, "seconds": 0.1}


@pytest.fixture
def checked(passed):
    """Return a function that gives the run's record the checks of its hosts."""

    def have(**hosts):
        passed["hosts"] = [as_json.host(name, checks=checks) for name, checks in hosts.items()]
        return passed

    return have


def test_checks_are_found_by_how_they_ended(checked):
    bad, worse = check("failed", "one"), check("failed", "two")
    record = checked(a=[check("ok"), bad], b=[], c=[worse, check("unreadable", "x")])
    assert checks_with(record, CheckStatus.FAILED) == [("a", "one"), ("c", "two")]
    assert [host for host, _reason in checks_with(record, CheckStatus.UNREADABLE)] == ["c"]
    assert checks_with(record, CheckStatus.NOT_APPLICABLE) == []


@pytest.mark.parametrize(("status", "failed"), [("ok", False), ("unreadable", False), ("failed", True)])
def test_a_run_has_failed_where_a_host_does_not_agree(checked, status, failed):
    assert verdict_module.has_failed(typed(checked(a=[check("ok"), check(status)]))) is failed


def test_a_run_has_failed_where_a_stage_has(checked):
    record = checked()
    assert not verdict_module.has_failed(typed(record))
    stage(record, "boot")["status"] = "failed"
    assert verdict_module.has_failed(typed(record))


def test_a_host_that_does_not_agree_fails_a_run_whose_stages_worked(checked):
    verdict = as_json.verdict_on(
        checked(a=[check("ok")], b=[check("unreadable", "x"), check("failed", "the tap is down")])
    )
    assert (verdict["result"], verdict["stage"], verdict["host"]) == ("fail", None, "b")
    assert verdict["reason"] == "All stages worked, but the hosts do not agree with the API: the tap is down."


@pytest.fixture
def with_ceph(checked):
    """A run whose stages worked, and on whose storage host Ceph became what a test says."""

    def of(checks, before=()):
        record = checked(storage1=[check("failed", "Ceph was HEALTH_OK before the run and is HEALTH_ERR now")])
        host = next(host for host in record["hosts"] if host["host"] == "storage1")
        unit = {
            "component": "ceph-osd",
            "unit": "ceph-osd@0.service",
            "state": "running",
            "for_s": 900.0,
            "restarts": 0,
        }
        host["facts"] = {
            "services": [unit],
            "ceph": {"health": {"status": "HEALTH_ERR", "checks": checks}, "osds": {"0": True}},
        }
        host["health_before"] = {"status": "HEALTH_OK", "checks": dict(before)}
        return as_json.verdict_on(record)

    return of


def test_what_ceph_reports_of_itself_explains_why_a_host_does_not_agree(with_ceph):
    verdict = with_ceph({"OSD_FULL": "1 full osd(s)"})
    assert (verdict["result"], verdict["stage"]) == ("fail", None)
    assert (verdict["component"], verdict["host"]) == ("ceph-osd", "storage1")
    assert verdict["confidence"] > 0.7
    assert any("1 full osd(s)" in line for line in verdict["evidence"])
    # No stage failed, so that the path ends where it begins.
    assert [hop["source"]["component"] for hop in verdict["path"]] == ["ceph-osd"]
    assert verdict["reason"].startswith("All stages worked, but the hosts do not agree with the API: Ceph was")


def test_a_warning_that_ceph_gave_before_the_run_explains_nothing(with_ceph):
    known = {"MON_DISK_LOW": "mon a is low on available space"}
    verdict = with_ceph(known, before=known)
    assert (verdict["result"], verdict["component"], verdict["host"]) == ("fail", None, "storage1")


def test_several_checks_that_failed_are_counted(checked):
    bad = [check("failed", "the tap is down"), check("failed", "no lease")]
    verdict = as_json.verdict_on(checked(a=bad, b=[check("failed", "x")]))
    assert verdict["host"] == "a"
    assert verdict["reason"].endswith("API: the tap is down. 2 more checks of the hosts failed.")
    verdict = as_json.verdict_on(checked(a=[check("failed", "the tap is down."), check("failed", "no lease")]))
    assert verdict["reason"].endswith("API: the tap is down. 1 more check of the hosts failed.")


def test_a_failed_stage_counts_more_than_a_check(checked):
    record = checked(a=[check("failed", "x")])
    stage(record, "boot").update(status="failed", error=error("quota", "broke"))
    verdict = as_json.verdict_on(record)
    assert (verdict["stage"], verdict["host"]) == ("boot", None)


def test_a_pass_says_that_the_hosts_agree_and_what_could_not_be_read(checked):
    verdict = as_json.verdict_on(checked(a=[check("ok"), check("ok")], b=[check("not_applicable", "no volume")]))
    assert verdict["result"] == "pass"
    assert verdict["reason"].endswith("the guest has its metadata. 2 host checks passed.")
    verdict = as_json.verdict_on(
        checked(a=[check("ok"), check("unreadable", "a: sudo refuses."), check("unreadable", "x")])
    )
    assert verdict["result"] == "pass"
    assert verdict["reason"].endswith(" 1 host check passed; 2 could not run: a: sudo refuses.")


def test_a_pass_names_the_hosts_that_could_not_be_read(checked):
    record = checked(a=[check("ok")], b=[], c=[])
    for host, reason in zip(record["hosts"][1:], ("there is no route to it.", None)):
        host.update(status="unreachable", reason=reason)
    verdict = as_json.verdict_on(record)
    assert verdict["result"] == "pass"
    assert verdict["reason"].endswith(" 1 host check passed. But b, c could not be read: there is no route to it.")


def test_a_pass_says_that_no_host_could_be_checked(checked):
    """A check that is not about a single host passes on the control node alone."""
    lost = check("unreadable", "a cannot be reached: Connection refused.")
    record = checked(a=[check("not_applicable", "no volume"), lost, lost], localhost=[check("ok")])
    assert hosts_sentence(record) == (
        " No host could be checked. 2 checks could not run: a cannot be reached: Connection refused."
    )
    record["hosts"][1]["groups"] = ["compute"]
    assert hosts_sentence(record).startswith(" 1 host check passed; 2 could not run: ")


def test_a_pass_says_that_no_check_applies(checked):
    record = checked(a=[check("not_applicable", "no volume")])
    assert hosts_sentence(record) == " No check applies to the hosts."


def test_a_pass_says_once_what_to_do_where_sudo_refuses(checked):
    refused = {"what": "the domain", "kind": "refused", "command": "sudo -n virsh", "reason": "sudo refuses: virsh"}
    record = checked(a=[check("ok"), check("unreadable", "a: the domain: sudo refuses: virsh")], b=[])
    record["hosts"][0]["unread"] = [refused, refused]
    advice = "docs/security.md has the rules for sudo."
    told = " 1 host check passed; 1 could not run: a: the domain: sudo refuses: virsh."
    assert hosts_sentence(record) == f"{told} {advice}"
    record["hosts"][1].update(status="unreadable", reason=f"Missing sudo password. {advice}")
    assert hosts_sentence(record) == f"{told} But b could not be read: Missing sudo password. {advice}"


def test_a_pass_without_hosts_says_nothing_of_them(checked):
    assert hosts_sentence(checked()) == ""
    assert hosts_sentence(checked(a=[])) == ""


@pytest.fixture
def not_removed():
    """A run whose cinder-volume was stopped before the removal."""
    return as_json.read_record(RECORDED / "removed")


def test_a_removal_that_failed_is_judged_by_its_own_flow(not_removed):
    verdict = as_json.verdict_on(not_removed)
    assert (verdict["result"], verdict["stage"], verdict["step"]) == ("fail", "removal", "D16")
    assert (verdict["component"], verdict["host"]) == ("cinder-volume", "controller1")
    assert "-server (it is still there, active since its deletion)" in verdict["reason"]
    assert "Cause: cinder-volume (controller1): stopped" in verdict["reason"]
    assert "systemctl status cinder-volume.service" in verdict["next"]


def test_what_is_left_of_a_removal_that_was_not_recorded_has_no_cause(not_removed):
    del not_removed["removal"]
    verdict = as_json.verdict_on(not_removed)
    assert (verdict["result"], verdict["stage"], verdict["component"]) == ("fail", None, None)


def test_a_stage_that_failed_counts_before_the_removal(not_removed):
    stage(not_removed, "metadata").update(status="failed", error=error("no_lease", "no lease"))
    assert as_json.verdict_on(not_removed)["stage"] == "metadata"
