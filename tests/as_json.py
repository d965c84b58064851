# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records and parts of them as run.json has them, for tests that change them: each function makes one from the model.

typed() makes a record of the model of what a test has changed.
"""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import Check, Host
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Stage, Wait
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Verdict
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    CheckStatus,
    Result,
    StageName,
    StageStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.verdict import of_record

Json = dict[str, Any]

# When what is made by hand happened
AT = "2026-11-21T12:00:00.000000+00:00"


def new_record(run_id: str, cloud: str | None) -> Json:
    return plain(run.new_record(run_id, cloud))


def read_record(directory: str | os.PathLike[str]) -> Json:
    return plain(run.read_record(os.fspath(directory)))


def typed(record: Json) -> Record:
    """Return a record of the model, for one that may lack most of its keys."""
    return from_json(Record, {**new_record("run", "cloud"), **record})


def change(changed: run.Run, **keys: Any) -> None:
    """Give the record of a run other values, by their keys in run.json."""
    changed.record = typed({**plain(changed.record), **keys})


def put_stage(changed: run.Run, stage: Json) -> None:
    changed.put_stage(from_json(Stage, stage))


def verdict_on(record: Json, interruption: str | None = None) -> Json:
    """Return the verdict on a record that may lack most of its keys."""
    return plain(of_record(typed(record), interruption))


def stage_in(record: Json, name: str) -> Json:
    """Return a stage of a record by its name."""
    stages: list[Json] = record["stages"]
    return next(each for each in stages if each["stage"] == name)


def plain(value: Any) -> Json:
    data: Json = to_json(value)
    return data


def step(name: Any, source: str, target: str, message: str, kind: str, **fields: Any) -> Json:
    return {**plain(Step(str(name), source, target, message, kind, responsible=source)), **fields}


def check(name: str, status: str, reason: str | None = None, seconds: float = 0) -> Json:
    return plain(Check(name, CheckStatus(status), reason, seconds))


def host(name: str, **fields: Any) -> Json:
    return {**plain(Host(name)), **fields}


def stage(name: str, status: str, **fields: Any) -> Json:
    return {**plain(Stage(StageName(name), StageStatus(status))), **fields}


def wait(**fields: Any) -> Json:
    return {**plain(Wait("the guest", 0.0, 0.0, (), 1)), **fields}


def instance(**fields: Any) -> Json:
    """Return what the API reported about an instance; nothing of its ports, networks and volumes."""
    about: Json = {"queried": AT, "server": server(), "ports": [], "networks": [], "volumes": [], "image": None}
    return {**about, "allocations": None, **fields}


def server(**fields: Any) -> Json:
    names = {"id": "s", "name": "s", "status": "ACTIVE", "project_id": "p", "host": None, "host_id": "", "created": AT}
    return {**names, "vcpus": 1, "memory_mib": 64, "disk_gib": 1, **fields}


def network(**fields: Any) -> Json:
    return {"id": "n", "mtu": None, "subnets": [], "dhcp_ports": [], "distributed": False, "routers": [], **fields}


def verdict(result: str, where: str | None, reason: str, **fields: Any) -> Json:
    return {**plain(Verdict(Result(result), where, reason)), **fields}
