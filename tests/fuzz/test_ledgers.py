# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ledgers that somebody has changed: nothing of others is deleted, and nothing of the run is forgotten for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mutations import STRANGE, mutated, mutated_bytes

KINDS = ("networks", "subnets", "routers", "volumes", "security-groups", "servers", "images", "ports")
pytestmark = pytest.mark.usefixtures("hurry", "quick_removal")


def changed(lines, foreign, chance):
    """The lines of a ledger: some changed, some with the ids and names of things of others."""
    if chance.random() < 0.3:
        return mutated_bytes("\n".join([*lines, ""]).encode(), chance)
    entries = [json.loads(line) for line in lines]
    entries = [mutated(entry, chance) if chance.random() < 0.3 else entry for entry in entries]
    if chance.random() < 0.5:
        entry = chance.choice([entry for entry in entries if isinstance(entry, dict)] or [{}])
        thing = chance.choice(foreign)
        entry.update({name: thing.get(name) for name in chance.choice((["id"], ["name"], ["id", "name"]))})
        entry["kind"] = chance.choice(
            (entry.get("kind"), "server", "volume", "network", "router", chance.choice(STRANGE))
        )
        entries.append(entry)
    return "".join(f"{json.dumps(entry)}\n" for entry in entries).encode(errors="replace")


@pytest.mark.cases(60)
def test_a_ledger_deletes_nothing_of_others(cases, go, cloud, run):
    ledger = Path(run.path("ledger.jsonl"))
    foreign = [cloud.put(kind, name=f"others-{kind}", status="available") for kind in KINDS]
    foreign += [cloud.put("volumes", name=f"stackproof-{run.id}x-volume", status="available")]
    for chance in cases:
        ledger.write_text("")
        run.update(stages=())
        run.save()
        assert "failed" not in go("network")
        assert "failed" not in go("volume")
        whole = ledger.read_text()
        ledger.write_bytes(changed(whole.splitlines(), foreign, chance))
        go("cleanup", end=False, timeout=2)
        there = {thing["id"] for kind in KINDS for thing in cloud.all(kind)}
        assert {thing["id"] for thing in foreign} <= there
        ledger.write_text(whole)
        result = go("cleanup", end=False, timeout=60)
        assert not result.get("failed"), result["msg"]
        left = [thing["name"] for kind in KINDS for thing in cloud.all(kind) if run.id in (thing.get("name") or "")]
        assert left == [f"stackproof-{run.id}x-volume"]
