# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shapes of a run's record: one function here makes each, and no other code writes one by hand.

A test compares them with the schemas in roles/report/files.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Step(TypedDict, total=False):
    """A step of a flow, with its result in this run."""

    id: str
    phase: str | None
    stage: str
    repeats: bool
    source: str
    target: str
    message: str
    kind: str
    responsible: str
    follows: list[str]
    covers: list[str]
    numbers: dict[str, Any]
    became: str | None
    today: str | None
    status: str
    reason: str | None
    at: Any
    until: Any
    duration_s: float | None
    resolution_s: float | None
    error_s: float | None
    host: str | None
    evidence: list[dict[str, Any]]


class Check(TypedDict):
    """Whether a host agrees with the API in one thing."""

    check: str
    status: str
    reason: str | None
    seconds: float


class Host(TypedDict):
    """A host of the inventory, with its facts and checks."""

    host: str
    groups: list[str]
    parts: list[str]
    status: str
    reason: str | None
    clock_offset_s: float | None
    clock_error_s: float | None
    health_before: dict[str, Any] | None
    facts: dict[str, Any]
    examination: dict[str, Any] | None
    unread: list[dict[str, Any]]
    checks: list[Check]


class Stage(TypedDict):
    """A stage of a run, with every request and wait."""

    stage: str
    status: str
    started: str | None
    finished: str | None
    duration_s: float | None
    resources: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    waits: list[dict[str, Any]]
    details: dict[str, Any]
    error: dict[str, Any] | None


class Verdict(TypedDict):
    """The result of a run, and the component that broke it."""

    result: str
    stage: str | None
    step: str | None
    component: str | None
    host: str | None
    reason: str
    last_seen: dict[str, Any] | None
    evidence: list[str]
    headline: str | None
    missing_step: str | None
    confidence: float | None
    quote: str | None
    quote_source: dict[str, Any] | None
    connection: dict[str, Any] | None
    explains: list[str]
    unexplained: list[str]
    dependencies: list[dict[str, Any]]
    next: str | None
    alternatives: list[dict[str, Any]]


def step(name, source, target, message, kind, **fields) -> Step:
    return {
        "id": str(name),
        "phase": None,
        "stage": "boot",
        "repeats": False,
        "source": source,
        "target": target,
        "message": message,
        "kind": kind,
        "responsible": source,
        "follows": [],
        "numbers": {},
        "became": None,
        "today": None,
        "status": "unseen",
        "reason": None,
        "at": None,
        "until": None,
        "duration_s": None,
        "resolution_s": None,
        "error_s": None,
        "host": None,
        "evidence": [],
        **fields,
    }


def check(name, status, reason=None, seconds=0) -> Check:
    return {"check": name, "status": status, "reason": reason, "seconds": seconds}


def host(name, **fields) -> Host:
    return {
        "host": name,
        "groups": [],
        "parts": [],
        "status": "read",
        "reason": None,
        "clock_offset_s": None,
        "clock_error_s": None,
        "health_before": None,
        "facts": {},
        "examination": None,
        "unread": [],
        "checks": [],
        **fields,
    }


def stage(name, status, **fields) -> Stage:
    return {
        "stage": name,
        "status": status,
        "started": None,
        "finished": None,
        "duration_s": None,
        "resources": [],
        "calls": [],
        "waits": [],
        "details": {},
        "error": None,
        **fields,
    }


def verdict(result, where, reason, **fields) -> Verdict:
    """where: the stage that decided the result, or None."""
    return {
        "result": result,
        "stage": where,
        "step": None,
        "component": None,
        "host": None,
        "reason": reason,
        "last_seen": None,
        "evidence": [],
        "headline": None,
        "missing_step": None,
        "confidence": None,
        "quote": None,
        "quote_source": None,
        "connection": None,
        "explains": [],
        "unexplained": [],
        "dependencies": [],
        "next": None,
        "alternatives": [],
        **fields,
    }
