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


def suspect(component, confidence, *evidence):
    return {"component": component, "host": "ctl", "confidence": confidence, "weight": 1.0, "evidence": [*evidence]}


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
        ([], []),
        ([suspect("y", 0.16)], ["y (ctl), 16 %"]),
        ([suspect("y", 0.16, "y (ctl): slow", "w: gone")], ["y (ctl), 16 %: slow"]),
        ([suspect("y", 0.16, "w: gone")], ["y (ctl), 16 %: w: gone"]),
        # Nobody looks for those.
        ([suspect("y", 0.16), suspect("z", 0.09)], ["y (ctl), 16 %"]),
    ],
)
def test_the_verdict_says_of_whom_it_is_sure_and_who_else_it_may_be_and_why(others, words):
    told = parts(alternatives=others)
    assert ("confidence", "90 %") in told
    assert [text for name, text in told if name == "otherwise"] == words


def test_where_nobody_is_named_the_likeliest_suspect_has_its_line():
    unlikely = [suspect("y", 0.08), suspect("z", 0.07)]
    told = parts(component=None, host=None, confidence=None, alternatives=unlikely)
    assert [text for name, text in told if name == "most likely"] == ["y (ctl), 8 %"]
    assert not [text for name, text in parts(alternatives=unlikely) if name == "otherwise"]


def test_evidence_that_another_line_repeats_and_completes_is_left_out():
    failed = "x (ctl): failed while talking to y"
    told = parts(evidence=[failed, f"{failed} (a.Error)", "y (ctl): changed"])
    assert [text for name, text in told if name == "evidence"] == [f"{failed} (a.Error)", "y (ctl): changed"]


def test_what_to_do_if_it_is_another_suspect_stands_beside_what_to_do():
    likely = {**suspect("y", 0.2), "next": "on ctl: ask y"}
    same, unlikely = {**likely, "next": "ask x"}, {**likely, "confidence": 0.06}
    told = parts(next="ask x", alternatives=[same, likely, unlikely])
    assert [text for name, text in told if name == "or"] == ["if it is y (ctl), on ctl: ask y"]


def test_a_verdict_that_names_nobody_says_who_is_likeliest():
    told = parts(confidence=None, component=None, host=None, alternatives=[suspect("y", 0.4)])
    assert ("confidence", "too low to name one") in told
    assert ("most likely", "y (ctl), 40 %") in told
    told = parts(confidence=None, component=None, host=None, alternatives=[suspect("y", 0.004)])
    assert "most likely" not in dict(told)


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


def test_error_of_the_removal_names_what_is_left_by_its_kind_alone():
    left = [{"kind": kind, "id": "1", "name": "a", "reason": "it is there"} for kind in ("server", "second_server")]
    removal = as_json.stage("removal", "failed", error=error(message="this could not be removed: a (it is there), ..."))
    verdict = as_json.verdict("fail", "removal", "r", headline="x (ctl): stopped", component="x", host="ctl")
    record = {"stages": [], "removal": removal, "leftovers": left, "verdict": verdict}
    assert ("stage error", "not removed: server, second server") in finding.parts(as_json.typed(record))


# The path


def hop(source, target, evidence):
    return {"source": source, "target": target, "evidence": evidence}


def at(component, host=None):
    return {"component": component, "host": host}


def path_of(*hops):
    return [text for name, text in parts(path=list(hops)) if name == "path"]


OWN = hop(at("x", "ctl"), at("x", "ctl"), "stopped")
SHOWN, ASSUMED = hop(at("x", "ctl"), at("y", "c1"), "no answer from x"), hop(at("x", "ctl"), at("y"), None)
LAST = hop(at("y", "c1"), None, "step 5 did not happen")


def test_a_path_has_a_line_for_the_cause_and_one_for_each_hop():
    assert path_of(OWN, SHOWN, LAST) == [
        "x (ctl): stopped",
        "-> y (c1): no answer from x",
        "-> stage boot: step 5 did not happen",
    ]


def test_a_path_begins_at_a_cause_that_only_others_show():
    assert path_of(SHOWN, LAST)[0] == "x (ctl)"


def test_a_hop_without_evidence_reads_as_assumed():
    last = hop(at("y"), None, None)
    assert path_of(OWN, ASSUMED, last)[1:] == ["-> y: depends on x", "-> stage boot: depends on y"]


@pytest.mark.parametrize("hops", [(), (OWN,), (OWN, hop(at("x", "ctl"), None, "step 5 did not happen"))])
def test_a_path_of_one_hop_is_not_shown(hops):
    assert path_of(*hops) == []


def test_a_path_stands_between_the_evidence_and_what_to_do():
    names = [name for name, _text in parts(path=[OWN, SHOWN, LAST], evidence=["y"], next="look")]
    assert names[-5:] == ["evidence", "path", "path", "path", "next"]
