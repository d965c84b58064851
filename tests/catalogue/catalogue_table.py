# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the verdicts on a catalogue of faults with the truth, and prints a table for measurements/.

The records are judged anew, so that a change of the judge is measured without a lab.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import carriers_of, depends_on
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import failed_stage
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.verdict import of_record

# The number of suspects searched for the cause where no component is identified.
FIRST = 3
BINS = ((0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01))


def rows_of(folders):
    return [row_of(json.loads(path.read_text())) for folder in folders for path in sorted(Path(folder).glob("*.json"))]


def row_of(filed):
    """A fault, what the verdict says of it, and how right that is."""
    record, truth = filed["record"], filed["truth"]
    failed, verdict = failed_stage(record["stages"]), of_record(record)
    row = {"fault": filed["fault"], "truth": truth, "verdict": verdict, "step": None}
    if failed is None:
        right = verdict["result"] == "pass" and verdict["component"] is None
        return {**row, "outcome": "no effect" if right else "false alarm"}
    if verdict["headline"] is None and not verdict["alternatives"]:
        return {**row, "outcome": "told by the cloud"}
    if verdict["component"]:
        outcome = "right" if is_right(verdict, truth) else "wrong"
    else:
        first = verdict["alternatives"][:FIRST]
        outcome = "nobody, among the first" if any(is_right(one, truth) for one in first) else "nobody"
    return {**row, "outcome": outcome, "step": step_is_right(verdict, truth, record)}


def is_right(named, truth):
    return named["component"] in truth["components"] and named["host"] in [None, *truth["hosts"]]


def step_is_right(verdict, truth, record):
    """Whether those who have to do with the step, or with one beside it, need the broken component; None without one.

    A component that hangs lets others owe their steps, so the first step that is lacking need not be its own.
    """
    steps = [step for flow in record["flows"] if flow["judged"] for step in flow["steps"]]
    place = next((place for place, step in enumerate(steps) if step["id"] == verdict["step"]), None)
    if place is None:
        return None
    near = steps[max(0, place - 1) : place + 2]
    names = {name for step in near for name in (step["source"], step["target"], step.get("owed_by"))}
    names |= {name for step in near for name in carriers_of(step["kind"])}
    for _way in range(2):
        names = names.union(*(depends_on(name) for name in names))
    return bool(names & set(truth["components"]))


def table(rows):
    lines = ["| fault | verdict | sure | is |", "|---|---|---|---|"]
    for row in rows:
        verdict = row["verdict"]
        sure = "" if verdict["confidence"] is None else f"{verdict['confidence']:.0%}"
        said = verdict["headline"] or (verdict["result"] if verdict["result"] != "fail" else verdict["reason"][:100])
        lines.append(f"| `{row['fault']}` | {said} | {sure} | {row['outcome']} |")
    return lines


def sums(rows):
    counts = Counter(row["outcome"] for row in rows)
    steps = [row["step"] for row in rows if row["step"] is not None]
    yield f"{len(rows)} faults: " + ", ".join(f"{outcome} {number}" for outcome, number in counts.most_common())
    yield f"step or its neighbour right: {sum(steps)} of {len(steps)}"
    for low, high in BINS:
        named = [row for row in rows if row["verdict"]["component"] and low <= row["verdict"]["confidence"] < high]
        right = sum(row["outcome"] == "right" for row in named)
        yield f"sure by {low:.0%} to {min(high, 1):.0%}: {right} of {len(named)} right"


if __name__ == "__main__":
    measured = rows_of(sys.argv[1:])
    print("\n".join([*table(measured), "", *sums(measured)]))
