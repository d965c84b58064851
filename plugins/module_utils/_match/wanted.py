# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What flows look for in logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from .._model.flow_definition import Flow, Rule
from .matcher import LEAD, TOKEN_CACHE
from .rivals import BUILT, RIVALS, TOOK

# The service that takes a message off the queue logs one of these, with no id but the message's own.
MESSAGES = (
    "received message ",
    "received reply msg_id",
    "Receive incoming message with id",
)

# What is looked for besides ids where no flow is followed
NO_TEXTS: Mapping[str, list[dict[str, str]]] = {"phrases": [], "windows": []}


def wanted_in_logs(
    keys: Mapping[str, Sequence[str]],
    texts: Mapping[str, list[dict[str, str]]],
    began: float,
    until: float,
    looks_back_s: float = 0,
) -> dict[str, Any]:
    """Return what is looked for in logs: ids, texts as wanted returns them, and errors, all between two times."""
    return {
        "keys": keys,
        **texts,
        "began": began,
        "since": began - looks_back_s,
        "until": until,
        "errors": True,
    }


def wanted(flows: Iterable[Flow]) -> dict[str, list[dict[str, str]]]:
    """Return all that the rules look for: phrases in lines with our ids, and texts in lines without an id."""
    phrases = {("nova-compute", TOOK)}
    windows = {
        *(("nova-api", text) for text in RIVALS),
        ("nova-compute", BUILT),
    }
    for rule in log_rules(flows):
        if rule.says:
            phrases.add((rule.service, rule.says))
        if rule.window:
            windows.add((rule.service, rule.window))
        if rule.kind == "rpc":
            windows.update((rule.service, text) for text in MESSAGES)
    return {
        "phrases": [
            {"service": service, "pattern": says}
            for service, says in sorted(phrases)
        ],
        "windows": [
            {"service": service, "text": text}
            for service, text in sorted(windows)
        ],
    }


def looks_back(flows: Iterable[Flow]) -> int:
    """Return for how many seconds before a run the logs may show something of it."""
    return TOKEN_CACHE if any(map(looks_before, log_rules(flows))) else LEAD


def looks_before(rule: Rule) -> bool:
    return bool(rule.window or (rule.within and rule.within[0] is None))


def log_rules(flows: Iterable[Flow]) -> list[Rule]:
    steps = chain.from_iterable(flow.observed_steps for flow in flows)
    rules = chain.from_iterable(step.rules for step in steps)
    return [rule for rule in rules if rule.source == "log"]
