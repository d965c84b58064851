# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes a bundle out of a directory of logs: what was asked about, and what each host logged about it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from .._collect.api.instance import SETTLING
from .._match.wanted import NO_TEXTS, looks_back, wanted, wanted_in_logs
from .._model.bundle import Bundle, LoggedBoot, LoggedRequest
from .._model.codec import from_json, to_json
from .._model.flow_definition import Flow
from . import boot_events, boot_lines
from .boots import WholeBoot
from .doubts import doubts
from .failed_requests import NEAR
from .log_directory import LogDirectory, LogReads
from .question import NEAR as LATER
from .question import Question, Subject, answer, end_near, subject_of

Keys = Mapping[str, tuple[str, ...]]
# The field of a bundle with the hosts of which there are reports
REPORTED = "reported"


@dataclass(frozen=True)
class Reading:
    """What the logs have of a boot, or of requests: the fields of a bundle that depend on which of both it is."""

    keys: Keys
    began: float
    until: float
    reads: LogReads
    boot: LoggedBoot | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    deleted: bool = False
    silent_s: float = 0.0
    host: str | None = None
    doubts: Sequence[str] = ()


def bundle_of(
    logs: LogDirectory, question: Question, flows: Sequence[Flow]
) -> Bundle:
    """Return what the logs have of what is asked about. flows: those that a boot is followed through."""
    subject = subject_of(question)
    found = answer(logs, subject)
    reading = (
        of_boot(logs, found.boot, flows)
        if found.boot
        else of_requests(logs, found.requests)
    )
    # The boot's own lines are read apart from those of other requests, whose ids do not belong to the boot.
    others = (
        beside_boot(logs, found.boot, found.requests).reads.hosts
        if found.boot
        else {}
    )
    zones = logs.zones_at(reading.began)
    return Bundle(
        name=os.path.basename(logs.directory) or logs.directory,
        query=asked_of(question, subject),
        boot=reading.boot,
        keys=reading.keys,
        named=reading.named,
        deleted=reading.deleted,
        silent_s=reading.silent_s,
        host=reading.host,
        began=reading.began,
        until=reading.until,
        levels=reading.reads.levels,
        warnings=(*logs.doubts, *logs.doubts_on_zones(), *reading.doubts),
        hosts=reading.reads.hosts,
        requests=tuple(found.requests),
        others=others,
        zones=zones,
    )


def asked_of(question: Question, subject: Subject) -> dict[str, str]:
    """Return what was asked about. Of what a client has printed only the id of its request is kept."""
    asked = {
        "request_id": None if question.error else subject.request,
        "server_id": subject.server,
        "resource_id": subject.resource,
        "error": subject.request if question.error else None,
        "since": question.since,
        "until": question.until,
    }
    return {name: text for name, text in asked.items() if text}


def of_boot(
    logs: LogDirectory, boot: WholeBoot, flows: Sequence[Flow]
) -> Reading:
    """Read what flows look for of a boot."""
    began, until = boot_lines.interval(boot.lines, boot.ids, SETTLING)
    keys = boot.ids.keys
    reads = logs.events(
        wanted_in_logs(keys, wanted(flows), began, until, looks_back(flows))
    )
    boot_events.add_addresses(logs, reads.hosts, boot.ids.port)
    return Reading(
        keys=keys,
        began=began,
        until=until,
        reads=reads,
        boot=boot.found.logged,
        named=boot_lines.named(boot.lines, boot.ids),
        deleted=boot_lines.is_deleted(boot.lines, boot.ids),
        silent_s=round(boot_events.silence(logs, reads.hosts), 3),
        host=boot_events.compute_host(reads.hosts),
        doubts=doubts(boot),
    )


def of_requests(
    logs: LogDirectory,
    found: Collection[LoggedRequest],
    since: float = math.inf,
    until: float = -math.inf,
) -> Reading:
    """Read the lines of requests, and the errors near them and between two times."""
    looked_for = wanted_of(found, since, until)
    reads = logs.events(looked_for)
    boot_events.add_addresses(logs, reads.hosts, ())
    return Reading(
        looked_for["keys"], looked_for["began"], looked_for["until"], reads
    )


def beside_boot(
    logs: LogDirectory, boot: WholeBoot, found: Collection[LoggedRequest]
) -> Reading:
    """Read the lines of requests beside a boot, and the errors from its begin until the server was removed."""
    _began, last = boot_lines.interval(boot.lines, boot.ids, SETTLING)
    until = max(last, min(end_near(boot), last + LATER))
    return of_requests(logs, found, boot.found.at, until)


def wanted_of(
    found: Collection[LoggedRequest],
    since: float = math.inf,
    until: float = -math.inf,
) -> dict[str, Any]:
    """Return what is looked for in logs for requests: their ids, in the time of all of them and between two times."""
    began = min([since, *(request.at - NEAR for request in found)])
    until = max([until, *(request.until + NEAR for request in found)])
    ids = set(chain.from_iterable(request.ids for request in found))
    return wanted_in_logs(
        {"request": tuple(sorted(ids))}, NO_TEXTS, began, until
    )


def as_result(bundle: Bundle) -> dict[str, Any]:
    """Return a bundle as bundle_info returns it: what is large in it is text."""
    small = to_json(
        replace(
            bundle, hosts=packed(bundle.hosts), others=packed(bundle.others)
        )
    )
    if bundle.reported:
        small[REPORTED] = json.dumps(small[REPORTED])
    result: dict[str, Any] = small
    return result


def from_result(data: Mapping[str, Any]) -> Bundle:
    """Return the bundle that bundle_info has returned; a ValueError says what is wrong with it."""
    reported = data.get(REPORTED)
    whole = (
        {**data, REPORTED: json.loads(reported)}
        if isinstance(reported, str)
        else data
    )
    return from_json(Bundle, whole, "bundle")


def packed(hosts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was read with the events of each host as one text, as log_info returns them.

    Ansible looks at each value of a structure, which takes longer than to read the logs.
    """
    return {
        host: {**read, "events": json.dumps(read["events"])}
        for host, read in hosts.items()
    }
