# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes out of a record what tests do not need: most of many equal requests, flows, lines of logs."""

from __future__ import annotations

# So many of the same request that follow each other stay, at the beginning and at the end.
FIRST, LAST = 2, 3


def fewer_polls(record):
    """The record with less of the requests that only asked again and again how things are."""
    stages = [{**stage, "calls": list(few(stage["calls"]))} for stage in record["stages"]]
    return {**record, "stages": stages}


def few(calls):
    row = []
    for call in [*calls, None]:
        if row and (call is None or question(call) != question(row[0])):
            yield from row if len(row) <= FIRST + LAST else [*row[:FIRST], *row[-LAST:]]
            row = []
        row.append(call)


def question(call):
    return call["method"], call["service"], call["path"], call["status"]


def only_flow(record, name):
    return {**record, "flows": [flow for flow in record["flows"] if flow["name"] == name]}
