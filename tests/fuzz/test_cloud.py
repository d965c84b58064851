# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud whose answers nobody expects, and options that no stage expects: what was made is removed in the end."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._end import lookout
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import iso_of
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.modules import report
from guard import assert_no_defect, assert_no_secret
from mutations import PLANTED, SECRETS, STRANGE, mutated, mutated_bytes
from tree import ROLES

TEMPLATE = str(ROLES / "report/templates/report.html.j2")

STAGES = ("auth", "image", "network", "volume", "boot", "metadata")
pytestmark = pytest.mark.usefixtures("hurry", "quick_removal")


REFUSALS = (400, 401, 403, 409, 413, 429)
BREAKDOWNS = ("reset", "html", 300, 500, 503)
REDIRECTS = (300, 301, 302, 303, 304, 305, 306, 307, 308)
ATTACKS = ("redirect", "next", "endless", "huge", "deep", "pause", "echo", "echo in data", "echo in headers")
MIB = 1 << 20


def strange_answers(usual, chance, often, elsewhere, lies=True):
    """A function that answers a request as usual, and now and then in a way that nobody expects.

    It never denies what it has, as then nobody could know what is left. Without lies it only breaks down.
    """

    def answer(request):
        if chance.random() > often:
            return usual(request)
        how = chance.choice(("text", "value", "refusal", *BREAKDOWNS, *ATTACKS) if lies else BREAKDOWNS)
        if how == "refusal":
            return chance.choice(REFUSALS), {}, chance.choice(("", "{}", "<html>", {"error": {"message": [None]}}))
        if how in ("redirect", "pause", "huge", "deep", "echo"):
            return attacked(how, request, elsewhere, chance)
        told = usual(request)
        if how == "reset" or not isinstance(told[0], int):
            return ("reset",)
        if how == "html" or isinstance(how, int):
            return broken(how, told, chance)
        return garbled(how, told, request, elsewhere, chance)

    return answer


def broken(how, told, chance):
    """Return an answer with another status, or that of a web server in between."""
    status, headers, body = told
    if how == "html":
        return chance.choice((200, status)), {**headers, "content-type": "text/html"}, "<html><title>a"
    return how, headers, body


def garbled(how, told, request, elsewhere, chance):
    """Return an answer whose headers or body are not as they should be."""
    status, headers, body = told
    if how == "echo in headers":
        return status, {**headers, chance.choice(("x-openstack-request-id", "date", "x")): uttered(request)}, body
    text = body if isinstance(body, str) else json.dumps(body)
    if how == "text":
        return status, headers, mutated_bytes(text.encode(), chance).decode(errors="replace")
    try:
        return status, headers, changed_body(how, json.loads(text), request, elsewhere, chance)
    except ValueError:
        return told


def uttered(request):
    """The token or the password of a request, as a careless service may repeat it."""
    login = ((request.body or {}).get("auth") or {}).get("identity") if isinstance(request.body, dict) else None
    return request.token or (login or {}).get("password", {}).get("user", {}).get("password") or "nothing"


def attacked(how, request, elsewhere, chance):
    """An answer that does not do what was asked for."""
    if how == "redirect":
        return chance.choice(REDIRECTS), {"location": f"{elsewhere}{request.path}?{uttered(request)}"}, ""
    if how == "pause":
        return 429, {"retry-after": chance.choice(("9" * 5000, "-1", "1e9", "soon", "", "0"))}, ""
    text = {
        "huge": "x" * chance.choice((70_000, MIB, 3 * MIB)),
        "deep": chance.choice("[{") * 200_000,
        "echo": chance.choice(SECRETS).format(PLANTED) + f" and {uttered(request)}",
    }[how]
    body = text if how == "deep" else {"error": {"message": text, "code": 500, "details": text}}
    return chance.choice((*REFUSALS, 500, 503)), {}, body


def changed_body(how, body, request, elsewhere, chance):
    """The text of an answer with changes."""
    if how == "value":
        return json.dumps(with_own_id(body, chance))
    if how in ("next", "endless") and isinstance(body, dict):
        place = elsewhere if how == "next" else f"http://{request.headers.get('Host')}"
        link = f"{place}{request.path}?marker={chance.randrange(9)}"
        links = {f"{name}_links": [{"rel": "next", "href": link}] for name in body}
        return json.dumps({**body, **links, "next": link, "links": {"next": link}})
    if how == "echo in data":
        names = {"name", "status", "display_name", "description", "user_message", "fault", "OS-EXT-STS:task_state"}
        return json.dumps(with_utterance(body, uttered(request), names, chance))
    return json.dumps(body)


def with_utterance(value, secret, names, chance):
    """An answer in which some texts for readers have a secret in them, too."""
    if isinstance(value, list):
        return [with_utterance(inner, secret, names, chance) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{inner} {secret}"
        if key in names and isinstance(inner, str) and chance.random() < 0.3
        else with_utterance(inner, secret, names, chance)
        for key, inner in value.items()
    }


def with_own_id(body, chance):
    """An answer with changes, but with no other id for what was asked for."""
    changed = mutated(body, chance)
    for name, thing in body.items() if isinstance(body, dict) else ():
        other = changed.get(name) if isinstance(changed, dict) else None
        if isinstance(thing, dict) and isinstance(other, dict) and isinstance(other.get("id"), str):
            other["id"] = thing.get("id")
    return changed


def left_by(run, cloud):
    words = ("servers", "volumes", "ports", "subnets", "routers", "networks", "security-groups", "floatingips")
    things = [thing for word in words for thing in cloud.all(word)]
    return [thing["name"] for thing in things if run.id in f"{thing.get('name')} {thing.get('description')}"]


def begin_anew(run):
    """Forget what the last case did, but for its ledger."""
    run.update(stages=(), finished=None, leftovers=(), removal=None)
    run.save()


@pytest.fixture
def elsewhere(cloud):
    """Another server, at an address that no user and no catalogue has named."""
    other = type(cloud)()
    yield other
    other.close()


FILTERS = ("name", "status", "id", "device_id", "security_group_id", "network_id", "volume_id")
OTHERS = ("networks", "subnets", "routers", "security-groups", "ports", "volumes")


def saying(console, line):
    """A console with one line more."""
    return lambda server: f"{console(server)}\n{line}"


def assert_clean(results, cloud, run):
    """Neither what was printed nor what was written shows a defect, or a secret."""
    secrets = [PLANTED, cloud.password, *cloud.tokens, *cloud.old_tokens]
    for place in (json.dumps(results, default=str), Path(run.directory)):
        assert_no_defect(place)
        assert_no_secret(secrets, place)


@pytest.mark.cases(60)
def test_strange_answers_leave_nothing_behind(cases, go, call, cloud, run, console, elsewhere):
    usual = cloud.answer
    foreign = [cloud.put(word, name=f"others-{word}", status="available", description="") for word in OTHERS]
    before = json.dumps(foreign)
    for chance in cases:
        begin_anew(run)
        secret = chance.choice(SECRETS).format(PLANTED)
        cloud.console = saying(console, f"Calling 'http://169.254.169.254/x' failed [1]: {secret}")
        cloud.ignored = set(chance.sample(FILTERS, chance.randrange(len(FILTERS))))
        cloud.answer = strange_answers(usual, chance, chance.choice((0.02, 0.1, 0.4)), elsewhere.url)
        results = []
        for name in STAGES:
            results.append(go(name, timeout=1))
            if results[-1].get("failed"):
                break
        cloud.answer = strange_answers(usual, chance, 0.2, elsewhere.url, lies=False)
        results.append(go("cleanup", end=False, timeout=1))
        cloud.answer = usual
        results.append(go("cleanup", end=False, timeout=5))
        assert not results[-1].get("failed"), results[-1]["msg"]
        assert left_by(run, cloud) == []
        assert json.dumps(foreign) == before
        assert elsewhere.requests == []
        results.append(call(report, run_dir=run.directory, template=TEMPLATE))
        assert results[-1].get("verdict"), results[-1]
        assert_clean(results, cloud, run)


def option_of(name, chance):
    """A strange value of an option of a stage."""
    module = importlib.import_module(f"ansible_collections.stackproof.provision.plugins.modules.{name}")
    lines = module.DOCUMENTATION.partition("options:")[2].splitlines()
    options = [line.strip().rstrip(":") for line in lines if line.startswith("  ") and not line.startswith("   ")]
    own = [option for option in options if option.isidentifier()]
    return {chance.choice([*own, "timeout", "cloud", "run_dir", "auth", "region_name"]): chance.choice(STRANGE)}


@pytest.mark.cases(60)
def test_strange_options_leave_nothing_behind(cases, go, cloud, run, console):
    cloud.console = console
    for chance in cases:
        begin_anew(run)
        strange = chance.choice(STAGES)
        for name in STAGES:
            try:
                result = go(name, **{"timeout": 1, **(option_of(name, chance) if name == strange else {})})
            except (UnicodeEncodeError, OverflowError):
                break  # the value cannot be given to a module at all
            assert_no_defect(json.dumps(result, default=str))
            # The cloud answers as it should.
            assert (result.get("error") or {}).get("kind") != "malformed", result["msg"]
            if result.get("failed"):
                break
        result = go("cleanup", end=False, timeout=5)
        assert not result.get("failed"), result["msg"]
        assert left_by(run, cloud) == []


def damage(path, chance):
    """Change a file of a run as a full disk, a hand or a loss of power may."""
    text = path.read_bytes() if path.exists() else b""
    how = chance.choice(("gone", "empty", "cut", "bytes", "value", "huge"))
    if how == "gone":
        path.unlink(missing_ok=True)
    elif how == "value" and path.suffix == ".json":
        try:
            path.write_text(json.dumps(mutated(json.loads(text), chance)))
        except ValueError:
            return
    else:
        path.write_bytes(
            {
                "empty": b"",
                "cut": text[: chance.randrange(len(text) + 1)],
                "bytes": mutated_bytes(text, chance),
                "huge": text + b"x" * (5 * MIB),
            }.get(how, text)
        )


def jumping(clock_now, chance):
    """A clock of the day that somebody sets now and then."""
    offset = [0.0]

    def now():
        if chance.random() < 0.05:
            offset[0] = chance.choice((-86400, 86400, -3600 * 24 * 400, 7, 0))
        return iso_of(clock.seconds_of(clock_now()) + offset[0])

    return now


def forget(cloud, run):
    """Have a cloud without what a run has made."""
    for things in cloud.things.values():
        for identity, thing in list(things.items()):
            if run.id in f"{thing.get('name')} {thing.get('description')}":
                del things[identity]


@pytest.mark.cases(40)
def test_a_run_damaged_on_the_way_leaves_nothing_unnamed(cases, go, call, cloud, run, console, monkeypatch):
    cloud.console = console
    usual = clock.now
    for number, chance in enumerate(cases):
        own = run_module.begin(os.path.dirname(run.directory), f"run-{number + 2}", "small")[0]
        files = [Path(own.path(name)) for name in ("run.json", "ledger.jsonl")]
        when, which = chance.choice(STAGES), chance.choice((files[:1], files[1:]))
        monkeypatch.setattr(clock, "now", jumping(usual, chance))
        results = []
        for name in STAGES:
            results.append(go(name, run_dir=own.directory, timeout=5))
            if name == when:
                for path in which:
                    damage(path, chance)
            if results[-1].get("failed"):
                break
        results.append(go("cleanup", run_dir=own.directory, end=False, timeout=5))
        results.append(call(report, run_dir=own.directory, template=TEMPLATE))
        assert_no_defect(json.dumps(results, default=str))
        assert_no_defect(Path(own.directory))
        passed = results[-1].get("verdict", {}).get("result") == "pass"
        named = json.dumps(results[-2:])
        assert all(name in named and not passed for name in left_by(own, cloud))
        monkeypatch.setattr(clock, "now", usual)
        forget(cloud, own)


@pytest.mark.cases(20)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_playbook_that_ended_anyhow_is_noticed(cases, run):
    for chance in cases:
        signal_number, reaped = chance.choice((0, 9, 15)), chance.random() < 0.5
        process = os.fork()
        if not process:
            os.kill(os.getpid(), signal_number) if signal_number else None
            os._exit(chance.choice((0, 1)))
        os.waitid(os.P_PID, process, os.WEXITED | (0 if reaped else os.WNOWAIT))
        try:
            assert lookout.is_abandoned(run.directory, process)
        finally:
            os.waitpid(process, 0) if not reaped else None
