# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results that the tasks of a playbook have registered for hosts, as they reach the modules that file them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.plugin_utils import _reads

REFUSED = {"failed": True, "msg": "no ssh"}
LOGS = {"events": "[]", "sources": []}


def test_what_was_registered_of_each_host_is_gathered():
    hostvars = {
        "c1": {
            "group_names": ["compute"],
            "stackproof_ceph_before": {"health": {}},
            "stackproof_clock": {"offset_s": 0.1},
            "stackproof_evidence": {"facts": {}, "logs": LOGS, "unread": []},
        },
        "n1": {"stackproof_clock": {"unreachable": True}},
    }
    assert _reads.of_hosts({"hostvars": hostvars}, ["c1", "n1"]) == {
        "c1": {
            "groups": ["compute"],
            "clock": {"offset_s": 0.1},
            "read": {"facts": {}, "unread": []},
            "before": {"health": {}},
        },
        "n1": {"groups": [], "clock": {"unreachable": True}, "read": None, "before": None},
    }


def test_each_source_has_what_was_read_of_it_or_why_it_was_not():
    hostvars = {
        "c1": {"stackproof_evidence": {"facts": {}, "logs": LOGS}, "stackproof_queue": {"events": []}},
        "c2": {"stackproof_evidence": REFUSED},
        "c3": {},
    }
    assert _reads.of_sources({"hostvars": hostvars}, ["c1", "c2", "c3"]) == {
        "log": {"c1": LOGS, "c2": REFUSED, "c3": None},
        "queue": {"c1": {"events": []}, "c2": None, "c3": None},
        "span": {"c1": None, "c2": None, "c3": None},
    }


@pytest.mark.parametrize("nobody", [[], ["all", "!all"]])
@pytest.mark.parametrize("gather", [_reads.of_hosts, _reads.of_sources])
def test_nothing_is_gathered_from_nobody(gather, nobody):
    assert not any(gather({"hostvars": {"c1": {}}}, nobody).values())


def test_what_a_loop_over_hosts_has_registered_is_gathered_by_host():
    turns = {"results": [{"item": "c1", "facts": {"names": []}}, {"item": "n1", "unreachable": True}]}
    results = _reads.registered(
        {"stackproof_evidence": turns, "hostvars": {}}, ["c1", "n1", "s1"], "stackproof_evidence"
    )
    assert results == {"c1": turns["results"][0], "n1": turns["results"][1], "s1": None}


@pytest.mark.parametrize("result", [None, {}, {"skipped": True}])
def test_a_loop_that_did_not_run_has_registered_nothing(result):
    task_vars = {"stackproof_clock": result, "hostvars": {"c1": {}}}
    assert _reads.registered(task_vars, ["c1"], "stackproof_clock") == {"c1": None}
