# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of the documentation say what is so: of flows, platforms, the record, sources, and of each other."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import as_json
import events_of
import jmespath
import jsonschema
import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import ovn, profiles
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import log_files, scan
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.wanted import Wanted, Writer
from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import SOURCES
from ansible_collections.stackproof.provision.plugins.module_utils._judge import thresholds
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import sweep, targets
from ansible_collections.stackproof.provision.plugins.modules import evidence_info
from tree import LAB, RECORDED, ROOT

FOLDER = ROOT / "roles/evidence/vars/platforms"


def written(name):
    """Return a profile as it is written, with that of the profile that it is like."""
    profile = yaml.safe_load((FOLDER / f"{name}.yml").read_text())[profiles.VARIABLE]
    return profiles.over(written(profile[profiles.LIKE]), profile) if profiles.LIKE in profile else profile


PLATFORMS = {path.stem: written(path.stem) for path in sorted(FOLDER.glob("*.yml"))}
PLACES = ("*.md", "docs/*.md", "measurements/*.md", "roles/*/README.md")
PAGES = sorted(page for top in (ROOT, LAB) for place in PLACES for page in top.glob(place))


def script(name):
    """A program of tools, as a module."""
    loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


flow_pages = script("flow-pages")
FLOWS = sorted(flow_pages.FLOWS.glob("*.yml"))


@pytest.fixture(scope="module")
def pages():
    """The page of each flow."""
    return {path.stem: flow_pages.page(path) for path in FLOWS}


def read(name):
    return (ROOT / "docs" / f"{name}.md").read_text()


def section(text, title):
    """What stands below a heading, up to the next one of its level or above."""
    level = len(re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)[1])
    return re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def rows(text):
    """The rows of the tables in a text, without those that are no data, as lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for number, row in enumerate(cells) if not is_rule(row) and not is_rule([*cells, [""]][number + 1])]


def is_rule(cells):
    return all(set(cell) and set(cell) <= {"-", ":"} for cell in cells)


def named(row):
    """The names in the first cell of a row."""
    return re.findall(r"`([\w.-]+)`", row[0])


# The pages of the flows


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_the_page_of_a_flow_has_its_steps_in_order_and_all_that_shows_them(path, pages):
    flow, page = flow_module.load(str(path)), pages[path.stem]
    headings = [line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")]
    assert headings == [f"{flow_pages.plain(step.id)}: {flow_pages.plain(step.message)}" for step in flow.steps]
    parts = page.split("\n### ")[1:]
    for step, part in zip(flow.steps, parts):
        assert f"{flow_pages.code(step.source)} to {flow_pages.code(step.target)}" in part
        for rule in step.rules:
            for text in filter(None, (rule.says, rule.window, rule.needs)):
                assert flow_pages.code(text) in part
            assert " ".join((rule.where or "").split()) in part
    assert all(len(row) == 5 for row in rows(page))
    assert len(rows(page)) == len(flow.steps)


def test_what_a_page_of_a_flow_links_to_is_there(pages):
    text = "\n".join(pages.values())
    anchors = re.findall(r"^\((\S+)\)=$", text, re.MULTILINE)
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(anchors)


def test_a_page_tells_what_the_comment_of_its_flow_says(pages):
    assert "as the OpenStack operations guide tells it" in pages["ops_guide"]
    assert "docs/flows.md describes the format" not in "".join(pages.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("status == `201`", "`` status == `201` ``"), ("plain", "`plain`"), ("``", "``` `` ```")],
)
def test_code_may_have_backticks(text, expected):
    assert flow_pages.code(text) == expected


def test_what_means_something_in_markdown_means_nothing_in_a_text():
    assert flow_pages.plain("a_b <c> [d] `e`") == r"a\_b \<c\> \[d\] \`e\`"


LOG = {"source": "log", "service": "nova-api"}


@pytest.mark.parametrize(
    ("rules", "least"),
    [
        ([], "nothing shows it"),
        ([LOG], "tier 2, logs at info"),
        ([{**LOG, "level": "messaging"}, {**LOG, "level": "debug"}], "tier 2, logs at debug"),
        ([{**LOG, "level": "debug"}, {"source": "api", "service": "compute"}], "tier 0"),
        ([{"source": "span", "service": "nova/api"}, {"source": "queue", "service": "rabbitmq"}], "tier 3"),
        ([{"source": "api", "service": "compute", "tier": 1}], "tier 1"),
    ],
)
def test_the_least_access_that_shows_a_step(rules, least):
    assert flow_pages.least_access(step_of(observe=rules)) == least


def step_of(**more):
    return flow_module.step_of({"id": "1", "source": "a", "target": "b", "message": "m", "kind": "k", **more})


def test_log_proves_absence_by_its_silence_and_other_sources_by_events():
    flow = flow_module.flow_of({"name": "mine", "title": "t", "lifelines": ["a", "b"], "steps": []})
    log, api = flow_module.rule_of(LOG), flow_module.rule_of({"source": "api", "service": "token"})
    assert "read whole" in flow_pages.rule_line(flow, log, "absent")
    assert "read whole" not in flow_pages.rule_line(flow, log, "observe")
    assert "read whole" not in flow_pages.rule_line(flow, api, "absent")


@pytest.mark.parametrize(
    ("step", "who"),
    [
        ({}, "`a`"),
        ({"responsible": "b"}, "`b`"),
        ({"cached": [LOG]}, "no component, as the step is optional"),
        ({"absent": [LOG]}, "no component, as the step is optional"),
    ],
)
def test_component_responsible_for_a_step_is_named(step, who):
    assert flow_pages.responsible_for(step_of(**step)) == who


def test_every_source_of_the_schema_has_words():
    schema = json.loads((ROOT / "roles/flow/files/flow.schema.json").read_text())
    assert set(flow_pages.SOURCES) == set(schema["$defs"]["rule"]["properties"]["source"]["enum"])
    assert set(flow_pages.BECAME) == set(schema["$defs"]["step"]["properties"]["became"]["enum"])


# platforms.md


def test_every_key_of_a_platform_is_explained_and_there_where_it_is_needed():
    table = {named(row)[0]: row[1] for row in rows(section(read("platforms"), "Every key")) if len(row) == 3}
    assert set(table) - {profiles.LIKE} == set().union(*PLATFORMS.values())
    for name, profile in PLATFORMS.items():
        lacking = {key for key, needed in table.items() if needed.startswith("yes")} - set(profile)
        assert not lacking, f"{name} lacks {lacking}"


def test_every_part_and_every_key_of_a_log_is_explained():
    text = read("platforms")
    parts = {name for row in rows(section(text, "groups")) for name in named(row)}
    assert parts == set().union(*(profile["groups"] for profile in PLATFORMS.values()))
    keys = {name for row in rows(section(text, "logs")) for name in named(row)}
    assert keys == {key for profile in PLATFORMS.values() for log in profile["logs"] for key in log}
    units = section(text, "units")
    assert all(f"`{key}`" in units for profile in PLATFORMS.values() for unit in profile["units"] for key in unit)


def test_every_part_may_be_read_and_recorded():
    parts = set().union(*(profile["groups"] for profile in PLATFORMS.values()))
    schema = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
    assert set(schema["$defs"]["host"]["properties"]["parts"]["items"]["enum"]) == parts
    options = yaml.safe_load(evidence_info.DOCUMENTATION)["options"]
    assert set(options["parts"]["choices"]) == parts


def test_every_prefix_that_some_command_may_have_is_explained():
    sources = "\n".join(path.read_text() for path in (ROOT / "plugins/module_utils").rglob("*.py"))
    asked = set(re.findall(r"(?:host\.ask|processes|matching_lines\.read)\(\s*(?:host,\s*)?\"(\w+)\"", sources))
    asked |= {part for part, *_command in (ovn.NORTHBOUND, ovn.SOUTHBOUND)}
    # The recorder of the queue has its prefix from its tasks.
    assert "prefixes.queue" in (ROOT / "roles/flow/tasks/record.yml").read_text()
    text = section(read("platforms"), "prefixes")
    assert {part for part in {*asked, "queue"} if f"`{part}`" not in text} == set()
    assert set().union(*(profile["prefixes"] for profile in PLATFORMS.values())) <= {*asked, "queue"}


def test_the_logs_that_flows_ask_for_are_named():
    flows = [flow_module.load(str(path)) for path in FLOWS]
    rules = [rule for flow in flows for step in flow.steps for rule in step.rules]
    named_there = section(read("platforms"), "logs").rpartition("ask for are")[2]
    assert set(re.findall(r"`([\w-]+)`", named_there)) == {rule.service for rule in rules if rule.source == "log"}


# record.md


def openings(schema, defs):
    """Whether a schema lets fields in, anywhere below, that it does not name."""
    if "$ref" in schema:
        return openings(defs[schema["$ref"].rpartition("/")[2]], defs)
    kinds = schema.get("type", [])
    more = schema.get("additionalProperties", True)
    below = [*schema.get("oneOf", []), *schema.get("properties", {}).values(), schema.get("items"), more]
    is_open = "object" in ([kinds] if isinstance(kinds, str) else kinds) and more is True
    return is_open or any(openings(inner, defs) for inner in below if isinstance(inner, dict))


def schema_of(name):
    return json.loads((ROOT / f"roles/report/files/{name}.schema.json").read_text())


def test_every_key_of_a_run_is_explained():
    schema = schema_of("run")
    table = {named(row)[0]: row for row in rows(section(read("record"), "run.json"))}
    assert set(table) == set(schema["properties"])
    assert {key for key, row in table.items() if row[1] == "always"} == set(schema["required"])
    is_open = {key for key, field in schema["properties"].items() if openings(field, schema["$defs"])}
    assert {key for key, row in table.items() if row[3]} == is_open


@pytest.mark.parametrize("name", ["sweep", "load", "history"])
def test_every_key_of_a_record_is_explained(name):
    schema = schema_of(name)
    explained = schema if name != "history" else schema["$defs"]["cloud_history"]
    assert {named(row)[0] for row in rows(section(read("record"), f"{name}.json"))} == set(explained["properties"])
    assert set(schema["required"]) == set(schema["properties"])
    assert not any(openings(field, schema["$defs"]) for field in schema["properties"].values())


def questions(text):
    """Question to the expression that asks it."""
    pairs = re.findall(r"^\| (.+?) \| ``(.+)`` \|$", text, re.MULTILINE)
    return [(question, expression.replace(r"\|", "|").strip()) for question, expression in pairs]


@pytest.fixture(scope="module")
def records():
    """What was recorded of runs, and of it one that was followed, and one with a limit, an error and a lost host."""
    runs = [as_json.read_record(path) for path in sorted((RECORDED / "runs").iterdir())]
    judged = [json.loads(path.read_text())["record"] for path in sorted((RECORDED / "failed").glob("*.json"))]
    followed = json.loads((RECORDED / "followed/run.json").read_text())
    (page,) = [as_json.read_record(path) for path in (RECORDED / "pages").iterdir()]
    error = {"service": "nova-conductor", "host": "controller1", "logger": "nova.conductor.manager", "own": True,
             "exception": "oslo_messaging.exceptions.MessagingTimeout", "at": page["started"], "count": 1}  # fmt: skip
    limits = [{"name": "requests", "query": "length(stages[].calls[])", "max": 1}]
    limited = {
        **page,
        "thresholds": codec.to_json(thresholds.apply_limits(limits, page)),
        "errors": [error],
        "logs": codec.to_json(SOURCES["log"].account({"compute1": {"msg": "no ssh"}})),
        "hosts": [{**page["hosts"][0], "status": "unreachable", "reason": "no ssh"}],
    }
    # What was seen without any access to hosts
    flows, _events = events_of.followed(followed, [flow_module.load(str(flow_pages.FLOWS / "ops_guide.yml"))], {})
    return [*runs, *judged, {**followed, "flows": flows}, page, limited]


@pytest.fixture(scope="module")
def sweeps(records):
    """A sweep of which one target failed, out of what was recorded."""
    whole = [candidate for candidate in records if "verdict" in candidate]
    passed = next(candidate for candidate in whole if candidate["verdict"]["result"] == "pass")
    failed = next(candidate for candidate in whole if candidate["verdict"]["result"] == "fail")
    first, second = targets.targets_of(["c1", "c2"], {}, "sweep-1")
    record = sweep.new_sweep("sweep-1", "lab", [first, second], parallel=2)
    runs = [as_json.typed(passed), as_json.typed(failed)]
    outcomes = [sweep.with_run(first, runs[0], "../a"), sweep.with_run(second, runs[1], "../b")]
    return [codec.to_json(sweep.finish(record, outcomes, sweep.Limits(times=3, seconds=5)))]


def finds(expression, record):
    """What an expression finds in a record that is whole enough for it; not lists of nothing."""
    try:
        answer = jmespath.search(expression, record)
    except jmespath.exceptions.JMESPathTypeError:
        return None
    return None if isinstance(answer, list) and not any(item is not None for item in answer) else answer


ASKED = section(read("record"), "Asking it")
OF_A_RUN, OF_A_SWEEP = ASKED.split("And of a sweep:")


@pytest.mark.parametrize(("question", "expression"), questions(OF_A_RUN))
def test_what_is_asked_of_a_record_has_an_answer(question, expression, records):
    assert any(finds(expression, record) is not None for record in records), question


@pytest.mark.parametrize(("question", "expression"), questions(OF_A_SWEEP))
def test_what_is_asked_of_a_sweep_has_an_answer(question, expression, sweeps):
    assert any(finds(expression, record) is not None for record in sweeps), question


def test_all_questions_are_asked():
    assert len(questions(ASKED)) == len(rows(ASKED))


# evidence-sources.md


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_example_of_a_log_more_shows_a_step(tmp_path):
    log, flow = blocks(section(read("evidence-sources"), "Add a log"), "yaml")
    (tmp_path / "volume.yml").write_text(flow)
    loaded = flow_module.load(str(tmp_path / "volume.yml"))
    record = json.loads((RECORDED / "followed/run.json").read_text())
    (asked,) = jmespath.search("stages[?stage=='volume'].calls[] | [?method=='POST']", record)
    line = (
        f"{asked['started'].replace('T', ' ')[:19]}.900 2059 DEBUG cinder.scheduler.filter_scheduler "
        f"[None {asked['request_id']} f209fb36 94b64eb1 - - - -] Choosing controller1@ceph#ceph"
    )
    wanted = {**follow.wanted(as_json.typed(record), [loaded]), "until": clock.seconds_of(record["finished"])}
    found = scan.Scan(from_json(Wanted, wanted), zone=0)
    path = "/var/log/cinder/cinder-scheduler.log"
    writers = [from_json(Writer, writer) for writer in yaml.safe_load(log)]
    found.take(log_files.service_of(path, writers), [(None, line)], 0)
    source = {"service": "cinder-scheduler", "path": path, "complete": True, "first": None, "reason": None}
    read_there = {
        "controller1": {"events": [event.to_json() for event in found.events], "sources": [source], "addresses": []}
    }
    (followed,), _events = events_of.followed(record, [loaded], {"log": read_there})
    assert [(step["status"], step["host"]) for step in followed["steps"]] == [
        ("seen", "localhost"),
        ("seen", "controller1"),
    ]
    assert followed["steps"][1]["evidence"][0]["grade"] == "keyed"
    # As the page says, of a log at INFO.
    empty = copy.deepcopy(read_there)
    empty["controller1"]["events"] = []
    (followed,), _events = events_of.followed(record, [loaded], {"log": empty})
    unseen = followed["steps"][1]
    assert (unseen["status"], unseen["reason"]) == (
        "unseen",
        "would be shown by cinder-scheduler with debug = true",
    )


ONE_MORE = """
import json, sys
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import Host
from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import SOURCES
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow, follow
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.modules import evidence_info
from ansible_collections.stackproof.provision.plugins.module_utils._collect.info_module import execute

asked = {"parts": [], "instance": None, "platform": {"units": []}, "wanted": None, "offset_s": 0}
read = {"load": {"compute1": SOURCES["load"].result(evidence_info.read(Host(execute), asked))}}
record = from_json(Record, json.load(open(sys.argv[1])))
flows, events = follow.follow(record, [flow.load(sys.argv[2])], read)
lines = [json.loads(line) for line in follow.lines(events) if json.loads(line)["source"] == "load"]
print(json.dumps([to_json(flows[0].steps[0]), lines, to_json(follow.accounts(read))]))
"""


def test_the_example_of_a_source_more_works_and_touches_six_files(tmp_path):
    """On a copy of the collection: the file of the page, its line in the register and in the schema, and a flow."""
    copied = tmp_path / "ansible_collections/stackproof/provision"
    shutil.copytree(ROOT / "plugins", copied / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
    (code,) = blocks(read("evidence-sources"), "python")
    *_others, text = blocks(read("evidence-sources"), "yaml")
    first, _newline, code = code.partition("\n")
    (copied / first.removeprefix("# ")).write_text(code)
    register = copied / "plugins/module_utils/_collect/sources/__init__.py"
    register.write_text(register.read_text().replace("api, console, host, log,", "api, console, host, load, log,"))
    (tmp_path / "load.yml").write_text(text)
    schema = (ROOT / "roles/flow/files/flow.schema.json").read_text().replace('"queue",', '"queue", "load",')
    assert not list(jsonschema.Draft202012Validator(json.loads(schema)).iter_errors(yaml.safe_load(text)))
    record = RECORDED / "followed/run.json"
    done = subprocess.run(
        [sys.executable, "-c", ONE_MORE, str(record), str(tmp_path / "load.yml")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    step, (line,), accounts = json.loads(done.stdout)
    assert (step["status"], step["host"]) == ("seen", "compute1")
    assert [(item["source"], item["tier"], item["grade"]) for item in step["evidence"]] == [("load", 2, "keyed")]
    assert line["load"] >= 0
    assert accounts["sources"] == {"load": [{"host": "compute1", "reason": None}]}
    # The page counts them: a test and a fragment of the changelog are the fifth and the sixth.
    numbered = re.findall(r"\*\*(\d)\.", read("evidence-sources"))
    assert numbered == ["1", "2", "3", "4", "5", "6"]


def test_the_names_of_the_code_on_the_page_are_there():
    code = "\n".join(path.read_text() for path in sorted((ROOT / "plugins").rglob("*.py")))
    names = ("corrected", "events", "_silent_places", "_proof_of_absence", "attempt", "wanted", "account")
    text = read("evidence-sources")
    assert [name for name in names if f"`{name}`" not in text and f".{name}`" not in text] == []
    assert [name for name in names if f"def {name}(" not in code] == []


def test_the_page_names_all_sources():
    named = re.findall(r"`(\w+)`", read("evidence-sources").partition("This page")[0])
    assert sorted(named) == sorted(SOURCES)
    schema = json.loads((ROOT / "roles/flow/files/flow.schema.json").read_text())
    assert sorted(schema["$defs"]["rule"]["properties"]["source"]["enum"]) == sorted(SOURCES)


# All pages


def slug(heading):
    """The anchor of a heading, as it is made where these pages are read."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def anchors_of(path):
    """Anchors of the headings of three levels, which are all that the site makes (myst_heading_anchors)."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _hash, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} is not there"
        # The other collection's files are not in the tarball.
        assert not page.is_relative_to(LAB) or there.is_relative_to(LAB), f"{target} is not the lab's"
        assert not anchor or anchor in anchors_of(there), f"{target} has no such heading"
