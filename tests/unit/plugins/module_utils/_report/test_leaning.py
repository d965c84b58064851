# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small drawing of who depends on a cause: where its boxes stand, its arrows, and hostile words in it."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from xml.etree import ElementTree

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import AT_PEER
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Verdict
from ansible_collections.stackproof.provision.plugins.module_utils._report import leaning

COMPUTE, AGENT, QUEUE = ("nova-compute", "c1"), ("neutron-l2-agent", "c1"), ("rabbitmq", "ctl")
API, KEYSTONE, LDAP = ("nova-api", "ctl"), ("keystone", None), ("ldap", "ctl")


def verdict(culprit, *edges):
    """A verdict by the culprit and edges as (from, to) or (from, to, how)."""

    def end(name):
        return dict(zip(("component", "host"), name))

    told = [{"source": end(start), "target": end(to), "how": how[0] if how else None} for start, to, *how in edges]
    component, host = culprit
    return from_json(Verdict, as_json.verdict("fail", "boot", "r", component=component, host=host, dependencies=told))


def drawn(culprit, *edges):
    """The drawing of such a verdict: its boxes by name, in their order, its arrows, and what stands beside these."""
    svg = ElementTree.fromstring(leaning.drawing(verdict(culprit, *edges)))
    boxes, marked = {}, []
    elements = list(svg)
    for number, element in enumerate(elements):
        if element.tag == "rect":
            after = [text.text for text in elements[number + 1 : number + 3] if text.tag == "text"]
            name = (after[0], after[1] if len(after) > 1 else None)
            boxes[name] = float(element.get("x")), float(element.get("y"))
            marked += [name] if element.get("class") == "culprit" else []
    return SimpleNamespace(
        svg=svg,
        boxes=boxes,
        marked=marked,
        lines=svg.findall("line"),
        heads=svg.findall("path"),
        said=[text.text for text in svg.findall("text") if text.get("class") == "how"],
        title=svg.findtext("title"),
    )


def column(drawing, name):
    return sorted({x for x, _y in drawing.boxes.values()}).index(drawing.boxes[name][0])


# Columns


def test_who_depends_on_the_cause_stands_to_its_left_and_over_a_hop_further_left():
    found = drawn(LDAP, (AGENT, API), (API, KEYSTONE), (KEYSTONE, LDAP), (COMPUTE, LDAP))
    assert {name: column(found, name) for name in found.boxes} == {AGENT: 0, API: 1, KEYSTONE: 2, COMPUTE: 2, LDAP: 3}
    assert len(found.lines) == len(found.heads) == 4


def test_the_end_of_a_way_stands_to_the_right_of_the_cause():
    found = drawn(COMPUTE, (COMPUTE, QUEUE, "silent"))
    assert [column(found, name) for name in (COMPUTE, QUEUE)] == [0, 1]
    assert found.marked == [COMPUTE]


@pytest.mark.parametrize("turned", [1, -1])
def test_another_component_that_fails_at_the_same_peer_stands_below_the_cause(turned):
    found = drawn(COMPUTE, *[(COMPUTE, QUEUE, "silent"), (AGENT, QUEUE, "silent")][::turned])
    assert [column(found, name) for name in (COMPUTE, AGENT, QUEUE)] == [0, 0, 1]
    assert found.boxes[AGENT][1] > found.boxes[COMPUTE][1]
    assert len(found.lines) == 2


def test_only_the_cause_is_marked():
    assert drawn(QUEUE, (COMPUTE, QUEUE), (API, QUEUE)).marked == [QUEUE]


def test_each_column_stands_in_the_middle_of_the_highest():
    found = drawn(QUEUE, (API, QUEUE), (COMPUTE, QUEUE), (AGENT, QUEUE))
    assert found.boxes[QUEUE][1] == found.boxes[COMPUTE][1]


# Arrows


@pytest.mark.parametrize(
    "back",
    [
        (QUEUE, COMPUTE),
        # One of the same column
        (API, COMPUTE),
        (QUEUE, QUEUE),
        # One whose end has nothing to do with the cause
        (("x", None), ("y", None)),
    ],
)
def test_an_arrow_that_would_go_back_is_left_out(back):
    found = drawn(QUEUE, (COMPUTE, QUEUE), (API, QUEUE), back)
    assert set(found.boxes) == {COMPUTE, API, QUEUE}
    assert len(found.lines) == len(found.heads) == 2


def test_an_arrow_begins_and_ends_at_its_boxes():
    found = drawn(QUEUE, (COMPUTE, QUEUE), (API, QUEUE))
    for line, start in zip(found.lines, (COMPUTE, API)):
        x1, y1, x2, y2 = (float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
        assert (x1, y1) == (found.boxes[start][0] + leaning.BOX, found.boxes[start][1] + leaning.HIGH / 2)
        assert x1 < x2 < found.boxes[QUEUE][0]
        assert y2 == found.boxes[QUEUE][1] + leaning.HIGH / 2


@pytest.mark.parametrize(("how", "said", "kind"), [(None, [], "leans"), ("silent", ["no answer"], "failed")])
def test_an_arrow_says_how_a_component_failed(how, said, kind):
    found = drawn(QUEUE, (COMPUTE, QUEUE, how))
    assert (found.said, found.lines[0].get("class")) == (said, kind)


def test_each_way_of_failing_can_be_said_on_an_arrow():
    for how in AT_PEER:
        assert drawn(QUEUE, (COMPUTE, QUEUE, how.value)).said == [leaning.short(how.value)]
    assert drawn(QUEUE, (COMPUTE, QUEUE, "a way of its own")).said == ["a way of its own"]


def test_the_title_says_the_same_in_words():
    assert drawn(QUEUE, (COMPUTE, QUEUE), (KEYSTONE, QUEUE)).title == (
        "rabbitmq (ctl) is the likeliest cause; nova-compute (c1) depends on rabbitmq (ctl); "
        "keystone depends on rabbitmq (ctl)"
    )


# No drawing


@pytest.mark.parametrize(
    "told",
    [
        verdict((None, None)),
        verdict(QUEUE),
        # Nobody depends on the cause itself.
        verdict(QUEUE, (COMPUTE, KEYSTONE)),
        verdict(QUEUE, (COMPUTE, ("rabbitmq", "ctl2"))),
        # Records of 0.1.0 do not say who depends on whom.
        from_json(Verdict, {"result": "fail", "stage": "boot", "reason": "r", "component": "rabbitmq", "host": "ctl"}),
    ],
)
def test_without_anybody_who_depends_on_the_cause_there_is_no_drawing(told):
    assert leaning.drawing(told) is None


# Room

LEFT = [(f"left{number}", "h") for number in range(5)]
FAR_LEFT = [(f"far{number}", None) for number in range(2)]
RIGHT = [(f"right{number}", "h") for number in range(3)]


@pytest.mark.parametrize(
    "edges",
    [
        [(COMPUTE, QUEUE)],
        [(QUEUE, LDAP, "refused")],
        [(name, QUEUE) for name in LEFT],
        [(QUEUE, name, "denied") for name in RIGHT],
        [
            *((name, QUEUE, "unreachable") for name in LEFT),
            *((name, LEFT[0]) for name in FAR_LEFT),
            *((QUEUE, name) for name in RIGHT),
            *((("beside", f"h{number}"), RIGHT[0], "error") for number in range(2)),
        ],
    ],
)
def test_boxes_do_not_overlap_and_all_is_within_the_drawing(edges):
    found = drawn(QUEUE, *edges)
    assert set(found.boxes) == {name for edge in edges for name in edge[:2]}
    left, top, width, height = map(float, found.svg.get("viewBox").split())
    assert (left, top) == (0, 0)
    for x, y in found.boxes.values():
        assert 0 < x < x + leaning.BOX < width
        assert 0 < y < y + leaning.HIGH < height
    for (x1, y1), (x2, y2) in itertools.combinations(found.boxes.values(), 2):
        assert abs(x1 - x2) >= leaning.BOX + leaning.ACROSS or abs(y1 - y2) >= leaning.HIGH + leaning.DOWN
    for text in found.svg.findall("text"):
        assert 0 < float(text.get("x")) < width
        assert 0 < float(text.get("y")) < height


# Hostile words

HOSTILE = "</title></svg><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\"']]>"


@pytest.mark.parametrize(
    ("component", "host", "how"),
    [("nova-compute", HOSTILE, None), (HOSTILE, "c1", None), ("nova-compute", "c1", HOSTILE), (HOSTILE,) * 3],
)
@pytest.mark.parametrize("is_culprit", [True, False])
def test_no_word_becomes_markup(component, host, how, is_culprit):
    hostile = component, host
    culprit, edge = (hostile, (hostile, QUEUE, how)) if is_culprit else (QUEUE, (hostile, QUEUE, how))
    text = leaning.drawing(verdict(culprit, edge))
    assert "<script" not in text
    assert "<img" not in text
    found = drawn(culprit, edge)
    assert set(found.boxes) == {tuple(map(leaning.cut, hostile)), QUEUE}
    assert {element.tag for element in found.svg} == {"title", "line", "path", "rect", "text"}
    assert found.said == ([how] if how else [])


@pytest.mark.parametrize(("length", "whole"), [(leaning.LONGEST, True), (leaning.LONGEST + 1, False), (500, False)])
def test_a_long_name_is_cut_to_the_width_of_a_box(length, whole):
    cut = leaning.cut("x" * length)
    assert len(cut) <= leaning.LONGEST
    assert (cut == "x" * length) is whole
