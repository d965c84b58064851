# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of recorded runs: what it says, that it is sound HTML without script or network, and hostile words on it.

recorded/pages has a run that was followed, as recorded, but without what the hosts knew and with fewer requests.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import ALL, walked
from ansible_collections.stackproof.provision.plugins.module_utils._end import finish
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, iso_of, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Part
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import EarlierRun, Record
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._report import units
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from ansible_collections.stackproof.provision.plugins.module_utils._report.page import boot, chains, stages
from ansible_collections.stackproof.provision.plugins.module_utils._report.page import earlier as earlier_runs
from ansible_collections.stackproof.provision.plugins.module_utils._report.page import render as page_module
from ansible_collections.stackproof.provision.plugins.module_utils._report.sequence.drawing import Picture
from harmless import is_harmless
from tree import RECORDED, ROLES

RUNS = sorted((RECORDED / "runs").iterdir())
FOLLOWED, REFUSED = "20261121-152747-af4099", "20261121-073057-d8aefd"
TEMPLATE = ROLES / "report" / "templates" / "report.html.j2"
HOSTILE = (
    "</td></details><script>alert(1)</script><img src=x onerror=alert(1)>&\"'`{{ 7 * 7 }}\x1b[2J\x9b31m\u202e\ud800 end"
)
VOID = {"meta", "link", "input", "br", "img", "hr"}


def rendered(record, **more):
    return page_module.render(as_json.typed(record), TEMPLATE, **more)


def view_of(record):
    return page_module.page_of(as_json.typed(record))


@pytest.fixture
def followed():
    return as_json.read_record(RECORDED / "pages" / FOLLOWED)


@pytest.fixture
def refused():
    return as_json.read_record(RECORDED / "runs" / REFUSED)


@pytest.fixture
def earlier():
    return [run_module.read_as(EarlierRun, directory) for directory in RUNS]


def step_of(record, name):
    return next(step for step in record["flows"][0]["steps"] if step["id"] == name)


class Parsed(HTMLParser):
    """The parts of a page; an element that is not closed fails."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def check_sound(text):
    page = Parsed(text)
    ids = [attributes["id"] for _tag, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    names = {name for _tag, attributes in page.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    for tag, attributes in page.tags:
        assert tag not in {"script", "img", "iframe", "object", "embed", "base", "form"}
        for name in ("href", "src", "xlink:href", "action"):
            value = attributes.get(name) or "#"
            assert value == "data:," or (value[0] == "#" and value[1:] in {"", *ids}), (tag, value)
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(ids)
    assert "url(" not in text
    assert "@import" not in text
    headings = [int(tag[1]) for tag, _attributes in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    assert len(page.all("table")) == len(page.all("caption"))
    assert all("scope" in attributes for attributes in page.all("th"))
    assert len(page.all("main")) == 1
    assert page.all("html") == [{"lang": "en"}]
    assert {"http-equiv", "content"} == set(page.all("meta")[1])
    assert page.all("meta")[1]["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return page


@pytest.mark.parametrize("directory", [*RUNS, RECORDED / "pages" / FOLLOWED], ids=lambda path: path.name)
def test_the_page_of_a_recorded_run_is_sound(directory, earlier):
    record = as_json.read_record(directory)
    page = check_sound(rendered(record, history=earlier))
    assert record["run_id"] in page.text
    check_sound(rendered(record))


def test_the_page_of_a_run_that_has_just_begun_is_sound(run):
    page = check_sound(page_module.render(run.record, TEMPLATE))
    assert "Incomplete" in page.text
    assert "not finished" in page.text


def test_a_pass_says_so_first(followed):
    page = Parsed(rendered(followed))
    assert page.text.index("Passed") < page.text.index(followed["verdict"]["reason"]) < page.text.index("Stages")
    assert "8 resources created, 8 deleted, nothing is left behind." in page.text
    assert "2026-11-21 15:27:47 UTC" in page.text
    assert len(rendered(followed)) < 300_000


def test_a_failure_says_where_and_what(refused):
    view = view_of(refused).verdict
    assert (view.word, view.place) == ("Failed", [("stage", "boot")])
    # The sentence has the words of the cloud and the hint already.
    assert [name for name, _text in view.error] == ["error", "HTTP status", "request id"]
    page = check_sound(rendered(refused))
    assert "was not followed" in page.text
    assert page.all("input") == []


def test_the_card_of_a_failure_names_each_thing_once():
    record = as_json.read_record(RECORDED / "removed")
    record["verdict"]["stage"] = "removal"
    card = view_of(record).verdict
    assert card.headline.startswith("cinder-volume on controller1")
    names = [name for name, _text in card.finding]
    assert {"missing step", "next"} <= set(names)
    # The headline names component and host, the finding the step that is missing and what to do next.
    assert card.place == [("stage", "removal")]
    assert [name for name, _text in card.error] == ["error"]
    assert "evidence" not in names
    assert card.evidence == ("cinder-volume on controller1 has been stopped for 3 s (cinder-volume.service)",)


def test_a_failure_without_a_finding_has_its_hint_once(refused):
    hint = "Raise the project's quota"
    assert check_sound(rendered(refused)).text.count(hint) == 1
    refused["verdict"]["reason"] = "boot: it failed"
    card = view_of(refused).verdict
    assert dict(card.error)["next"].startswith(hint)
    refused["verdict"]["next"] = "openstack quota show"
    assert "next" not in dict(view_of(refused).verdict.error)


def test_what_is_left_and_beyond_a_limit_is_said(followed):
    followed["leftovers"] = [{"kind": "security_group", "id": "x", "name": "group-x", "reason": "it is in use"}]
    limit = {"name": "boot", "query": "duration_s", "min": None, "max": 1, "value": 16}
    followed["thresholds"] = [{**limit, "ok": False, "text": "boot: 16 is more than 1"}]
    followed["deleted"] = 7
    text = check_sound(rendered(followed)).text
    assert "8 resources created, 7 deleted, 1 left." in text
    assert re.search(r"security group\s+group-x\s*: it is in use", text)
    assert re.search(r"beyond\s+boot: 16 is more than 1", text)


def test_the_waterfall_has_offsets_widths_and_the_median(followed):
    followed.update(started="2026-11-21T15:27:47.618508+00:00", duration_s=86.301143)
    stage = next(candidate for candidate in followed["stages"] if candidate["stage"] == "boot")
    stage.update(started="2026-11-21T15:27:59.752715+00:00", duration_s=16.218041)
    stage["waits"][0]["states"][1].update(state="BUILD, no state", after_s=1.3301, resolution_s=0.325)
    followed["history"] = {"boot": {"runs": 16, "median_s": 16.37, "p95_s": 26.152}}
    view = view_of(followed).waterfall
    rows = {row.name: row for row in view.rows}
    assert list(rows) == [*run_module.STAGES, "hosts read"]
    boot = rows["boot"]
    assert boot.offset == "+12.1 s"
    assert boot.extent == pytest.approx((100 * 12.134207 / 86.301143, 100 * 16.218041 / 86.301143), abs=0.001)
    assert boot.median == pytest.approx(100 * (12.134207 + 16.37) / 86.301143, abs=0.001)
    assert boot.compared == stages.Compared("152 ms below the median of 16 runs", p95="p95 26.2 s", is_slow=False)
    assert boot.waits[0].states[1] == stages.StateRow("BUILD, no state", "1.33 s", "±325 ms")
    assert view.ticks[-1] == (pytest.approx(100 * 80 / 86.301143, abs=0.001), "80")
    for row in view.rows:
        assert sum(row.extent) <= 100


def test_the_flow_has_its_steps_by_phase(followed):
    step_of(followed, "1").update(at="2026-11-21T15:27:48.866230+00:00", error_s=0.0)
    step_of(followed, "4").update(at="2026-11-21T15:27:59.826320+00:00", duration_s=0.5482, error_s=0.0171)
    step_of(followed, "4")["resolution_s"] = 1e-6
    for step in followed["flows"][0]["steps"]:
        if step["at"] and step["at"] < "2026-11-21T15:27:48.866230":
            step["at"] = "2026-11-21T15:27:48.866230+00:00"
    view = view_of(followed).flow
    statuses = Counter(step["status"] for step in followed["flows"][0]["steps"])
    assert (view.of, view.counted, view.not_seen) == (67, 58, 67 - statuses["seen"])
    assert view.not_seen > 0
    assert dict(view.counts) == statuses
    steps = {row.id: row for group in view.groups for row in group.rows}
    assert len(steps) == 67
    assert (steps["4"].at, steps["4"].offset, steps["4"].duration) == (
        "15:27:59.826",
        "+10\u202f960 ms",
        "548 ms",
    )
    assert steps["4"].doubt == "±17.1 ms"
    assert (steps["1a"].is_counted, steps["1"].is_counted) == (False, True)
    reasons = {step["id"]: step["reason"] for step in followed["flows"][0]["steps"] if step["status"] == "cached"}
    assert reasons
    assert all(steps[name].reason == reason for name, reason in reasons.items())
    assert all(reason.startswith("served from a cache") for reason in reasons.values())
    assert steps["4"].reason is None
    page = Parsed(rendered(followed))
    assert len([details for details in page.all("details") if details.get("class") == "evidence"]) == 67
    radios = page.all("input")
    assert {radio["type"] for radio in radios} == {"radio"}
    assert len(radios) == 2 + len(view.phases)


def test_milliseconds_count_from_the_first_step():
    assert units.milliseconds_since(1795274868.866230, 1795274880.0) == "+11\u202f134 ms"
    assert units.milliseconds_since(1795274868.866230, None) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, None),
        (0, "0 µs"),
        (1e-6, "1 µs"),
        (0.0009996, "1 ms"),
        (0.0663, "66.3 ms"),
        (0.9996, "1 s"),
        (4.6458, "4.65 s"),
        (16.218, "16.2 s"),
        (99.96, "100 s"),
        (1234.5, "1234 s"),
    ],
)
def test_durations_are_in_the_unit_that_suits_them(seconds, text):
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("whole", "labels"),
    [(0, []), (0.05, ["0", "0.01", "0.02", "0.03", "0.04", "0.05"]), (86.3, ["0", "20", "40", "60", "80"])],
)
def test_an_axis_has_few_round_marks(whole, labels):
    assert [label for _at, label in units.ticks(whole)] == labels


def test_the_parts_of_the_boot_are_those_whose_steps_are_known(followed):
    ends = {"4": 0, "13": 1.15, "26": 1.5, "26c": 2, "32": 3.49, "39": 4, "42": 5.06, "19": 6, "22": 6.837, "24": 6.109,
            "44": 8, "43": 7.5, "45": 11.37, "52": 17.6}  # fmt: skip
    for name, seconds in ends.items():
        moment = datetime(2026, 11, 21, 15, 27, 50, tzinfo=timezone.utc) + timedelta(seconds=seconds)
        step_of(followed, name)["at"] = moment.isoformat(timespec="microseconds")
    rows = {row.name: row for row in view_of(followed).boot.rows}
    assert {name: row.seconds for name, row in rows.items()} == {
        "scheduling": "1.15 s",
        "network": "1.99 s",
        "volume": "1.06 s",
        "image": "109 ms",
        "spawn": "3.87 s",
        "guest": "10.1 s",
    }
    assert rows["scheduling"].extent[0] == 0
    assert sum(rows["guest"].extent) == pytest.approx(100, abs=0.01)
    for step in followed["flows"][0]["steps"]:
        if step["id"] in ("24", "32", "13", "52"):
            step["at"] = None
    rows = {row.name: row for row in view_of(followed).boot.rows}
    assert (rows["scheduling"].seconds, rows["guest"].seconds) == (None, None)
    assert (rows["image"].seconds, rows["network"].seconds) == ("837 ms", "500 ms")
    check_sound(rendered(followed))


def test_a_part_whose_end_is_before_its_start_is_not_known():
    part = Part("name", "text", starts=("a",), ends=("b",))
    assert boot.interval_of(part, {"a": 2.0, "b": 1.0}) is None


def test_no_part_of_the_boot_is_known_without_times(followed):
    for step in followed["flows"][0]["steps"]:
        step.update(at=None, until=None, duration_s=None, resolution_s=None, error_s=None)
    view = view_of(followed)
    assert view.boot is None
    assert view.flow.zero is None
    check_sound(rendered(followed))


def test_coverage_is_by_access(followed):
    rows = view_of(followed).coverage[0].rows
    assert [(row.tier, row.access, row.level) for row in rows[:3]] == [
        (0, "plain user", None),
        (1, "administrator", None),
        (2, "ssh and logs", "info"),
    ]
    row = followed["flows"][0]["coverage"][4]
    assert row["seen"] > 40
    parts = {name: (many, part) for name, many, part in rows[4].counts}
    assert parts["seen"] == (row["seen"], pytest.approx(100 * row["seen"] / 58, abs=0.001))
    assert parts["window"] == (row["window"], pytest.approx(100 * row["window"] / 58, abs=0.001))
    assert [row.total for row in rows] == [58] * 8


def test_hosts_have_their_clocks_and_checks(followed):
    followed["hosts"][0].update(clock_offset_s=0.0097, clock_error_s=0.0137)
    followed["hosts"][0]["checks"][0].update(status="unreadable", reason="virsh was refused")
    followed["hosts"][0]["unread"] = [{"what": "domains", "kind": "refused", "command": "virsh list", "reason": "no"}]
    hosts = {host.name: host for host in view_of(followed).hosts}
    assert hosts["compute1"].clock == "+9.7 ms ±13.7 ms"
    assert hosts["localhost"].clock == "not measured"
    assert hosts["compute1"].counts == [("ok", "ok", 2), ("unreadable", "unreadable", 1)]
    assert [check.reason for check in hosts["compute1"].wrong] == ["virsh was refused"]
    assert "virsh list" in check_sound(rendered(followed)).text


def test_the_slowest_requests_and_those_of_each_stage(followed):
    image = next(stage for stage in followed["stages"] if stage["stage"] == "image")
    for call, seconds in zip(image["calls"], (0.0137, 0.0049)):
        call["seconds"] = seconds
    followed["stages"][0]["calls"][0]["seconds"] = 9.174
    view = view_of(followed)
    assert len(view.slowest) == 10
    assert (view.slowest[0].seconds, view.slowest[0].width) == ("9.17 s", 100)
    requests = {row.stage: row for row in view.requests}
    assert requests["image"].count == 2
    assert (requests["image"].total, requests["image"].longest) == ("18.6 ms", "13.7 ms")
    assert requests["volume"].refused == 1


def test_what_was_unseen_is_grouped_by_what_would_show_it(followed):
    steps = followed["flows"][0]["steps"]
    for step, reason in zip(steps, ("the log of nova", "ssh to the host of qemu", "the log of nova", None)):
        step.update(status="unseen", reason=reason and f"would be shown by {reason}", evidence=[], at=None)
    groups = view_of(followed).unseen[0].groups
    assert [(group.reason, [number for number, _message in group.steps]) for group in groups] == [
        ("would be shown by the log of nova", ["1", "1b"]),
        ("would be shown by ssh to the host of qemu", ["1a"]),
        ("no reason is known", ["2"]),
    ]
    check_sound(rendered(followed))


def test_a_flow_of_requests_is_told_in_short(followed):
    story = {**copy.deepcopy(followed["flows"][0]), "shown_as": "story", "title": "In requests"}
    story["steps"] = [{**story["steps"][5], "covers": ["1", "3"]}, story["steps"][6]]
    followed["flows"].append(story)
    page = check_sound(rendered(followed))
    assert "In short: In requests" in page.text
    assert "· steps 1, 3" in page.text


def test_the_steps_of_another_stage_are_told_beside_it(followed):
    seen, other = (copy.deepcopy(step) for step in followed["flows"][0]["steps"][5:7])
    seen.update(id="C1", stage="volume", message="Make a volume", status="seen")
    owed = {**other, "id": "C2", "stage": "volume", "status": "missing", "reason": "it is in no log", "at": None}
    skipped = {**other, "id": "C3", "stage": "volume", "status": "skipped", "message": "Left out"}
    also = {**copy.deepcopy(other), "id": "C4", "stage": "boot", "status": "seen", "message": "Use it in the boot"}
    flow = {**copy.deepcopy(followed["flows"][0]), "shown_as": "stage", "steps": [seen, owed, skipped, also]}
    followed["flows"].append({**flow, "title": "Making a volume"})
    page = check_sound(rendered(followed))
    assert "Making a volume: 2 of 3 steps seen" in page.text
    assert "Use it in the boot" in page.text
    assert "C1 Make a volume" in page.text
    assert "it is in no log" in page.text
    beside = page.text.partition("2 of 3 steps seen")[2].partition("Flow: ")[0]
    assert "Left out" not in beside


def test_the_plots_have_all_runs_and_cut_off_what_is_far_beyond(followed, earlier):
    record = as_json.typed(followed)
    number = next(number for number, run in enumerate(earlier) if run.verdict.result == "incomplete")
    earlier[number] = replace(earlier[number], duration_s=10 * max(run.duration_s for run in earlier))
    plots = earlier_runs.comparison(record, earlier)
    assert plots.runs == len(earlier)
    assert [row.run_id for row in plots.rows] == sorted(run.run_id for run in [*earlier, record])
    panels = {panel.name: ElementTree.fromstring(panel.svg) for panel in plots.panels}
    assert list(panels) == ["whole run", *run_module.STAGES]
    marks = {
        name: [mark.get("class") for mark in svg if mark.tag in ("circle", "path")] for name, svg in panels.items()
    }
    assert marks["boot"][-1] == "this well"
    # What took so long is beyond the axis.
    assert (marks["whole run"].count("bad cross"), marks["whole run"].count("bad")) == (4, 1)
    for svg in panels.values():
        for dot in svg.iter("circle"):
            assert 0 < float(dot.get("cx")) < earlier_runs.WIDTH
            assert 0 < float(dot.get("cy")) < earlier_runs.HEIGHT
    assert earlier_runs.comparison(record, []) is None


def test_a_skipped_stage_is_not_plotted(refused):
    points = earlier_runs.timed_run(as_json.typed(refused)).points
    assert points["volume"] == earlier_runs.Point(None, worked=False)
    boot = next(stage for stage in refused["stages"] if stage["stage"] == "boot")
    assert points["boot"] == earlier_runs.Point(boot["duration_s"], worked=False)
    assert boot["duration_s"] > 0


def test_the_pictures_are_inlined_with_one_legend(followed):
    svg = '<svg role="img"><title>A &amp; B</title></svg>'
    main = Picture("Main", "5 of 7 steps seen", "Not used in this run: <ldap>", "file", svg)
    beside = Picture("Beside", "2 of 2 steps seen", None, "file", svg.replace("A &amp; B", "C"))
    text = rendered(followed, pictures=[main, beside])
    assert '<svg role="img"><title>A &amp; B</title></svg></figure>' in text
    assert "5 of 7 steps seen" in text
    assert "Not used in this run: &lt;ldap&gt;" in text
    assert "skipped: not requested of this run" in text
    assert "<summary>Beside</summary>" in text
    assert '<svg role="img"><title>C</title></svg></figure>' in text
    assert 'href="#diagram"' in text
    assert 'href="#diagram"' not in rendered(followed)


def with_leaning(record, host):
    """The record of a failed run, in which a component of this host leans on the cause."""
    culprit = {"component": "rabbitmq", "host": "controller1"}
    edge = {"source": {"component": "nova-compute", "host": host}, "target": culprit, "how": "silent"}
    return {**record, "verdict": {**record["verdict"], **culprit, "dependencies": [edge]}}


def test_who_leans_on_the_cause_is_drawn(refused):
    page = check_sound(rendered(with_leaning(refused, "compute1")))
    assert [svg["class"] for svg in page.all("svg") if svg.get("class") == "leaning"] == ["leaning"]
    assert "Dependencies and failures between them" in page.text
    assert "nova-compute (compute1) depends on rabbitmq (controller1)" in page.text


def test_without_anybody_who_leans_on_the_cause_nothing_is_drawn(refused, followed):
    assert refused["verdict"]["dependencies"] == []
    for record in (refused, followed):
        text = rendered(record)
        assert "Dependencies and failures between them" not in text
        assert 'class="leaning"' not in text


def test_hostile_words_in_the_drawing_do_nothing(refused):
    text = rendered(with_leaning(refused, HOSTILE))
    assert is_harmless(text)
    assert "<script>alert(1)</script>" in check_sound(text).text


def poisoned(value):
    """A record in which every text that a cloud, a host or a user could choose is hostile."""
    kept = {"status", "result", "stage", "at", "until", "started", "finished", "queried", "grade", "level", "proves"}
    kept |= {"shown_as", "became"}
    if isinstance(value, dict):
        return {
            name: item if name in kept and isinstance(item, str) else poisoned(item) for name, item in value.items()
        }
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["followed", "refused"])
def test_hostile_words_do_nothing(name, request, earlier):
    record = request.getfixturevalue(name)
    bad = poisoned(record)
    for flow, good in zip(bad["flows"], record["flows"]):
        flow["name"] = good["name"]
    text = rendered(bad, history=[replace(run, run_id=HOSTILE) for run in earlier])
    assert is_harmless(text)
    page = check_sound(text)
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7 * 7 }}" in page.text


def test_the_page_is_written_with_its_template_only(run):
    finish.render(run)
    assert not Path(run.path("report.html")).exists()
    finish.render(run, str(TEMPLATE), finish.earlier_of(run))
    check_sound(Path(run.path("report.html")).read_text())


def test_a_removal_of_an_hour_later_has_no_bar_and_its_old_error_is_gone():
    record = as_json.read_record(RECORDED / "removed")
    removal = {
        **record["removal"],
        "status": "ok",
        "error": None,
        "started": iso_of(seconds_of(record["finished"]) + 3600),
    }
    row = stages.waterfall(from_json(Record, {**record, "removal": removal})).rows[-1]
    assert (row.name, row.extent, row.waits) == ("removal", None, ())
    assert "removal" in rendered({**record, "removal": removal})


def test_the_removal_has_its_place_beside_the_stages():
    page = rendered(as_json.read_record(RECORDED / "removed"))
    assert "Remove what the run has made: 11 of 17 steps seen" in page
    assert "cinder-volume on controller1 has been stopped" in page


# Chains


def stores_behind():
    """The stores of a recorded run, where northd has stopped to translate and the host has not claimed the port."""
    record = json.loads((RECORDED / "chains" / "ovn.json").read_text())
    found = next(host for host in record["hosts"] if host["host"] == "controller1")
    found["stores"]["ovn"].update(version=9, translated=4)
    found["facts"]["ovn"][record["instance"]["ports"][0]["id"]]["binding"].update(host=None)
    return from_json(Record, record)


@pytest.fixture
def broken(refused):
    """A run that failed, with the chains of such stores."""
    return {**refused, "chains": to_json(walked(stores_behind(), "metadata"))}


def link(state, code="ovn_up", owner="ovn-northd", host="ctl", **more):
    return Link(code, LinkState(state), owner, host, **more)


def card_of(*links_of_it, name="ovn_port"):
    return chains.card(Chain(name, "port-1", links_of_it))


def test_a_break_has_what_was_expected_and_found_and_the_command_to_look_at_it(broken):
    _image, port, _server, metadata = view_of(broken).chains
    assert not port.is_folded
    assert [text for _state, text in port.counts] == ["27 hold", "2 broken", "9 do not apply"]
    (row,) = [row for row in port.rows if row.is_break]
    assert (row.text, row.word, row.place) == ("northd translates changes", "broken", "ovn-northd (controller1)")
    assert row.wrong == "not processing changes: it has translated version 4 of 9"
    assert row.values == (("expected", "9"), ("found", "4"))
    assert row.command.startswith("on controller1: ovn-nbctl ")
    assert metadata.is_folded


def test_the_links_behind_a_break_are_pale_and_those_before_it_are_not(broken):
    rows = view_of(broken).chains[1].rows
    place = next(number for number, row in enumerate(rows) if row.is_break)
    assert [row.is_behind for row in rows] == [number > place for number in range(len(rows))]
    claimed = next(row for row in rows if row.text == "the host has claimed the port")
    assert (claimed.state, claimed.is_break) == (LinkState.BROKEN, False)


def test_the_page_shows_the_chains_of_a_failed_run_first(broken, refused):
    page = check_sound(rendered(broken))
    assert "Skip to the chains" in page.text
    headings = [item["id"] for item in page.all("h2") if "id" in item]
    assert headings[:2] == ["chains", "stages"]
    assert [item["class"] for item in page.all("li") if "break" in item.get("class", "").split()] == ["s-broken break"]
    assert "Chains" not in check_sound(rendered(refused)).text


def test_links_in_a_row_that_do_not_apply_are_one():
    absent = link("not_applicable")
    card = card_of(link("holds"), absent, absent, link("holds"), absent)
    assert [(row.text, row.word) for row in card.rows[1:3]] == [
        ("2 links", "do not apply"),
        (links.holds(absent), "holds"),
    ]
    assert (card.rows[3].word, card.is_folded) == ("does not apply", True)


def test_links_that_do_not_apply_are_not_counted_across_a_break():
    absent = link("not_applicable")
    rows = card_of(absent, link("broken"), absent, absent).rows
    assert [(row.text, row.is_behind) for row in rows[2:]] == [("2 links", True)]


def test_an_unreadable_link_has_its_reason_and_keeps_its_chain_open():
    card = card_of(link("unreadable", reason="sudo refuses"), link("unreadable"), link("holds"))
    assert [row.wrong for row in card.rows] == ["sudo refuses", "the store was not read", None]
    assert not any(row.is_break or row.is_behind for row in card.rows)
    assert not card.is_folded


def test_a_link_without_a_host_has_its_owner_and_its_command_alone():
    (row,) = card_of(link("broken", owner="neutron-server", host=None, command="openstack port show 1")).rows
    assert (row.place, row.command) == ("neutron-server", "openstack port show 1")


def test_each_chain_has_its_name_in_words():
    assert {chain.name for chain in ALL} == set(links.CHAINS)


def test_a_chain_and_a_link_of_a_newer_version_have_their_codes():
    card = card_of(link("broken", code="new_link", found="1", expected="2"), name="new_chain")
    assert (card.title, card.rows[0].text, card.rows[0].wrong) == (
        "new chain",
        "new link",
        "found: 1; expected: 2",
    )


def test_hostile_words_in_a_chain_and_a_path_do_nothing(refused):
    fields = dict.fromkeys(("owner", "host", "subject", "expected", "found", "command", "reader", "reason"), HOSTILE)
    hostile = [Link("ovn_foreign_acls", state, **fields) for state in LinkState]
    place = {"component": HOSTILE, "host": HOSTILE}
    other = {"component": "y", "host": None}
    hops = [
        {"source": place, "target": place, "evidence": HOSTILE},
        {"source": place, "target": other, "evidence": HOSTILE},
        {"source": other, "target": None, "evidence": None},
    ]
    record = {
        **refused,
        "chains": [to_json(Chain(HOSTILE, HOSTILE, tuple(hostile)))],
        "verdict": {**refused["verdict"], "headline": "x", "path": hops},
    }
    text = rendered(record)
    assert is_harmless(text)
    assert "<script>alert(1)</script>" in check_sound(text).text


def test_the_path_stands_in_the_card_and_not_among_its_facts(refused):
    hops = [
        {
            "source": {"component": "x", "host": "c"},
            "target": {"component": "y", "host": None},
            "evidence": "no answer",
        },
        {"source": {"component": "y", "host": None}, "target": None, "evidence": "step 5 did not happen"},
    ]
    record = {**refused, "verdict": {**refused["verdict"], "headline": "x (c): stopped", "path": hops}}
    card = view_of(record).verdict
    assert card.path == ["x (c)", "y: no answer", "stage boot: step 5 did not happen"]
    assert "path" not in dict(card.finding)
    page = check_sound(rendered(record))
    assert re.search(r"Path x \(c\) → y: no answer → stage boot: step 5 did not happen", page.text)
