# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mermaid's own parser understands every flow that is drawn for it."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import FollowedFlow
from ansible_collections.stackproof.provision.plugins.module_utils._report.sequence import rows, text
from tree import RECORDED

RUN = RECORDED / "flow-run.json"
HOSTILE = (
    "end",
    "END; end",
    "a; b # c #59; &amp; &#59;",
    "<script>alert(1)</script>]]>",
    "line\nend\r\n%% comment %%{init: {}}%%",
    "\"quoted\" 'so' `and` so \\",
    "A->>B: text",
    "A-xB",
    "wrap: title: note over L1: x",
    "participant as activate loop rect alt else and",
    "$$x^2$$ {a} [b] (c) @{d}",
    "\x1b[2J\0\x9b31m\u202e\ud800",
    "+ - -- ->> , .",
    "größe 漢字 🙂",
)


@pytest.fixture
def flow():
    return json.loads(RUN.read_text())["flows"][0]


def mermaid(flow):
    return text.mermaid(rows.diagram(from_json(FollowedFlow, flow)))


def understood(done):
    return (done.returncode, done.stdout.strip(), done.stderr) == (0, "sequence", "")


def test_the_recorded_flow_is_understood(parse, flow):
    done = parse(mermaid(flow))
    assert understood(done), done.stderr


def test_hostile_words_are_understood(parse, flow):
    """Everywhere, and in every status."""
    names = [f"{words} {number}" for number, words in enumerate(HOSTILE)] + list(HOSTILE)
    statuses = ("seen", "cached", "absent", "skipped", "unseen", "missing")
    flow["lifelines"] = names
    for number, step in enumerate(flow["steps"]):
        words = HOSTILE[number % len(HOSTILE)]
        ends = {"source": names[number % len(names)], "target": words}
        step.update(id=words, message=words, phase=words, status=statuses[number % len(statuses)], **ends)
    done = parse(mermaid(flow))
    assert understood(done), done.stderr


@pytest.mark.parametrize("lifelines", [[], ["end"]])
def test_a_flow_without_steps_is_understood(parse, lifelines):
    done = parse(mermaid({"name": "x", "title": "x", "lifelines": lifelines, "steps": [], "coverage": []}))
    assert understood(done), done.stderr


@pytest.mark.parametrize("words", ["no diagram", "sequenceDiagram\n  A->>B: a; end\n"])
def test_what_is_wrong_is_not_understood(parse, words):
    assert parse(words).returncode == 1
