# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The logs of a host, read to events by the keys of a run. What is not ours is passed over by grep, on the host."""

from __future__ import annotations

import fnmatch
import json
import re
from datetime import datetime, timedelta, timezone

from .._record.shapes import read_event
from . import log_formats
from .host import UnreadError, addresses_of
from .log_lines import text_of, zone_of
from .phrases import Pattern

# More lines of one file than this are not ours alone, or the file is a flood.
MOST = 20000
# So many lines may pass until one has a time: a service that starts says a lot, and a traceback is long.
EDGE = 100
# A value that a phrase may take out of a line
SAFE = re.compile(r"^[\w.:@-]{1,80}$")
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
# How far apart the times are that grep looks for, in seconds, and what of the clock the formats write of each
STEPS = ((60, "%H:%M"), (3600, "%H:"), (86400, ""))
FORMS = ("{0:%Y-%m-%d} {2}", "{0:%Y-%m-%d}T{2}", "{1} {0.day:2d} {2}", "{0:%d}/{1}/{0:%Y}:{2}")
MOST_MOMENTS = 2000
# What oslo.log writes of an error, each line of a traceback like the first
ERRORS = (" ERROR ", " CRITICAL ")
# Lines of one process so close together are one error.
ONE_ERROR = 0.1
# A file may be rotated away after it was listed: the others are read all the same, and it counts as not read whole.
GONE = "No such file"


def read(host, services, wanted):
    """The events of a host's logs, and of each source whether it was read whole.

    services: list of service, files (patterns) and journals (units or identifiers).
    wanted: keys (kind to list of texts), phrases (list of service, says), windows (list of service, text),
    since and until (seconds since the epoch, by this host's clock).
    """
    zone = host.attempt("the host's time zone", zone_of, default=0)
    keys = {text: kind for kind, texts in wanted["keys"].items() for text in texts}
    scan = Scan(keys, wanted, zone)
    files = host.attempt("the list of logs", files_of, services, wanted["since"], default={})
    sources = []
    if files:
        edges = host.attempt("the first and last lines of the logs", edges_of, sorted(files), default={})
        found = host.attempt("the logs", grep, sorted(files), keys, scan.window_texts(), moments(wanted, zone))
        after = host.attempt("the first lines of the logs once more", heads_of, sorted(files), default={})
        for path, (service, changed) in sorted(files.items()):
            lines = None if found is None or path.endswith(COMPRESSED) else found.get(path, [])
            first, last = edges.get(path) or ([], [])
            stayed = first[:1] == after.get(path, [])[:1]
            sources.append(scan.file(service, path, changed, lines, (first, last), stayed))
    names = {name: service["service"] for service in services for name in service.get("journals") or []}
    if names:
        for name, entries in host.attempt("the journal", journals_of, names, wanted, default={}).items():
            sources.append(scan.journal(names[name], name, entries))
    return {"events": scan.events, "sources": [one for one in sources if one]}


def told(host, services, wanted, offset_s):
    """As read, for a host whose clock is so far ahead, with its addresses; the events as one text.

    They are thousands, and Ansible looks at each value of a structure, which takes longer than to read the logs.
    """
    there = {**wanted, **{name: wanted[name] + offset_s for name in ("since", "began", "until")}}
    found = read(host, services, there)
    addresses = host.attempt("the host's addresses", addresses_of, default=[])
    return {**found, "events": json.dumps(found["events"]), "addresses": addresses}


def events_in(read):
    """The events of a host's logs, as told; none of a host that could not be read."""
    events = (read or {}).get("events") or []
    return json.loads(events) if isinstance(events, str) else events


def files_of(host, services, since):
    """Path to (service, time of its last change) of the logs written since then, rotated ones too."""
    roots = sorted({root_of(pattern) for service in services for pattern in service.get("files") or []})
    if not roots:
        return {}
    # One command for all: who may not be root has each of them looked at by sudo.
    only = ["-maxdepth", "3", "-type", "f", "-newermt", f"@{since:.0f}", "-printf", r"%T@ %p\n"]
    found = {}
    for line in host.ask("logs", "find", *roots, *only, despite=GONE).splitlines():
        changed, _space, path = line.partition(" ")
        service = service_of(path, services)
        if service:
            found[path] = (service, float(changed))
    return found


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


def edges_of(host, paths):
    """The first and the last lines of each file."""
    first = heads_of(host, paths)
    last = headed(host.ask("logs", "tail", "--verbose", f"--lines={EDGE}", "--", *paths, despite=GONE))
    return {path: (first.get(path, []), last.get(path, [])[::-1]) for path in paths}


def heads_of(host, paths):
    return headed(host.ask("logs", "head", "--verbose", f"--lines={EDGE}", "--", *paths, despite=GONE))


def headed(text):
    """What head and tail print of several files, by file."""
    parts = re.split(r"^==> (.+?) <==\n", text, flags=re.MULTILINE)
    return {path: said.splitlines() for path, said in zip(parts[1::2], parts[2::2])}


def moments(wanted, zone):
    """The beginnings of the times in which the run lies, as the formats write them in the host's zone and in UTC.

    They are minutes, or so much coarser that they are not too many to look for.
    """
    span = wanted["until"] - wanted["since"]
    step, clock = next(((step, clock) for step, clock in STEPS if span / step <= MOST_MOMENTS), (None, None))
    if step is None:
        return [""]  # any time
    found = set()
    for number in range(int(wanted["since"] // step), int(wanted["until"] // step) + 1):
        # In a zone that is no whole number of hours off, an hour's begin and end lie in two.
        for at in (number * step, (number + 1) * step - 1):
            for offset in dict.fromkeys((zone, 0)):
                stamp = datetime.fromtimestamp(at, timezone(timedelta(seconds=offset)))
                month = log_formats.MONTHS[stamp.month - 1]
                found.update(form.format(stamp, month, stamp.strftime(clock)) for form in FORMS)
    return sorted(found)


def grep(host, paths, keys, texts, times):
    """Path to lines, in the file's order, that hold a key, or one of the texts at one of the times."""
    options = ["--text", "--with-filename", "--null", "--line-number", f"--max-count={MOST}"]
    # sudo sees all words as one text: a word of its own behind -e could be said to be the name of a file to read.
    fixed = [f"--regexp={key}" for key in keys]
    found = {}
    commands = [["grep", *options, "--fixed-strings", *fixed]] if keys else []
    if texts:
        either = "|".join(re.escape(text) for text in texts)
        when = "|".join(re.escape(text) for text in times)
        # GNU grep knows no backslash before what needs none.
        pattern = re.sub(r"\\([^\\.\[\]{}()*+?^$|])", r"\1", f"({when}).*({either})|({either}).*({when})")
        # No word has a blank in it, for the same reason: whatever stands in its place is found, and passed over later.
        commands.append(["grep", *options, "--extended-regexp", f"--regexp={pattern.replace(' ', '.')}"])
    for command in commands:
        try:
            said = host.ask("logs", *command, "--", *paths, despite=GONE)
        except UnreadError as exc:
            if exc.kind == "failed" and exc.said == "exit status 1":
                continue  # read, and nothing was in them
            raise
        for line in said.split("\n"):
            path, zero, rest = line.partition("\0")
            number, colon, text = rest.partition(":")
            if zero and colon and number.isdigit():
                found.setdefault(path, {})[int(number)] = text
    return {path: [lines[number] for number in sorted(lines)] for path, lines in found.items()}


def journals_of(host, names, wanted):
    """Name to (time, message) of the entries of a unit or an identifier, for those that ever wrote to the journal."""
    fields = {name: "_SYSTEMD_UNIT" if name.endswith(".service") else "SYSLOG_IDENTIFIER" for name in names}
    # Who never wrote to this journal is not on this host, and its silence proves nothing.
    known = {(field, one) for field in set(fields.values()) for one in values_of(host, field)}
    fields = {name: field for name, field in fields.items() if (field, name) in known}
    if not fields:
        return {}
    either = " + ".join(f"{field}={name}" for name, field in sorted(fields.items())).split(" ")
    said = host.ask(
        None,
        *("journalctl", "--output=json", "--no-pager", "--quiet"),
        "--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_SYSTEMD_UNIT",
        f"--since=@{wanted['since']:.0f}",
        f"--until=@{wanted['until'] + 1:.0f}",
        *either,
    )
    found = {name: [] for name in fields}
    for line in said.splitlines():
        entry = json.loads(line)
        for name, field in fields.items():
            if entry.get(field) == name:
                found[name].append((int(entry["__REALTIME_TIMESTAMP"]) / 1e6, text_of(entry)))
    return found


def values_of(host, field):
    """All that this journal has in a field."""
    return host.ask(None, "journalctl", "--no-pager", "--quiet", f"--field={field}").splitlines()


class Scan:
    """Turns the lines that were found into events."""

    def __init__(self, keys, wanted, zone):
        self.keys, self.wanted, self.zone = keys, wanted, zone
        # An id must not be the beginning of a longer one.
        either = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
        self.known = re.compile(rf"(?<![0-9A-Za-z])(?:{either})(?![0-9A-Za-z])") if keys else None
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
        """The events of a file; what is returned says whether it was there for the whole time.

        edges: its first and last lines, before the others were read. stayed: whether it began with the same line then.
        """
        zone = self.zone_of(edges[1], changed)
        first = self.when(edges[0], zone)
        source = {"service": service, "from": path, "whole": False, "first": first, "why": None}
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
        elif first > self.wanted["until"]:
            return None
        elif first > self.wanted["began"]:
            source["why"] = "it begins after the run did"
        self.take(service, ((None, line) for line in lines), zone)
        return {**source, "whole": source["why"] is None}

    def journal(self, service, name, entries):
        self.take(service, entries, self.zone)
        return {"service": service, "from": f"journal of {name}", "whole": True, "first": None, "why": None}

    def zone_of(self, last, changed):
        """The zone in which a file is written: the host's, or UTC where its last line fits the file's time better."""
        if self.zone == 0:
            return 0
        times = {zone: self.when(last, zone) for zone in (self.zone, 0)}
        if None in times.values():
            return self.zone
        return min(times, key=lambda zone: abs(times[zone] - changed))

    def when(self, lines, zone):
        """The time of the first line that has one."""
        parsed = (log_formats.parse(line, self.wanted["until"], zone) for line in lines)
        return next((one["at"] for one in parsed if one and one["at"] is not None), None)

    def take(self, service, lines, zone):
        for at, line in lines:
            parsed = log_formats.parse(line, self.wanted["until"], zone)
            if parsed is None:
                # What was written to the journal has its time from there.
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
            fields["path"] = log_formats.told_path(fields["path"], self.keys)
        if not (keys or window) or (parsed["kind"] == "line" and not (said or window)):
            return None
        about = (parsed["at"], service, parsed["kind"], parsed["resolution_s"], parsed["level"], keys, said, window)
        # A value that a phrase takes out of a line never replaces a field of the event itself.
        return {**fields, **read_event(*about)}

    def error(self, service, parsed, line):
        """An error, of which the logger and the exception's class may be told; a traceback ends with the class."""
        if not self.wanted["began"] - 1 <= parsed["at"] <= self.wanted["until"] + 1:
            return
        thread, keys = (service, parsed.get("process")), self.keys_in(line)
        before = self.errors.get(thread)
        if before and parsed["at"] - before["at"] <= ONE_ERROR and parsed["logger"] == before["logger"]:
            before["exception"] = log_formats.exception_in(parsed["text"]) or before["exception"]
            before["keys"] = {**before["keys"], **keys}
            return
        raised = {"logger": parsed["logger"], "exception": log_formats.exception_in(parsed["text"])}
        event = read_event(parsed["at"], service, "error", parsed["resolution_s"], keys=keys, **raised)
        self.errors[thread] = event
        self.events.append(event)

    def keys_in(self, line):
        found = {}
        for text in set(self.known.findall(line)) if self.known else ():
            found.setdefault(self.keys[text], []).append(text)
        return found

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
        """A message on the queue; its method is named a line before by the same process for the same request."""
        rpc, thread = parsed["rpc"], (service, parsed.get("process"), tuple(parsed["requests"]))
        if rpc["action"] == "method":
            self.methods[thread] = rpc["method"]
        elif rpc["action"] in ("cast", "call"):
            return {"method": self.methods.pop(thread, None), **rpc}
        return rpc
