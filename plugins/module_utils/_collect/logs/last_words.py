# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last words of a service that does not stay up: the error that it logged before it exited, however long ago.

The events of a run are of its time. A service that has failed before, or that exits again and again, has said why in
its log or on its standard error, which is in the journal.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from ..._components.tables import entry_of, writer_of
from ..._model.codec import from_json
from ..._model.facts import ServiceUnit
from ..._record.masking import quote_of
from ..commands import Host
from ..read_event import ReadEvent
from . import error_text, line_formats, log_files
from .wanted import Writer

# A service that systemd has restarted so often exits again and again.
MANY = 3
DOWN = ("failed", "activating")
# Of this many services at most, as a host that has lost its database has many.
MOST = 5
# In seconds. Who failed a day ago is no news, and its log may have been rotated away.
LOOK_BACK = 86400
LINES = 50
# Lines that only say that it ends now, or nothing, as the last one of a traceback, or that are no errors by their own
# level; the reason stands before them.
FAREWELL = re.compile(
    r"^(?:ERROR|CRITICAL|TRACE) [\w.]+ *$|SystemExit|[Uu]nrecoverable error|Unhandled error|Traceback|^[Ee]xiting"
    r"|^Stopping|status=\d|\[(?:Warning|Note|warning|info)\]|\b(?:WARN(?:ING)?|INFO|DEBUG)\b"
)
# How a line of the journal begins: the time, the host, and the program
JOURNAL = re.compile(
    r"^(?P<at>\d{9,11}\.\d{6}) \S+ [^:]{1,80}?(?:\[\d+\])?: (?P<text>.*)$"
)
# Words of a line without a level that is an error; most such lines are the last one of a traceback.
SAYS_ERROR = re.compile(
    r"error|exception|fail|fatal|cannot|could not|denied|invalid|refused|terminated",
    re.IGNORECASE,
)
# The rules for sudo have the same pattern.
UNIT = re.compile(
    r"(?:openstack-|kolla-|devstack@)?[a-z][a-z0-9_@.-]*\.service"
)


def read(
    host: Host,
    units: Sequence[ServiceUnit],
    writers: Iterable[Mapping[str, Any]],
    zone: float,
) -> list[ReadEvent]:
    """Return the last error of each service that does not stay up. writers: those of the platform, as JSON has them."""
    ending = list(filter(is_ending, units))[:MOST]
    if not ending:
        return []
    found: dict[str, ReadEvent] = {}
    logs = [from_json(Writer, writer, "logs") for writer in writers]
    in_files = host.attempt(
        "the last words in the logs", of_files, ending, logs, zone, default=[]
    )
    for event in in_files:
        keep_later(found, event)
    for unit in ending:
        in_journal: Optional[ReadEvent] = host.attempt(
            "the last words in the journal", of_journal, unit, default=None
        )
        if in_journal is not None:
            keep_later(found, in_journal)
    return list(found.values())


def is_ending(unit: ServiceUnit) -> bool:
    return unit.state in DOWN or unit.restarts >= MANY


def keep_later(found: dict[str, ReadEvent], event: ReadEvent) -> None:
    """Keep an event if its service has none yet, or an earlier one."""
    known = found.get(event.service)
    if known is None or event.at > known.at:
        found[event.service] = event


def of_files(
    host: Host,
    units: Sequence[ServiceUnit],
    writers: Sequence[Writer],
    zone: float,
) -> list[ReadEvent]:
    """Return the last errors in the files of some services, the newest file of each."""
    names = set(map(log_of, units))
    own = [writer for writer in writers if writer.service in names]
    now = time.time()
    files = log_files.files_of(host, own, now - LOOK_BACK)
    newest: dict[str, str] = {}
    for path in sorted(files, key=lambda path: files[path].changed):
        newest[files[path].service] = path
    if not newest:
        return []
    ends = log_files.by_path(
        log_files.asked_for_edges(host, "tail", sorted(newest.values()))
    )
    events = [
        last_error(service, ends.get(path, []), now, zone)
        for service, path in newest.items()
    ]
    return list(filter(None, events))


def log_of(unit: ServiceUnit) -> str:
    """Return the name of a service's log."""
    return entry_of(unit.component).log_name or unit.component


def last_error(
    service: str, lines: Sequence[str], now: float, zone: float
) -> ReadEvent | None:
    """Return the last line that says why a service has ended."""
    for line in reversed(lines):
        parsed = line_formats.parse(line, now, zone)
        if parsed is None or parsed.at is None:
            continue
        if not parsed.failed:
            continue
        message = parsed.message
        if message is None:
            message = parsed.text
        if not message or FAREWELL.search(message):
            continue
        logger = parsed.logger or service
        return event_of(service, parsed.at, message, logger)
    return None


def of_journal(host: Host, unit: ServiceUnit) -> ReadEvent | None:
    """Return the last error that a service has written to the journal; systemd's own lines are not among these."""
    if not UNIT.fullmatch(unit.unit):
        return None
    words = (
        "journalctl",
        "--no-pager",
        "--quiet",
        "--output=short-unix",
        f"--lines={LINES}",
    )
    service = log_of(unit)
    for line in reversed(
        host.ask(None, *words, f"_SYSTEMD_UNIT={unit.unit}").splitlines()
    ):
        match = JOURNAL.match(line)
        if (
            match
            and SAYS_ERROR.search(match["text"])
            and not FAREWELL.search(match["text"])
        ):
            return event_of(
                service, float(match["at"]), match["text"], service
            )
    return None


def event_of(service: str, at: float, message: str, logger: str) -> ReadEvent:
    """Return the event of an error, as those have it that a run has logged."""
    fields = {
        "logger": logger,
        "exception": line_formats.exception_in(message),
        "raised_in": None,
        **error_text.failure_in(message, writer_of(service)),
        "quote": quote_of(message),
    }
    return ReadEvent(at, service, "error", 1.0, fields=fields)
