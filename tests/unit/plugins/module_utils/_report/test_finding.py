# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A verdict on a failure in the lines in which it is read."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._report import finding
from cases_by_hand import error

QUOTED = {"component": "nova-api", "host": "ctl", "at": None}


def suspect(component, confidence):
    return {"component": component, "host": "ctl", "confidence": confidence, "weight": 1.0, "evidence": []}


def parts(said="it failed", **verdict):
    stage = as_json.stage("boot", "failed", error=error(message=said))
    about = {"headline": "x (ctl): stopped", "component": "x", "host": "ctl", "confidence": 0.9, **verdict}
    record = {"stages": [stage], "verdict": as_json.verdict("fail", "boot", "r", **about)}
    return finding.parts(as_json.typed(record))


def test_the_line_of_a_log_says_whose_it_is():
    assert ("log", "nova-api (ctl): it broke") in parts(quote="it broke", quote_source=QUOTED)
    # Records of before have no such key.
    assert ("log", "it broke") in parts(quote="it broke")


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([], "90 %"),
        ([suspect("y", 0.06)], "90 %; otherwise: y (ctl), 6 %"),
        # Nobody looks for those.
        ([suspect("y", 0.06), suspect("z", 0.01)], "90 %; otherwise: y (ctl), 6 %"),
    ],
)
def test_the_verdict_says_of_whom_it_is_sure_and_who_else_it_may_be(others, words):
    assert ("confidence", words) in parts(alternatives=others)


def test_a_verdict_that_names_nobody_says_who_is_likeliest():
    told = parts(confidence=None, component=None, host=None, alternatives=[suspect("y", 0.4)])
    assert ("confidence", "too low to name one; most likely: y (ctl), 40 %") in told


def test_evidence_that_is_the_headline_is_not_repeated():
    listed = parts(evidence=["x (ctl): stopped", "x (ctl): stopped (x.service)", "y (ctl): failed at x"])
    assert [text for name, text in listed if name == "evidence"] == [
        "x (ctl): stopped (x.service)",
        "y (ctl): failed at x",
    ]


def test_the_words_of_the_stage_are_one_line():
    assert ("stage error", "one two") in parts(said="one\n\n  two")


def test_error_of_the_stage_is_not_repeated_where_it_is_the_reason():
    listed = parts(headline=None, alternatives=[suspect("y", 0.4)], component=None, host=None, confidence=None)
    assert not [name for name, _text in listed if name == "stage error"]
