# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases for the judge that are made by hand: records, stages, symptoms and causes, each with what a test needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import as_json
from ansible_collections.stackproof.provision.plugins.module_utils._judge.case import Case
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Cause, Suspect
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Stage
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom

Json = dict[str, Any]

# When a run began, and when a stage of it failed
STARTED, FINISHED = "2026-11-21T12:00:00.000000+00:00", "2026-11-21T12:01:40.000000+00:00"
# A code for each kind, with what its sentence needs
CODES = {
    Kind.STATE: Code.UNIT_NOT_RUNNING,
    Kind.RESTART: Code.UNIT_RESTARTED_BEFORE_RUN,
    Kind.LINK: Code.LINK_BROKEN,
    Kind.REPORT: Code.OWN_REPORT,
    Kind.RESOURCE: Code.RESOURCE_EXHAUSTED,
    Kind.REACH: Code.PEER_UNREACHABLE,
    Kind.FAILED_AT: Code.LOGGED_FAILURE,
    Kind.ERROR: Code.LOGGED_ERROR,
    Kind.NOT_REPORTING: Code.SERVICE_NOT_REPORTING,
    Kind.DISABLED: Code.SERVICE_DISABLED,
    Kind.ANSWER: Code.API_ERROR,
    Kind.CHANGE: Code.CONFIGURATION_CHANGED,
    Kind.DIFFERENCE: Code.CONFIGURATION_DIFFERS,
    Kind.STEP: Code.STEP_MISSING,
}
STATE: Json = {"unit": "x.service"}
FIELDS: dict[Kind, Json] = {
    Kind.STATE: STATE,
    Kind.RESTART: {**STATE, "ago_s": 300.0},
    Kind.LINK: {"link": Link("ovn_installed", LinkState.BROKEN, "x", "h")},
    Kind.REPORT: {"reported": ("it is degraded",)},
    Kind.RESOURCE: {"reported": ("the disk at / has 0 MiB left",)},
    Kind.ERROR: {"logger": "a.b"},
    Kind.ANSWER: {"status": 500, "request": "GET /x"},
    Kind.CHANGE: {"path": "/etc/x/x.conf", "ago_s": 40.0},
    Kind.DIFFERENCE: {"setting": "/etc/x/x.conf [DEFAULT] debug"},
    Kind.STEP: {"step": "1", "how": How.UNSEEN},
}


def seen(kind: Kind, component: str | None = "x", host: str | None = "h", **more: Any) -> Symptom:
    """Return a symptom of a kind, with what else is given."""
    how = How.STOPPED if kind == Kind.STATE else None
    return Symptom(CODES[kind], component, host=host, **{"how": how, **FIELDS.get(kind, {}), **more})


def cut(component: str | None = "nova-compute", host: str = "c1", peer: str = "rabbitmq", **more: Any) -> Symptom:
    """Return that a peer does not answer a host."""
    about = {"peer": peer, "peer_host": "ctl", "how": How.SILENT, "address": "10.0.0.1", "port": 5672}
    probe = {"probe": "silent", "only_from_here": True}
    return seen(Kind.REACH, component, host, **{**about, **probe, **more})


def cause(
    component: str, host: str | None, *found: Symptom, suspect: Suspect = Suspect.COMPONENT, confidence: float = 0.9
) -> Cause:
    """Return a cause with its symptoms, the weightiest first."""
    return Cause(suspect, component, host, 9.0, tuple(found), confidence)


def error(kind: str = "deadline", message: str = "it failed", said: str | None = None) -> Json:
    about: Json = {"kind": kind, "message": message, "answer": said, "hint": "Look."}
    return {**about, "resource": None, "status": None, "request_id": None}


def stage(name: str = "boot", **more: Any) -> Json:
    """Return a stage that failed, as a record has it."""
    fields = {"error": error(), "started": STARTED, "finished": FINISHED, **more}
    return {**as_json.stage(name, "failed", **fields)}


def call(status: int | None, service: str = "compute", path: str = "/v2.1/servers") -> Json:
    about: Json = {"method": "GET", "path": path, "service": service, "status": status, "host": "api"}
    return {**about, "started": STARTED, "seconds": 0.1, "request_id": None}


def logged(service: str = "nova-compute", **more: Any) -> Json:
    """Return an error in a log, as a record has it."""
    about: Json = {"service": service, "host": "h1", "logger": "l.m", "exception": None, "own": True, "count": 1}
    rest: Json = dict.fromkeys(("raised_in", "how", "peer", "peer_address", "quote", "usual"))
    return {**about, **rest, "mentions": [], "at": "2026-11-21T12:00:05.000000+00:00", **more}


def diagnosis(outcome: str | None = None) -> Json:
    """Return the part of a record that only a diagnosis has, for a boot that ended so."""
    boot: Json = {"request": None, "client": None, "server": None, "outcome": outcome, "siblings": 0}
    return {"created": FINISHED, "boot": boot}


def agent(**more: Any) -> Json:
    about: Json = {"component": "nova-compute", "host": "n1", "state": "up"}
    return {**about, "enabled": True, "last_report": "2026-11-21 12:00:00", **more}


def flow(steps: Iterable[Any], **more: Any) -> Json:
    about: Json = {"name": "own", "title": "own", "lifelines": [], "coverage": [], "judged": True}
    return {**about, "steps": list(steps), **more}


def record_of(hosts: Iterable[Any] = (), **more: Any) -> Record:
    return as_json.typed({"started": STARTED, "hosts": list(hosts), **more})


def case_of(hosts: Iterable[Any] = (), stage: Json | None = None, **more: Any) -> Case:
    return Case(record_of(hosts, **more), codec.from_json(Stage, stage or globals()["stage"]()), WEIGHTS)


def with_paths(case: Case, paths: list[list[Step]]) -> Case:
    """Return a case whose missing steps are given, whatever its flows are."""
    case.__dict__["paths"] = paths
    return case


def step_of(step: Any) -> Step:
    return codec.from_json(Step, step)
