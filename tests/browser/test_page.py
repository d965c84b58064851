# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of runs, sweeps, load tests and the history in a browser: they fit a phone, cut no word, and fetch nothing.

That of a run filters without script and unfolds in print.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest
from tree import RECORDED, ROOT

TEMPLATES = ROOT / "roles" / "report" / "templates"
RUNS = {
    "followed": RECORDED / "pages" / "20261121-152747-af4099",
    "refused": RECORDED / "runs" / "20261121-073057-d8aefd",
    "removed": RECORDED / "removed",
}
PAGES = (*RUNS, "chains", "sweep", "history", "load")
# In pixels: a phone, a tablet, and a window on a desk
WIDTHS = (390, 768, 1300)
# All that lies to the right of the page, but for what scrolls in a frame of its own
WIDER = """[...document.querySelectorAll("body *")].filter(one =>
  one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, .diagram"))
  .map(one => one.outerHTML.slice(0, 99))"""
# Texts that are cut: wider than their element, or beyond the edge of the drawing that they are in
CUT = """(() => {
  const cut = [];
  for (const one of document.querySelectorAll("body *:not(svg, svg *)")) {
    if (getComputedStyle(one).display === "inline" || one.matches(".scroll, .diagram, .vh, .vh *, .skip")) continue;
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth) cut.push(one.outerHTML.slice(0, 99));
  }
  for (const text of document.querySelectorAll("svg text")) {
    const svg = text.ownerSVGElement, shows = getComputedStyle(svg).overflow === "visible";
    const [inner, outer] = [text, shows ? svg.closest("section, header") : svg].map(one => one.getBoundingClientRect());
    const beyond = Math.max(outer.left - inner.left, inner.right - outer.right,
      outer.top - inner.top, inner.bottom - outer.bottom);
    if (inner.width && beyond > 1.5) cut.push(text.textContent);
  }
  return cut;
})()"""
LINES_OF = """var linesOf = node => {
  const range = document.createRange();
  range.selectNode(node);
  return new Set([...range.getClientRects()].map(rect => Math.round(rect.top))).size;
}"""
SHOWN = """[...document.querySelectorAll(".steps tbody tr")]
  .filter(one => one.querySelector("td") && one.offsetHeight).length"""

from ansible_collections.stackproof.provision.plugins.module_utils._history import files as history
from ansible_collections.stackproof.provision.plugins.module_utils._load import files as load
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import EarlierRun
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    ExcludedHost,
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Hop, Place
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._report.page import render as page
from ansible_collections.stackproof.provision.plugins.module_utils._report.sequence import drawing, rows
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import render, sweep, targets


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of a run that passed and of those that failed, with all recorded ones as earlier ones, and others."""
    folder = tmp_path_factory.mktemp("pages")
    earlier = [run.read_as(EarlierRun, directory) for directory in sorted((RECORDED / "runs").iterdir())]
    for name, directory in RUNS.items():
        (folder / f"{name}.html").write_text(page_of_a_run(directory, earlier))
    (folder / "chains.html").write_text(page_of_chains())
    (folder / "sweep.html").write_text(page_of_a_sweep())
    (folder / "history.html").write_text(page_of_a_history(tmp_path_factory.mktemp("history")))
    (folder / "load.html").write_text(page_of_a_load(tmp_path_factory.mktemp("load")))
    return {name: folder / f"{name}.html" for name in PAGES}


def page_of_a_run(directory, earlier):
    record = run.read_record(directory)
    pictures = [drawing.picture(rows.diagram(flow), record) for _name, flow in rows.drawn(record)]
    return page.render(record, TEMPLATES / "report.html.j2", pictures, earlier)


def page_of_chains():
    """A run that failed, with a chain that has a link of each state before its break and behind it, in long words."""
    states = ("holds", "unreadable", "broken", "not_applicable", "not_applicable", "broken", "holds")
    about = {"found": "udp,dl_vlan=1,tp_dst=67," * 9, "expected": "x" * 200, "subject": "table 0"}
    about |= {"command": "ovs-appctl ofproto/trace br-int " + "dl_src=fa:16:3e:00:00:01," * 9, "reader": "controller1"}
    walked = tuple(Link("dhcp_flow", LinkState(state), "neutron-l2-agent", "compute1", **about) for state in states)
    folded = tuple(link for link in walked if link.state is LinkState.HOLDS)
    chains = (Chain("dhcp", "d38b745a-8976-45b6-9aea-d61ee7f9b1e3", walked), Chain("metadata", None, folded))
    northd, controller = Place("ovn-northd", "controller1"), Place("ovn-controller", "compute1")
    hops = (Hop(northd, northd, "paused"), Hop(northd, controller, about["found"]), Hop(controller, None, None))
    record = run.read_record(RUNS["refused"])
    verdict = replace(record.verdict, headline="ovn-northd (controller1): paused", path=hops)
    return page.render(replace(record, chains=chains, verdict=verdict), TEMPLATES / "report.html.j2")


def page_of_a_history(folder):
    """Eleven runs of which most failed, the last one of them too."""
    for directory in (RECORDED / "runs").iterdir():
        shutil.copytree(directory, folder / directory.name)
    history.write(str(folder), templates=str(TEMPLATES))
    return (folder / "history.html").read_text()


def page_of_a_load(folder):
    """Two levels of three instances, of which one was refused."""
    options = {"cloud": "lab", "runs": str(folder), "load_id": "night", "instances": 3, "parallel": 2, "ramp": [1, 2]}
    options |= {"rate": None, "thresholds": [], "checks": [], "templates": str(TEMPLATES)}
    _record, directory, targets = load.begin(options, check=False)
    for number, target in enumerate(targets):
        shutil.copytree(RUNS["refused" if number == 4 else "followed"], folder / target.run_id)
    load.end(options)
    return (folder / os.path.basename(directory) / "load.html").read_text()


def page_of_a_sweep():
    """Forty targets: one was refused, one was slow, and a service is down."""
    down = PreflightCheck(
        PreflightKind.SERVICE, "nova-compute on a is alive", PreflightStatus.FAILED, "it is down", "a", "nova"
    )
    checks = [down, replace(down, status=PreflightStatus.UNREADABLE, reason="nova does not answer")]
    hosts = [f"compute-{number:02d}.example.org" for number in range(40)]
    whole = targets.targets_of(hosts, {}, "20261121-170000-a1b2c3")
    record = sweep.new_sweep("20261121-170000-a1b2c3", "lab", whole, checks, [ExcludedHost("b", "disabled: repair")], 4)
    refused, passed = (run.read_record(RUNS[name]) for name in ("refused", "followed"))
    outcomes = [sweep.with_run(target, passed, f"../{target.run_id}") for target in whole]
    outcomes[7] = sweep.with_run(whole[7], refused, f"../{whole[7].run_id}")
    slow = [replace(stage, seconds=stage.seconds * 9) for stage in outcomes[9].stages]
    outcomes[9] = replace(outcomes[9], stages=tuple(slow))
    record = sweep.finish(record, outcomes, sweep.Limits(times=3, seconds=5))
    return render.page(record, str(TEMPLATES))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_or_wider_than_the_page(browser, pages, name, width):
    browser.show(pages[name], width)
    assert browser.value("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]
    assert browser.value(WIDER) == []
    assert browser.value(CUT) == []
    # Unfolded, too.
    assert (
        browser.value("document.querySelectorAll('details').forEach(one => one.open = true); document.fonts.size") == 0
    )
    assert browser.value("document.documentElement.scrollWidth <= innerWidth") is True
    assert browser.value(WIDER) == []
    assert browser.value(CUT) == []


def test_a_diagram_is_as_wide_as_its_page_on_a_desk_and_on_paper(browser, pages):
    """On a phone it scrolls in its frame, where the list of its steps comes first."""
    fits = "[...document.querySelectorAll('.diagram')].map(one => one.scrollWidth <= one.clientWidth)"
    browser.show(pages["followed"], 1300)
    assert browser.value(fits) == [True]
    browser.show(pages["followed"], 700)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.value(fits) == [True]


def test_the_legend_keeps_its_size_on_paper(browser, pages):
    browser.show(pages["followed"], 700)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert (
        browser.value("Math.max(...[...document.querySelectorAll('.legend svg')].map(one => one.clientHeight))") == 20
    )


def test_a_history_is_green_only_where_every_run_passed(browser, pages):
    browser.show(pages["history"], 1300)
    assert browser.value("document.querySelector('h1').innerText") == "lab: 50.0 % passed"
    assert browser.value("document.querySelector('header').className") == "verdict fail"


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_a_date_stands_in_one_line(browser, pages, width):
    browser.show(pages["history"], width)
    dates = "[...document.querySelectorAll('td.date')].map(one => linesOf(one.firstChild))"
    assert set(browser.value(f"{LINES_OF}; {dates}")) == {1}


def test_the_steps_are_filtered_by_a_style_alone(browser, pages):
    browser.show(pages["followed"], 1280)
    assert browser.value(SHOWN) == 67
    browser.value("document.querySelector('#filter-not-seen').focus(), 1")
    browser.ask("Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", text=" ")
    browser.ask("Input.dispatchKeyEvent", type="keyUp", key=" ", code="Space")
    steps = run.read_record(RUNS["followed"]).flows[0].steps
    assert browser.value(SHOWN) == sum(step.status != "seen" for step in steps)
    # The arrow key goes on to the first phase.
    for kind in ("rawKeyDown", "keyUp"):
        browser.ask("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert browser.value(SHOWN) == 6
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.value(SHOWN) == 67


def test_print_unfolds_the_evidence(browser, pages):
    browser.show(pages["followed"], 800)
    heights = "[...document.querySelectorAll('.evidence')].map(one => one.offsetHeight)"
    folded = browser.value(heights)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert folded
    assert all(after > before + 10 for before, after in zip(folded, browser.value(heights)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_words_have_contrast(browser, pages, name, scheme):
    """Each word has 4.5 times the light of what is behind it, or the other way round, as WCAG AA asks for."""
    browser.show(pages[name], 1280, scheme)
    assert browser.value(CONTRAST) == []


CONTRAST = """(() => {
  const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(one => one / 255)
      .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = one => {
    for (; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!color.endsWith(", 0)")) return light(color);
    }
    return 1;
  };
  const wrong = [];
  for (const one of document.querySelectorAll("body *:not(svg *)")) {
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || one.closest(".skip")) continue;
    const [a, b] = [light(getComputedStyle(one).color), paper(one)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) wrong.push(`${ratio.toFixed(2)} ${one.outerHTML.slice(0, 99)}`);
  }
  return [...new Set(wrong)].slice(0, 9);
})()"""


@pytest.mark.parametrize("name", ["followed", "sweep", "history", "load"])
def test_nothing_is_fetched_and_nothing_is_against_the_policy(browser, pages, name):
    browser.show(pages[name], 1280)
    browser.ask("Page.captureScreenshot")
    assert browser.requested() == {pages[name].as_uri()}
    assert [
        event["params"]["entry"]["text"] for event in browser.events if event.get("method") == "Log.entryAdded"
    ] == []
