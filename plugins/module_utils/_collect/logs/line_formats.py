# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses log lines in all their formats. Pure: text in, fields out.

Only the fields that are named here leave a line: times, levels, ids, and client, target and duration of requests and
messages. The rest of a line may hold tokens, passwords or user data, and is never passed on.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone

from ..._record.clock import seconds_of

# Characters of a time without a fraction
WHOLE_SECONDS = len("2026-11-21 14:43:25")
# Characters of a line that are read: a line may be a megabyte long, and its message begins before this.
LONGEST = 16384

# oslo.log: time, process, level, logger, [global and local request id, user, project ...], message
WRITTEN = (
    r"^(?:(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{3,6})?)(?P<zone>Z|[+-]\d\d:?\d\d)?\s+)?"
    r"(?:(?P<pid>\d+)\s+)?"
)
OSLO = re.compile(
    WRITTEN
    + r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|TRACE|AUDIT)\s+(?P<logger>[\w.-]{1,120})\s+"
    + r"\[(?P<context>[^]]*)\]\s?"
)
REQUEST = re.compile(r"req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# rsyslog writes an escape character as its number.
COLOURS = re.compile(r"(?:\x1b|#033)\[[\d;]*m")
# Open vSwitch, Ceph, libvirt and rsyslog: an ISO time with its zone, or in UTC
ISO = re.compile(r"^(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)(?P<zone>Z|[+-]\d\d:?\d\d)[|:\s]+")
SYSLOG = re.compile(r"^(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)(?P<fraction>\.\d+)? ")
# syslog and the journal name the host and the program between the time and the line.
WRITER = re.compile(r"^(?P<host>[\w.:-]+)\s+(?P<program>[^\s\[\]]+?)(?:\[\d+\])?:\s")
# The runtime of a container names the stream and whether the line is whole, or nothing.
RUNTIME = re.compile(r"^(?:(?:stdout|stderr) [FP] )?")
# Apache puts its own time, and more in brackets, before the line of a service that runs in it.
IN_APACHE = re.compile(
    r"^(?:\[\w{3} \w{3} [ \d]\d [\d:.]+ \d{4}\] (?:\[[^]]*\] )*|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ )"
    r"(?=\d{4}-\d\d-\d\d)"
)
UWSGI = re.compile(
    r"^\[pid: \d+\|[^]]*\] (?P<client>\S+) \([^)]*\) \{[^}]*\} "
    r"\[\w{3} (?P<time>\w{3} [ \d]\d \d\d:\d\d:\d\d) \d{4}\] "
    r"(?P<method>[A-Z]+) (?P<path>\S+) => generated \d+ bytes in (?P<msecs>\d+) msecs \(HTTP/[\d.]+ (?P<status>\d{3})\)"
)
UWSGI_STARTS = re.compile(
    r"^\*\*\* (?:Starting|Operational).* on \[\w{3} (?P<time>\w{3} [ \d]\d \d\d:\d\d:\d\d) \d{4}\] \*\*\*"
)
APACHE = re.compile(
    r"^(?P<client>\S+) \S+ \S+ \[(?P<time>\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    r'"(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" (?P<status>\d{3})'
)
# Request lines inside a message of oslo.log: Nova's and Placement's own, eventlet's, and Cinder's two
HTTP = [
    re.compile(
        r'^(?P<client>[^ ,]+)(?:,\S*)? "(?P<method>[A-Z]+) (?P<path>\S+)(?: HTTP/[\d.]+)?" status: (?P<status>\d{3})'
        r"(?:.*? time: (?P<seconds>\d+\.\d+))?"
    ),
    re.compile(
        r'^(?P<client>[^ ,]+)(?:,\S*)? - - \[[^]]*\] "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" '
        r"(?:status: )?(?P<status>\d{3})\s+(?:len: )?\S+\s+(?:time: )?(?P<seconds>\d+\.\d+)"
    ),
    re.compile(r"^(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD) https?://[^/\s]+(?P<path>/\S*)"),
    re.compile(r"^https?://[^/\s]+(?P<path>/\S*) returned with HTTP (?P<status>\d{3})"),
]
MESSAGE_ID = r"(?P<message>[0-9a-f]{32}|[0-9a-f-]{36})"
RPC = [
    ("method", re.compile(r"^Calling RPC method (?P<method>\w+) on target (?P<topic>[\w.@-]+)")),
    ("notify", re.compile(rf"^CAST unique_id: {MESSAGE_ID} NOTIFY exchange '[^']*' topic '(?P<topic>[^']+)'")),
    ("cast", re.compile(rf"^CAST unique_id: {MESSAGE_ID} (?:exchange '[^']*' topic|FANOUT topic) '(?P<topic>[^']+)'")),
    ("call", re.compile(rf"^CALL msg_id: {MESSAGE_ID} exchange '[^']*' topic '(?P<topic>[^']+)'")),
    ("received", re.compile(rf"^received message (?:with unique_id|msg_id): {MESSAGE_ID}")),
    ("taken", re.compile(rf"^Receive incoming message with id {MESSAGE_ID} and method: (?P<method>\w+)")),
    ("reply", re.compile(rf"^sending reply msg_id: {MESSAGE_ID}")),
    ("replied", re.compile(rf"^Replied success message with id {MESSAGE_ID} and method: (?P<method>\w+)")),
    ("answered", re.compile(rf"^received reply msg_id: {MESSAGE_ID}")),
]
# The usual endings of exceptions, and those of OpenStack's own. A name has letters only, so that it cannot be a token.
RAISED = (
    r"((?:[a-z_]\w{0,40}\.){0,8}[A-Za-z]{0,60}"
    r"(?:Error|Exception|Timeout|TimedOut|NotFound|Unavailable|Refused|Forbidden|Unauthorized|Failed|Failure|Exceeded"
    r"|Conflict|NoValidHost|NoValidBackend|DeadlinePassed|Undeliverable|SERVER_DOWN))"
    # An exception that another service has sent back
    r"(?:_Remote)?(?=[:>(.]|$)"
)
EXCEPTION = re.compile(r"(?:^|[:<] ?|\] )" + RAISED)
# The last line of a traceback: the lines before it are indented, or are words.
LAST_LINE = re.compile("^" + RAISED)
# The file of a frame of a traceback, below the folder that Python imports from
FRAME = re.compile(
    r'File "[^"]*?/(?:(?:site|dist)-packages|opt/stack/[^/"]+)/(?P<path>[A-Za-z_][\w/]{0,120})\.py", line \d'
)
# A line of a traceback names no request.
TRACEBACK = re.compile(WRITTEN + r"(?:ERROR|CRITICAL|TRACE)\s+(?P<logger>[\w.-]{1,120}) (?!\[)")
# Open vSwitch and OVN: the number of the line, the module and the level. A lost connection and a refused transaction
# are warnings there.
OVS_FAILED = re.compile(r"^\d{5,}\|(?P<logger>[\w()-]+)\|(?:ERR|EMER|WARN(?=.*(?:connection|timeout|\berror\b)))\|")
# Nova's conductor logs at WARNING only that it gives up an instance.
TO_ERROR = "to ERROR state"
QUEUE_UNREACHABLE = "the queue is unreachable"
UNREACHABLE = re.compile(r"AMQP server on \S+ is unreachable|Connection failed: ")
MESSAGING = re.compile(r"^oslo[._]messaging\b")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# A time before 1970 or at the end of the year 9999 is a mistake, and datetime cannot calculate with it.
EARLIEST, LATEST = 0, 253402000000
# A word of a query that may be shown: a name, not a secret
PLAIN = re.compile(r"^[a-z_]{1,32}(?::[a-z_]{1,32})?$")


def parse(line, near, zone):
    """at, resolution_s, level, requests and text of a line, or None. text is for matching only.

    near is a time close to that of the line, for formats without a year; zone is in seconds east of UTC.
    """
    return checked(line_of_any_format, line, near, zone)


def parse_dated(line, near, zone):
    """The same for a line whose writer is known: only the time at its beginning is parsed."""
    return checked(dated, line, near, zone)


def checked(read, line, near, zone):
    line = COLOURS.sub("", line[:LONGEST])
    try:
        parsed = read(line, near, zone)
    except (ValueError, OverflowError):
        return None  # it looks like a time but is not one, such as a leap second
    if parsed and parsed["at"] is not None and not EARLIEST <= parsed["at"] <= LATEST:
        return None
    return parsed


def line_of_any_format(line, near, zone):
    return service_line(line, near, zone) or json_line(line) or prefixed(line, near, zone) or dated(line, near, zone)


def service_line(line, near, zone):
    return oslo(line, zone) or traceback(line, zone) or uwsgi(line, near, zone) or apache(line)


def prefixed(line, near, zone):
    """A service's line that somebody passed on: syslog, the journal, Apache, or the runtime of its container.

    The service's own time is the more precise one.
    """
    match = IN_APACHE.match(line)
    if match:
        return oslo(line[match.end() :], zone) or traceback(line[match.end() :], zone)
    passed_on = dated(line, near, zone)
    before = passed_on and (WRITER.match(passed_on["text"]) or RUNTIME.match(passed_on["text"]))
    parsed = before and service_line(passed_on["text"][before.end() :].lstrip(), near, zone)
    if parsed and parsed["at"] is None:
        parsed.update(at=passed_on["at"], resolution_s=passed_on["resolution_s"])
    return parsed or None


def writer_of(line):
    """(host, program) that syslog or the journal name before a line, or (None, None)."""
    line = COLOURS.sub("", line[:LONGEST])
    match = ISO.match(line) or SYSLOG.match(line)
    writer = match and WRITER.match(line[match.end() :])
    return (writer["host"], writer["program"]) if writer else (None, None)


def oslo(line, zone):
    match = OSLO.match(line)
    if not match:
        return None
    at, resolution = time_of(match, zone)
    messaging, message = MESSAGING.match(match["logger"]), line[match.end() :]
    return {
        "at": at,
        "resolution_s": resolution,
        "level": level_of(match["level"], messaging),
        "failed": match["level"] in ("ERROR", "CRITICAL") or TO_ERROR in message,
        "logger": match["logger"],
        "requests": REQUEST.findall(match["context"]),
        "process": match["pid"],
        "text": message,
        **(rpc(message) if messaging else http_in(message)),
    }


def level_of(written, messaging):
    """The level at which a service must log to have such a line. An error of oslo.messaging is logged by default."""
    if written not in ("DEBUG", "TRACE"):
        return "info"
    return "messaging" if messaging else "debug"


def time_of(match, zone):
    """(seconds since the epoch or None, resolution) of a line of oslo.log."""
    if not match["time"]:
        return None, 0.001
    at = seconds_of(match["time"] + (match["zone"] or ""), zone_east(zone))
    return at, 0.001 if len(match["time"]) > WHOLE_SECONDS else 1


def traceback(line, zone):
    match = TRACEBACK.match(line)
    if not match:
        return None
    at, resolution = time_of(match, zone)
    raised = LAST_LINE.match(line[match.end() :])
    return {
        "at": at,
        "resolution_s": resolution,
        "level": "info",
        "failed": True,
        "logger": match["logger"],
        "requests": [],
        "process": match["pid"],
        "kind": "line",
        # Source code and values are not needed here.
        "text": raised[1] if raised else "",
        "message": line[match.end() :] if raised else "",
    }


def exception_in(message):
    """The class of the exception that an error names. Nothing else of an error leaves its line."""
    if UNREACHABLE.search(message):
        return QUEUE_UNREACHABLE
    classes = EXCEPTION.findall(message)
    return classes[-1] if classes else None


def module_in(line):
    """The module of the frame that a line of a traceback is about, or None."""
    frame = FRAME.search(line)
    return frame["path"].replace("/", ".") if frame else None


def rpc(message):
    """The message on the queue that a line of oslo.messaging is about."""
    for action, pattern in RPC:
        match = pattern.match(message)
        if match:
            fields = {name: text for name, text in match.groupdict().items() if text}
            return {"kind": "rpc", "rpc": {"action": action, **fields}}
    return {"kind": "line"}


def http_in(message):
    """The request that the message of a line is about."""
    for pattern in HTTP:
        match = pattern.match(message)
        if match:
            return {"kind": "http", "http": http(match.groupdict())}
    return {"kind": "line"}


def http(texts):
    seconds = texts.get("seconds")
    if seconds is None and texts.get("msecs"):
        seconds = int(texts["msecs"]) / 1000
    return {
        "method": texts.get("method"),
        "path": texts["path"],
        "status": int(texts["status"]) if texts.get("status") else None,
        "client": address(texts.get("client")),
        "seconds": None if seconds is None else float(seconds),
    }


def address(text):
    return text[len("::ffff:") :] if text and text.startswith("::ffff:") else text


def uwsgi(line, near, zone):
    match = UWSGI.match(line)
    if not match:
        return None
    return by_web_server(yearless(match["time"], near, zone), match, line)


def apache(line):
    match = APACHE.match(line)
    if not match:
        return None
    day, month, rest = match["time"].split("/", 2)
    at = datetime.strptime(f"{day} {month_of(month)} {rest}", "%d %m %Y:%H:%M:%S %z").timestamp()
    return by_web_server(at, match, line)


def by_web_server(at, match, line):
    """A request in a web server's log, with the time at which it came, cut to the second."""
    return {
        "at": at,
        "resolution_s": 1,
        "level": "info",
        "requests": [],
        "text": line[match.end("time") :],
        "kind": "http",
        "http": {**http(match.groupdict()), "began": True},
    }


def json_line(line):
    """The object gateway's log of operations: a JSON object a line."""
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line.rstrip().rstrip(","))
        at = seconds_of(entry["time"])
        method, path = entry["uri"].split()[:2]
        status, client, operation = int(entry["http_status"]), entry["remote_addr"], entry["operation"]
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return {
        "at": at,
        "resolution_s": 1e-6,
        "level": "info",
        "requests": [],
        "text": f"{operation} {path}",
        "kind": "http",
        "http": {"method": method, "path": path, "status": status, "client": client, "seconds": None},
    }


def dated(line, near, zone):
    """A line of any writer that begins with a time."""
    match = ISO.match(line)
    if match:
        at = seconds_of(match["time"] + match["zone"])
        resolution = 1e-3 if "." in match["time"] else 1
    else:
        match = SYSLOG.match(line) or UWSGI_STARTS.match(line)
        if not match:
            return None
        at, resolution = yearless(match["time"], near, zone), 1
        if at is not None and match.groupdict().get("fraction"):
            at, resolution = at + float(match["fraction"]), 1e-3
    rest = line[match.end() :]
    parsed = {"at": at, "resolution_s": resolution, "level": "info", "requests": [], "text": rest, "kind": "line"}
    module = OVS_FAILED.match(rest)
    if module:
        parsed.update(failed=True, logger=module["logger"], process=module["logger"], message=rest[module.end() :])
    return parsed


def zone_east(seconds):
    return timezone(timedelta(seconds=seconds))


def month_of(name):
    """The number of a month by its English name: logs use that, whatever the language of the host."""
    return MONTHS.index(name) + 1


def yearless(text, near, zone):
    """A time without a year, in the year that brings it nearest to another time."""
    there = zone_east(zone)
    year = datetime.fromtimestamp(near, there).year
    times = []
    day, clock = text[4:].split()
    parts = (month_of(text[:3]), int(day), *map(int, clock.split(":")))
    for guess in (year - 1, year, year + 1):
        try:
            times.append(datetime(guess, *parts, tzinfo=there).timestamp())
        except ValueError:
            continue  # the 29th of February of another year
    return min(times, key=lambda at: abs(at - near)) if times else None


def spelled(text, zone):
    """A time as C writes it, Sat Nov 21 14:43:22 2026, in the zone of its host, which it does not name."""
    month, day, clock, year = text.split()[1:]
    parts = (int(year), month_of(month), int(day), *map(int, clock.split(":")))
    return datetime(*parts, tzinfo=zone_east(zone)).timestamp()


def masked_path(path, ids):
    """A path whose query shows only ids of the run and plain names: anything else could be a secret."""
    path, mark, query = path.partition("?")
    path = path if len(path) <= 300 else path[:300]
    if not mark:
        return path
    pairs = (pair.partition("=") for pair in query[:2000].split("&"))
    words = [
        f"{name}={value if value in ids or is_plain(value) else '*'}"
        for name, _equals, value in pairs
        if is_plain(name)
    ]
    return f"{path}?{'&'.join(words)}"


def is_plain(word):
    return bool(PLAIN.match(word.replace("%3A", ":")))
