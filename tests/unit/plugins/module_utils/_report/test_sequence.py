# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of a recorded run's flow: SVG, Mermaid and PlantUML, also where words are hostile."""

from __future__ import annotations

import copy
import itertools
import json
import re
from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._end import finish
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._report import (
    sequence,
    sequence_layout,
    sequence_svg,
    sequence_text,
)
from harmless import is_harmless
from tree import RECORDED

FOLLOWED = RECORDED / "flow-run.json"
RUNS = RECORDED / "runs"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>]]>&\"'#;:%%\\ end //x// __y__ \x1b[2J\r\n\t\0\x7f\x9b31m\ufffe\ud800\u202e !$"
STATUSES = ("seen", "cached", "absent", "skipped", "unseen", "missing")


@pytest.fixture
def record():
    return json.loads(FOLLOWED.read_text())


@pytest.fixture
def flow(record):
    return record["flows"][0]


@pytest.fixture
def launched(flow):
    """The recorded flow with times of our own for its first and its fourth step."""
    step_of = {step["id"]: step for step in flow["steps"]}
    step_of["1"].update(at="2026-11-21T15:27:40.866230+00:00", duration_s=0.3)
    step_of["4"].update(at="2026-11-21T15:27:51.826320+00:00", duration_s=0.5482)
    return flow


def step(name, at=None, status="seen", source="a", target="b", message="m", phase="p", **more):
    """A step as a record has it; at is in seconds."""
    times = {"at": None if at is None else f"2026-01-01T00:00:{at:09.6f}+00:00", "until": None}
    if "until" in more:
        times["until"] = f"2026-01-01T00:00:{more.pop('until'):09.6f}+00:00"
    unknown = dict.fromkeys(("kind", "reason", "host", "today", "became", "duration_s", "resolution_s", "error_s"))
    ends = {"source": source, "target": target, "message": message}
    return {"id": name, "phase": phase, "status": status, "evidence": [], **unknown, **times, **ends, **more}


def flow_of(*steps, lifelines=("a", "b"), title="My own"):
    return {
        "name": "own",
        "title": title,
        "lifelines": list(lifelines),
        "steps": list(steps),
        "coverage": [],
        "rivals": 0,
    }


def hostile_flow():
    steps = [
        step(f"{HOSTILE}{status}", 1, status, HOSTILE, target, HOSTILE * 5, HOSTILE, kind=HOSTILE, reason=HOSTILE)
        for status in STATUSES
        for target in (HOSTILE, "b")
    ]
    return flow_of(*steps, lifelines=["a", HOSTILE, "b"], title=HOSTILE)


def ids(steps):
    return [step["id"] for step in steps]


def in_order(steps):
    return [row.step for row in sequence.rows(flow_of(*steps))]


def plan_of(flow):
    return sequence_layout.layout(sequence.lifelines(flow), sequence.rows(flow), 0)


def drawn(flow, record):
    return ElementTree.fromstring(sequence_svg.svg(flow, record))


def groups(root):
    """The drawn steps, by their ids."""
    drawn_steps = [group for group in root.iter(f"{SVG}g") if "flow-step" in group.get("class", "").split()]
    return {group.find(f"{SVG}text[@class='flow-id']").text: group for group in drawn_steps}


def words(element):
    return "".join(element.itertext())


def test_steps_are_in_the_order_of_their_times(flow):
    times = [step["at"] for step in in_order(flow["steps"]) if step["at"]]
    assert times == sorted(times)
    assert sorted(ids(in_order(flow["steps"]))) == sorted(ids(flow["steps"]))


def test_steps_of_one_time_stay_as_they_are_in_the_flow():
    assert ids(in_order([step("b", 2), step("x", 1), step("a", 2)])) == ["x", "b", "a"]


def test_a_step_without_a_time_stays_behind_the_one_before_it():
    steps = [step("first"), step("late", 9), step("with late"), step("also"), step("early", 1), step("last")]
    assert ids(in_order(steps)) == ["early", "last", "first", "late", "with late", "also"]


def test_a_recorded_step_without_a_time_stays_behind_the_one_before_it(flow):
    given, ordered = ids(flow["steps"]), ids(in_order(flow["steps"]))
    untimed = [step["id"] for step in flow["steps"] if not step["at"]]
    assert untimed
    for name in untimed:
        assert ordered[ordered.index(name) - 1] == given[given.index(name) - 1]


def test_without_any_time_the_flow_is_as_it_is_written():
    assert ids(in_order([step("2"), step("1"), step("3")])) == ["2", "1", "3"]


@pytest.mark.parametrize(("apart", "unsure"), [(0.01, True), (0.1, False), (0, True)])
def test_an_order_within_the_errors_is_marked(apart, unsure, record):
    steps = [step("1", 1, resolution_s=0.01, error_s=0.02), step("1a"), step("2", 1 + apart, resolution_s=0.001)]
    assert [row.unsure for row in sequence.rows(flow_of(*steps))] == [False, False, unsure]
    assert ("≈" in words(groups(drawn(flow_of(*steps), record))["2"])) is unsure


def test_every_recorded_step_is_drawn_once_in_order(flow, record):
    assert list(groups(drawn(flow, record))) == ids(in_order(flow["steps"]))
    assert len(groups(drawn(flow, record))) == 67


def test_a_step_says_its_message_when_it_was_and_how_long_it_took(launched, record):
    text = " ".join(words(groups(drawn(launched, record))["4"]).split())
    assert "Launch instance" in text
    assert "+10 960 ms" in text
    assert "(548 ms)" in text


@pytest.mark.parametrize(("seconds", "text"), [(0, "(0 ms)"), (0.0004, "(<1 ms)"), (1.2345, "(1 234 ms)"), (None, "")])
def test_durations_are_in_milliseconds(seconds, text):
    assert " ".join(sequence.duration(step("1", duration_s=seconds)).split()) == text


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_its_style_and_all_but_seen_their_word(status, record):
    group = groups(drawn(flow_of(step("1", 1, status)), record))["1"]
    assert f"flow-{status}" in group.get("class").split()
    assert ([span.text for span in group.iter(f"{SVG}tspan")] == [status]) is (status != "seen")
    crosses = [path for path in group.iter(f"{SVG}path") if path.get("class") == "flow-arrow"]
    assert len(crosses) == (status in ("absent", "missing"))
    if status != "seen":
        assert f".flow-{status} .flow-arrow" in sequence_svg.stylesheet()


def test_the_heading_has_title_run_verdict_and_counts(flow, record):
    texts = [words(text) for text in drawn(flow, record).findall(f"{SVG}text")]
    assert "Provision an instance" in texts
    assert f"Run {record['run_id']} on lab, started 2026-11-21 15:27:47 UTC" in texts
    assert "PASS" in texts
    (counts,) = (text for text in texts if " of 58 steps seen" in text)
    counted = next(row for row in flow["coverage"] if (row["tier"], row["level"]) == (2, "messaging"))
    words_of = {"seen": "{} of 58 steps seen", "cached": "{} cached", "absent": "{} absent", "unseen": "{} unseen",
                "missing": "{} missing", "window": "{} by time and place alone"}  # fmt: skip
    assert counts == ", ".join(text.format(counted[name]) for name, text in words_of.items() if counted.get(name))


def test_a_flow_without_coverage_counts_its_own_steps():
    assert sequence.counts(flow_of(step("1"), step("2", status="missing"))) == "1 of 2 steps seen, 1 missing"


def test_phases_are_bands_in_the_order_of_time():
    steps = [step("1", 1, phase="x"), step("2", 3, phase="x"), step("3", 2, phase="y"), step("4", 4, phase=None)]
    bands = [(phase, len(rows)) for phase, rows in sequence.bands(sequence.rows(flow_of(*steps)))]
    assert bands == [("x", 1), ("y", 1), ("x", 1), (None, 1)]


def test_a_request_that_lasts_has_a_bar_to_the_last_row_within_it():
    steps = [step("1", 1, until=3), step("2", 2), step("3", 2.5, until=2.6), step("4", 4)]
    plan = plan_of(flow_of(*steps))
    heights = [y for band in plan.bands for _row, y in band.placed]
    assert [(request.top, request.depth) for request in plan.bars] == [(heights[0], 0), (heights[2], 1)]
    assert heights[2] < plan.bars[0].bottom < heights[3]


def test_names_are_repeated_where_the_boxes_are_far(flow):
    assert len(plan_of(flow).strips) >= 2
    assert not plan_of(flow_of(step("1"))).strips


@pytest.mark.parametrize("lifeline", ["a", "b", "c"])
def test_a_message_of_a_lifeline_to_itself_is_drawn_within_the_picture(lifeline, record):
    root = drawn(flow_of(step("1", 1, source=lifeline, target=lifeline), lifelines="abc"), record)
    line = groups(root)["1"].find(f"{SVG}polyline").get("points")
    points = [tuple(map(float, point.split(","))) for point in line.split()]
    assert len(points) == 4
    assert all(0 < x < float(root.get("width")) for x, _y in points)


@pytest.mark.parametrize("size", [12, 15])
def test_a_shortened_text_fits(size):
    for text, room in itertools.product(("x" * 300, HOSTILE, "漢字" * 99, "WWW MMM", ""), (0, 20, 75, 400)):
        shortened = sequence_layout.shorten(text, room, size)
        assert shortened in (text, "…") or sequence_layout.text_width(shortened, size) <= room


@pytest.mark.parametrize("lifelines", [2, 5, 23, 40])
def test_no_text_is_wider_than_its_gap(lifelines, record):
    names = [f"{number}-of-the-unusually-named-services" for number in range(lifelines)]
    pairs = itertools.product(names[:: max(1, lifelines // 4)], names[-3:])
    steps = [step(f"N{n}", n / 9, "cached", *pair, message="long " * 80) for n, pair in enumerate(pairs)]
    root = drawn(flow_of(*steps, lifelines=names), record)
    check_room(root, sequence_layout.columns(names)[1])


def test_no_recorded_text_is_wider_than_its_gap_or_shortened(flow, record):
    root = drawn(flow, record)
    check_room(root, sequence_layout.columns(flow["lifelines"])[1])
    assert "…" not in "".join(words(text) for text in root.iter(f"{SVG}text"))


def check_room(root, gap):
    for text in root.iter(f"{SVG}text"):
        if text.get("class") == "flow-label":
            more = "".join(f"  {span.text}" for span in text.findall(f"{SVG}tspan"))
            half = (sequence_layout.text_width(text.text, 15) + sequence_layout.text_width(more, 14)) / 2
            assert float(text.get("x")) - half > 250
            assert float(text.get("x")) + half < float(root.get("width"))
        if text.get("class") in ("flow-name", "flow-strip"):
            assert sequence_layout.text_width(words(text), 12.5) <= gap


def test_the_picture_is_found_by_those_who_do_not_see_it(flow, record):
    root = drawn(flow, record)
    assert root.get("role") == "img"
    named = {element.get("id"): element for element in root.iter() if element.get("id")}
    assert set(root.get("aria-labelledby").split()) <= set(named)
    assert all(name.startswith("flow-") for name in named)
    assert "Launch instance: seen" in named["flow-ops_guide-desc"].text


def test_every_name_of_a_style_is_the_pictures_own(flow, record):
    text = sequence_svg.svg(flow, record)
    classes = {name for element in ElementTree.fromstring(text).iter() for name in element.get("class", "").split()}
    assert all(name.startswith("flow-") for name in classes)
    selectors = re.findall(r"(?m)^(\.[^{]+)\{", sequence_svg.stylesheet())
    assert all(selector.strip().startswith(".flow-") for many in selectors for selector in many.split(","))
    assert "$" not in sequence_svg.stylesheet()


def test_light_dark_and_paper_have_their_colours():
    style = sequence_svg.stylesheet()
    assert style.index("(prefers-color-scheme: dark)") < style.index("@media print")


@pytest.mark.parametrize("which", ["recorded", "hostile"])
def test_nothing_is_fetched_or_run(which, flow, record):
    if which == "hostile":
        flow = hostile_flow()
        record = {**record, "cloud": HOSTILE, "run_id": HOSTILE, "verdict": {"result": HOSTILE, "reason": HOSTILE * 9}}
    text = sequence_svg.svg(flow, record)
    root = ElementTree.fromstring(text)
    assert is_harmless(text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    drawings = {"svg", "g", "rect", "line", "polyline", "path", "text", "tspan", "title", "desc", "style"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= drawings
    assert not {name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name}
    assert not re.search(r"url\(|@import", text)
    assert "<script" not in text


def test_hostile_words_are_shown_as_they_are(record):
    root = drawn(flow_of(step("1", 1, message="<b>&amp;]]>\x1b[2J")), record)
    assert words(groups(root)["1"].find(f"{SVG}text[@class='flow-label']")) == "<b>&amp;]]>?[2J"


def test_mermaid_has_a_line_for_each_lifeline_band_and_step(launched):
    lines = sequence_text.mermaid(launched).splitlines()
    bands = sequence.bands(sequence.rows(launched))
    assert lines[0] == "sequenceDiagram"
    assert len(lines) == 1 + 23 + len(bands) + 67
    assert "  L1->>L5: 4 Launch instance +10 960 ms (548 ms)" in lines
    assert "  L2-->>L3: 1a Authentication absent" in lines


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_its_arrow_as_text(status):
    flow = flow_of(step("1", 1, status))
    word = "" if status == "seen" else f" {status}"
    arrow = {"seen": "->>", "missing": "-x"}.get(status, "-->>")
    assert sequence_text.mermaid(flow).splitlines()[-1] == f"  L1{arrow}L2: 1 m +0 ms{word}"
    assert re.search(rf"(?m)^L1 -\[#[0-9A-F]{{6}}\]-?>x? L2 : 1 m \+0 ms{word}$", sequence_text.plantuml(flow))


def test_hostile_words_are_only_words_to_mermaid():
    text = sequence_text.mermaid(hostile_flow())
    assert is_harmless(text)
    assert len(text.splitlines()) == 1 + 3 + 1 + 12
    assert not re.search(r"\bend\b|[<>&\"'%\\$!]", text.replace("->>", ""))
    assert not re.search(r"(?<!#\d\d);|(?<!#\d\d\d);", re.sub(r"#\d+;", "", text))


def test_hostile_words_are_only_words_to_plantuml():
    text = sequence_text.plantuml(hostile_flow())
    assert is_harmless(text)
    assert len(text.splitlines()) == 2 + 3 + 1 + 12 + 1
    for line in text.splitlines()[5:-1]:
        label = re.sub(r"&#\d+;", "", line.partition(" : ")[2])
        assert not re.search(r"[<>&\"'%\\$!#;~*]|--|//|__", label)


def test_plantuml_has_a_line_for_each_lifeline_band_and_step(flow):
    lines = sequence_text.plantuml(flow).splitlines()
    assert (lines[0], lines[-1]) == ("@startuml", "@enduml")
    assert len(lines) == 3 + 23 + len(sequence.bands(sequence.rows(flow))) + 67
    assert "== authentication ==" in lines
    assert 'participant "keystone" as L2' in lines


@pytest.mark.parametrize("lifelines", [(), ("a",)])
def test_a_flow_without_steps_can_be_drawn(lifelines, record):
    flow = flow_of(lifelines=lifelines)
    assert not groups(drawn(flow, record))
    assert len(sequence_text.mermaid(flow).splitlines()) == 1 + len(lifelines)
    assert len(sequence_text.plantuml(flow).splitlines()) == 3 + len(lifelines)


def test_steps_that_name_another_lifeline_get_it(record):
    assert list(groups(drawn(flow_of(step("1"), lifelines=[]), record))) == ["1"]


@pytest.mark.parametrize("flows", [0, 1])
def test_a_run_with_a_flow_leaves_its_drawings(flows, record, tmp_path):
    run = run_module.Run(tmp_path, run_module.read_record(sorted(RUNS.iterdir())[0]))
    run.record["flows"] = copy.deepcopy(record["flows"])[:flows]
    finish.render(run)
    there = {path.name for path in tmp_path.iterdir()}
    assert ({"flow.svg", "flow.mmd", "flow.puml"} <= there) is bool(flows)
    assert {"junit.xml", "metrics.prom"} <= there


def test_each_flow_beside_a_stage_and_the_whole_run_are_drawn(record, tmp_path):
    run = run_module.Run(tmp_path, run_module.read_record(sorted(RUNS.iterdir())[0]))
    main = copy.deepcopy(record["flows"][0])
    beside = {**flow_of(step("C1"), step("C2", status="skipped"), lifelines=["cinder-api"]), "name": "../make volume"}
    idle = {**flow_of(step("G1", status="skipped")), "name": "upload_image"}
    run.record["flows"] = [main, *({**flow, "told_as": "stage"} for flow in (beside, idle))]
    finish.render(run)
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"flow", "flow-___make_volume", "run"}
    whole = groups(ElementTree.parse(tmp_path / "run.svg").getroot())
    assert {"C1", "4"} <= set(whole)
    assert "C2" not in whole
