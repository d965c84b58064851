# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turn the lines of a host that grep has found into events."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional

from ..._components.tables import writer_of
from ..._model.codec import to_json
from ..._model.words import Severity
from ..._record.masking import quote_of
from ..read_event import ReadEvent
from . import error_text, grep, journald, line_formats
from .line_formats import Line
from .line_messages import HttpRequest, QueueMessage, masked_path
from .log_files import Edges
from .phrases import Pattern
from .wanted import ReadLog, Wanted

# A value that a phrase may take out of a line
SAFE = re.compile(r"^[\w.:@-]{1,80}$")
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
# oslo.log writes one of the first in each line of an error, also in those of its traceback; Open vSwitch the others.
ERRORS = (" ERROR ", " CRITICAL ", "|ERR|", "|EMER|", "|WARN|")
# In seconds: lines of one process as near as this are one error.
ONE_ERROR = 0.1
# In seconds: lines of another second may belong to the interval, as times are cut.
SLACK = 1
# Characters of an error's message that are searched for how it failed
LONGEST_FAILURE = 4000
# Characters of a line without a time that are searched for phrases
LONGEST_TIMELESS = 4096
# A statement that failed, with its values
ECHOED = re.compile(r"\[(?:SQL|parameters): ")
# Belongs to the word before it
WORD = re.compile(r"[0-9A-Za-z]")
# A line of a server about a request that it has answered
ANSWER = re.compile(r'HTTP/\d|" status: \d{3}')

# Times, by the journal, and lines. A file has no time beside its lines.
Entries = Iterable[tuple[Optional[float], str]]


def places_of(keys: Iterable[str]) -> re.Pattern[str]:
    """Return an expression that finds the places at which an id may begin."""
    first = "".join(sorted({re.escape(key[0]) for key in keys if key}))
    return re.compile(rf"(?<![0-9A-Za-z])(?=[{first}])" if first else "(?!)")


class Scan:
    """Turns matching lines into events. zone: that of the host, in seconds east of UTC."""

    def __init__(self, wanted: Wanted, zone: float) -> None:
        self.wanted = wanted
        self.zone = zone
        self.keys = wanted.kinds
        # The first of several ids at one place is the longest.
        self.lengths = sorted(
            {len(key) for key in self.keys if key}, reverse=True
        )
        self.places = places_of(self.keys)
        self.patterns: dict[str, list[tuple[str, Pattern]]] = {}
        for phrase in wanted.phrases:
            self.patterns.setdefault(phrase.service, []).append(
                (phrase.pattern, Pattern(phrase.pattern))
            )
        self.windows: dict[str, list[str]] = {}
        for window in wanted.windows:
            self.windows.setdefault(window.service, []).append(window.text)
        self.events: list[ReadEvent] = []
        # The method that a process has named for a request, in a line before that of the message
        self.methods: dict[tuple[Any, ...], str | None] = {}
        # The last error of each process, and its place in events
        self.errors: dict[tuple[str, str | None], int] = {}
        # The place of the error whose message the next line may continue
        self.open_error: int | None = None

    def window_texts(self) -> list[str]:
        texts = set(ERRORS if self.wanted.errors else ())
        for own in self.windows.values():
            texts.update(own)
        return sorted(texts)

    # Logs

    def file(
        self,
        service: str,
        path: str,
        changed: float,
        lines: Sequence[str] | None,
        edges: Edges,
        stayed: bool = True,
    ) -> ReadLog | None:
        """Take the events of a file; return whether it was there for the whole time, and whether it shows requests.

        edges: its first and last lines, from before the others were read. stayed: whether its first line was the same
        afterwards. None for a file of later times.
        """
        zone = self.zone_of(edges[1], changed)
        first = self.when(edges[0], zone)
        reason = self.reason_against(path, lines, first, stayed)
        before = len(self.events)
        if lines is not None:
            self.take(service, ((None, line) for line in lines), zone)
            # A file that begins with a line of a wrong clock may still be of the run.
            if (
                first is not None
                and first > self.wanted.until
                and len(self.events) == before
            ):
                return None
        return ReadLog(
            service, path, reason is None, first, reason, shows_requests(edges)
        )

    def reason_against(
        self,
        path: str,
        lines: Sequence[str] | None,
        first: float | None,
        stayed: bool,
    ) -> str | None:
        """Return why a file was not read whole, or None."""
        if lines is None:
            return (
                "it is compressed"
                if path.endswith(COMPRESSED)
                else "it was not read"
            )
        if len(lines) >= grep.MOST:
            return f"more than {grep.MOST} lines were found in it"
        if not stayed:
            return "it was rotated away while it was read"
        if first is None:
            return "the time of its first line is not known"
        return (
            "it begins after the run did"
            if first > self.wanted.began
            else None
        )

    def journal(
        self, service: str, name: str, entries: Sequence[tuple[float, str]]
    ) -> ReadLog:
        self.take(service, entries, self.zone)
        is_flood = len(entries) >= journald.MOST
        reason = (
            f"more than {journald.MOST} entries were found in it"
            if is_flood
            else None
        )
        return ReadLog(
            service,
            f"journal of {name}",
            not is_flood,
            first=None,
            reason=reason,
        )

    def zone_of(self, last: Sequence[str], changed: float) -> float:
        """Return the zone of a file's times: the host's, or UTC if its last line then fits its last change better."""
        if self.zone == 0:
            return 0
        here = self.when(last, self.zone)
        in_utc = self.when(last, 0)
        if here is None or in_utc is None:
            return self.zone
        if abs(here - changed) <= abs(in_utc - changed):
            return self.zone
        return 0

    def when(self, lines: Iterable[str], zone: float) -> float | None:
        """Return the time of the first line that has one."""
        return line_formats.first_time(lines, self.wanted.until, zone)

    # Lines

    def take(self, service: str, entries: Entries, zone: float) -> None:
        """Take the events of some lines, or of entries of the journal, which may have a whole traceback each."""
        self.open_error = None
        for at, entry in entries:
            for line in entry.split("\n"):
                parsed = self.parse(line, at, zone)
                if parsed and parsed.at is not None:
                    self.add(
                        service,
                        parsed,
                        parsed.at,
                        line[: line_formats.LONGEST],
                    )
                elif parsed is None:
                    self.add_words(service, line[:LONGEST_TIMELESS])

    def parse(self, line: str, at: float | None, zone: float) -> Line | None:
        """Return the fields of a line. at: the time of the journal's entry, which a line without a time has as well."""
        parsed = line_formats.parse(line, self.wanted.until, zone)
        if at is None:
            return parsed
        if parsed is None:
            return Line(at, journald.RESOLUTION, line[:LONGEST_TIMELESS])
        return parsed._replace(at=at, resolution_s=journald.RESOLUTION)

    def add(self, service: str, parsed: Line, at: float, line: str) -> None:
        event = self.event(service, parsed, at, line)
        if event:
            self.events.append(event)
        self.open_error = None
        if parsed.failed and self.wanted.errors:
            self.add_error(service, parsed, at, line)
        elif parsed.warned and self.wanted.errors:
            self.add_warning(service, parsed, at, line)

    def event(
        self, service: str, parsed: Line, at: float, line: str
    ) -> ReadEvent | None:
        """Return the event of a line; None if it is not of the run's time, or has nothing that is looked for."""
        slack = parsed.resolution_s + SLACK
        if not self.wanted.since - slack <= at <= self.wanted.until + slack:
            return None
        keys = self.keys_in(line)
        phrases, fields = self.phrases_in(service, parsed.text)
        texts = [
            text for text in self.windows.get(service, ()) if text in line
        ]
        # The method of a message is in a line before it, which may have no id.
        if parsed.queue:
            fields.update(self.message(service, parsed, parsed.queue))
        elif parsed.http:
            fields.update(self.request(parsed.http))
        if not is_evidence(parsed, keys, phrases, texts):
            return None
        return ReadEvent(
            at,
            service,
            parsed.kind,
            parsed.resolution_s,
            parsed.level,
            keys,
            tuple(phrases),
            tuple(texts),
            fields,
        )

    def keys_in(self, line: str) -> dict[str, list[str]]:
        """Return the ids of the run in a line, by their kind."""
        keys: dict[str, list[str]] = {}
        for text in dict.fromkeys(self.ids_in(line)):
            keys.setdefault(self.keys[text], []).append(text)
        return keys

    def ids_in(self, line: str) -> Iterator[str]:
        """Yield the ids of the run in a line, each place of it once.

        An expression with all ids would try each of them at each place; a run may have thousands.
        """
        end = 0
        for match in self.places.finditer(line):
            begin = match.start()
            text = self.id_at(line, begin) if begin >= end else None
            if text:
                end = begin + len(text)
                yield text

    def id_at(self, line: str, begin: int) -> str | None:
        """Return the id that begins at a place. It must not be the beginning of a longer one."""
        for length in self.lengths:
            text = line[begin : begin + length]
            if text in self.keys and not WORD.match(line, begin + length):
                return text
        return None

    def phrases_in(
        self, service: str, text: str
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the phrases that a line has, and the values that they name, if these can be no secret."""
        phrases: list[str] = []
        fields: dict[str, Any] = {}
        for name, pattern in self.patterns.get(service, ()):
            values = pattern.search(text)
            if values is None:
                continue
            phrases.append(name)
            fields.update(
                {
                    key: value
                    for key, value in values.items()
                    if value and SAFE.match(value)
                }
            )
        return phrases, fields

    def message(
        self, service: str, parsed: Line, message: QueueMessage
    ) -> dict[str, Any]:
        """Return the fields of a message. The same process names its method in a line before, for the same request."""
        thread = (service, parsed.process, tuple(parsed.requests))
        fields: dict[str, Any] = to_json(message)
        if message.action == "method":
            self.methods[thread] = message.method
        elif message.action in ("cast", "call"):
            return {"method": self.methods.pop(thread, None), **fields}
        return fields

    def request(self, request: HttpRequest) -> dict[str, Any]:
        fields: dict[str, Any] = to_json(request)
        fields.update(path=masked_path(request.path, self.keys))
        return fields

    # Errors

    def add_error(
        self, service: str, parsed: Line, at: float, line: str
    ) -> None:
        """Add an error, or a line of its traceback to the error that it belongs to."""
        if not self.wanted.began - SLACK <= at <= self.wanted.until + SLACK:
            return
        thread = (service, parsed.process)
        keys = self.keys_in(line)
        failure = {
            "logger": parsed.logger,
            **self.failure(service, parsed, line),
        }
        if error_text.is_repeat(parsed.message or parsed.text):
            return
        place = self.open_error = self.errors.get(thread)
        if place is not None and is_one_error(
            self.events[place], at, parsed.logger
        ):
            self.events[place] = merged(self.events[place], failure, keys)
            return
        self.errors[thread] = self.open_error = len(self.events)
        self.events.append(
            ReadEvent(
                at,
                service,
                "error",
                parsed.resolution_s,
                keys=keys,
                fields=failure,
            )
        )

    def add_words(self, service: str, line: str) -> None:
        """Add a line without a time to the error whose message it continues, if only it says how that failed.

        A line with an id of the run was looked for by itself, and may stand anywhere.
        """
        place = self.open_error
        if place is None or self.events[place].fields.get("how"):
            return
        if ECHOED.match(line) or self.keys_in(line):
            return
        message = error_text.without_frames(line)
        failure = error_text.failure_in(message, writer_of(service))
        if failure["how"]:
            said = {**failure, "quote": quote_of(message, self.keys)}
            self.events[place] = merged(self.events[place], said, {})

    def add_warning(
        self, service: str, parsed: Line, at: float, line: str
    ) -> None:
        """Add a warning that has an id of the run and reports how something failed.

        The others are noise. That one has an exception at its end says nothing: oslo.log adds what is being handled.
        """
        keys = self.keys_in(line)
        if (
            not keys
            or not self.wanted.began - SLACK <= at <= self.wanted.until + SLACK
        ):
            return
        failure = self.failure(service, parsed, line)
        if failure["how"] is None:
            return
        fields = {
            "logger": parsed.logger,
            **failure,
            "severity": Severity.WARNING.value,
        }
        self.events.append(
            ReadEvent(
                at,
                service,
                "error",
                parsed.resolution_s,
                keys=keys,
                fields=fields,
            )
        )

    def failure(self, service: str, parsed: Line, line: str) -> dict[str, Any]:
        """Return the exception of an error, the module that raised it, how and at whom it failed, and its quote."""
        whole = parsed.text if parsed.message is None else parsed.message
        message = error_text.without_frames(whole)[:LONGEST_FAILURE]
        raised_in = line_formats.module_in(line)
        is_logged_by_task = error_text.is_periodic(parsed.logger, message)
        is_raised_in_task = error_text.is_periodic(raised_in, "")
        is_periodic = is_logged_by_task or is_raised_in_task
        return {
            "exception": line_formats.exception_in(parsed.text),
            "raised_in": raised_in,
            **error_text.failure_in(message, writer_of(service)),
            "quote": quote_of(message, self.keys) if message else None,
            "filters": to_json(line_formats.filters_in(message)) or None,
            "insufficient": line_formats.insufficient_in(message),
            **({"periodic": True} if is_periodic else {}),
        }


def is_evidence(
    parsed: Line,
    keys: dict[str, list[str]],
    phrases: list[str],
    texts: list[str],
) -> bool:
    """Return whether a line belongs to the run, and shows something."""
    if texts:
        return True
    return bool(keys) and (bool(phrases) or parsed.kind != "line")


def shows_requests(edges: Edges) -> bool:
    """Return whether lines of a file are about requests of HTTP."""
    return any(map(ANSWER.search, [*edges[0], *edges[1]]))


def is_one_error(error: ReadEvent, at: float, logger: str | None) -> bool:
    return at - error.at <= ONE_ERROR and logger == error.fields.get("logger")


def merged(
    error: ReadEvent, failure: dict[str, Any], keys: dict[str, list[str]]
) -> ReadEvent:
    """Return an error with the fields of a later line: the last line of a traceback is the exception itself.

    Of a later line that shows no failure, such as the values of a statement to the database, the words say nothing.
    """
    says_nothing = not (failure.get("exception") or failure.get("how"))
    if says_nothing and error.fields.get("exception"):
        failure = {**failure, "quote": None}
    fields = {
        **error.fields,
        **{name: value for name, value in failure.items() if value},
    }
    mentions = [
        *error.fields.get("mentions", ()),
        *failure.get("mentions", ()),
    ]
    fields.update(mentions=list(dict.fromkeys(mentions)))
    return dataclasses.replace(
        error, fields=fields, keys={**error.keys, **keys}
    )
