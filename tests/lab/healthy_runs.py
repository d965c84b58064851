# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds of a run on a healthy cloud, on whichever it is."""

from __future__ import annotations

import json
from collections import Counter

from test_verify import assert_passed


def statuses(outcome, name):
    return Counter(step["status"] for flow in outcome.record["flows"] if flow["name"] == name for step in flow["steps"])


def assert_healthy(outcome, without_times=()):
    """Nothing is reported as broken or missing that a healthy cloud of this kind cannot have.

    without_times: the names of logs that begin with more lines without a time than are looked at.
    """
    assert_passed(outcome)
    record = outcome.record
    missing = [
        (flow["name"], step["id"], step["reason"])
        for flow in record["flows"]
        for step in flow["steps"]
        if step["status"] == "missing"
    ]
    assert missing == []
    checks = [check for host in record["hosts"] for check in host["checks"]]
    assert checks
    assert [check for check in checks if check["status"] in ("failed", "unreadable")] == []
    logs = [log for read in record["logs"] for log in read["sources"] if not log["complete"]]
    assert [log for log in logs if log["path"].rpartition("/")[2] not in without_times] == []
    assert [unread for read in [*record["hosts"], *record["logs"]] for unread in read["unread"]] == []


def methods_on_the_queue(outcome):
    """The names of the messages of a run whose queue was recorded."""
    (recorded,) = outcome.record["queue"]
    assert (recorded["reason"], recorded["foreign"]) == (None, False)
    events = [json.loads(line) for line in (outcome.directory / "events.jsonl").read_text().splitlines()]
    return {event["method"] for event in events if event["source"] == "queue"}
