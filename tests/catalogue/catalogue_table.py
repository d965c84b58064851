# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the verdicts on a catalogue of faults with the truth, and prints tables for measurements/.

The records are judged again, so that a change of the judge is measured without a lab. Each table has three naive
answers beside the judge (baselines.py), which are compared with the same truth.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import carriers_of, depends_on
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.verdict import of_record
from baselines import BASELINES

# The number of suspects searched for the cause where no component is identified.
FIRST = 3
BINS = ((0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01))
RIGHT, WRONG, NONE = "right", "wrong", "no component identified"
NO_EFFECT = "no effect"
OUTCOMES = (RIGHT, WRONG, NONE)
JUDGE = "the judge"


@dataclass(frozen=True)
class Row:
    """A fault, the verdict on it, and how right that is.

    step: whether the missing step, or one beside it, needs the broken component; None without a step. guesses: the
    outcomes of the naive answers. seconds: from the failure until the hosts were read, of which the verdict is made.
    """

    fault: str
    cloud: str
    truth: dict
    verdict: dict
    outcome: str
    step: bool | None = None
    among_first: bool = False
    is_grounded: bool = False
    guesses: tuple = ()
    seconds: float | None = None

    @property
    def fault_class(self):
        return self.truth.get("class", "dead")

    @property
    def is_request(self):
        return is_request(self.truth)

    @property
    def had_effect(self):
        return self.outcome in OUTCOMES


def is_request(truth):
    """Whether nothing is broken, so that no component may be named."""
    return not truth["components"]


def rows_of(folders):
    return [
        row_of(json.loads(path.read_text()), Path(folder).name)
        for folder in folders
        for path in sorted(Path(folder).glob("*.json"))
    ]


def row_of(filed, folder=""):
    record, truth = filed["record"], filed["truth"]
    whole = from_json(Record, record)
    failed, verdict = whole.failed_stage, to_json(of_record(whole))
    cloud = filed.get("cloud") or folder.partition("-")[0]
    row = {"fault": filed["fault"], "cloud": cloud, "truth": truth, "verdict": verdict}
    if failed is None and verdict["result"] == "pass":
        return Row(**row, outcome=NO_EFFECT)
    suspects = verdict["alternatives"][:FIRST]
    return Row(
        **row,
        outcome=outcome_of(verdict, truth),
        step=step_is_right(verdict, truth, record),
        among_first=any(is_named(one, truth) for one in suspects),
        is_grounded=is_grounded(verdict),
        guesses=tuple(guessed(guess(record), truth) for guess in BASELINES.values()),
        seconds=seconds_to_verdict(whole, failed),
    )


def outcome_of(verdict, truth):
    """How right a verdict is. Where nothing is broken, it must give the reason and name no component."""
    if verdict["component"]:
        return RIGHT if is_named(verdict, truth) else WRONG
    return RIGHT if gives_reason(verdict, truth) else NONE


def is_named(named, truth):
    return named["component"] in truth["components"] and named["host"] in [None, *truth["hosts"]]


def gives_reason(verdict, truth):
    """Whether the line that an operator reads first has all that the truth wants of it."""
    patterns = truth.get("reason") or []
    line = verdict["headline"] or verdict["reason"]
    return bool(patterns) and all(re.search(pattern, line, re.IGNORECASE) for pattern in patterns)


def guessed(guess, truth):
    """How right a naive answer is, which has no reason to give."""
    if guess.component is None:
        return NONE
    return RIGHT if is_named({"component": guess.component, "host": guess.host}, truth) else WRONG


def is_grounded(verdict):
    """Whether the verdict names its path from the cause to the symptom, with evidence for each arrow."""
    path = verdict.get("path") or []
    return bool(path) and all(arrow.get("evidence") for arrow in path)


def seconds_to_verdict(record, failed):
    ended = failed and failed.finished
    if record.evidence is None or ended is None:
        return None
    return record.evidence.finished - ended


def step_is_right(verdict, truth, record):
    """Whether those who have to do with the step, or with one beside it, need the broken component; None without one.

    A component that hangs keeps others from their steps, so the first step that is missing need not be its own.
    """
    steps = [step for flow in record["flows"] if flow["judged"] for step in flow["steps"]]
    place = next((place for place, step in enumerate(steps) if step["id"] == verdict["step"]), None)
    if place is None or is_request(truth):
        return None
    near = steps[max(0, place - 1) : place + 2]
    names = {name for step in near for name in (step["source"], step["target"], step.get("responsible"))}
    names |= {name for step in near for name in carriers_of(step["kind"])}
    for _way in range(2):
        names = names.union(*(depends_on(name) for name in names))
    return bool(names & set(truth["components"]))


# The tables


def table(rows):
    lines = [
        "| fault | class | verdict | confidence | is | grounded | " + " | ".join(BASELINES) + " |",
        "|" + "---|" * (6 + len(BASELINES)),
    ]
    for row in rows:
        cells = [f"`{row.fault}`", row.truth.get("kind") or row.fault_class, shown(row.verdict), confidence(row)]
        cells += [outcome_with_suspects(row), "yes" if row.is_grounded else "", *(row.guesses or [""] * len(BASELINES))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def shown(verdict):
    """The first line of a verdict, so that it does not break the table."""
    line = verdict["headline"] or (verdict["result"] if verdict["result"] != "fail" else verdict["reason"][:100])
    return line.replace("|", "\\|").replace("\n", " ")


def confidence(row):
    return "" if row.verdict["confidence"] is None else f"{row.verdict['confidence']:.0%}"


def outcome_with_suspects(row):
    suffix = ", the cause is among the first" if row.outcome == NONE and row.among_first else ""
    return row.outcome + suffix


def sums(rows):
    """Yield the sums: by cloud and class, and for all."""
    groups = sorted({(row.cloud, row.fault_class) for row in rows})
    yield from (
        "| cloud | class | runs | no effect | " + " | ".join(f"{JUDGE}: {name}" for name in OUTCOMES)
        + " | right and grounded | " + " | ".join(f"{name}: right, wrong" for name in BASELINES) + " |",
        "|" + "---|" * (8 + len(BASELINES)),
    )  # fmt: skip
    for cloud, fault_class in groups:
        yield sum_of(cloud, fault_class, [row for row in rows if (row.cloud, row.fault_class) == (cloud, fault_class)])
    for fault_class in sorted({row.fault_class for row in rows}):
        yield sum_of("all", fault_class, [row for row in rows if row.fault_class == fault_class])
    yield sum_of("all", "all", rows)


def sum_of(cloud, fault_class, rows):
    counts = Counter(row.outcome for row in rows)
    cells = [cloud, fault_class, str(len(rows)), str(counts[NO_EFFECT]), *(str(counts[name]) for name in OUTCOMES)]
    cells.append(str(sum(row.outcome == RIGHT and row.is_grounded for row in rows)))
    for place in range(len(BASELINES)):
        guesses = Counter(row.guesses[place] for row in rows if row.guesses)
        cells.append(f"{guesses[RIGHT]}, {guesses[WRONG]}")
    return f"| {' | '.join(cells)} |"


def notes(rows):
    """Yield what else is measured, a sentence each."""
    effective = [row for row in rows if row.had_effect]
    wrong_share = sum(row.fault_class == "wrong" for row in effective)
    if effective:
        yield f"of the class wrong: {wrong_share} of {len(effective)} with effect ({wrong_share / len(effective):.0%})"
    requests = [row for row in effective if row.is_request]
    yield f"nothing is broken: {sum(row.outcome == RIGHT for row in requests)} of {len(requests)} right"
    steps = [row.step for row in rows if row.step is not None]
    yield f"step or its neighbour right: {sum(steps)} of {len(steps)}"
    suspects = [row for row in effective if row.outcome == NONE and not row.is_request]
    among = sum(row.among_first for row in suspects)
    yield f"no component identified, the cause among the first {FIRST}: {among} of {len(suspects)}"
    for low, high in BINS:
        named = [row for row in effective if row.verdict["component"] and low <= row.verdict["confidence"] < high]
        right = sum(row.outcome == RIGHT for row in named)
        yield f"confidence of {low:.0%} to {min(high, 1):.0%}: {right} of {len(named)} right"
    seconds = sorted(row.seconds for row in effective if row.seconds is not None)
    if seconds:
        middle = statistics.median(seconds)
        yield f"seconds from the failure to the verdict: median {middle:.0f}, at most {seconds[-1]:.0f}"


if __name__ == "__main__":
    measured = rows_of(sys.argv[1:])
    print("\n".join([*table(measured), "", *sums(measured), "", *notes(measured)]))
