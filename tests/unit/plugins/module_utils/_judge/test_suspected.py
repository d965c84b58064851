# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a stage that may have failed: whoever asked for the diagnosis thinks so."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.verdict import SUSPECTED
from cases_by_hand import FINISHED, STARTED, error

SUSPECT = as_json.stage(
    "metadata",
    "failed",
    started=STARTED,
    finished=FINISHED,
    error=error(SUSPECTED, "the server web is ACTIVE; whether its guest has network shows on the hosts"),
)
BOOT = as_json.stage("boot", "ok", started=STARTED, finished=FINISHED, duration_s=12.0)


def link(state):
    return {"code": "dhcp_process", "state": state, "owner": "dnsmasq", "host": "network1"}


def judged(*links, **more):
    chains = [{"name": "dhcp", "subject": None, "links": list(links)}]
    operation = {"asked": STARTED, "action": "create", "subject": "web"}
    record = {**as_json.new_record("run", "cloud"), "started": STARTED, "stages": [BOOT, SUSPECT]}
    return as_json.verdict_on({**record, "operation": operation, "chains": chains, **more})


def test_a_suspicion_that_nothing_confirms_is_no_failure():
    verdict = judged(link("holds"), link("holds"), link("unreadable"), link("not_applicable"))
    assert (verdict["result"], verdict["component"]) == ("pass", None)
    assert verdict["reason"].startswith(
        "No fault was found: the server web was active after 12.0 s, and 2 links of the chains behind it hold, "
        "1 link could not be read."
    )


@pytest.mark.parametrize("links", [[], [link("unreadable")], [link("not_applicable")]])
def test_a_suspicion_that_nothing_was_examined_for_stays_open(links):
    verdict = judged(*links)
    assert (verdict["result"], verdict["stage"]) == ("incomplete", "metadata")
    assert verdict["reason"] == (
        "The API shows no fault, and nothing else could be examined. The server web is ACTIVE; whether its guest has "
        "network shows on the hosts. Give an inventory of the cloud's hosts."
    )


def test_a_check_that_failed_confirms_a_suspicion():
    check = {"check": "x", "status": "failed", "reason": "it has no bridge"}
    verdict = judged(link("holds"), hosts=[as_json.host("c1", checks=[check])])
    assert (verdict["result"], verdict["host"]) == ("fail", "c1")


def test_a_request_that_explains_what_was_suspected_confirms_it():
    """A guest that was cut off by its own security groups has no network, and no component is to blame."""
    found = "ls_in_acl_eval: (inport == @neutron_pg_drop && ip), priority 2001"
    dropped = {**link("broken"), "code": "dhcp_logical", "owner": "ovn-nb-db", "found": found}
    verdict = judged(link("holds"), dropped)
    assert (verdict["result"], verdict["stage"], verdict["component"]) == ("fail", "metadata", None)
    assert verdict["headline"] == "The guest is cut off: no rule of its security groups lets DHCP requests out"
