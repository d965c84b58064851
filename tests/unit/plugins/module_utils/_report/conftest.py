# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded runs that are rendered: one that passed, one that failed, and one with hostile words."""

from __future__ import annotations

import copy

import as_json
import pytest
from tree import RECORDED

# Ends a line of XML or of OpenMetrics, moves a terminal's cursor, is not a character, or is half of a character
HOSTILE = "<b>&\"'\\]]>\x1b[2J\r\n\t\0\x7f\x9b31m\ufffe\uffff\ud800\u202e end"


def read(name):
    return as_json.read_record(RECORDED / "runs" / name)


@pytest.fixture
def passed():
    return read("20261121-065105-bdb5f5")


@pytest.fixture
def failed():
    return read("20261121-065322-ce7f74")


@pytest.fixture
def hostile(failed):
    """A record in which the cloud, and the user, chose bad words."""
    record = copy.deepcopy(failed)
    record["cloud"] = HOSTILE
    record["verdict"]["reason"] = HOSTILE
    for stage in record["stages"]:
        if stage["error"]:
            stage["error"].update(message=HOSTILE, hint=HOSTILE)
        if stage["status"] == "skipped":
            stage["details"]["reason"] = HOSTILE
    record["leftovers"] = [{"kind": "server", "id": "x", "name": HOSTILE, "reason": HOSTILE}]
    limit = {"name": HOSTILE, "query": HOSTILE, "min": None, "max": 1, "value": 2}
    record["thresholds"] = [{**limit, "ok": False, "text": HOSTILE}, {**limit, "ok": True, "text": "x"}]
    return record
