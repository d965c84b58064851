# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the logs of a host for the events of a run. grep on the host leaves out all lines that are not of the run."""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import IO, Any

from .._record.masking import quote_of
from .._record.shapes import read_event
from . import failures, journal, log_formats
from .host import Host, UnreadError, addresses_of
from .log_lines import zone_of
from .phrases import Pattern

# If more lines of one file match than this, other runs use the same keys, or the file is a flood.
MOST = 20000
# So many lines may come before one with a time: a service logs much at its start, and a traceback is long.
EDGE = 100
# A value that a phrase may take out of a line
SAFE = re.compile(r"^[\w.:@-]{1,80}$")
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
# The distance of the times that grep looks for, in seconds, and the part of the clock that they share
STEPS = ((60, "%H:%M"), (3600, "%H:"), (86400, ""))
FORMS = ("{0:%Y-%m-%d} {2}", "{0:%Y-%m-%d}T{2}", "{1} {0.day:2d} {2}", "{0:%d}/{1}/{0:%Y}:{2}")
MOST_MOMENTS = 2000
# oslo.log writes one of the first in each line of an error, also in those of its traceback; Open vSwitch the others.
ERRORS = (" ERROR ", " CRITICAL ", "|ERR|", "|EMER|", "|WARN|")
# Lines of one process within so many seconds are one error.
ONE_ERROR = 0.1
# Characters of an error's message that are searched for how it failed
LONGEST_FAILURE = 4000
# A hole in a file reads as zeros without an end of line: grep keeps all of it in memory, and tail reads to its begin. A
# file that is truncated while its service writes on has one as long as it was.
LARGEST_HOLE = 256 << 20
# Only so many parts of a file are looked at for holes.
MOST_PARTS = 10000
# Bytes of the first or last lines of all files. 100 lines of 16 KiB of ten files are a quarter of it.
LARGEST_EDGES = 64 << 20
# A file may be rotated away after it was listed: the others are still read, and it counts as not read whole.
GONE = "No such file"
# Belongs to the word before it
WORD = re.compile(r"[0-9A-Za-z]")
# A line of a server about a request that it has answered
ANSWER = re.compile(r'HTTP/\d|" status: \d{3}')


def read(host, services, wanted):
    """The events of a host's logs, and for each source whether it was read whole.

    services: list of service, files (patterns) and journals (units or identifiers).
    wanted: keys (kind to list of texts), phrases (list of service, says), windows (list of service, text),
    since and until (seconds since the epoch, by this host's clock).
    """
    zone = host.attempt("the host's time zone", zone_of, default=0)
    keys = {text: kind for kind, texts in wanted["keys"].items() for text in texts}
    scan = Scan(keys, wanted, zone)
    files = host.attempt("the list of logs", files_of, services, wanted["since"], default={})
    holes = host.attempt("the holes in the logs", holes_in, sorted(files), default={})
    sources = [hollow(service, path, holes[path]) for path, (service, _at) in sorted(files.items()) if path in holes]
    files = {path: about for path, about in files.items() if path not in holes}
    if files:
        edges = host.attempt("the first and last lines of the logs", edges_of, sorted(files), default={})
        lines_of = host.attempt("the logs", grep, sorted(files), keys, scan.window_texts(), moments(wanted, zone))
        after = host.attempt("the first lines of the logs once more", heads_of, sorted(files), default={})
        for path, (service, changed) in sorted(files.items()):
            lines = None if lines_of is None or path.endswith(COMPRESSED) else lines_of.get(path, [])
            first, last = edges.get(path) or ([], [])
            stayed = first[:1] == after.get(path, [])[:1]
            sources.append(scan.file(service, path, changed, lines, (first, last), stayed))
    names = {name: service["service"] for service in services for name in service.get("journals") or []}
    if names:
        # At the beginning of a message there is no blank before its level.
        texts = {*keys, *(text.lstrip() for text in scan.window_texts())}
        window = (wanted["since"], wanted["until"])
        for name, entries in host.attempt("the journal", journal.read, names, texts, *window, default={}).items():
            sources.append(scan.journal(names[name], name, entries))
    return {"events": scan.events, "sources": [source for source in sources if source]}


def read_packed(host, services, wanted, offset_s):
    """Read the logs of a host whose clock is so far ahead; add its addresses, and pack the events into one text.

    Ansible looks at each value of a structure: for thousands of events that takes longer than to read the logs.
    """
    there = {**wanted, **{name: wanted[name] + offset_s for name in ("since", "began", "until")}}
    result = read(host, services, there)
    addresses = host.attempt("the host's addresses", addresses_of, default=[])
    return {**result, "events": json.dumps(result["events"]), "addresses": addresses}


def events_in(read):
    """The events in a result of read_packed; an empty list for a host that could not be read."""
    events = (read or {}).get("events") or []
    return json.loads(events) if isinstance(events, str) else events


def files_of(host, services, since):
    """Path to (service, time of its last change) of the logs written since a time, rotated ones too."""
    roots = sorted({root_of(pattern) for service in services for pattern in service.get("files") or []})
    if not roots:
        return {}
    # One command for all: without root each command is checked by sudo.
    only = ["-maxdepth", "3", "-type", "f", "-newermt", f"@{since:.0f}", "-printf", r"%T@ %p\n"]
    files = {}
    for line in host.ask("logs", "find", *roots, *only, despite=GONE).splitlines():
        changed, _space, path = line.partition(" ")
        service = service_of(path, services)
        if service:
            files[path] = (service, float(changed))
    return files


def root_of(pattern):
    """The directory above all that a pattern can match: /var/log/nova for /var/log/nova/nova-api*.log."""
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return fixed.rpartition("/")[0] or "/"


def service_of(path, services):
    for service in services:
        for pattern in service.get("files") or []:
            # A rotated file has a number or a date behind its name.
            if fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, pattern + "[.-]*"):
                return service["service"]
    return None


def holes_in(host: Host, paths: list[str]) -> dict[str, int]:
    """Return the bytes of the largest hole of each file that has one too large to be read."""
    # In a container the same paths are other files.
    if host.prefixes.get("logs"):
        return {}
    found = {path: largest_hole(path) for path in paths}
    return {path: size for path, size in found.items() if size > LARGEST_HOLE}


def largest_hole(path: str) -> int:
    """Return how many bytes the largest hole of a file has; 0 if this user or the file system cannot tell."""
    largest = at = 0
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        size = os.fstat(number).st_size
        for _part in range(MOST_PARTS):
            hole = os.lseek(number, at, os.SEEK_HOLE)
            if hole >= size:
                break
            at = data_after(number, hole, size)
            largest = max(largest, at - hole)
    # The file is shorter by now, or no file that has places.
    except OSError:
        pass
    finally:
        os.close(number)
    return largest


def data_after(number: int, hole: int, size: int) -> int:
    """Return where a hole ends."""
    try:
        return os.lseek(number, hole, os.SEEK_DATA)
    except OSError as exc:
        if exc.errno == errno.ENXIO:
            return size
        raise


def hollow(service: str, path: str, hole: int) -> dict[str, Any]:
    """Return the source that a file is which cannot be read for its hole."""
    why = f"it has a hole of {hole / (1 << 30):.1f} GiB"
    return {"service": service, "from": path, "whole": False, "first": None, "why": why, "requests": False}


def edges_of(host, paths):
    """The first and the last lines of each file."""
    first = heads_of(host, paths)
    last = headed(asked_for_edges(host, "tail", paths))
    return {path: (first.get(path, []), last.get(path, [])[::-1]) for path in paths}


def heads_of(host, paths):
    return headed(asked_for_edges(host, "head", paths))


def asked_for_edges(host: Host, program: str, paths: list[str]) -> str:
    words = [program, "--verbose", f"--lines={EDGE}", "--", *paths]

    def take(stream: IO[bytes]) -> str:
        data = stream.read(LARGEST_EDGES + 1)
        # Of a file without line ends both programs print all.
        if len(data) > LARGEST_EDGES:
            raise UnreadError("failed", words, f"it prints more than {LARGEST_EDGES >> 20} MiB")
        return data.decode("utf-8", "surrogateescape")

    return host.ask("logs", *words, despite=GONE, take=take)


def headed(text):
    """Path to lines, from the output of head or tail for several files."""
    parts = re.split(r"^==> (.+?) <==\n", text, flags=re.MULTILINE)
    return {path: text.splitlines() for path, text in zip(parts[1::2], parts[2::2])}


def moments(wanted, zone):
    """The beginnings of all times during the run, as the formats write them in the host's zone and in UTC.

    They are minutes, or hours or days if that would be too many minutes to look for.
    """
    duration = wanted["until"] - wanted["since"]
    step, clock = next(((step, clock) for step, clock in STEPS if duration / step <= MOST_MOMENTS), (None, None))
    if step is None:
        return [""]  # any time
    texts = set()
    for number in range(int(wanted["since"] // step), int(wanted["until"] // step) + 1):
        # In a zone that is not whole hours off, the begin and the end of an hour are in two hours.
        for at in (number * step, (number + 1) * step - 1):
            for offset in dict.fromkeys((zone, 0)):
                stamp = datetime.fromtimestamp(at, timezone(timedelta(seconds=offset)))
                month = log_formats.MONTHS[stamp.month - 1]
                texts.update(form.format(stamp, month, stamp.strftime(clock)) for form in FORMS)
    return sorted(texts)


def grep(host, paths, keys, texts, times):
    """Path to lines, in the file's order, that hold a key, or one of the texts at one of the times."""
    options = ["--text", "--with-filename", "--null", "--line-number", f"--max-count={MOST}"]
    # A rule of sudo sees all words as one text, where a word after -e could as well be the name of a file.
    fixed = [f"--regexp={key}" for key in keys]
    matches = {}
    commands = [["grep", *options, "--fixed-strings", *fixed]] if keys else []
    if texts:
        either = "|".join(re.escape(text) for text in texts)
        when = "|".join(re.escape(text) for text in times)
        # GNU grep warns of a backslash before a character that needs none.
        pattern = re.sub(r"\\([^\\.\[\]{}()*+?^$|])", r"\1", f"({when}).*({either})|({either}).*({when})")
        # No word may have a blank in it, for the same reason. A dot matches more, but those lines are left out later.
        commands.append(["grep", *options, "--extended-regexp", f"--regexp={pattern.replace(' ', '.')}"])
    for command in commands:
        try:
            output = host.ask("logs", *command, "--", *paths, despite=GONE)
        except UnreadError as exc:
            if exc.kind == "failed" and exc.output == "exit status 1":
                continue  # no file has such a line
            raise
        for line in output.split("\n"):
            path, zero, rest = line.partition("\0")
            number, colon, text = rest.partition(":")
            if zero and colon and number.isdigit():
                matches.setdefault(path, {})[int(number)] = text
    return {path: [lines[number] for number in sorted(lines)] for path, lines in matches.items()}


def places_of(keys: Iterable[str]) -> re.Pattern[str]:
    """Return an expression that finds the places at which an id may begin."""
    first = "".join(sorted({re.escape(key[0]) for key in keys if key}))
    return re.compile(rf"(?<![0-9A-Za-z])(?=[{first}])" if first else "(?!)")


class Scan:
    """Turns matching lines into events."""

    def __init__(self, keys, wanted, zone):
        self.keys, self.wanted, self.zone = keys, wanted, zone
        # The first of several ids at one place is the longest.
        self.lengths = sorted({len(key) for key in keys if key}, reverse=True)
        self.places = places_of(keys)
        self.phrases = {}
        for phrase in wanted["phrases"]:
            self.phrases.setdefault(phrase["service"], []).append((phrase["says"], Pattern(phrase["says"])))
        self.windows = {}
        for window in wanted["windows"]:
            self.windows.setdefault(window["service"], []).append(window["text"])
        self.events = []
        self.methods = {}
        self.errors = {}

    def window_texts(self):
        texts = {text for texts in self.windows.values() for text in texts}
        return sorted(texts.union(ERRORS if self.wanted.get("errors") else ()))

    def file(self, service, path, changed, lines, edges, stayed=True):
        """Take the events of a file; return whether it was there for the whole time, and whether it shows requests.

        edges: its first and last lines, from before the others were read. stayed: whether its first line was the same
        afterwards.
        """
        zone = self.zone_of(edges[1], changed)
        first = self.when(edges[0], zone)
        source = {"service": service, "from": path, "whole": False, "first": first, "why": None}
        source["requests"] = any(map(ANSWER.search, (line for part in edges for line in part)))
        if lines is None and path.endswith(COMPRESSED):
            return {**source, "why": "it is compressed"}
        if lines is None:
            return {**source, "why": "it was not read"}
        if len(lines) >= MOST:
            source["why"] = f"more than {MOST} lines were found in it"
        elif not stayed:
            source["why"] = "it was rotated away while it was read"
        elif first is None:
            source["why"] = "the time of its first line is not known"
        elif first > self.wanted["began"]:
            source["why"] = "it begins after the run did"
        before = len(self.events)
        self.take(service, ((None, line) for line in lines), zone)
        # A file of later times is none of the run, but one that begins with a line of a wrong clock may be.
        if first is not None and first > self.wanted["until"] and len(self.events) == before:
            return None
        return {**source, "whole": source["why"] is None}

    def journal(self, service, name, entries):
        self.take(service, entries, self.zone)
        why = f"more than {journal.MOST} entries were found in it" if len(entries) >= journal.MOST else None
        about = {"first": None, "why": why, "requests": None}
        return {"service": service, "from": f"journal of {name}", "whole": why is None, **about}

    def zone_of(self, last, changed):
        """The zone of a file's times: the host's, or UTC if its last line then fits the file's last change better."""
        if self.zone == 0:
            return 0
        times = {zone: self.when(last, zone) for zone in (self.zone, 0)}
        if None in times.values():
            return self.zone
        return min(times, key=lambda zone: abs(times[zone] - changed))

    def when(self, lines, zone):
        """The time of the first line that has one."""
        parsed = (log_formats.parse(line, self.wanted["until"], zone) for line in lines)
        return next((line["at"] for line in parsed if line and line["at"] is not None), None)

    def take(self, service, entries, zone):
        """Take the events of some lines, or of entries of the journal, which may have a whole traceback each."""
        for at, line in ((at, line) for at, entry in entries for line in entry.split("\n")):
            parsed = log_formats.parse(line, self.wanted["until"], zone)
            if parsed is None:
                # A line without a time still has that of the journal's entry.
                if at is None:
                    continue
                parsed = {"resolution_s": 1e-6, "level": "info", "requests": [], "kind": "line", "text": line[:4096]}
            if at is not None:
                parsed.update(at=at, resolution_s=1e-6)
            if parsed.get("at") is None:
                continue
            event = self.event(service, parsed, line[: log_formats.LONGEST])
            if event:
                self.events.append(event)
            if parsed.get("failed") and self.wanted.get("errors"):
                self.error(service, parsed, line[: log_formats.LONGEST])

    def event(self, service, parsed, line):
        slack = parsed["resolution_s"] + 1
        if not self.wanted["since"] - slack <= parsed["at"] <= self.wanted["until"] + slack:
            return None
        keys = self.keys_in(line)
        said, fields = self.said(service, parsed["text"])
        window = [text for text in self.windows.get(service, ()) if text in line]
        if parsed["kind"] == "rpc":
            fields.update(self.message(service, parsed))
        elif parsed["kind"] == "http":
            fields.update(parsed["http"])
            fields["path"] = log_formats.masked_path(fields["path"], self.keys)
        if not (keys or window) or (parsed["kind"] == "line" and not (said or window)):
            return None
        about = (parsed["at"], service, parsed["kind"], parsed["resolution_s"], parsed["level"], keys, said, window)
        # A value that a phrase takes out of a line never replaces a field of the event itself.
        return {**fields, **read_event(*about)}

    def error(self, service, parsed, line):
        """Add an error with its logger, and of its traceback the module of the innermost frame and the exception."""
        if not self.wanted["began"] - 1 <= parsed["at"] <= self.wanted["until"] + 1:
            return
        thread, keys = (service, parsed.get("process")), self.keys_in(line)
        before = self.errors.get(thread)
        if before and parsed["at"] - before["at"] <= ONE_ERROR and parsed["logger"] == before["logger"]:
            told = self.failure(parsed, line)
            # The last line of a traceback is the exception itself, and says more than the first.
            before.update({name: value for name, value in told.items() if value and name != "mentions"})
            before["mentions"] = list(dict.fromkeys([*before["mentions"], *told["mentions"]]))
            before["keys"] = {**before["keys"], **keys}
            return
        told = {"logger": parsed["logger"], **self.failure(parsed, line)}
        event = read_event(parsed["at"], service, "error", parsed["resolution_s"], keys=keys, **told)
        self.errors[thread] = event
        self.events.append(event)

    def failure(self, parsed, line):
        """The exception of an error and the module that raised it, how it failed, at whom, and the line to quote."""
        message = parsed.get("message", parsed["text"])[:LONGEST_FAILURE]
        peer, address = failures.peer_in(message)
        how = failures.how_of(message)
        return {
            "exception": log_formats.exception_in(parsed["text"]),
            "raised_in": log_formats.module_in(line),
            "how": None if how is None else how.value,
            "peer": peer,
            "peer_address": address,
            "mentions": failures.mentioned_in(message),
            "quote": quote_of(message, self.keys) if parsed["text"] else None,
        }

    def keys_in(self, line: str) -> dict[str, list[str]]:
        """Return the ids of the run in a line, by their kind."""
        keys: dict[str, list[str]] = {}
        for text in dict.fromkeys(self.ids_in(line)):
            keys.setdefault(self.keys[text], []).append(text)
        return keys

    def ids_in(self, line: str) -> Iterator[str]:
        """Return the ids of the run in a line, each place of it once.

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

    def said(self, service, text):
        """The phrases that a line says, and the values that they name, if these can be no secret."""
        said, fields = [], {}
        for name, pattern in self.phrases.get(service, ()):
            values = pattern.search(text)
            if values is not None:
                said.append(name)
                fields.update({k: v for k, v in values.items() if v and SAFE.match(v)})
        return said, fields

    def message(self, service, parsed):
        """A message on the queue. The same process names its method in a line before, for the same request."""
        rpc, thread = parsed["rpc"], (service, parsed.get("process"), tuple(parsed["requests"]))
        if rpc["action"] == "method":
            self.methods[thread] = rpc["method"]
        elif rpc["action"] in ("cast", "call"):
            return {"method": self.methods.pop(thread, None), **rpc}
        return rpc
