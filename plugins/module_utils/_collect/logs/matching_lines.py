# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read log lines of a host with their times, from the journal and from files."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from ..commands import Host, UnreadError
from . import journald, line_formats

# Where lines are: journals (identifiers) and files (paths)
LogSources = Mapping[str, Optional[Sequence[str]]]
ZONE = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d)(?P<minutes>\d\d)")


@dataclass(frozen=True)
class MatchingLine:
    """A line and its time, in seconds since the epoch. It is for matching only, and never leaves the host."""

    at: float
    resolution_s: float
    text: str


def read(
    host: Host, part: str, sources: LogSources, word: str, since: float
) -> list[MatchingLine] | None:
    """Return the lines with a word, since a time in seconds since the epoch; None where there are no sources.

    Files may be missing, but without a journal one of them must exist.
    """
    journals = sources.get("journals") or ()
    paths = sources.get("files") or ()
    if not (journals or paths):
        return None
    lines: list[MatchingLine] = []
    for identifier in journals:
        lines += lines_of_journal(host, identifier, word, since)
    lines += lines_of_files(
        host, part, paths, word, since, is_needed=not journals
    )
    late = [line for line in lines if line.at >= since - line.resolution_s]
    return sorted(late, key=written_at)


def written_at(line: MatchingLine) -> float:
    return line.at


def lines_of_files(
    host: Host,
    part: str,
    paths: Sequence[str],
    word: str,
    since: float,
    is_needed: bool,
) -> list[MatchingLine]:
    """Return the lines of files that exist. is_needed: whether one of them must."""
    lines: list[MatchingLine] = []
    missing: list[UnreadError] = []
    for path in paths:
        try:
            lines += lines_of_file(host, part, path, word, since)
        except UnreadError as exc:
            if not exc.is_of_absent_file:
                raise
            missing.append(exc)
    if is_needed and missing and len(missing) == len(paths):
        raise missing[0]
    return lines


def lines_of_file(
    host: Host, part: str, path: str, word: str, since: float
) -> list[MatchingLine]:
    try:
        output = host.ask(
            part, "grep", "--text", "--fixed-strings", "--", word, path
        )
    except UnreadError as exc:
        if exc.found_nothing:
            return []
        raise
    return dated_lines(output.splitlines(), zone_of(host), since)


def dated_lines(
    texts: Sequence[str], zone: int, since: float
) -> list[MatchingLine]:
    """Return lines whose times are in the host's zone, or in UTC, as in a container that knows no zone."""
    now = time.time()
    # A line without a year is taken to be near this time: without a begin, near now.
    near = since or now

    def in_the_time(lines: list[MatchingLine]) -> int:
        return sum(since <= line.at <= now for line in lines)

    by_zone = [
        lines_in_zone(texts, near, offset)
        for offset in dict.fromkeys((zone, 0))
    ]
    return max(by_zone, key=in_the_time)


def lines_in_zone(
    texts: Iterable[str], near: float, zone: int
) -> list[MatchingLine]:
    lines = [parse_line(text, near, zone) for text in texts]
    return list(filter(None, lines))


def lines_of_journal(
    host: Host, identifier: str, word: str, since: float
) -> list[MatchingLine]:
    found = journald.entries_of(
        host, {identifier: journald.IDENTIFIER}, [word], since
    )
    return [
        MatchingLine(at, journald.RESOLUTION, text)
        for at, text in found[identifier]
    ]


def zone_of(host: Host) -> int:
    """Return the time zone of the host, in seconds east of UTC."""
    match = ZONE.match(host.ask(None, "date", "+%z", root=False))
    if match is None:
        raise ValueError("date prints no zone")
    seconds = (
        int(match.group("hours")) * 3600 + int(match.group("minutes")) * 60
    )
    return -seconds if match.group("sign") == "-" else seconds


def parse_line(text: str, near: float, zone: int) -> MatchingLine | None:
    """Parse a line of a file; None if its time is not understood."""
    line = line_formats.parse_dated(text, near, zone)
    if line is None or line.at is None:
        return None
    return MatchingLine(line.at, line.resolution_s, line.text)
