# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""README finds every page, as does the site, and what README, CONTRIBUTING and the page on asking a host show is so."""

from __future__ import annotations

import json
import re
import subprocess

import page_list
import pytest
import yaml
from module_docs import block_of, options_of
from tree import ROOT

README = (ROOT / "README.md").read_text()
SITE = (ROOT / "docs/site/index.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
FLOWS = (ROOT / "docs/flows.md").read_text()
RESULTS = (ROOT / "docs/results.md").read_text()
ASK = (ROOT / "docs/ask-a-host.md").read_text()
ASKED = (
    "domain_info",
    "ovs_port_info",
    "ovn_port_info",
    "rbd_info",
    "dhcp_lease_info",
    "metadata_proxy_info",
    "log_info",
)


def part_of(module):
    """The section of a module on the page."""
    return re.search(rf"^## {module}\n(.*?)(?=^## |\Z)", ASK, re.MULTILINE | re.DOTALL)[1]


# README


def test_readme_is_short():
    assert README.count("\n") <= 140


def test_readme_lists_every_page_once_by_its_kind():
    kinds = page_list.kinds_in(README)
    assert [kind.name for kind in kinds] == ["tutorial", "how-to", "reference", "explanation"]
    listed = [page.path for kind in kinds for page in kind.pages]
    pages = [str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md")]
    assert sorted(listed) == sorted([*pages, "CONTRIBUTING.md", "CHANGELOG.rst", "lab/README.md"])


# The documentation site


# Pages of the project itself, which the site lists at its end
COMMUNITY = ["SUPPORT", "SECURITY", "CODE_OF_CONDUCT"]


def test_the_site_has_the_pages_of_readme_in_its_order():
    start = page_list.start_page(README, SITE)
    entries = re.findall(r"^(?!README).+ <((?:docs/|lab/README|[A-Z]+)[^>]*)>$", start, re.MULTILINE)
    listed = [page.path for kind in page_list.kinds_in(README) for page in kind.pages]
    assert entries == [*(path.rpartition(".")[0] for path in listed), *COMMUNITY]
    assert [kind.rows for kind in page_list.kinds_in(README) if kind.rows not in start] == []


def test_the_site_has_no_list_of_its_own():
    assert SITE.count(page_list.PLACE) == 1
    assert "docs/" not in SITE.replace("lab/docs/", "")


# Figures in README


MEASURED = ROOT / "measurements/verdict-held-out.md"
# Rule to its row in the measurement
RULES = {
    "first unit that does not run": 'by the rule "first unit that does not run": right, wrong',
    "service of the first ERROR line": 'by the rule "service of the first ERROR line": right, wrong',
    "component of the missing step": 'by the rule "component of the missing step": right, wrong',
}


def measured_wrong_not_dead(row):
    """The sum over all clouds in a row of the measurement of 80 faults."""
    table = MEASURED.read_text().partition("\n## Wrong, not dead\n")[2]
    return re.search(rf"^\| {re.escape(row)} \|.*\| ([\d, ]+) \|$", table, re.MULTILINE)[1]


@pytest.mark.parametrize("rule", RULES)
def test_naive_rules_have_the_numbers_that_were_measured(rule):
    right, wrong = measured_wrong_not_dead(RULES[rule]).split(", ")
    assert f'"{rule}" {right} right, {wrong} wrong' in " ".join(README.split())
    assert f"the {rule} | {right} | {wrong} |" in RESULTS


def test_the_verdict_has_the_numbers_that_were_measured():
    rows = ("component and host right, or the reason if nothing is broken", "a wrong one named", "no component named")
    right, wrong, unnamed = map(measured_wrong_not_dead, rows)
    failed = int(measured_wrong_not_dead("run")) - int(measured_wrong_not_dead("no effect: the run passed"))
    sentence = (
        f"{right} of {failed} failed runs with faults that it was not tuned with, wrong in {wrong},"
        f" and named no component in {unnamed}"
    )
    assert sentence in " ".join(README.split())
    assert f"| the verdict | {right} | {wrong} |" in RESULTS


def test_the_numbers_of_readme_are_those_of_the_tables():
    """Of the boot's steps, and of those of the other stages on a cloud with agents."""
    of_boot = dict(re.findall(r"^\| (tier \d[^|]*?) \| (\d+) \|", FLOWS, re.MULTILINE))
    table = re.search(r"^\| access \| `upload_image`.*?\n\n", FLOWS, re.MULTILINE | re.DOTALL)[0]
    header = table.partition("\n")[0].split(" | ")
    rows = [row.split(" | ") for row in re.findall(r"^\| tiers? \d.* of .*$", table, re.MULTILINE)]
    counts = [
        [tuple(map(int, cell.strip(" |").split(" of "))) for name, cell in zip(header[1:], row[1:], strict=True)
         if "OVN" not in name]
        for row in rows
    ]  # fmt: skip
    plain, info, debug, messaging = [sum(seen for seen, _of in row) for row in counts]
    assert {sum(of for _seen, of in row) for row in counts} == {65}
    seen = re.findall(r"^\| \d \|.* \| ([^|]*) \|$", README, re.MULTILINE)
    assert seen[:3] == [
        f"{of_boot['tier 0']}, {plain}",
        f"{of_boot['tier 1']}, {plain}",
        f"{of_boot['tier 2, logs at INFO']}, {info}; with debug logs {of_boot['tier 2, logs at DEBUG']}, {debug}; "
        f"with those of oslo.messaging too {of_boot['tier 2, oslo.messaging at DEBUG too']}, {messaging}",
    ]


# CONTRIBUTING


EVERYDAY = {"demo", "test", "check", "lab", "docs", "clean"}
# File of targets to the target that lists them
HELPS = {"tools/check.mk": "help-check", "lab/lab.mk": "help-lab", "tools/measure.mk": "help-measure"}


def help_of(target):
    done = subprocess.run(["make", target], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def listed_by(target):
    return re.findall(r"^  make (\S+) +\S", help_of(target), re.MULTILINE)


def test_make_alone_lists_the_everyday_targets_and_where_the_others_are():
    assert set(listed_by("help")) == EVERYDAY
    last = help_of("help").splitlines()[-1]
    assert [name for name in HELPS.values() if name not in last] == []


@pytest.mark.parametrize(("file", "target"), HELPS.items())
def test_every_other_target_of_make_is_listed_by_the_help_of_its_file(file, target):
    text = (ROOT / file).read_text().replace("\\\n", " ")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()
    # A part of soak is for soak alone.
    assert set(listed_by(target)) == set(phony) - {"soak-part"}


def test_contributing_explains_the_everyday_targets_and_the_helps():
    explained = set(re.findall(r"^\| `([a-z]+)` \|", CONTRIBUTING, re.MULTILINE))
    assert explained == EVERYDAY
    assert [name for name in HELPS.values() if f"`make {name}`" not in CONTRIBUTING] == []


# Ask a host by hand


def test_the_modules_of_the_page_are_those_that_no_role_needs():
    assert re.findall(r"^\| \[(\w+)\]", ASK, re.MULTILINE) == list(ASKED)


def test_each_module_has_an_example():
    assert set(ASKED) - set(re.findall(r"stackproof\.provision\.(\w+)", ASK)) == set()


@pytest.mark.parametrize("module", ASKED[:-1])
def test_what_a_module_returned_has_what_it_documents(module):
    returned = json.loads(re.search(r"^```json\n(.*?)^```", part_of(module), re.MULTILINE | re.DOTALL)[1])
    assert set(returned) == {"changed", *block_of(module, "RETURN")}
    assert returned["unread"] == []


def test_the_playbook_asks_what_the_module_takes():
    play = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```", part_of("log_info"), re.MULTILINE | re.DOTALL)[1])
    given = play[0]["tasks"][0]["stackproof.provision.log_info"]
    assert set(given) <= options_of("log_info")
    assert set(given["wanted"]) == {"keys", "phrases", "windows", "since", "began", "until"}
    (phrase,) = given["wanted"]["phrases"]
    (event,) = json.loads(re.search(r"^```json\n(.*?)^```", part_of("log_info"), re.MULTILINE | re.DOTALL)[1])
    assert set(re.compile(phrase["pattern"]).groupindex) <= set(event)
    assert event["phrases"] == [phrase["pattern"]]


# READMEs of roles


@pytest.mark.parametrize("path", sorted(ROOT.glob("roles/*/README.md")), ids=lambda path: path.parent.name)
def test_an_example_of_a_role_has_variables_that_the_role_has(path):
    specs = yaml.safe_load((path.parent / "meta/argument_specs.yml").read_text())["argument_specs"]
    options = {name for spec in specs.values() for name in spec.get("options", ())}
    for block in re.findall(r"^```yaml\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        assert yaml.safe_load(block)
        assert set(re.findall(r"^ +(stackproof_\w+):", block, re.MULTILINE)) <= options
