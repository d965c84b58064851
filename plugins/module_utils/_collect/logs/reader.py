# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the logs of a host for the events of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..._model.codec import from_json, to_json
from ..commands import Host, addresses_of
from ..read_event import ReadEvent
from . import grep, journald, log_files
from .log_files import FoundFile
from .matching_lines import zone_of
from .scan import COMPRESSED, Scan
from .wanted import LogResult, ReadLog, Wanted, Writer

GIB = 1 << 30


def read(host: Host, writers: Sequence[Writer], wanted: Wanted) -> LogResult:
    """Return the events of a host's logs, and for each log whether it was read whole."""
    zone = host.attempt("the host's time zone", zone_of, default=0)
    scan = Scan(wanted, zone)
    found = host.attempt(
        "the list of logs",
        log_files.files_of,
        writers,
        wanted.since,
        default={},
    )
    files = dict(sorted(found.items()))
    holes = host.attempt(
        "the holes in the logs", log_files.holes_in, list(files), default={}
    )
    sources = [hollow(files[path], path, size) for path, size in holes.items()]
    for path in holes:
        del files[path]
    if files:
        sources += read_files(host, files, scan, zone)
    sources += read_journal(host, writers, scan)
    return LogResult(tuple(scan.events), tuple(sources))


def hollow(file: FoundFile, path: str, hole: int) -> ReadLog:
    """Return the log that a file is which cannot be read for its hole."""
    reason = f"it has a hole of {hole / GIB:.1f} GiB"
    return ReadLog(file.service, path, False, None, reason, False)


def read_files(
    host: Host, files: Mapping[str, FoundFile], scan: Scan, zone: float
) -> list[ReadLog]:
    """Take the events of files; return those that are of the run's time."""
    wanted = scan.wanted
    paths = list(files)
    times = grep.moments(wanted.since, wanted.until, zone)
    edges = host.attempt(
        "the first and last lines of the logs",
        log_files.edges_of,
        paths,
        default={},
    )
    matches = host.attempt(
        "the logs",
        grep.matching_lines,
        paths,
        scan.keys,
        scan.window_texts(),
        times,
    )
    later = host.attempt(
        "the first lines of the logs once more",
        log_files.heads_of,
        paths,
        default={},
    )
    sources = []
    for path, file in files.items():
        is_read = matches is not None and not path.endswith(COMPRESSED)
        lines = (
            matches.get(path, []) if matches is not None and is_read else None
        )
        own_edges = edges.get(path) or ([], [])
        stayed = log_files.is_same_file(own_edges, path, later)
        source = scan.file(
            file.service, path, file.changed, lines, own_edges, stayed
        )
        if source:
            sources.append(source)
    return sources


def read_journal(
    host: Host, writers: Sequence[Writer], scan: Scan
) -> list[ReadLog]:
    services: dict[str, str] = {}
    for writer in writers:
        services.update(dict.fromkeys(writer.journals or (), writer.service))
    if not services:
        return []
    # At the beginning of a message there is no blank before its level.
    texts = {*scan.keys, *map(str.lstrip, scan.window_texts())}
    window = (scan.wanted.since, scan.wanted.until)
    found = host.attempt(
        "the journal", journald.read, services, texts, *window, default={}
    )
    return [
        scan.journal(services[name], name, entries)
        for name, entries in found.items()
    ]


def read_packed(
    host: Host,
    services: Sequence[Mapping[str, Any]],
    wanted: Mapping[str, Any],
    offset_s: float,
) -> dict[str, Any]:
    """Return the logs of a host whose clock is ahead, with its addresses, and the events packed into one text.

    services, wanted: as JSON has Writer and Wanted.
    Ansible looks at each value of a structure: for thousands of events that takes longer than to read the logs.
    """
    times = {
        name: wanted[name] + offset_s for name in ("since", "began", "until")
    }
    there = from_json(Wanted, {**wanted, **times}, "wanted")
    writers = [from_json(Writer, service, "services") for service in services]
    result = read(host, writers, there)
    addresses = host.attempt("the host's addresses", addresses_of, default=[])
    events = json.dumps([event.to_json() for event in result.events])
    return {
        "events": events,
        "sources": to_json(result.sources),
        "addresses": addresses,
    }


def with_events(
    logs: Mapping[str, Any], events: Sequence[ReadEvent]
) -> dict[str, Any]:
    """Return a result of read_packed with more events."""
    packed = [
        *json.loads(logs["events"]),
        *(event.to_json() for event in events),
    ]
    return {**logs, "events": json.dumps(packed)}


def events_in(read: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the events in a result of read_packed; none for a host that could not be read."""
    packed = (read or {}).get("events") or []
    events: list[dict[str, Any]] = (
        json.loads(packed) if isinstance(packed, str) else packed
    )
    return events
