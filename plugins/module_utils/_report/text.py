# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Render a run's record for readers: terminal, JUnit."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

from .._model.codec import iso_of
from .._model.diagnosis import Diagnosis, RequestFailure
from .._model.host import Check, Host
from .._model.operation import Operation
from .._model.record import (
    EarlierRuns,
    HostLogs,
    LogFile,
    Record,
    Threshold,
    first_failed,
)
from .._model.stage import Call, Stage
from .._model.words import (
    CheckStatus,
    HostStatus,
    Result,
    StageName,
    StageStatus,
)
from .._record.words import clean
from . import finding, journey
from .messages.level import all_left_out, level_in_words
from .messages.words import plural
from .paths import rows_of

STATUS_WIDTH = 8
SLOWEST = 3
# Fewer earlier runs have no median to speak of.
ENOUGH_RUNS = 5
# A duration that is slow is above the median by this share and by these seconds, and above the 95th percentile.
SLOW_SHARE, SLOW_SECONDS = 0.1, 1.0
# In characters: of the reason why something is left
LONGEST_REASON = 160
# So many requests of one cause are shown.
SHOWN = 5
MOST_LOGS = 10
PAGE = "report.html"
# The ending of the archive of a result, which lies beside its directory
ARCHIVE = ".tar.gz"
WRONG = (CheckStatus.FAILED, CheckStatus.UNREADABLE)
NOT_RUN = (CheckStatus.NOT_APPLICABLE, CheckStatus.UNREADABLE)
# THIN stands between thousands, and between a number and its unit: no line ends there.
MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"

Element = ElementTree.Element


def grouped(number: float) -> str:
    return f"{number:,.0f}".replace(",", THIN).replace("-", MINUS)


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def second_of(at: float | None) -> str:
    """Return a time to the second, as 2026-11-21T14:43:34."""
    return "" if at is None else iso_of(at)[:19]


# The summary on the terminal


def summary(record: Record, directory: str) -> list[str]:
    """Return the lines on the terminal at the end of a run."""
    if record.diagnosis:
        lines = diagnosis_lines(record, record.diagnosis, directory)
    elif record.operation:
        lines = [
            *operation_lines(record, record.operation),
            *ending(record, directory),
        ]
    else:
        lines = [*run_lines(record, directory), *ending(record, directory)]
    return list(map(clean, lines))


def run_lines(record: Record, directory: str) -> list[str]:
    level = level_in_words(record.level_name)
    lines = [
        "",
        f"Run {record.run_id} on {record.cloud}{level}, {span_of(record)}",
        "",
    ]
    lines.append(f"  {'stage':<10} {'result':<8} seconds")
    lines += [
        stage_line(stage, record.history)
        for stage in record.stages_and_removal
    ]
    lines += slowest_lines(record)
    lines += path_lines(record)
    lines += leg_lines(record)
    lines += host_lines(record)
    lines += [f"  left out: {part}" for part in all_left_out(record.level)]
    lines += [
        f"  {'within' if limit.ok else 'BEYOND'} the limit: {limit.text}"
        for limit in record.thresholds
    ]
    lines += [
        "",
        f"  created {record.created}, deleted {record.deleted}, left {record.created - record.deleted}",
    ]
    return [*lines, *leftover_lines(record, directory)]


def slowest_lines(record: Record) -> list[str]:
    """Return the slowest requests; after a failure they stand on the page alone."""
    if first_failed(record.stages_and_removal):
        return []
    lines = [
        f"  {call.seconds:>7.2f}   {name}: {call.method} {call.path}"
        for name, call in slowest_calls(record)
    ]
    return ["", "  slowest requests", *lines] if lines else []


def leftover_lines(record: Record, directory: str) -> list[str]:
    """Return what remains of a run, and the command that removes it."""
    lines = []
    command = f"ansible-playbook stackproof.provision.cleanup -e stackproof_run_dir={shlex.quote(directory)}"
    if record.kept:
        lines.append(f"  kept, as asked for; remove it with: {command}")
    if record.server_description and record.server_description.error:
        lines.append(f"  its description: {record.server_description.error}")
    for thing in record.leftovers:
        # The page has the whole answer of the cloud.
        reason = textwrap.shorten(
            thing.reason, LONGEST_REASON, placeholder=" …"
        )
        lines.append(
            f"  left: {thing.kind.replace('_', ' ')} {thing.name}: {reason}"
        )
    if record.leftovers:
        lines.append(f"  remove what is left later with: {command}")
    return lines


def stage_line(stage: Stage, history: Mapping[str, EarlierRuns]) -> str:
    row = (
        f"  {stage.stage:<10} {stage.status:<8} {seconds(stage.duration_s):>7}"
    )
    return f"{row}   {compared(stage, history)}".rstrip()


def compared(stage: Stage, history: Mapping[str, EarlierRuns]) -> str:
    """Return a stage's duration compared with those of earlier runs."""
    usual = history.get(stage.stage)
    if (
        usual is None
        or stage.status is not StageStatus.OK
        or stage.duration_s is None
    ):
        return ""
    if usual.runs < ENOUGH_RUNS:
        return ""
    more = stage.duration_s - usual.median_s
    side = "below" if more < 0 else "above"
    return f"{abs(more):.1f} s {side} the median of {usual.runs} runs (p95 {usual.p95_s:.1f} s)"


def is_slow(seconds: float, usual: EarlierRuns) -> bool:
    """Return whether a duration is so far above those of earlier runs that a reader has to know."""
    if usual.runs < ENOUGH_RUNS:
        return False
    slow = usual.median_s + max(SLOW_SECONDS, SLOW_SHARE * usual.median_s)
    return seconds > usual.p95_s and seconds >= slow


def ending(record: Record, directory: str) -> list[str]:
    page, verdict = os.path.join(directory, PAGE), record.verdict
    return [
        "",
        f"  {verdict.result.value.upper()}: {verdict.headline or verdict.reason}",
        *part_lines(finding.parts(record)),
        f"  files: {directory}",
        *([f"  page: {page}"] if os.path.exists(page) else []),
        *archive_lines(directory),
        "",
    ]


def archive_lines(directory: str) -> list[str]:
    """Return a line with the archive beside the directory of a run or a sweep, if there is one."""
    path = os.path.realpath(directory) + ARCHIVE
    return [f"  archive: {path}"] if os.path.exists(path) else []


def part_lines(parts: Iterable[finding.Part]) -> list[str]:
    """Return a line for each part of a verdict; those of a path stand below its name."""
    lines: list[str] = []
    before = None
    for name, text in parts:
        label = "" if name == before == finding.PATH else f"{name}:"
        lines.append(f"    {label:<14}{text}")
        before = name
    return lines


def slowest_calls(
    record: Record, most: int = SLOWEST
) -> list[tuple[str, Call]]:
    calls: list[tuple[str, Call]] = []
    for stage in record.stages_and_removal:
        calls += [(stage.stage.value, call) for call in stage.calls]
    return sorted(calls, key=lambda pair: -pair[1].seconds)[:most]


def host_lines(record: Record) -> list[str]:
    """Return a line for each host that was read, and one for each reason why checks failed or could not be read."""
    if not record.hosts:
        return []
    if not any(host.checks or host.reason for host in record.hosts):
        boot = record.stage_or_skipped(StageName.BOOT)
        reason = (
            ""
            if boot.status is StageStatus.OK
            else "no server became active, so "
        )
        return [
            "",
            f"  hosts: read; {reason}nothing there was compared with the API",
        ]
    has_failed = first_failed(record.stages_and_removal) is not None
    lines: list[str] = []
    for host in record.hosts:
        notes = notes_about(host)
        # What holds says nothing about a failure.
        if notes or not has_failed:
            counts = counts_in_words(host.checks)
            lines += [f"  {host.host:<16} {counts}", *notes]
    return ["", f"  {'host':<16} checks", *lines] if lines else []


def notes_about(host: Host) -> list[str]:
    """Return a line with why a host was not read whole, and one for each reason of checks."""
    notes = [f"{state_of(host)}: {host.reason}"] if host.reason else []
    return [f"    {line}" for line in [*notes, *lines_of_checks(untold(host))]]


def untold(host: Host) -> list[Check]:
    """Return the checks of a host without those that need what could not be read, which has a line above them."""
    told = tuple(f"{host.host}: {unread.what}: " for unread in host.unread)
    return [
        check
        for check in host.checks
        if not (
            check.status is CheckStatus.UNREADABLE and is_told(check, told)
        )
    ]


def is_told(check: Check, told: tuple[str, ...]) -> bool:
    return (check.reason or "").startswith(told)


def counts_in_words(checks: Iterable[Check]) -> str:
    """Return how many checks there are of each status, such as "12 ok, 1 failed"."""
    counts = Counter(check.status for check in checks)
    known = [status for status in CheckStatus if counts[status]]
    return (
        ", ".join(
            f"{counts[status]} {status.value.replace('_', ' ')}"
            for status in known
        )
        or "none"
    )


def path_lines(record: Record) -> list[str]:
    """Return a line for each check of a path between two guests."""
    rows = rows_of(record)
    lines = ["", "  paths between the guests"] if rows else []
    width = max([STATUS_WIDTH, *(len(row.status) for row in rows)])
    return [
        *lines,
        *(
            f"  {row.status.replace('_', ' '):<{width}} {row.route}: {row.text}"
            for row in rows
        ),
    ]


def leg_lines(record: Record) -> list[str]:
    """Return a line for each operation on the server after its boot."""
    rows = journey.rows_of(record)
    lines = ["", "  operations on the first guest"] if rows else []
    return [
        *lines,
        *(f"  {row.status:<8} {row.operation:<14} {row.text}" for row in rows),
    ]


def state_of(host: Host) -> str:
    return "not read" if host.status is HostStatus.READ else host.status.value


def lines_of_checks(checks: Iterable[Check]) -> list[str]:
    """Return a line for each reason of checks that failed or could not be read: one reason may have stopped many."""
    counts = Counter(
        f"{check.status}: {check.reason}"
        for check in checks
        if check.status in WRONG
    )
    return [
        line if count == 1 else f"{line} ({plural(count, 'check')})"
        for line, count in counts.items()
    ]


# The summary of a diagnosis


def operation_lines(record: Record, operation: Operation) -> list[str]:
    """Return the lines on the terminal about an operation on a live cloud: its subject, its time, its hosts."""
    asked = ", ".join(operation.query.values())
    lines = [
        "",
        f"Diagnosis {record.run_id} on {record.cloud}",
        "",
        f"  subject    {operation.subject} ({asked})",
    ]
    lines.append(f"  time       {span_of(record)}")
    if operation.has_range:
        lines.append(f"  logs       {range_of(record, operation)}")
    lines += ["", f"  {'stage':<10} {'result':<8} seconds"]
    shown = [
        stage
        for stage in record.stages
        if stage.status is not StageStatus.SKIPPED
    ]
    lines += [stage_line(stage, record.history) for stage in shown]
    return [*lines, *host_lines(record)]


def range_of(record: Record, operation: Operation) -> str:
    """Return the time range whose logs were read."""
    since, until = operation.range(record.started)
    return f"{second_of(since)} UTC to {second_of(until)}"


def diagnosis_lines(
    record: Record, about: Diagnosis, directory: str
) -> list[str]:
    """Return the lines on the terminal about what only logs show: its time, the logs read, where it stopped."""
    verdict, boot = record.verdict, about.boot
    lines = ["", f"Diagnosis {record.run_id} by {record.cloud}", ""]
    if boot:
        lines += [
            f"  server     {boot.server or 'not known'}",
            f"  request    {boot.request or 'not known'}",
        ]
    lines += [f"  time       {span_of(record)}", ""]
    lines += log_lines(record.known_logs)
    lines += [f"  warning: {text}" for text in about.warnings]
    lines += failure_lines(about.failures or ())
    places = {
        "step": verdict.step,
        "component": verdict.component,
        "host": verdict.host,
    }
    where = [f"{name} {place}" for name, place in places.items() if place]
    if where:
        lines += ["", f"  failed at: {', '.join(where)}"]
    return [*lines, *ending(record, directory)]


def span_of(record: Record) -> str:
    """Return begin and end of what was diagnosed; the end without its day, if that is the same."""
    started, finished = second_of(record.started), second_of(record.finished)
    ended = finished[11:] if started[:10] == finished[:10] else finished
    return f"{started} UTC to {ended}"


def log_lines(logs: Sequence[HostLogs]) -> list[str]:
    lines = [f"  {'host':<16} logs read"] if logs else []
    for host in logs:
        whole = sum(source.complete for source in host.sources)
        lines.append(f"  {host.host:<16} {whole} of {len(host.sources)} whole")
        lines += why_not_whole(host.sources)
    return lines


def why_not_whole(sources: Iterable[LogFile]) -> list[str]:
    """Return a line for each log that was not read whole, as far as they are few: a host may keep many old ones."""
    lines = [
        f"    {source.path}: {source.reason}"
        for source in sources
        if source.reason
    ]
    more = len(lines) - MOST_LOGS
    return (
        [*lines[:MOST_LOGS], f"    and {more} more logs"]
        if more > 1
        else lines
    )


def failure_lines(failures: Sequence[RequestFailure]) -> list[str]:
    """Return the requests that failed, by cause: when, who was asked for what, and what was answered."""
    lines = ["", "  requests that failed"] if failures else []
    for failure in failures:
        lines += [f"  {failure.count:>4}  {finding.failure_in_words(failure)}"]
        for request in failure.requests[:SHOWN]:
            lines.append(
                f"        {second_of(request.at)[11:]} {finding.request_in_words(request)}"
            )
        if failure.count > SHOWN:
            lines.append(f"        and {failure.count - SHOWN} more")
    return lines


# JUnit


def junit(record: Record) -> str:
    """Return a test suite with a case for each stage, each limit and each check of a host, and one for leftovers.

    A run that is incomplete though none of these has failed has one more.
    """
    cases = [stage_case(stage, record) for stage in record.stages]
    cases += list(map(limit_case, record.thresholds))
    for host in record.hosts:
        cases += [host_case(host.host, check) for check in host.checks]
    left = "; ".join(
        f"{thing.name}: {thing.reason}" for thing in record.leftovers
    )
    cases.append(case("nothing left", 0, failure=left or None))
    has_passed = record.verdict.result is Result.PASS
    has_failure = any(done.find("failure") is not None for done in cases)
    if not has_passed and not has_failure:
        cases.append(case("run", 0, failure=record.verdict.reason))
    suite = f"stackproof {record.cloud}"
    return suite_of(suite, record.started, record.duration_s, cases)


def suite_of(
    name: str,
    started: float,
    duration_s: float | None,
    cases: Sequence[Element],
) -> str:
    """Return the text of a test suite."""
    suite = Element(
        "testsuite",
        name=clean(name),
        timestamp=iso_of(started),
        time=f"{duration_s or 0:.3f}",
        tests=str(len(cases)),
        failures=str(count_of("failure", cases)),
        skipped=str(count_of("skipped", cases)),
        errors="0",
    )
    suite.extend(cases)
    suites = Element("testsuites")
    suites.append(suite)
    text: bytes = ElementTree.tostring(
        suites, encoding="utf-8", xml_declaration=True
    )
    return text.decode() + "\n"


def count_of(tag: str, cases: Iterable[Element]) -> int:
    return sum(each.find(tag) is not None for each in cases)


def stage_case(stage: Stage, record: Record) -> Element:
    failure = stage_failure(stage, record)
    skipped = None
    if stage.status is StageStatus.SKIPPED:
        skipped = stage.details.get("reason", "")
    took = stage.duration_s or 0
    return case(stage.stage.value, took, failure, skipped)


def stage_failure(stage: Stage, record: Record) -> str | None:
    """Return the error of a stage; for the stage of the verdict, what the verdict says of it."""
    error = stage.error
    if error is None:
        return None
    own = f"{error.message}\n{error.hint}"
    verdict = record.verdict
    if stage.stage != verdict.stage:
        return own
    parts = finding.parts(record)
    if not parts:
        return own
    headline = verdict.headline or verdict.reason
    lines = [f"{name}: {text}" for name, text in parts]
    return "\n".join([headline, *lines])


def limit_case(limit: Threshold) -> Element:
    return case(f"limit {limit.name}", 0, None if limit.ok else limit.text)


def host_case(host: str, check: Check) -> Element:
    """Return a check as a case. One that could not be read is no failure of the cloud: it is skipped."""
    failure = check.reason if check.status is CheckStatus.FAILED else None
    skipped = (
        f"{check.status}: {check.reason}" if check.status in NOT_RUN else None
    )
    return case(f"{host}: {check.check}", check.seconds, failure, skipped)


def case(
    name: str,
    took: float,
    failure: str | None = None,
    skipped: str | None = None,
) -> Element:
    element = Element(
        "testcase",
        classname="stackproof",
        name=clean(name),
        time=f"{took:.3f}",
    )
    if failure is not None:
        ElementTree.SubElement(
            element, "failure", message=clean(failure.partition("\n")[0])
        ).text = clean(failure)
    elif skipped is not None:
        ElementTree.SubElement(element, "skipped", message=clean(skipped))
    return element
