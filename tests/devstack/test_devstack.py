# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy devstack with each access that an operator may have: nothing is called broken, and all logs are read."""

from __future__ import annotations

import base64
import gzip

import pytest
from devstack_under_test import HAS_CEPH, HAS_OVN, HOST, OPERATOR, USER, WHOLE
from healthy_runs import assert_healthy, methods_on_the_queue, statuses
from lab_under_test import HOSTS, lab_host, on_the_lab
from runs_under_test import Outcome, directories, left_of, play, verify
from test_acceptance import sweep
from test_verify import assert_passed, assert_sound

# The probe guest answers there.
PORT = 80
TEN = 10
# What one host allows: no server can move.
LIFE = ["hard_reboot", "stop", "pause", "shelve", "rebuild", "resize", "resize_revert", "boot_snapshot"]


@pytest.fixture(scope="module")
def whole(module_runs):
    """A run with all that an operator may give it: hosts, administrator, floating IP, messages of the queue."""
    on_the_lab(HOSTS[HOST]["ansible_host"])
    return verify(module_runs, *WHOLE, **OPERATOR, floating_ip=True, tcp_port=PORT, firehose=True)


def test_a_healthy_cloud_passes_with_everything_that_can_be_asked(whole):
    assert_healthy(whole)
    assert statuses(whole, "ops_guide")["seen"] >= (30 if HAS_CEPH or not HAS_OVN else 25)


def test_the_messages_of_both_virtual_hosts_are_seen(whole):
    """Nova's own services speak on one, and those of its cell on another."""
    assert methods_on_the_queue(whole) >= {"schedule_and_build_instances", "build_and_run_instance"}


def test_a_plain_user_passes_without_the_host(runs):
    assert_passed(verify(runs, **USER))


def test_acceptance_boots_on_each_host(runs):
    given = {name: value for name, value in OPERATOR.items() if name != "admin_cloud"}
    done = sweep(runs, *WHOLE, **{**given, "cloud": "devstack-admin"})
    assert done.status == 0, done.output
    assert {target["host"] for target in done.record["targets"]} == set(HOSTS)
    for target in done.record["targets"]:
        assert_sound(done.run(target))


def test_two_guests_on_one_host_find_their_paths_and_one_lives_on(runs):
    given = {**OPERATOR, "dataplane": True, "floating_ip": True, "journey": LIFE}
    outcome = verify(runs, *WHOLE, **given, journey_timeout=900)
    assert_passed(outcome)
    details = outcome.stage("dataplane")["details"]
    assert details["spread"] is False
    found = {(check["check"], check["source"]): check["status"] for check in details["checks"]}
    ways = [(check, guest) for check in ("ping", "size", "open", "shut") for guest in ("first", "second")]
    assert {found[way] for way in ways} == {"ok"}
    assert found["login", "client"] == "ok"
    legs = outcome.stage("journey")["details"]["legs"]
    assert [leg["operation"] for leg in legs] == LIFE
    assert {leg["moved"] for leg in legs} == {False}


def test_what_was_kept_is_cleaned_up(runs, admin, devstack):
    kept = verify(runs, **USER, keep="always")
    storage = devstack if HAS_CEPH else None
    assert left_of(directories(runs), admin, storage)
    status, output = play("cleanup", runs=runs)
    assert status == 0, output
    assert left_of(directories(runs), admin, storage) == []
    assert kept.status == 0, kept.output


def test_a_boot_is_diagnosed_by_the_exported_journals_alone(whole, tmp_path):
    since = whole.record["started"].replace("T", " ").partition(".")[0]
    export = f"journalctl --quiet --utc --output=short-iso-precise --since='{since}'"
    for name in HOSTS:
        journal = lab_host(name, sudo=True).check_output(f"{export} | gzip -1 | base64")
        path = tmp_path / "bundle" / name / "journal.txt"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.decompress(base64.b64decode(journal)))
    server = next(r["id"] for stage in whole.record["stages"] for r in stage["resources"] if r["kind"] == "server")
    status, output = play("diagnose", bundle=tmp_path / "bundle", server_id=server, diagnoses=tmp_path / "diagnoses")
    assert status == 0, output
    done = Outcome(status, output, (tmp_path / "diagnoses" / "latest").resolve())
    assert done.record["verdict"]["result"] == "pass", output
    assert statuses(done, "ops_guide")["seen"] > 0


@pytest.mark.soak
def test_ten_runs_in_a_row_pass(runs):
    for _turn in range(TEN):
        assert_healthy(verify(runs, *WHOLE, **OPERATOR))
