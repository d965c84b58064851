# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Renders a run's record for readers: terminal, JUnit."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any
from xml.etree import ElementTree

from .._record.run import with_removal
from . import finding
from .messages.words import plural

# Control characters but tab and line feed, marks that turn the direction of writing, surrogates and non-characters
CONTROL = [*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
CONTROL += [ord("\N{ARABIC LETTER MARK}"), ord("\N{LEFT-TO-RIGHT MARK}"), ord("\N{RIGHT-TO-LEFT MARK}")]
CONTROL = dict.fromkeys([*CONTROL, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "?")
SLOWEST = 3
# So many requests of one cause are shown.
SHOWN = 5
MOST_LOGS = 10
PAGE = "report.html"
STATUSES = ("ok", "failed", "not_applicable", "unreadable")
# THIN stands between thousands, and between a number and its unit: no line ends there.
MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"


def clean(text):
    """Text without characters that control a terminal or break XML, as a cloud's texts may have them."""
    text = str(text)
    return text if text.isprintable() else text.translate(CONTROL)


def grouped(number):
    return f"{number:,.0f}".replace(",", THIN).replace("-", MINUS)


def seconds(value):
    return "-" if value is None else f"{value:.1f}"


def compared(stage, history):
    """A stage's duration compared with those of earlier runs."""
    usual = history.get(stage["stage"])
    if not usual or stage["status"] != "ok":
        return ""
    more = stage["duration_s"] - usual["median_s"]
    return f"{more:+.1f} s to the median of {usual['runs']}, p95 {usual['p95_s']:.1f}"


def summary(record, directory):
    """The lines on the terminal at the end of a run."""
    if record.get("diagnosis"):
        return [clean(line) for line in diagnosis_lines(record, directory)]
    lines = ["", f"Run {record['run_id']} on {record['cloud']}", "", f"  {'stage':<10} {'result':<8} seconds"]
    for stage in with_removal(record):
        row = f"  {stage['stage']:<10} {stage['status']:<8} {seconds(stage['duration_s']):>7}"
        lines.append(f"{row}   {compared(stage, record['history'])}".rstrip())
    slowest = slowest_calls(record)
    if slowest:
        lines += ["", "  slowest requests"]
        lines += [f"  {call['seconds']:>7.2f}   {stage}: {call['method']} {call['path']}" for stage, call in slowest]
    lines += host_lines(record)
    for limit in record["thresholds"]:
        lines.append(f"  {'within' if limit['ok'] else 'BEYOND'} the limit: {limit['text']}")
    lines += [
        "",
        f"  created {record['created']}, deleted {record['deleted']}, left {record['created'] - record['deleted']}",
    ]
    if record["kept"]:
        command = f"ansible-playbook stackproof.provision.cleanup -e stackproof_run_dir={directory}"
        lines.append(f"  kept, as asked for; remove it with: {command}")
    for thing in record["leftovers"]:
        lines.append(f"  left: {thing['kind'].replace('_', ' ')} {thing['name']}: {thing['reason']}")
    return [clean(line) for line in [*lines, *ending(record, directory)]]


def ending(record, directory):
    page, verdict = os.path.join(directory, PAGE), record["verdict"]
    return [
        "",
        f"  {verdict['result'].upper()}: {verdict.get('headline') or verdict['reason']}",
        *(f"    {name + ':':<14}{text}" for name, text in finding.parts(record)),
        f"  files: {directory}",
        *([f"  page: {page}"] if os.path.exists(page) else []),
        "",
    ]


def diagnosis_lines(record, directory):
    """The lines on the terminal about what only logs tell of: its time, the logs read, where it stopped."""
    about, verdict = record["diagnosis"], record["verdict"]
    boot = about["boot"]
    lines = ["", f"Diagnosis {record['run_id']} by {record['cloud']}", ""]
    if boot:
        lines += [f"  server     {boot['server'] or 'not known'}", f"  request    {boot['request'] or 'not known'}"]
    same_day = record["started"][:10] == record["finished"][:10]
    ended = record["finished"][11:19] if same_day else record["finished"][:19]
    lines += [f"  time       {record['started'][:19]} UTC to {ended}", ""]
    if record["logs"]:
        lines.append(f"  {'host':<16} logs read")
    for host in record["logs"]:
        whole = sum(source["complete"] for source in host["sources"])
        lines.append(f"  {host['host']:<16} {whole} of {len(host['sources'])} whole")
        lines += why_not_whole(host["sources"])
    lines += [f"  warning: {text}" for text in about["warnings"]]
    lines += failure_lines(about.get("failures") or [])
    where = [f"{name} {verdict[name]}" for name in ("step", "component", "host") if verdict[name]]
    if where:
        lines += ["", f"  failed at: {', '.join(where)}"]
    return [*lines, *ending(record, directory)]


def why_not_whole(sources):
    """A line for each log that was not read whole, as far as they are few: a host may keep hundreds of old ones."""
    lines = [f"    {source['path']}: {source['reason']}" for source in sources if source["reason"]]
    more = len(lines) - MOST_LOGS
    return [*lines[:MOST_LOGS], f"    and {more} more logs"] if more > 1 else lines


def failure_lines(failures):
    """The requests that failed, by cause: when, who was asked for what, and what was answered."""
    lines = ["", "  requests that failed"] if failures else []
    for failure in failures:
        lines += [f"  {failure['count']:>4}  {finding.failure_in_words(failure)}"]
        for request in failure["requests"][:SHOWN]:
            lines.append(f"        {request['at'][11:19]} {finding.request_in_words(request)}")
        if failure["count"] > SHOWN:
            lines.append(f"        and {failure['count'] - SHOWN} more")
    return lines


def host_lines(record):
    """A line for each host that was read, and one for each reason why checks of it failed or could not be read."""
    lines = ["", f"  {'host':<16} checks"] if record["hosts"] else []
    for host in record["hosts"]:
        counts = Counter(check["status"] for check in host["checks"])
        checks = ", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in STATUSES if counts[status])
        lines.append(f"  {host['host']:<16} {checks or 'none'}")
        if host["reason"]:
            lines.append(f"    {host['status'] if host['status'] != 'read' else 'not read'}: {host['reason']}")
        lines += [f"    {line}" for line in lines_of_checks(host["checks"])]
    return lines


def lines_of_checks(checks: list[dict[str, Any]]) -> list[str]:
    """Return a line for each reason of checks that failed or could not be read: one reason may have stopped many."""
    wrong = [check for check in checks if check["status"] in ("failed", "unreadable")]
    counts = Counter(f"{check['status']}: {check['reason']}" for check in wrong)
    return [line if count == 1 else f"{line} ({plural(count, 'check')})" for line, count in counts.items()]


def slowest_calls(record, most=SLOWEST):
    calls = [(stage["stage"], call) for stage in with_removal(record) for call in stage["calls"]]
    return sorted(calls, key=lambda pair: -pair[1]["seconds"])[:most]


def junit(record):
    """A test suite with a case for each stage, each limit and each check of a host, and one for leftovers.

    A run that is incomplete though none of these has failed has one more.
    """
    cases = [stage_case(stage, record) for stage in record["stages"]]
    cases += [
        case(f"limit {limit['name']}", 0, failure=None if limit["ok"] else limit["text"])
        for limit in record["thresholds"]
    ]
    cases += [host_case(host["host"], check) for host in record["hosts"] for check in host["checks"]]
    left = "; ".join(f"{thing['name']}: {thing['reason']}" for thing in record["leftovers"])
    cases.append(case("nothing left", 0, failure=left or None))
    verdict = record["verdict"]
    if verdict["result"] != "pass" and all(done.find("failure") is None for done in cases):
        cases.append(case("run", 0, failure=verdict["reason"]))
    return suite_of(f"stackproof {record['cloud']}", record, cases)


def suite_of(name, record, cases):
    """The text of a test suite."""
    count = {tag: sum(case.find(tag) is not None for case in cases) for tag in ("failure", "skipped")}
    suite = ElementTree.Element(
        "testsuite",
        name=clean(name),
        timestamp=record["started"],
        time=f"{record['duration_s'] or 0:.3f}",
        tests=str(len(cases)),
        failures=str(count["failure"]),
        skipped=str(count["skipped"]),
        errors="0",
    )
    suite.extend(cases)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    return ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True).decode() + "\n"


def stage_case(stage, record):
    error, reason = stage["error"], stage["details"].get("reason", "")
    failure = f"{error['message']}\n{error['hint']}" if error else None
    parts = finding.parts(record) if stage["stage"] == record["verdict"]["stage"] else []
    if error and parts:
        headline = record["verdict"]["headline"] or record["verdict"]["reason"]
        failure = "\n".join([headline, *(f"{name}: {text}" for name, text in parts)])
    skipped = reason if stage["status"] == "skipped" else None
    return case(stage["stage"], stage["duration_s"] or 0, failure, skipped)


def host_case(host, check):
    """A check that could not be read is not a failure of the cloud: its case is skipped, with the reason."""
    failure = check["reason"] if check["status"] == "failed" else None
    skipped = f"{check['status']}: {check['reason']}" if check["status"] in ("not_applicable", "unreadable") else None
    return case(f"{host}: {check['check']}", check["seconds"], failure, skipped)


def case(name, took, failure=None, skipped=None):
    element = ElementTree.Element("testcase", classname="stackproof", name=clean(name), time=f"{took:.3f}")
    if failure is not None:
        ElementTree.SubElement(element, "failure", message=clean(failure.partition("\n")[0])).text = clean(failure)
    elif skipped is not None:
        ElementTree.SubElement(element, "skipped", message=clean(skipped))
    return element
