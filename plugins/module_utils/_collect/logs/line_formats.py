# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse log lines in all their formats. Pure: text in, fields out.

Only the fields that are named here leave a line: times, levels, ids, and client, target and duration of requests and
messages. The rest of a line may hold tokens, passwords or user data, and is never passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple, Optional

from ..._model.record import FilterResult
from ..._model.symptom import NO_ENDPOINT
from ..._record.clock import seconds_of
from ..._record.ids import REQUEST
from .line_messages import (
    HttpRequest,
    QueueMessage,
    http_request,
    message_in,
    request_in,
)

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
# rsyslog writes an escape character as its number.
COLOURS = re.compile(r"(?:\x1b|#033)\[[\d;]*m")
# Open vSwitch, Ceph, libvirt and rsyslog: an ISO time with its zone, or in UTC
ISO = re.compile(
    r"^(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)(?P<zone>Z|[+-]\d\d:?\d\d)[|:\s]+"
)
SYSLOG = re.compile(
    r"^(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)(?P<fraction>\.\d+)? "
)
# syslog and the journal name the host and the program between the time and the line.
WRITER = re.compile(
    r"^(?P<host>[\w.:-]+)\s+(?P<program>[^\s\[\]]+?)(?:\[\d+\])?:\s"
)
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
# What a module of exceptions has, the usual endings of exceptions, and those of OpenStack's own. A name has letters
# only, so that it cannot be a token.
RAISED = (
    r"((?:[a-z_]\w{0,40}\.){0,8}(?:(?<=\bexception\.)[A-Z][A-Za-z]{0,59}"
    r"|(?<=\bexceptions\.)(?:[a-z_]\w{0,40}\.)?[A-Z][A-Za-z]{0,59}|[A-Za-z]{0,60}"
    r"(?:Error|Exception|Timeout|TimedOut|NotFound|Unavailable|Refused|Forbidden|Unauthorized|Failed|Failure|Exceeded"
    r"|Conflict|NotSupported|Unsupported|UnsupportedHardware|NoValidHost|NoMoreFixedIps|NoValidBackend"
    r"|DeadlinePassed|Undeliverable|SERVER_DOWN)))"
    # An exception that another service has sent back
    r"(?:_Remote)?(?=[:>(.]|$)"
)
EXCEPTION = re.compile(r"(?:^|[:<] ?|\] )" + RAISED)
# How oslo.messaging names the exception of another service that answered a call
SENT_BACK = re.compile(r"RemoteError: Remote error: (?P<name>[A-Za-z]{1,60}) ")
# What keystoneauth says with that exception; others quote it without the class.
NO_ENDPOINT_WORDS = re.compile(
    r"\bendpoint for \S+ service(?: in \S+ region)? not found"
)
# The last line of a traceback: the lines before it are indented, or are words.
LAST_LINE = re.compile("^" + RAISED)
# The file of a frame of a traceback, below the folder that Python imports from
FRAME = re.compile(
    r'File "[^"]*?/(?:(?:site|dist)-packages|opt/stack/[^/"]+)/(?P<path>[A-Za-z_][\w/]{0,120})\.py", line \d'
)
# A line of a traceback names no request; that of a server's failure names the server.
TRACEBACK = re.compile(
    WRITTEN
    + r"(?:ERROR|CRITICAL|TRACE)\s+(?P<logger>[\w.-]{1,120}) (?:\[instance: [0-9a-f-]{36}\] ?|(?!\[))"
)
# What a command printed before it failed is a part of the exception of oslo.concurrency.
PRINTED = re.compile(
    r"Command: (?:ssh|scp|rsync) |Stderr: (?!u?(?:''|\"\")\s*$)"
)
# Open vSwitch and OVN: the number of the line, the module and the level. A lost connection and a refused transaction
# are warnings there, and so is a daemon that did nothing for ten seconds and more, or cannot apply its configuration.
OVS_FAILED = re.compile(
    r"^\d{5,}\|(?P<logger>[\w()-]+)"
    r"\|(?:ERR|EMER|WARN(?=.*(?:connection|timeout|\berror\b|Unreasonably long \d{5,}ms|version mismatch"
    r"|could not add|failed to add|mismatch with|needs upgrade|is missing|not found for network|Invalid configuration"
    r")))\|"
)
# Levels of errors
FAILED = ("ERROR", "CRITICAL")
WARNINGS = ("WARNING", "WARN")
# Levels of the lines of a traceback
TRACED = (*FAILED, "TRACE")
# Nova's conductor logs at WARNING only that it gives up an instance.
TO_ERROR = "to ERROR state"
# The schedulers of Nova and Cinder log at INFO only that no host passed their filters.
NO_HOST_LEFT = "Filtering removed all hosts"
FILTER = re.compile(
    r"(\w{1,100})['\"]?[:,] \(start: (\d{1,6}), end: (\d{1,6})\)"
)
# What nova-compute says of its host when an instance does not fit there. Its log has that at DEBUG only: the conductor
# reports it.
INSUFFICIENT = re.compile(
    r"Insufficient compute resources: (?P<reasons>[^'\"\\\n]{1,200})"
)
QUEUE_UNREACHABLE = "the queue is unreachable"
UNREACHABLE = re.compile(
    r"AMQP server on \S+ is unreachable|Connection failed: "
)
MESSAGING = re.compile(r"^oslo[._]messaging\b")
MONTHS = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
# A time before 1970 or at the end of the year 9999 is a mistake, and datetime cannot calculate with it.
EARLIEST, LATEST = 0, 253402000000


class Line(NamedTuple):
    """The fields of a line. A tuple, as it is made in a third of the time of a dataclass, for each of many lines.

    at: seconds since the epoch; None where the line has no time. text: for matching only, it never leaves the host.
    level: the level at which a service must log to have such a line. requests: the ids of the line's context.
    warned: whether it is a warning. failed: whether it reports an error; message is then the text of the error, if that
    is not the line's.
    """

    at: Optional[float]
    resolution_s: float
    text: str
    level: str = "info"
    kind: str = "line"
    requests: Sequence[str] = ()
    failed: bool = False
    warned: bool = False
    logger: Optional[str] = None
    process: Optional[str] = None
    message: Optional[str] = None
    queue: Optional[QueueMessage] = None
    http: Optional[HttpRequest] = None


# Parses a line, near a time and in a zone
Parser = Callable[[str, float, float], Optional[Line]]


def parse(line: str, near: float, zone: float) -> Line | None:
    """Return the fields of a line, or None.

    near is a time close to that of the line, for formats without a year; zone is in seconds east of UTC.
    """
    return checked(line_of_any_format, line, near, zone)


def parse_dated(line: str, near: float, zone: float) -> Line | None:
    """Return the same for a line whose writer is known: only the time at its beginning is parsed."""
    return checked(dated, line, near, zone)


def first_time(lines: Iterable[str], near: float, zone: float) -> float | None:
    """Return the time of the first line that has one."""
    for line in lines:
        parsed = parse(line, near, zone)
        if parsed and parsed.at is not None:
            return parsed.at
    return None


def checked(read: Parser, line: str, near: float, zone: float) -> Line | None:
    line = COLOURS.sub("", line[:LONGEST])
    try:
        parsed = read(line, near, zone)
    except (ValueError, OverflowError):
        # It looks like a time but is not one, such as a leap second
        return None
    if (
        parsed
        and parsed.at is not None
        and not EARLIEST <= parsed.at <= LATEST
    ):
        return None
    return parsed


def line_of_any_format(line: str, near: float, zone: float) -> Line | None:
    return (
        service_line(line, near, zone)
        or json_line(line)
        or prefixed(line, near, zone)
        or dated(line, near, zone)
    )


def service_line(line: str, near: float, zone: float) -> Line | None:
    return (
        oslo(line, zone)
        or traceback(line, zone)
        or uwsgi(line, near, zone)
        or apache(line)
    )


def prefixed(line: str, near: float, zone: float) -> Line | None:
    """Return a service's line that was passed on by syslog, the journal, Apache, or the runtime of its container.

    The service's own time is the more precise one.
    """
    match = IN_APACHE.match(line)
    if match:
        own = line[match.end() :]
        return oslo(own, zone) or traceback(own, zone)
    passed_on = dated(line, near, zone)
    if passed_on is None:
        return None
    before = WRITER.match(passed_on.text) or RUNTIME.match(passed_on.text)
    if before is None:
        return None
    parsed = service_line(passed_on.text[before.end() :].lstrip(), near, zone)
    if parsed and parsed.at is None:
        return parsed._replace(
            at=passed_on.at, resolution_s=passed_on.resolution_s
        )
    return parsed


def writer_of(line: str) -> tuple[str, str] | tuple[None, None]:
    """Return (host, program) that syslog or the journal name before a line, or (None, None)."""
    line = COLOURS.sub("", line[:LONGEST])
    match = ISO.match(line) or SYSLOG.match(line)
    writer = WRITER.match(line[match.end() :]) if match else None
    return (
        (writer.group("host"), writer.group("program"))
        if writer
        else (None, None)
    )


def oslo(line: str, zone: float) -> Line | None:
    match = OSLO.match(line)
    if not match or is_in_traceback(match):
        return None
    written, pid, level, logger, context = match.group(
        "time", "pid", "level", "logger", "context"
    )
    at, resolution = time_of(written, match.group("zone"), zone)
    is_messaging = MESSAGING.match(logger) is not None
    text = line[match.end() :]
    queue = message_in(text) if is_messaging else None
    http = None if is_messaging else request_in(text)
    return Line(
        at=at,
        resolution_s=resolution,
        text=text,
        level=level_of(level, is_messaging),
        kind=kind_of(queue, http),
        requests=REQUEST.findall(context),
        failed=level in FAILED
        or TO_ERROR in text
        or (level == "INFO" and NO_HOST_LEFT in text),
        warned=level in WARNINGS and TO_ERROR not in text,
        logger=logger,
        process=pid,
        queue=queue,
        http=http,
    )


def is_in_traceback(match: re.Match[str]) -> bool:
    """Return whether a line names a server where others have the context of the request."""
    return match.group("level") in TRACED and match.group(
        "context"
    ).startswith("instance: ")


def kind_of(queue: QueueMessage | None, http: HttpRequest | None) -> str:
    if queue:
        return "rpc"
    return "http" if http else "line"


def level_of(written: str, is_messaging: bool) -> str:
    """Return the level at which a service must log to have such a line. An error is logged by default."""
    if written not in ("DEBUG", "TRACE"):
        return "info"
    return "messaging" if is_messaging else "debug"


def time_of(
    written: str | None, own_zone: str | None, zone: float
) -> tuple[float | None, float]:
    """Return (seconds since the epoch or None, resolution) of a line of oslo.log."""
    if not written:
        return None, 0.001
    at = seconds_of(written + (own_zone or ""), zone_east(zone))
    return at, 0.001 if len(written) > WHOLE_SECONDS else 1


def traceback(line: str, zone: float) -> Line | None:
    match = TRACEBACK.match(line)
    if not match:
        return None
    written, pid, logger = match.group("time", "pid", "logger")
    at, resolution = time_of(written, match.group("zone"), zone)
    message = line[match.end() :]
    raised = LAST_LINE.match(message)
    is_evidence = raised is not None or PRINTED.match(message) is not None
    return Line(
        at=at,
        resolution_s=resolution,
        # Source code, files and values are no evidence of how something failed.
        text=raised[1] if raised else "",
        failed=True,
        logger=logger,
        process=pid,
        message=message if is_evidence else "",
    )


def exception_in(message: str) -> str | None:
    """Return the class of the exception that an error names. Nothing else of an error leaves its line."""
    if UNREACHABLE.search(message):
        return QUEUE_UNREACHABLE
    sent_back = SENT_BACK.search(message)
    if sent_back:
        return sent_back["name"]
    classes: list[str] = EXCEPTION.findall(message)
    if not classes and NO_ENDPOINT_WORDS.search(message):
        return NO_ENDPOINT
    return classes[-1] if classes else None


def filters_in(message: str) -> tuple[FilterResult, ...]:
    """Return what each filter of a scheduler has left, in their order, if it reports that none left a host."""
    if NO_HOST_LEFT not in message:
        return ()
    return tuple(
        FilterResult(name, int(start), int(end))
        for name, start, end in FILTER.findall(message)
    )


def insufficient_in(message: str) -> str | None:
    """Return what a host does not have enough of for an instance, in Nova's words."""
    found = INSUFFICIENT.search(message)
    if not found:
        return None
    return found["reasons"].rstrip(" .")


def module_in(line: str) -> str | None:
    """Return the module of the frame that a line of a traceback is about."""
    frame = FRAME.search(line)
    if not frame:
        return None
    return frame.group("path").replace("/", ".")


def uwsgi(line: str, near: float, zone: float) -> Line | None:
    match = UWSGI.match(line)
    if not match:
        return None
    return by_web_server(
        yearless(match.group("time"), near, zone), match, line
    )


def apache(line: str) -> Line | None:
    match = APACHE.match(line)
    if not match:
        return None
    day, month, rest = match.group("time").split("/", 2)
    at = datetime.strptime(
        f"{day} {month_of(month)} {rest}", "%d %m %Y:%H:%M:%S %z"
    ).timestamp()
    return by_web_server(at, match, line)


def by_web_server(at: float | None, match: re.Match[str], line: str) -> Line:
    """Return a request in a web server's log, with the time at which it came, cut to the second."""
    http = http_request(match.groupdict(), began=True)
    return Line(
        at=at,
        resolution_s=1,
        text=line[match.end("time") :],
        kind="http",
        http=http,
    )


def json_line(line: str) -> Line | None:
    """Return a line of the object gateway's log of operations: a JSON object a line."""
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line.rstrip().rstrip(","))
        at = seconds_of(entry["time"])
        method, path = entry["uri"].split()[:2]
        status, client, operation = (
            int(entry["http_status"]),
            entry["remote_addr"],
            entry["operation"],
        )
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    http = HttpRequest(method, path, status, client, seconds=None)
    return Line(
        at=at,
        resolution_s=1e-6,
        text=f"{operation} {path}",
        kind="http",
        http=http,
    )


def dated(line: str, near: float, zone: float) -> Line | None:
    """Return a line of any writer that begins with a time."""
    match = ISO.match(line)
    if match:
        written = match.group("time")
        at: float | None = seconds_of(written + match.group("zone"))
        resolution = 1e-3 if "." in written else 1
        return line_behind(match, line, at, resolution)
    match = SYSLOG.match(line)
    if match:
        at, fraction = (
            yearless(match.group("time"), near, zone),
            match.group("fraction"),
        )
        if at is not None and fraction:
            return line_behind(match, line, at + float(fraction), 1e-3)
        return line_behind(match, line, at, 1)
    match = UWSGI_STARTS.match(line)
    return (
        line_behind(match, line, yearless(match.group("time"), near, zone), 1)
        if match
        else None
    )


def line_behind(
    match: re.Match[str], line: str, at: float | None, resolution: float
) -> Line:
    """Return the line that stands behind a time."""
    text = line[match.end() :]
    module = OVS_FAILED.match(text)
    if module is None:
        return Line(at=at, resolution_s=resolution, text=text)
    logger = module.group("logger")
    message = text[module.end() :]
    return Line(
        at=at,
        resolution_s=resolution,
        text=text,
        failed=True,
        logger=logger,
        process=logger,
        message=message,
    )


def zone_east(seconds: float) -> timezone:
    return timezone(timedelta(seconds=seconds))


def month_of(name: str) -> int:
    """Return the number of a month by its English name: logs use that, whatever the language of the host."""
    return MONTHS.index(name) + 1


def yearless(text: str, near: float, zone: float) -> float | None:
    """Return a time without a year, in the year that brings it nearest to another time."""
    there = zone_east(zone)
    year = datetime.fromtimestamp(near, there).year
    day, clock = text[4:].split()
    hour, minute, second = map(int, clock.split(":"))
    month = month_of(text[:3])
    times = []
    for guess in (year - 1, year, year + 1):
        try:
            times.append(
                datetime(
                    guess, month, int(day), hour, minute, second, tzinfo=there
                ).timestamp()
            )
        except ValueError:
            continue  # the 29th of February of another year
    if not times:
        return None
    return min(times, key=lambda at: abs(at - near))


def spelled(text: str, zone: float) -> float:
    """Return a time as C writes it, Sat Nov 21 14:43:22 2026, in the zone of its host, which it does not name."""
    month, day, clock, year = text.split()[1:]
    hour, minute, second = map(int, clock.split(":"))
    return datetime(
        int(year),
        month_of(month),
        int(day),
        hour,
        minute,
        second,
        tzinfo=zone_east(zone),
    ).timestamp()
