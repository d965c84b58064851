# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stage errors that the pages quote are those that the stages of today give on a cloud that answers the same."""

from __future__ import annotations

import re

import pytest
import recorded_outputs as recorded
from page_commands import outputs
from tree import ROOT

pytestmark = pytest.mark.usefixtures("cloud", "hurry")
STAGE_ERROR = re.compile(r"^ +stage error: +(.+)$", re.MULTILINE)
WITHOUT_ROOM, WITHOUT_TYPE = "runs/20261121-073057-d8aefd", "runs/20261121-065330-a90299"
# Runs whose guest got no address
WITHOUT_LEASE = ("20261121-171658-3a3251", "20261130-090254-0e816e")


def quoted():
    """Return the stage errors on the pages, each once."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts = [output for page in pages for output in outputs(page.read_text())]
    return {error for text in texts for error in STAGE_ERROR.findall(text)}


def of_run(failure, run_id):
    """Return the message of a failure as it is about what another run has made."""
    return failure["message"].replace("stackproof-run-1-", f"stackproof-{run_id}-")


def test_refusal_of_a_server_is_quoted_as_the_stage_boot_prints_it(error, earlier, cloud):
    earlier("image", "network", "volume")
    record = recorded.read(WITHOUT_ROOM)
    then = record.failed_stage.error
    answer = {"forbidden": {"code": then.status, "message": then.answer}}
    cloud.trouble("POST", "/servers$", (then.status, {"x-openstack-request-id": then.request_id}, answer))
    assert of_run(error("boot"), record.run_id) in quoted()


def test_missing_lease_is_quoted_as_the_stage_metadata_prints_it(error, earlier, cloud, console):
    earlier("image", "network", "volume", "boot")
    (server,) = cloud.all("servers")
    # Up to the guest's request for a lease
    lines = console(server["id"]).splitlines(keepends=True)
    cloud.console = "".join(lines[: round(len(lines) * 0.4)])
    failure = error("metadata", timeout=1)
    assert {of_run(failure, run_id) for run_id in WITHOUT_LEASE} <= quoted()


def test_no_other_stage_error_is_quoted():
    assert len(quoted()) == 1 + len(WITHOUT_LEASE)


def test_missing_volume_type_is_quoted_as_the_stage_volume_prints_it(error, cloud):
    for name in ("__DEFAULT__", "ceph"):
        cloud.put("types", name=name)
    then = recorded.read(WITHOUT_TYPE).failed_stage.error
    today = error("volume", volume_type="nope")
    assert (today["message"], today["hint"]) == (then.message, then.hint)
