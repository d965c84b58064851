# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud whose answers nobody expects, and options that no stage expects: what was made is removed in the end."""

from __future__ import annotations

import importlib
import json

import pytest
from mutations import STRANGE, mutated, mutated_bytes

STAGES = ("auth", "image", "network", "volume", "boot", "metadata")
pytestmark = pytest.mark.usefixtures("hurry", "quick_removal")


REFUSALS = (400, 401, 403, 409, 413, 429)
BREAKDOWNS = ("reset", "html", 300, 500, 503)


def strange_answers(usual, chance, often, lies=True):
    """A function that answers a request as usual, and now and then in a way that nobody expects.

    It never denies what it has, as then nobody could know what is left. Without lies it only breaks down.
    """

    def answer(request):
        if chance.random() > often:
            return usual(request)
        how = chance.choice(("text", "value", "refusal", *BREAKDOWNS) if lies else BREAKDOWNS)
        if how == "refusal":
            return chance.choice(REFUSALS), {}, chance.choice(("", "{}", "<html>", {"error": {"message": [None]}}))
        told = usual(request)
        if how == "reset" or not isinstance(told[0], int):
            return ("reset",)
        status, headers, body = told
        if how == "html":
            return chance.choice((200, status)), {**headers, "content-type": "text/html"}, "<html><title>a"
        if isinstance(how, int):
            return how, headers, body
        text = body if isinstance(body, str) else json.dumps(body)
        if how == "text":
            return status, headers, mutated_bytes(text.encode(), chance).decode(errors="replace")
        try:
            return status, headers, json.dumps(with_own_id(json.loads(text), chance))
        except ValueError:
            return told

    return answer


def with_own_id(body, chance):
    """An answer with changes, but with no other id for what was asked for."""
    changed = mutated(body, chance)
    for name, thing in body.items() if isinstance(body, dict) else ():
        other = changed.get(name) if isinstance(changed, dict) else None
        if isinstance(thing, dict) and isinstance(other, dict) and isinstance(other.get("id"), str):
            other["id"] = thing.get("id")
    return changed


def assert_told(result):
    assert "is a defect" not in result.get("msg", ""), result["msg"]


def left_by(run, cloud):
    words = ("servers", "volumes", "ports", "subnets", "routers", "networks", "security-groups", "floatingips")
    things = [thing for word in words for thing in cloud.all(word)]
    return [thing["name"] for thing in things if run.id in f"{thing.get('name')} {thing.get('description')}"]


def begin_anew(run):
    """Forget what the last case did, but for its ledger."""
    run.record["stages"] = []
    run.save()


@pytest.mark.cases(60)
def test_strange_answers_leave_nothing_behind(cases, go, cloud, run, console):
    cloud.console = console
    usual = cloud.answer
    for chance in cases:
        begin_anew(run)
        cloud.answer = strange_answers(usual, chance, chance.choice((0.02, 0.1, 0.4)))
        for name in STAGES:
            result = go(name, timeout=1)
            assert_told(result)
            if result.get("failed"):
                break
        cloud.answer = strange_answers(usual, chance, 0.2, lies=False)
        assert_told(go("cleanup", end=False, timeout=1))
        cloud.answer = usual
        result = go("cleanup", end=False, timeout=5)
        assert not result.get("failed"), result["msg"]
        assert left_by(run, cloud) == []


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
            assert_told(result)
            # The cloud answers as it should.
            assert (result.get("error") or {}).get("kind") != "malformed", result["msg"]
            if result.get("failed"):
                break
        result = go("cleanup", end=False, timeout=5)
        assert not result.get("failed"), result["msg"]
        assert left_by(run, cloud) == []
