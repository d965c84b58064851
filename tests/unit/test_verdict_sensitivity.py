# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much verdicts depend on the judge's numbers, as tools/verdict_sensitivity.py measures it."""

from __future__ import annotations

import pytest
import verdict_sensitivity as tool
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from failed_runs import run_of


@pytest.fixture(scope="module")
def frozen() -> dict[str, Record]:
    return {"frozen": codec.from_json(Record, run_of("nova-compute-frozen"))}


def test_each_number_has_a_name_of_its_own() -> None:
    names = [number.name for number in tool.numbers(WEIGHTS)]
    assert len(names) == len(set(names))
    assert {"named", "strength, state", "faint, state activating", "parts, denied, peer", "ends, own"} <= set(names)
    assert "parts, not known, peer" in names
    # It is 0, whatever it is multiplied by.
    assert "strength, restart" not in names


@pytest.mark.parametrize(
    ("number", "before", "after"),
    [
        (tool.Number("named"), WEIGHTS.named, lambda weights: weights.named),
        (tool.Number("evidence"), WEIGHTS.evidence, lambda weights: weights.evidence),
        (tool.Number("strength", Kind.STATE), WEIGHTS.strength[Kind.STATE], lambda got: got.strength[Kind.STATE]),
        (tool.Number("ends", None, "own"), WEIGHTS.ends.own, lambda weights: weights.ends.own),
        (
            tool.Number("parts", How.DENIED, "peer"),
            WEIGHTS.parts[How.DENIED].peer,
            lambda weights: weights.parts[How.DENIED].peer,
        ),
    ],
)
def test_one_number_is_changed_and_nothing_else(number, before, after) -> None:
    changed = tool.with_factor(WEIGHTS, number, 2.0)
    assert after(changed) == 2 * before
    assert tool.with_factor(changed, number, 0.5) == WEIGHTS


def test_number_that_decides_changes_a_verdict(frozen) -> None:
    (*_lower, doubled) = tool.effects(frozen, ["named"])
    # No cause is certain enough for twice 60 %.
    assert (doubled.factor, doubled.changed) == (2.0, 1)


def test_number_that_no_fault_needs_changes_nothing(frozen) -> None:
    found = list(tool.effects(frozen, ["remembered_s"]))
    assert [effect.factor for effect in found] == list(tool.FACTORS)
    assert [(effect.changed, effect.confidence) for effect in found] == [(0, 0.0)] * len(found)


def test_recorded_faults_are_judged_with_and_without_hosts() -> None:
    records = tool.recorded_faults()
    assert {"osd-stopped", "osd-stopped, without hosts", "removed"} <= set(records)
    assert tool.outcome(records["removed"], WEIGHTS).place == ("cinder-volume", "controller1")


def test_table_has_a_row_for_each_factor(capsys) -> None:
    tool.main(["named"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| named |")]
    assert len(rows) == len(tool.FACTORS)
