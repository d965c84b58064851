# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What recorded hosts printed, for tests that must not depend on when it was recorded."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from tree import RECORDED

# Of each host: what systemd shows of each service, the states of processes, and for how long the host runs.
UNITS = {line["host"]: line for line in map(json.loads, (RECORDED / "hosts/units.jsonl").read_text().splitlines())}
SERVER = json.loads((RECORDED / "cloud/instance.json").read_text())["instance"]["server"]


def printed(host, words):
    """What a recorded host printed for the first command that has these words in it."""
    lines = map(json.loads, (RECORDED / f"hosts/{host}.jsonl").read_text().splitlines())
    return next(line["out"] for line in lines if words in " ".join(line["words"]))


def journal_of(host, words):
    """The entries of a journal that a recorded host printed, as names and values."""
    blocks = printed(host, words).strip().split("\n\n")
    return [dict(line.split("=", 1) for line in block.splitlines()) for block in blocks]


def second(text):
    """Seconds since 1970 of a time in a log of the recording's year, whose clock is UTC."""
    moment = datetime.strptime(f"{SERVER['created'][:4]} {text}", "%Y %b %d %H:%M:%S")
    return moment.replace(tzinfo=timezone.utc).timestamp()


def count_flows(record):
    """Give each bridge as many flows as br-int has on the lab: the recorded runs did not count them yet."""
    for one in record["hosts"]:
        for bridge in ((one["stores"] or {}).get("switch") or {"bridges": []})["bridges"]:
            bridge["flows"] = 23
