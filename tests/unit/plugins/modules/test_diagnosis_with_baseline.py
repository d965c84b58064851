# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diagnosis beside the logs of a time when all worked: an error that was logged then, too, explains nothing."""

from __future__ import annotations

import tarfile

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.modules import bundle_info

COMPUTE, CONDUCTOR = ("compute2", "nova/nova-compute.log"), ("controller1", "nova/nova-conductor.log")
NOISE = ("oslo_service.periodic_task", "Error during ComputeManager.update: nova.exception.ResourceProviderSync: no")
CAUSE = ("nova.compute.manager", "Instance failed to spawn: rbd.ImageNotFound: [errno 2] RBD image not found")


def line(logger, message, seconds=35.0, request="-"):
    return f"2026-11-21 20:13:{seconds:06.3f} 820 ERROR {logger} [{request} f209 94b6 - - default default] {message}"


@pytest.fixture
def failed(bundle):
    """A boot that failed, with an error that is always there and one that is new."""
    bundle.lines[COMPUTE] = [text for text in bundle.lines[COMPUTE] if "Took" not in text]
    bundle.lines[COMPUTE] += [line(*NOISE, 34.0), line(*CAUSE, request=bundle.boot.request)]
    bundle.lines[CONDUCTOR].append(
        line("nova.scheduler.utils", "Error from last host: nova.exception.RescheduledException: x")
    )
    return bundle


@pytest.fixture
def passed(tmp_path):
    """The logs of the same host while all worked, which is the same error a day before."""
    folder = tmp_path / "passed" / "compute2" / "nova"
    folder.mkdir(parents=True)
    noise = line(*NOISE).replace("2026-11-21", "2026-11-20")
    (folder / "nova-compute.log").write_text(f"{noise}\n")
    return tmp_path / "passed"


def usual(record):
    return {error["exception"].rpartition(".")[2]: error["usual"] for error in record["errors"] if error["exception"]}


def test_without_a_baseline_nobody_knows_what_is_usual(diagnose, failed):
    assert set(usual(diagnose(server_id=failed.boot.server)).values()) == {None}


def test_an_error_of_the_baseline_is_usual_and_another_is_new(diagnose, failed, passed):
    record = diagnose(server_id=failed.boot.server, baseline=str(passed))
    known = usual(record)
    assert (known["ResourceProviderSync"], known["ImageNotFound"]) == (1.0, 0.0)
    verdict = record["verdict"]
    assert "ImageNotFound" in verdict["quote"]
    assert "ResourceProviderSync" not in str(verdict)


def test_a_baseline_may_be_packed(diagnose, failed, passed, tmp_path):
    packed = tmp_path / "passed.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(passed, "passed")
    assert usual(diagnose(server_id=failed.boot.server, baseline=str(packed)))["ResourceProviderSync"] == 1.0


def test_a_baseline_may_be_a_run(diagnose, failed, run):
    noisy = {"service": "nova-compute", "logger": NOISE[0], "exception": "nova.exception.ResourceProviderSync"}
    rest = dict.fromkeys(("raised_in", "how", "peer", "peer_address", "quote", "usual"))
    about = {"host": "compute2", "at": as_json.AT, "count": 1, "mentions": [], "own": False}
    source = {"service": "nova-compute", "path": "x", "complete": True, "first": None, "reason": None}
    logs = {"host": "compute2", "reason": None, "unread": [], "sources": [source]}
    verdict = {**as_json.plain(run.record.verdict), "result": "pass"}
    as_json.change(run, errors=[{**noisy, **rest, **about}], logs=[logs], verdict=verdict)
    run.save()
    record = diagnose(server_id=failed.boot.server, baseline=run.directory)
    assert usual(record)["ResourceProviderSync"] == 1.0
    assert (record["baseline"]["source"], record["baseline"]["cloud"]) == (run.id, "small")


def test_a_baseline_that_is_not_there_is_said(call, bundle, bundle_options, tmp_path):
    options = bundle_options(bundle.write(), server_id=bundle.boot.server, baseline=str(tmp_path / "nowhere"))
    assert "nowhere does not exist" in call(bundle_info, **options)["msg"]
