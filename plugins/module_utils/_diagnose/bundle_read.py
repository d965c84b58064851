# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a directory of collected logs: the lines with given texts, and the events on each host.

A line becomes an event by the same code as in log_info, which reads the logs on a host.
"""

from __future__ import annotations

import dataclasses
import os
import re
from datetime import datetime, timezone
from typing import Any

from .._collect.logs import grep, line_formats, scan
from .._collect.logs.wanted import Wanted
from .._model.codec import from_json, to_json
from .._record.errors import StageError
from .._record.levels import LEVELS
from .._record.words import listed
from . import bundle_host, bundle_lines, related
from .bundle import Services, check, left_out, places_in, stem

# So many files and links are named in a sentence
MOST_NAMED = 10
# The time of a file fits its last line to so many seconds, if the copy has kept it.
FITS = 300


class Scan(scan.Scan):
    """The scan of log_info, for copied files: the time of a file may be that of the copy."""

    def zone_of(self, last, changed):
        at = self.when(last, 0)
        return 0 if at is not None and abs(at - changed) < FITS else self.zone


class Bundle:
    def __init__(self, directory, services, zone="UTC", zones=None):
        check(directory)
        self.directory = directory
        self.services = Services(services)
        self.default, self.zones = zone, zones or {}
        self.first = self.last = None
        self.ends, self.unread, self.met = [], [], set()
        links, closed = (texts[:MOST_NAMED] for texts in left_out(directory))
        self.doubts = [*links, *closed]
        check_zones(self.zones)
        self.places = places_in(directory)
        if not any(place.files for place in self.places):
            hint = "Give a directory with a log of each service, or with a directory of logs for each host."
            message = "; ".join([f"there is no log in {directory}", *closed])
            raise StageError("not_found", message, hint=hint)
        self.own_zones = {place: bundle_host.zone_of(place.top) for place in self.places if place.whole_host}
        bundle_host.offset_of(self.default, 0)  # refuses a zone that is not known

    def zone_of(self, place, host, at):
        """Seconds to the east: by the option for this host, by its files, or by the option for all."""
        self.met.add(host)
        return bundle_host.offset_of(self.zones.get(host) or self.own_zones.get(place) or self.default, at)

    def zones_at(self, at):
        """The zone of each host, in seconds to the east."""
        return {place.name: self.zone_of(place, place.name, at) for place in self.places}

    def unmet(self):
        """The hosts of the option that no file and no line is of, as sentences: a name may be written wrongly."""
        there = listed(sorted(self.met), MOST_NAMED)
        names = sorted(set(self.zones) - self.met)
        return [f"stackproof_time_zones names {name}, of which nothing was read: there is {there}" for name in names]

    def sifted(self, is_wanted):
        """(place, path below its top, Sifted) of each file."""
        for place in self.places:
            for path in place.files:
                yield place, os.path.relpath(path, place.top), bundle_lines.sift(path, is_wanted)

    def host_and_service(self, place, path, service, line):
        """The host and the service of a line. service: that of its file; in a file of syslog each line names both."""
        host, program = line_formats.writer_of(line)
        if program:
            service = self.services.of_program(program) or service or stem(program)
        host = place.name if place.named or not host else host.partition(".")[0]
        return host, service or stem(os.path.basename(path))

    def lines_with(self, texts, near):
        """All lines with one of the texts, as related has them. Notes the times of all logs, and files without any."""
        either = any_of(texts)
        self.first = self.last = None
        lines, self.ends, self.unread = [], [], []
        for place, path, sifted in self.sifted(either.search):
            why = sifted.why and f"{os.path.join(place.name, path)}: {sifted.why}"
            if why and sifted.lines:
                self.doubt(f"{why}, and the rest was not read")
            elif why:
                self.unread.append(why)
            at, of_file = near or sifted.changed, self.services.of_file(path)
            self.note_times(place, sifted, at)
            for text in sifted.lines:
                host, service = self.host_and_service(place, path, of_file, text)
                parsed = line_formats.parse(text, at, self.zone_of(place, host, at))
                if parsed and parsed.at is not None:
                    lines.append(related.line_of(parsed, text, host, service))
        return lines

    def doubt(self, text):
        self.doubts = list(dict.fromkeys([*self.doubts, text]))

    def note_times(self, place, sifted, near):
        """Widen the interval of all logs to that of a file, and keep when it ends."""
        zone = self.zone_of(place, place.name, near)
        first, last = (first_time(lines, near, zone) for lines in sifted.edges)
        if first is not None:
            self.first = first if self.first is None else min(self.first, first)
        if last is not None:
            self.last = last if self.last is None else max(self.last, last)
            self.ends.append(last)

    def events(self, wanted):
        """(host to what log_info would return of it, service to host to the level at which it logs)"""
        near = wanted["until"]
        reading = Reading(from_json(Wanted, wanted, "wanted"))
        is_wanted = reading.filter({self.zone_of(place, place.name, near) for place in self.places} | {0})
        for place, path, sifted in self.sifted(is_wanted):
            of_file = self.services.of_file(path)
            groups = {(place.name, of_file): []} if of_file else {}
            for line in sifted.lines:
                groups.setdefault(self.host_and_service(place, path, of_file, line), []).append(line)
            for (host, service), lines in groups.items():
                reading.take(host, service, self.zone_of(place, host, near), path, sifted, lines)
        return reading.results(), reading.levels


class Reading:
    """The scans of all hosts, their events and their levels."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.scans, self.sources, self.levels = {}, {}, {}

    def filter(self, zones):
        """A function that says whether a line, as bytes, is wanted: as grep does on a host."""
        since, until = self.wanted.since, self.wanted.until
        keys, texts = any_of(self.wanted.kinds), any_of(Scan(self.wanted, 0).window_texts())
        moments = any_of({text for zone in zones for text in grep.moments(since, until, zone)})

        def is_wanted(line):
            return keys.search(line) or (texts.search(line) and moments.search(line))

        return is_wanted

    def take(self, host, service, zone, path, sifted, lines):
        if host not in self.scans:
            self.scans[host] = Scan(self.wanted, zone)
            self.sources[host] = []
        source = self.scans[host].file(service, path, sifted.changed, lines, sifted.edges)
        parsed = [line_formats.parse(line, self.wanted.until, zone) for lines in sifted.edges for line in lines]
        levels = [line.level for line in parsed if line]
        by_host = self.levels.setdefault(service, {})
        by_host[host] = max([by_host.get(host, "info"), *levels], key=LEVELS.index)
        if source:
            reason = sifted.why or source.reason
            self.sources[host].append(dataclasses.replace(source, whole=reason is None, reason=reason))

    def results(self):
        """Host to what log_info would return of it."""
        return {host: self.result(scan, self.sources[host]) for host, scan in self.scans.items()}

    def result(self, scan, sources):
        events = [event.to_json() for event in scan.events]
        return {"events": events, "sources": to_json(sources), "addresses": [], "unread": []}


def check_zones(zones: dict[str, Any]) -> None:
    """Refuse the zones of hosts if one is not known. An empty text is as good as no zone."""
    for name, given in zones.items():
        if given == "":
            continue
        if not isinstance(given, str):
            hint = "Put it into quotes: YAML takes +10:00 for a number."
            message = f"{given!r}, the time zone of {name}, is not a text"
            raise StageError("invalid", message, resource=name, hint=hint)
        try:
            bundle_host.offset_of(given, 0)
        except StageError as exc:
            message = f"the time zone of {name}: {exc}"
            raise StageError("invalid", message, resource=name, hint=exc.record["hint"]) from None


def first_time(lines, near, zone):
    """The time of the first line that has one, or None."""
    parsed = (line_formats.parse(line, near, zone) for line in lines)
    return next((line.at for line in parsed if line and line.at is not None), None)


def any_of(texts):
    """One expression for all texts, as a search for each of them takes far longer. Without texts it finds nothing."""
    return re.compile("|".join(map(re.escape, sorted(texts))).encode() or b"(?!)")


def moment(at):
    return f"{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def where(bundle):
    files = sum(len(place.files) for place in bundle.places)
    hosts = listed([place.name for place in bundle.places], MOST_NAMED)
    if bundle.first is None:
        return f"There are {files} files of {hosts}, and no line in them has a time that is understood"
    return f"The {files} files of {hosts} go from {moment(bundle.first)} to {moment(bundle.last)}"


def unread_hint(bundle):
    if not bundle.unread:
        return "Look whether the logs of that time are there, rotated ones too."
    return f"Not read: {listed(bundle.unread, 3, '; ')}."
