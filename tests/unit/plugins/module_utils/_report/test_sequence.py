# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of a recorded run's flow: SVG, Mermaid and PlantUML, also where words are hostile."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._end import finish
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Coverage, FollowedFlow, Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StepStatus, View
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._report.sequence import (
    drawing,
    layout,
    rows,
    style,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.sequence import (
    text as text_module,
)
from harmless import is_harmless
from tree import RECORDED

FOLLOWED = RECORDED / "flow-run.json"
RUNS = RECORDED / "runs"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>]]>&\"'#;:%%\\ end //x// __y__ \x1b[2J\r\n\t\0\x7f\x9b31m\ufffe\ud800\u202e !$"
STATUSES = tuple(StepStatus)


@pytest.fixture
def plain():
    """The recorded run as JSON."""
    return json.loads(FOLLOWED.read_text())


@pytest.fixture
def record(plain):
    """The recorded run, with what its recording leaves out."""
    unknown = dict.fromkeys(("finished", "duration_s"))
    empty = {"stages": [], "hosts": [], "thresholds": [], "leftovers": [], "history": {}}
    counts = {"created": 0, "deleted": 0, "kept": False, "schema": "stackproof.run/2"}
    return from_json(Record, {**unknown, **empty, **counts, **plain})


@pytest.fixture
def flow(record):
    return record.flows[0]


@pytest.fixture
def launched(flow):
    """The recorded flow with times of our own for its first and its fourth step."""
    own = {"1": {"at": 1795274860.866230, "duration_s": 0.3}, "4": {"at": 1795274871.826320, "duration_s": 0.5482}}
    return replace(flow, steps=tuple(replace(step, **own.get(step.id, {})) for step in flow.steps))


def step(name, at=None, status=StepStatus.SEEN, source="a", target="b", message="m", phase="p", kind="k", **more):
    """A step; at is in seconds."""
    return Step(name, source, target, message, kind, phase=phase, status=status, at=at, **more)


def flow_of(*steps, lifelines=("a", "b"), title="My own", **more):
    return FollowedFlow(**{"name": "own", "coverage": (), **more}, title=title, lifelines=tuple(lifelines), steps=steps)


def hostile_flow():
    steps = [
        step(f"{HOSTILE}{status}", 1, status, HOSTILE, target, HOSTILE * 5, HOSTILE, kind=HOSTILE, reason=HOSTILE)
        for status in STATUSES
        for target in (HOSTILE, "b")
    ]
    return flow_of(*steps, lifelines=["a", HOSTILE, "b"], title=HOSTILE)


def ids(steps):
    return [step.id for step in steps]


def in_order(steps):
    return [row.step for row in rows.rows(steps)]


def plan_of(flow):
    return layout.layout(rows.diagram(flow), 0)


def picture_of(flow, record):
    return drawing.picture(rows.diagram(flow), record)


def drawn(flow, record):
    return ElementTree.fromstring(picture_of(flow, record).file)


def mermaid(flow):
    return text_module.mermaid(rows.diagram(flow))


def plantuml(flow):
    return text_module.plantuml(rows.diagram(flow))


def groups(root):
    """The drawn steps, by their ids."""
    drawn_steps = [group for group in root.iter(f"{SVG}g") if "flow-step" in group.get("class", "").split()]
    return {group.find(f"{SVG}text[@class='flow-id']").text: group for group in drawn_steps}


def words(element):
    return "".join(element.itertext())


def test_steps_are_in_the_order_of_their_times(flow):
    times = [step.at for step in in_order(flow.steps) if step.at]
    assert times == sorted(times)
    assert sorted(ids(in_order(flow.steps))) == sorted(ids(flow.steps))


def test_steps_of_one_time_stay_as_they_are_in_the_flow():
    assert ids(in_order([step("b", 2), step("x", 1), step("a", 2)])) == ["x", "b", "a"]


def test_a_step_without_a_time_stays_behind_the_one_before_it():
    steps = [step("first"), step("late", 9), step("with late"), step("also"), step("early", 1), step("last")]
    assert ids(in_order(steps)) == ["early", "last", "first", "late", "with late", "also"]


def test_a_recorded_step_without_a_time_stays_behind_the_one_before_it(flow):
    given, ordered = ids(flow.steps), ids(in_order(flow.steps))
    untimed = [step.id for step in flow.steps if not step.at]
    assert untimed
    for name in untimed:
        assert ordered[ordered.index(name) - 1] == given[given.index(name) - 1]


def test_without_any_time_the_flow_is_as_it_is_written():
    assert ids(in_order([step("2"), step("1"), step("3")])) == ["2", "1", "3"]


@pytest.mark.parametrize(("apart", "unsure"), [(0.01, True), (0.1, False), (0, True)])
def test_an_order_within_the_errors_is_marked(apart, unsure, record):
    steps = [step("1", 1, resolution_s=0.01, error_s=0.02), step("1a"), step("2", 1 + apart, resolution_s=0.001)]
    assert [row.unsure for row in rows.rows(steps)] == [False, False, unsure]
    assert ("≈" in words(groups(drawn(flow_of(*steps), record))["2"])) is unsure


UNUSED = {"ldap", "token-store"}


def is_used(step):
    return not {step.source, step.target} & UNUSED


def test_every_recorded_step_of_what_is_used_is_drawn_once_in_order(flow, record):
    assert list(groups(drawn(flow, record))) == ids(filter(is_used, in_order(flow.steps)))
    assert len(groups(drawn(flow, record))) == 63


def test_what_the_cloud_does_not_use_is_left_out_and_named(flow, record):
    diagram = rows.diagram(flow)
    assert diagram.lifelines == [name for name in flow.lifelines if name not in UNUSED]
    sentence = "Not used in this run: ldap, token-store (steps not drawn: absent 1a, 1b, 2, 2a)"
    assert diagram.left_out == sentence
    assert sentence in " ".join(words(text) for text in drawn(flow, record).iter(f"{SVG}text"))
    assert re.sub(r"#\d+;", ":", mermaid(flow)).splitlines()[-1].endswith(sentence)
    assert f"footer {sentence}" in plantuml(flow)


def test_a_lifeline_is_left_out_with_absent_and_skipped_steps_only():
    steps = [step("1", 1), step("2", target="c", status=StepStatus.ABSENT), step("3", 2, StepStatus.UNSEEN, "b", "d")]
    steps.append(step("4", source="c", target="e", status=StepStatus.SKIPPED))
    diagram = rows.diagram(flow_of(*steps, lifelines="abcdef"))
    assert diagram.lifelines == ["a", "b", "d"]
    assert [row.step.id for row in diagram.rows] == ["1", "3"]
    assert diagram.left_out == "Not used in this run: c, e, f (steps not drawn: absent 2; skipped 4)"


def test_a_flow_of_which_nothing_happened_is_drawn_whole():
    diagram = rows.diagram(flow_of(step("1", status=StepStatus.SKIPPED), lifelines="ab"))
    assert (diagram.lifelines, len(diagram.rows), diagram.left_out) == (["a", "b"], 1, None)


def test_a_step_says_its_message_when_it_was_and_how_long_it_took(launched, record):
    text = " ".join(words(groups(drawn(launched, record))["4"]).split())
    assert "Launch instance" in text
    assert "+10 960 ms" in text
    assert "(548 ms)" in text


@pytest.mark.parametrize(("seconds", "text"), [(0, "(0 ms)"), (0.0004, "(<1 ms)"), (1.2345, "(1 234 ms)"), (None, "")])
def test_durations_are_in_milliseconds(seconds, text):
    assert " ".join(rows.duration(step("1", duration_s=seconds)).split()) == text


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_its_style_and_all_but_seen_their_word(status, record):
    group = groups(drawn(flow_of(step("0", 0), step("1", 1, status)), record))["1"]
    assert f"flow-{status}" in group.get("class").split()
    assert ([span.text for span in group.iter(f"{SVG}tspan")] == [status]) is (status != "seen")
    crosses = [path for path in group.iter(f"{SVG}path") if path.get("class") == "flow-arrow"]
    assert len(crosses) == (status in ("absent", "missing"))
    assert f".flow-{status} .flow-arrow" in style.stylesheet()


def test_the_heading_has_title_run_verdict_and_counts(flow, record):
    texts = [shown_words(text) for text in drawn(flow, record).iter(f"{SVG}text")]
    assert "Provision an instance" in texts
    assert f"Run {record.run_id} on lab, started 2026-11-21 15:27:47 UTC" in texts
    assert "PASS" in texts
    (counts,) = (text for text in texts if " of 58 steps seen" in text)
    counted = next(row for row in flow.coverage if (row.tier, row.level) == (2, "messaging"))
    assert (counted.cached, counted.absent, counted.unseen) == (2, 3, 0)
    by_place = f" ({counted.window} by time and place alone)" if counted.window else ""
    assert counts == f"{counted.seen + counted.window} of 58 steps seen{by_place}, 2 cached, 3 absent"


def test_a_flow_without_coverage_counts_its_own_steps():
    steps = step("1"), step("2", status=StepStatus.MISSING)
    assert rows.counts(flow_of(*steps)) == "1 of 2 steps seen, 1 missing"


def test_what_time_and_place_alone_show_counts_as_seen_as_in_the_table():
    coverage = Coverage(tier=2, level=None, total=78, seen=69, window=5, absent=4)
    flow = flow_of(coverage=(coverage,))
    assert rows.counts(flow) == "74 of 78 steps seen (5 by time and place alone), 4 absent"


def test_missing_steps_are_counted_as_the_picture_shows_them():
    coverage = Coverage(tier=2, level=None, total=3, seen=1, unseen=2)
    steps = step("1", 1), step("2", status=StepStatus.MISSING), step("3", status=StepStatus.UNSEEN)
    assert rows.counts(flow_of(*steps, coverage=(coverage,))) == "1 of 3 steps seen, 1 unseen, 1 missing"


def test_phases_are_bands_in_the_order_of_time():
    steps = [step("1", 1, phase="x"), step("2", 3, phase="x"), step("3", 2, phase="y"), step("4", 4, phase=None)]
    bands = [(phase, len(band)) for phase, band in rows.diagram(flow_of(*steps)).bands]
    assert bands == [("x", 1), ("y", 1), ("x", 1), (None, 1)]


def test_a_request_that_lasts_has_a_bar_to_the_last_row_within_it():
    steps = [step("1", 1, until=3), step("2", 2), step("3", 2.5, until=2.6), step("4", 4)]
    plan = plan_of(flow_of(*steps))
    heights = [placed.y for band in plan.bands for placed in band.placed]
    assert [(request.top, request.depth) for request in plan.bars] == [(heights[0], 0), (heights[2], 1)]
    assert heights[2] < plan.bars[0].bottom < heights[3]


def test_each_step_names_its_ends_where_the_names_of_lifelines_are_far(flow, record):
    for name, group in groups(drawn(flow, record)).items():
        one = next(step for step in flow.steps if step.id == name)
        ends = [text.text for text in group.findall(f"{SVG}text[@class='flow-way']") if text.text]
        assert re.sub(r"[ -]", "", "".join(ends)) == re.sub(r"[ -]", "", f"{one.source}→{one.target}")


@pytest.mark.parametrize("lifeline", ["a", "b", "c"])
def test_a_message_of_a_lifeline_to_itself_is_drawn_within_the_picture(lifeline, record):
    steps = [step("0", 0), step("1", 1, source=lifeline, target=lifeline), step("2", 2, source="c")]
    root = drawn(flow_of(*steps, lifelines="abc"), record)
    line = groups(root)["1"].find(f"{SVG}polyline").get("points")
    points = [tuple(map(float, point.split(","))) for point in line.split()]
    assert len(points) == 4
    assert all(0 < x < float(root.get("width")) for x, _y in points)


@pytest.mark.parametrize("size", [12, 15])
def test_a_shortened_text_fits(size):
    for text, room in itertools.product(("x" * 300, HOSTILE, "漢字" * 99, "WWW MMM", ""), (0, 20, 75, 400)):
        shortened = layout.shorten(text, room, size)
        assert shortened in (text, "…") or layout.text_width(shortened, size) <= room


@pytest.mark.parametrize("lifelines", [2, 5, 23, 40])
def test_no_text_is_wider_than_its_room(lifelines, record):
    names = [f"{number}-of-the-unusually-named-services" for number in range(lifelines)]
    pairs = itertools.product(names[:: max(1, lifelines // 4)], names[-3:])
    steps = [step(f"N{n}", n / 9, StepStatus.CACHED, *pair, message="long " * 80) for n, pair in enumerate(pairs)]
    steps += [step(f"O{n}", n, StepStatus.SEEN, name) for n, name in enumerate(names)]
    check_room(drawn(flow_of(*steps, lifelines=names), record))


def test_no_recorded_text_is_wider_than_its_room_or_shortened(flow, record):
    root = drawn(flow, record)
    check_room(root)
    assert "…" not in "".join(words(text) for text in root.iter(f"{SVG}text"))


def test_a_flow_of_many_lifelines_is_no_wider_than_a_page(flow, record):
    more = [f"ovn-part-{number}" for number in range(4)]
    steps = [step(name, 1, source=name, target="client") for name in more]
    wide = replace(flow, lifelines=(*flow.lifelines, *more), steps=(*flow.steps, *steps))
    assert len(rows.diagram(wide).lifelines) == 25
    assert float(drawn(wide, record).get("width")) == layout.WIDTH


def check_room(root):
    """Check that the texts of the list end before the first lifeline, and all others within the picture."""
    width = float(root.get("width"))
    end_of_list = layout.FIRST - layout.MARGIN
    for text in root.iter(f"{SVG}text"):
        kind, shown = text.get("class"), shown_words(text)
        if kind == "flow-label":
            assert layout.MESSAGE + layout.text_width(shown, layout.MESSAGE_SIZE) <= end_of_list
        elif kind == "flow-way":
            assert layout.MESSAGE + layout.text_width(shown, layout.WAY_SIZE) <= end_of_list
        elif kind == "flow-name":
            x, y = map(float, re.match(r"translate\((\S+) (\S+)\)", text.get("transform")).groups())
            long = layout.text_width(shown, layout.NAME_SIZE) * layout.SLANT
            assert x + long <= width
            assert y - long >= 0 or y + long <= float(root.get("height"))


def shown_words(text):
    """The words of a text without its title, which is shown on demand only."""
    title = text.find(f"{SVG}title")
    return words(text) if title is None else title.tail


def test_the_picture_is_found_by_those_who_do_not_see_it(flow, record):
    root = drawn(flow, record)
    assert root.get("role") == "img"
    named = {element.get("id"): element for element in root.iter() if element.get("id")}
    assert set(root.get("aria-labelledby").split()) <= set(named)
    assert all(name.startswith("flow-") for name in named)
    assert "Launch instance: seen" in named["flow-ops_guide-desc"].text


def test_every_name_of_a_style_is_the_pictures_own(flow, record):
    text = picture_of(flow, record).file
    classes = {name for element in ElementTree.fromstring(text).iter() for name in element.get("class", "").split()}
    assert all(name.startswith("flow-") for name in classes)
    selectors = re.findall(r"(?m)^(\.[^{]+)\{", style.stylesheet())
    assert all(selector.strip().startswith(".flow-") for many in selectors for selector in many.split(","))
    assert "$" not in style.stylesheet()


def test_light_dark_and_paper_have_their_colours():
    sheet = style.stylesheet()
    assert sheet.index("(prefers-color-scheme: dark)") < sheet.index("@media print")


@pytest.mark.parametrize("which", ["recorded", "hostile"])
def test_nothing_is_fetched_or_run(which, flow, record):
    if which == "hostile":
        flow = hostile_flow()
        verdict = replace(record.verdict, reason=HOSTILE * 9)
        record = replace(record, cloud=HOSTILE, run_id=HOSTILE, verdict=verdict)
    text = picture_of(flow, record).file
    root = ElementTree.fromstring(text)
    assert is_harmless(text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    drawings = {"svg", "g", "rect", "line", "circle", "polyline", "path", "text", "tspan", "title", "desc", "style"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= drawings
    assert not {name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name}
    assert not re.search(r"url\(|@import", text)
    assert "<script" not in text


def test_hostile_words_are_shown_as_they_are(record):
    root = drawn(flow_of(step("1", 1, message="<b>&amp;]]>\x1b[2J")), record)
    assert words(groups(root)["1"].find(f"{SVG}text[@class='flow-label']")) == "<b>&amp;]]>?[2J"


def test_mermaid_has_a_line_for_each_lifeline_band_and_step(launched):
    lines = mermaid(launched).splitlines()
    bands = rows.diagram(launched).bands
    assert lines[0] == "sequenceDiagram"
    assert len(lines) == 1 + 21 + len(bands) + 63 + 1
    assert "  L1->>L3: 4 Launch instance +10 960 ms (548 ms)" in lines
    assert "  L11-->>L7: 25 Return object absent" in lines


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_its_arrow_as_text(status):
    flow = flow_of(step("0", 0), step("1", 1, status))
    word = "" if status == "seen" else f" {status}"
    arrow = {"seen": "->>", "missing": "-x"}.get(status, "-->>")
    assert mermaid(flow).splitlines()[-1] == f"  L1{arrow}L2: 1 m +1 000 ms{word}"
    assert re.search(rf"(?m)^L1 -\[#[0-9A-F]{{6}}\]-?>x? L2 : 1 m \+1 000 ms{word}$", plantuml(flow))


def test_hostile_words_are_only_words_to_mermaid():
    text = mermaid(hostile_flow())
    assert is_harmless(text)
    assert len(text.splitlines()) == 1 + 3 + 1 + 12
    assert not re.search(r"\bend\b|[<>&\"'%\\$!]", text.replace("->>", ""))
    assert not re.search(r"(?<!#\d\d);|(?<!#\d\d\d);", re.sub(r"#\d+;", "", text))


def test_hostile_words_are_only_words_to_plantuml():
    text = plantuml(hostile_flow())
    assert is_harmless(text)
    assert len(text.splitlines()) == 2 + 3 + 1 + 12 + 1
    for line in text.splitlines()[5:-1]:
        label = re.sub(r"&#\d+;", "", line.partition(" : ")[2])
        assert not re.search(r"[<>&\"'%\\$!#;~*]|--|//|__", label)


def test_plantuml_has_a_line_for_each_lifeline_band_and_step(flow):
    lines = plantuml(flow).splitlines()
    assert (lines[0], lines[-1]) == ("@startuml", "@enduml")
    assert len(lines) == 4 + 21 + len(rows.diagram(flow).bands) + 63
    assert "== authentication ==" in lines
    assert 'participant "keystone" as L2' in lines


@pytest.mark.parametrize("lifelines", [(), ("a",)])
def test_a_flow_without_steps_can_be_drawn(lifelines, record):
    flow = flow_of(lifelines=lifelines)
    assert not groups(drawn(flow, record))
    assert len(mermaid(flow).splitlines()) == 1 + len(lifelines)
    assert len(plantuml(flow).splitlines()) == 3 + len(lifelines)


def test_steps_that_name_another_lifeline_get_it(record):
    assert list(groups(drawn(flow_of(step("1"), lifelines=[]), record))) == ["1"]


@pytest.mark.parametrize("flows", [0, 1])
def test_a_run_with_a_flow_leaves_its_drawings(flows, record, tmp_path):
    run = run_module.Run(tmp_path, run_module.read_record(sorted(RUNS.iterdir())[0]))
    run.update(flows=record.flows[:flows])
    finish.render(run)
    there = {path.name for path in tmp_path.iterdir()}
    assert ({"flow.svg", "flow.mmd", "flow.puml"} <= there) is bool(flows)
    assert {"junit.xml", "metrics.prom"} <= there


def test_each_flow_beside_a_stage_and_the_whole_run_are_drawn(record, tmp_path):
    run = run_module.Run(tmp_path, run_module.read_record(sorted(RUNS.iterdir())[0]))
    skipped = step("C2", status=StepStatus.SKIPPED)
    beside = flow_of(step("C1"), skipped, lifelines=["cinder-api"], name="../make volume", shown_as=View.STAGE)
    idle = flow_of(step("G1", status=StepStatus.SKIPPED), name="upload_image", shown_as=View.STAGE)
    run.update(flows=(record.flows[0], beside, idle))
    finish.render(run)
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"flow", "flow-___make_volume", "run"}
    whole = groups(ElementTree.parse(tmp_path / "run.svg").getroot())
    assert {"C1", "4"} <= set(whole)
    assert "C2" not in whole
