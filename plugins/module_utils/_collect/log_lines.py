# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Log lines of a host, from journald and from files, with their times."""

from __future__ import annotations

import json
import re

from . import log_formats
from .host import UnreadError


def read(host, part, sources, word, since):
    """The lines with a word from a time (seconds since the epoch) on: dictionaries of at, resolution_s and text.

    sources has journals (identifiers) and files; a file that does not exist is no source, but one of both must be.
    """
    lines, failures = [], []
    for identifier in sources.get("journals") or []:
        lines += journal(host, identifier, word, since)
    zone = None
    for path in sources.get("files") or []:
        try:
            said = host.ask(part, "grep", "--text", "--fixed-strings", "--", word, path)
        except UnreadError as exc:
            if exc.kind == "failed" and exc.said == "exit status 1":
                failures.append(None)  # read, and nothing was in it
            elif exc.kind == "failed" and "No such file or directory" in exc.said:
                failures.append(exc)
            else:
                raise
            continue
        failures.append(None)
        zone = zone or zone_of(host)
        lines += [line for line in (parse_line(text, since, zone) for text in said.splitlines()) if line]
    if failures and all(failures) and not sources.get("journals"):
        raise failures[0]
    return sorted((line for line in lines if line["at"] >= since - line["resolution_s"]), key=lambda line: line["at"])


def journal(host, identifier, word, since):
    said = host.ask(
        None, "journalctl", "--output=json", "--no-pager", "--quiet", "--output-fields=MESSAGE",
        f"--identifier={identifier}", f"--since=@{since:.0f}",
    )  # fmt: skip
    found = []
    for entry in map(json.loads, said.splitlines()):
        line = {"at": int(entry["__REALTIME_TIMESTAMP"]) / 1e6, "resolution_s": 1e-6, "text": text_of(entry)}
        found += [line] if word in line["text"] else []
    return found


def text_of(entry):
    """The message of a journal's entry; what is no UTF-8 comes as a list of bytes."""
    message = entry.get("MESSAGE") or ""
    return message if isinstance(message, str) else bytes(message).decode("utf-8", "replace")


def zone_of(host):
    """The host's zone, as seconds to the east."""
    sign, hours, minutes = re.match(r"([+-])(\d\d)(\d\d)", host.ask(None, "date", "+%z", root=False)).groups()
    return int(f"{sign}1") * (int(hours) * 3600 + int(minutes) * 60)


def parse_line(text, near, zone):
    """A line of a file; None where it has no time that is understood."""
    line = log_formats.parse_dated(text, near, zone)
    if line is None or line["at"] is None:
        return None
    return {name: line[name] for name in ("at", "resolution_s", "text")}
