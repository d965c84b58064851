# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a directory of collected logs: the lines with given texts, and the events on each host.

A line becomes an event by the same code as in log_info, which reads the logs on a host.
"""

from __future__ import annotations

import os
import re
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain
from typing import Any

from .._collect.logs import grep, line_formats, scan
from .._collect.logs.wanted import Wanted
from .._model.codec import from_json, to_json
from .._model.record import LogFile
from .._model.words import Level
from .._record.errors import StageError
from .._record.words import listed
from . import host_files
from .layout import Place, check, left_out, places_in
from .line import Line, line_of
from .services import Services, stem
from .sift import IsWanted, Sifted, sift

# A sentence names this many files, links or hosts.
MOST_NAMED = 10
# A hint names this many files that were not read.
MOST_UNREAD = 3
# In seconds: how close the time of a file is to its last line, if the copy has kept it.
FITS = 300


class Scan(scan.Scan):
    """The scan of log_info, for copied files: the time of a file may be that of the copy."""

    def zone_of(self, last: Sequence[str], changed: float) -> float:
        at = self.when(last, 0)
        is_utc = at is not None and abs(at - changed) < FITS
        return 0 if is_utc else self.zone


@dataclass(frozen=True)
class LogReads:
    """What was read for some ids.

    hosts: host to what log_info would return there. levels: service to host to the level at which it logs.
    """

    hosts: dict[str, dict[str, Any]]
    levels: dict[str, dict[str, Level]]


class LogDirectory:
    """A directory of collected logs.

    begins, ends: when the files begin and end. unread: files that could not be read, and why. These are known after
    lines were looked for. doubts: what a reader has to know, as sentences.
    """

    def __init__(
        self,
        directory: str,
        services: Iterable[Mapping[str, Any]],
        zone: str = "UTC",
        zones: dict[str, Any] | None = None,
    ) -> None:
        check(directory)
        self.directory = directory
        self.services = Services(services)
        self.default, self.zones = zone, zones or {}
        self.begins: list[float] = []
        self.ends: list[float] = []
        self.unread: list[str] = []
        self.met: set[str] = set()
        out = left_out(directory)
        closed = out.closed[:MOST_NAMED]
        self.doubts = [*out.links[:MOST_NAMED], *closed]
        host_files.check_zones(self.zones)
        self.places = places_in(directory)
        if not any(place.files for place in self.places):
            hint = "Give a directory with a log of each service, or with a directory of logs for each host."
            message = "; ".join([f"there is no log in {directory}", *closed])
            raise StageError("not_found", message, hint=hint)
        self.own_zones = {
            place: host_files.zone_of(place.top)
            for place in self.places
            if place.whole_host
        }
        # Refuses a zone that is not known
        host_files.offset_of(self.default, 0)

    def zone_of(self, place: Place, host: str, at: float) -> int:
        """Return the seconds to the east: by the option for this host, by its files, or by the option for all."""
        self.met.add(host)
        return host_files.offset_of(
            self.zones.get(host) or self.own_zones.get(place) or self.default,
            at,
        )

    def zones_at(self, at: float) -> dict[str, int]:
        """Return the zone of each host, in seconds to the east."""
        return {
            place.name: self.zone_of(place, place.name, at)
            for place in self.places
        }

    def doubts_on_zones(self) -> list[str]:
        """Return the hosts of the option that have no logs, as sentences: a name may be misspelt."""
        there = listed(sorted(self.met), MOST_NAMED)
        names = sorted(set(self.zones) - self.met)
        return [
            f"stackproof_time_zones names {name}, which has no logs here; found: {there}"
            for name in names
        ]

    def sifted(
        self, is_wanted: IsWanted
    ) -> Iterator[tuple[Place, str, Sifted]]:
        """Return of each file its place, its path below the top of that, and its wanted lines."""
        for place in self.places:
            for path in place.files:
                yield (
                    place,
                    os.path.relpath(path, place.top),
                    sift(path, is_wanted),
                )

    def host_and_service(
        self, place: Place, path: str, of_file: str | None, text: str
    ) -> tuple[str, str]:
        """Return whose a line is. In a file of syslog each line names both; else they are those of the file."""
        host, program = line_formats.writer_of(text)
        service = of_file
        if program:
            service = (
                self.services.of_program(program) or of_file or stem(program)
            )
        name = (
            place.name if place.named or not host else host.partition(".")[0]
        )
        return name, service or stem(os.path.basename(path))

    def lines_with(
        self, texts: Iterable[str], near: float | None
    ) -> list[Line]:
        """Return all lines with one of the texts. Note the times of all logs, and the files that could not be read.

        near: a time close to that of the lines, for formats without a year.
        """
        either = any_of(texts)
        self.begins, self.ends, self.unread = [], [], []
        lines: list[Line] = []
        for place, path, sifted in self.sifted(either.search):
            at = near or sifted.changed
            self.note_unread(os.path.join(place.name, path), sifted)
            self.note_times(place, sifted, at)
            of_file = self.services.of_file(path)
            for text in sifted.lines:
                host, service = self.host_and_service(
                    place, path, of_file, text
                )
                parsed = line_formats.parse(
                    text, at, self.zone_of(place, host, at)
                )
                if parsed and parsed.at is not None:
                    lines.append(line_of(parsed, text, host, service))
        return lines

    def doubt(self, text: str) -> None:
        if text not in self.doubts:
            self.doubts.append(text)

    def note_unread(self, name: str, sifted: Sifted) -> None:
        if sifted.why and sifted.lines:
            self.doubt(f"{name}: {sifted.why}, and the rest was not read")
        elif sifted.why:
            self.unread.append(f"{name}: {sifted.why}")

    def note_times(self, place: Place, sifted: Sifted, near: float) -> None:
        """Widen the time of all logs to that of a file, and keep when it ends."""
        zone = self.zone_of(place, place.name, near)
        head, tail = sifted.edges
        first = line_formats.first_time(head, near, zone)
        last = line_formats.first_time(tail, near, zone)
        if first is not None:
            self.begins.append(first)
        if last is not None:
            self.ends.append(last)

    def events(self, wanted: Mapping[str, Any]) -> LogReads:
        """Return the events on each host. wanted: as log_info has it."""
        near = wanted["until"]
        reading = Reading(from_json(Wanted, wanted, "wanted"))
        zones = {
            self.zone_of(place, place.name, near) for place in self.places
        }
        for place, path, sifted in self.sifted(reading.filter(zones | {0})):
            of_file = self.services.of_file(path)
            groups: dict[tuple[str, str], list[str]] = (
                {(place.name, of_file): []} if of_file else {}
            )
            for text in sifted.lines:
                groups.setdefault(
                    self.host_and_service(place, path, of_file, text), []
                ).append(text)
            for (host, service), texts in groups.items():
                reading.take(
                    host,
                    service,
                    self.zone_of(place, host, near),
                    path,
                    sifted,
                    texts,
                )
        return LogReads(reading.results(), reading.levels)


class Reading:
    """The scans of all hosts, their events and their levels."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.scans: dict[str, Scan] = {}
        self.sources: dict[str, list[LogFile]] = {}
        self.levels: dict[str, dict[str, Level]] = {}

    def filter(self, zones: Iterable[int]) -> Callable[[bytes], bool]:
        """Return a function that finds whether a line is wanted, as grep does on a host."""
        since, until = self.wanted.since, self.wanted.until
        keys, texts = (
            any_of(self.wanted.kinds),
            any_of(Scan(self.wanted, 0).window_texts()),
        )
        moments = any_of(
            set(
                chain.from_iterable(
                    grep.moments(since, until, zone) for zone in zones
                )
            )
        )

        def is_wanted(line: bytes) -> bool:
            return bool(
                keys.search(line)
                or (texts.search(line) and moments.search(line))
            )

        return is_wanted

    def take(
        self,
        host: str,
        service: str,
        zone: int,
        path: str,
        sifted: Sifted,
        texts: list[str],
    ) -> None:
        """Take the events of a service's lines in a file."""
        if host not in self.scans:
            self.scans[host] = Scan(self.wanted, zone)
            self.sources[host] = []
        source = self.scans[host].file(
            service, path, sifted.changed, texts, sifted.edges
        )
        by_host = self.levels.setdefault(service, {})
        by_host[host] = highest(
            [by_host.get(host, Level.INFO), *self.levels_in(sifted, zone)]
        )
        if source:
            reason = sifted.why or source.reason
            self.sources[host].append(
                replace(source, complete=reason is None, reason=reason)
            )

    def results(self) -> dict[str, dict[str, Any]]:
        """Return for each host what log_info would return there."""
        return {
            host: result(found, self.sources[host])
            for host, found in self.scans.items()
        }

    def levels_in(self, sifted: Sifted, zone: int) -> list[Level]:
        """Return the levels of the first and the last lines of a file."""
        head, tail = sifted.edges
        parsed = [
            line_formats.parse(text, self.wanted.until, zone)
            for text in (*head, *tail)
        ]
        return [Level(line.level) for line in parsed if line]


def result(found: Scan, sources: Sequence[LogFile]) -> dict[str, Any]:
    events = [event.to_json() for event in found.events]
    return {
        "events": events,
        "sources": to_json(list(sources)),
        "addresses": [],
        "unread": [],
    }


def highest(levels: Collection[Level]) -> Level:
    return max(levels, key=lambda level: level.rank)


def any_of(texts: Iterable[str]) -> re.Pattern[bytes]:
    """Return one expression for all texts, as a search for each of them takes far longer.

    Without texts it finds nothing.
    """
    return re.compile(
        "|".join(map(re.escape, sorted(texts))).encode() or b"(?!)"
    )


def moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def nothing_found(logs: LogDirectory, message: str) -> StageError:
    """Return the error for something that is in none of the logs: it says what the logs cover."""
    return StageError(
        "not_found", f"{message}. {extent(logs)}", hint=unread_hint(logs)
    )


def extent(logs: LogDirectory) -> str:
    files = sum(len(place.files) for place in logs.places)
    hosts = listed([place.name for place in logs.places], MOST_NAMED)
    if not logs.begins or not logs.ends:
        return f"No line in the {files} files of {hosts} has a time in a known format"
    return f"The {files} files of {hosts} cover {moment(min(logs.begins))} to {moment(max(logs.ends))}"


def unread_hint(logs: LogDirectory) -> str:
    if not logs.unread:
        return "Check whether the logs of that time were collected, including rotated ones."
    return f"Not read: {listed(logs.unread, MOST_UNREAD, '; ')}."
