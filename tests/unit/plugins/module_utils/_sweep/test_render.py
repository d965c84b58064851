# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines, JUnit and the page of a sweep, for two targets and for a hundred."""

from __future__ import annotations

import html.parser
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    ExcludedHost,
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
    TargetStage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName, StageStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_record
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import render as render_module
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import sweep as sweep_module
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import targets as targets_module
from tree import RECORDED, ROOT

RUNS = RECORDED / "runs"
TEMPLATES = ROOT / "roles/report/templates"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
LIMITS = sweep_module.Limits(times=3, seconds=5)
HOSTILE = "<b>&\"'\\]]>\x1b[2J\x9b31m\ufffe\ud800\u202e end"


@pytest.fixture
def sweep():
    """Return a function that makes the record of a finished sweep out of recorded runs."""

    def make(hosts, bad=(), checks=(), excluded=(), missing=()):
        good_run, bad_run = read_record(RUNS / PASSED), read_record(RUNS / FAILED)

        def outcome(target):
            if target.host in missing:
                return sweep_module.without_run(target, "its run was not begun")
            return sweep_module.with_run(target, bad_run if target.host in bad else good_run, f"../{target.run_id}")

        targets = targets_module.targets_of(hosts, {}, "20261121-170000-a1b2c3")
        record = sweep_module.new_sweep("20261121-170000-a1b2c3", "small", targets, checks, excluded, 4)
        return sweep_module.finish(record, tuple(map(outcome, targets)), LIMITS)

    return make


HUNDRED = [f"compute-{number:03d}" for number in range(1, 101)]
DOWN = PreflightCheck(
    kind=PreflightKind.SERVICE,
    name="nova-compute on c9 is alive",
    status=PreflightStatus.FAILED,
    reason="nova-compute on c9 is down",
    host="c9",
    component="nova",
)
WELL, UNREADABLE = replace(DOWN, status=PreflightStatus.OK), replace(DOWN, status=PreflightStatus.UNREADABLE)
REPAIR = ExcludedHost("c3", "disabled: repair")


def paired(hosts, statuses, peers):
    """Return targets whose stage dataplane ended in these ways; None for one that did not come so far."""
    found = targets_module.targets_of(hosts, {}, "20261121-170000-a1b2c3", peers)
    return [
        replace(target, stages=(TargetStage(StageName.DATAPLANE, status, 30.0, None),) if status else ())
        for target, status in zip(found, statuses, strict=True)
    ]


def test_the_pairs_of_hosts_are_a_table_that_reads_in_both_directions():
    ok, failed = StageStatus.OK, StageStatus.FAILED
    view = render_module.pairs_view(paired(["c1", "c2", "c3", "c4"], [ok, failed, None, ok], 1))
    assert view["hosts"] == ["c1", "c2", "c3", "c4"]
    assert [row["cells"] for row in view["rows"]] == [
        [None, "ok", None, "ok"],
        ["ok", None, "failed", None],
        [None, "failed", None, "skipped"],
        ["ok", None, "skipped", None],
    ]
    assert (view["checked"], view["failed"], view["possible"]) == (4, 1, 6)


@pytest.mark.parametrize("statuses", [(StageStatus.FAILED, StageStatus.OK), (StageStatus.OK, StageStatus.FAILED)])
def test_a_pair_that_is_checked_twice_shows_the_worst(statuses):
    view = render_module.pairs_view(paired(["c1", "c2"], list(statuses), 1))
    assert [row["cells"] for row in view["rows"]] == [[None, "failed"], ["failed", None]]
    assert (view["checked"], view["failed"], view["possible"]) == (1, 1, 1)


def test_the_pairs_of_many_hosts_are_counted_only():
    hosts = HUNDRED[: render_module.MOST_IN_MATRIX + 1]
    view = render_module.pairs_view(paired(hosts, [StageStatus.OK] * len(hosts), 1))
    assert (view["rows"], view["checked"]) == ([], len(hosts))


def test_hosts_by_themselves_are_no_pairs(sweep):
    assert render_module.view(sweep(["c1", "c2"]))["pairs"] is None


@pytest.mark.parametrize(
    ("names", "shortened"),
    [
        ([], []),
        (["c1"], ["c1"]),
        (["c1", "c2", "c3"], ["c[1-3]"]),
        (["c1", "c3", "c4"], ["c1", "c[3-4]"]),
        (["c9", "c10", "c11"], ["c[9-11]"]),
        (["c08", "c09", "c10"], ["c[08-10]"]),
        (["c9", "c010"], ["c9", "c010"]),
        (["n1.example.org", "n2.example.org"], ["n[1-2].example.org"]),
        (["a1b", "a2c"], ["a1b", "a2c"]),
        (["left", "right"], ["left", "right"]),
        (["r1n1", "r1n2", "r2n1"], ["r1n[1-2]", "r2n1"]),
    ],
)
def test_names_that_count_up_are_shortened(names, shortened):
    assert render_module.ranges(names) == shortened


def test_many_names_without_numbers_are_cut():
    names = [f"host-{letter}" for letter in "abcdefghijklmnopq"]
    assert render_module.shortened(names).endswith("host-l, and 5 more")


def test_a_hundred_hosts_fit_on_a_screen(sweep):
    lines = render_module.summary(sweep(HUNDRED, bad=["compute-041"]), "/runs/sweep-x")
    assert len(lines) < 24
    text = "\n".join(lines)
    assert re.search(r"  1  ok .* fail +compute-041$", text, re.MULTILINE)
    assert re.search(r"  99  ok .* pass +compute-\[001-040\], compute-\[042-100\]$", text, re.MULTILINE)
    assert "FAIL: 1 of 100 targets did not pass. compute-041: " in text
    assert "median s" in text


def test_preflight_checks_and_excluded_hosts_are_listed(sweep):
    checks = [DOWN, WELL, replace(UNREADABLE, reason="neutron does not answer")]
    text = "\n".join(render_module.summary(sweep(["c1"], checks=checks, excluded=[REPAIR]), "/runs/x"))
    assert "preflight: failed: nova-compute on c9 is down" in text
    assert "preflight: unreadable: neutron does not answer" in text
    assert "preflight: 1 of 3 checks passed" in text
    assert "excluded: c3: disabled: repair" in text


def test_a_hundred_dead_services_are_cut(sweep):
    text = "\n".join(render_module.summary(sweep(["c1"], checks=[DOWN] * 100), "/runs/x"))
    assert text.count("preflight: failed") == 20
    assert "and 80 more that did not pass" in text


def test_a_sweep_without_targets_has_a_summary(sweep):
    assert "FAIL: There was no host" in "\n".join(render_module.summary(sweep([]), "/runs/x"))


def junit(record):
    return ElementTree.fromstring(render_module.junit(record))[0]


def test_junit_has_a_case_for_each_host_and_stage(sweep):
    checks = [DOWN, WELL, UNREADABLE]
    suite = junit(sweep(["c1.example.org", "c2"], bad=["c2"], checks=checks))
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert names[:7] == [("stackproof.c1_example_org", name) for name in (*run.STAGES, "run")]
    assert [case.get("name") for case in suite if case.get("classname") == "stackproof.c2"] == [*run.STAGES, "run"]
    assert len(suite) == 17 == int(suite.get("tests"))
    failed = [(case.get("classname"), case.get("name")) for case in suite if case.find("failure") is not None]
    assert len(failed) == int(suite.get("failures")) == 2
    assert failed[1] == ("stackproof.preflight", DOWN.name)
    # The failure of the stage is not repeated for the run.
    assert failed[0][0] == "stackproof.c2"
    assert failed[0][1] in run.STAGES
    assert int(suite.get("skipped")) == sum(case.find("skipped") is not None for case in suite) > 0


def test_junit_has_the_reason_of_a_run_without_stages(sweep):
    suite = junit(sweep(["c1", "c2"], missing=["c2"]))
    case = next(case for case in suite if case.get("classname") == "stackproof.c2")
    assert (case.get("name"), case.find("failure").text) == ("run", "its run was not begun")


def page(record):
    return render_module.page(record, str(TEMPLATES))


class Parser(html.parser.HTMLParser):
    EMPTY = ("meta", "link", "br", "path", "circle")

    def __init__(self):
        super().__init__()
        self.open, self.links, self.classes = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in self.EMPTY else [tag]
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.classes.update((dict(attrs).get("class") or "").split())

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    parser = Parser()
    parser.feed(text)
    assert parser.open == []
    return parser


def test_the_page_is_one_file_and_links_each_run(sweep):
    record = sweep(["c1", "c2", "c3"], bad=["c2"], missing=["c3"], checks=[DOWN], excluded=[REPAIR])
    text = page(record)
    links = parsed(text).links
    assert [link for link in links if not link.startswith(("#", "data:"))] == [
        f"../{target.run_id}/report.html" for target in record.targets[:2]
    ]
    assert "<script" not in text
    assert "@import" not in text
    assert "<dd>1 of 3 passed</dd>" in text
    assert "nova-compute on c9 is down" in text


def test_page_has_the_style_of_that_of_a_run(sweep):
    text = page(sweep(["c1"]))
    assert (TEMPLATES / "style.css").read_text().strip() in text
    assert "{%" not in text
    assert "{{" not in text


def test_the_page_of_nothing_and_of_a_hundred(sweep):
    assert "There was no host" in page(sweep([]))
    text = page(sweep(HUNDRED))
    parsed(text)
    assert "compute-[001-100]" in text
    assert len(text) < 300_000


def test_an_outlier_is_marked(sweep):
    record = sweep(["c1", "c2", "c3"])
    *usual, last = record.targets
    stages = [replace(stage, seconds=stage.seconds * 10) if stage.stage == "boot" else stage for stage in last.stages]
    text = page(sweep_module.finish(record, [*usual, replace(last, stages=tuple(stages))], LIMITS))
    assert "10.0 times the median" in text
    assert "slow" in parsed(text).classes


@pytest.mark.parametrize(
    "render", [page, render_module.junit, lambda record: "\n".join(render_module.summary(record, "/"))]
)
def test_hostile_words_do_no_harm(sweep, render):
    checks = [replace(DOWN, name=HOSTILE, reason=HOSTILE)]
    record = sweep([HOSTILE, "c2"], bad=["c2"], checks=checks, excluded=[ExcludedHost(HOSTILE, HOSTILE)])
    first, second = record.targets
    verdict = replace(record.verdict, reason=HOSTILE, hosts=(HOSTILE,))
    targets = (first, replace(second, reason=HOSTILE))
    record = replace(record, cloud=HOSTILE, verdict=verdict, targets=targets)
    text = render(record)
    text.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    if render is page:
        assert "<b>&" not in text
        parsed(text)
