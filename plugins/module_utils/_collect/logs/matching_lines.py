# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads log lines of a host with their times, from the journal and from files."""

from __future__ import annotations

import re
import time

from ..commands import UnreadError
from . import journald, line_formats


def read(host, part, sources, word, since):
    """The lines with a word, since a time in seconds since the epoch: dictionaries of at, resolution_s and text.

    sources has journals (identifiers) and files. Files may be missing, but without a journal one of them must exist.
    None where sources has neither.
    """
    if not (sources.get("journals") or sources.get("files")):
        return None
    lines, failures = [], []
    for identifier in sources.get("journals") or []:
        lines += lines_of_journal(host, identifier, word, since)
    zone = None
    for path in sources.get("files") or []:
        try:
            output = host.ask(part, "grep", "--text", "--fixed-strings", "--", word, path)
        except UnreadError as exc:
            if exc.kind == "failed" and exc.output == "exit status 1":
                failures.append(None)  # the file has no such line
            elif exc.kind == "failed" and "No such file or directory" in exc.output:
                failures.append(exc)
            else:
                raise
            continue
        failures.append(None)
        zone = zone_of(host) if zone is None else zone
        lines += lines_of_file(output.splitlines(), zone, since)
    if failures and all(failures) and not sources.get("journals"):
        raise failures[0]
    return sorted((line for line in lines if line["at"] >= since - line["resolution_s"]), key=lambda line: line["at"])


def lines_of_file(texts, zone, since):
    """The lines of a file, whose times are in the host's zone, or in UTC, as in a container that knows no zone."""
    now = time.time()
    # A line without a year is taken to be near this time: without a begin, near now.
    near = since or now
    by_zone = [
        [line for line in (parse_line(text, near, offset) for text in texts) if line]
        for offset in dict.fromkeys((zone, 0))
    ]
    return max(by_zone, key=lambda lines: sum(since <= line["at"] <= now for line in lines))


def lines_of_journal(host, identifier, word, since):
    entries = journald.entries_of(host, {identifier: journald.IDENTIFIER}, [word], since)[identifier]
    return [{"at": at, "resolution_s": 1e-6, "text": text} for at, text in entries]


def zone_of(host):
    """The time zone of the host, in seconds east of UTC."""
    sign, hours, minutes = re.match(r"([+-])(\d\d)(\d\d)", host.ask(None, "date", "+%z", root=False)).groups()
    return int(f"{sign}1") * (int(hours) * 3600 + int(minutes) * 60)


def parse_line(text, near, zone):
    """A line of a file; None if its time is not understood."""
    line = line_formats.parse_dated(text, near, zone)
    if line is None or line["at"] is None:
        return None
    return {name: line[name] for name in ("at", "resolution_s", "text")}
