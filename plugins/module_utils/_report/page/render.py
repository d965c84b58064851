# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's record as one page for a browser: numbers, widths and words are made here, the template lays them out."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from pathlib import Path

try:
    import jinja2

    HAS_JINJA2, UNDEFINED = True, (jinja2.UndefinedError,)
except ImportError:
    HAS_JINJA2, UNDEFINED = False, ()

from .._record.clock import parse, seconds_between
from .._record.run import failed_stage, with_removal
from . import finding, leaning, plot
from .text import MINUS, STATUSES, clean, grouped, plural, slowest_calls

SLOWEST = 10
RESULTS = {"pass": "Passed", "fail": "Failed", "incomplete": "Incomplete"}
COUNTED = ("seen", "window", "cached", "absent", "skipped", "unseen", "missing")
TIERS = ("plain user", "administrator", "ssh and logs", "instrumented")


def render(record, template_text, drawings=(), history=()):
    """The whole page. drawings: (title, text of an SVG of our own making); history: the records of earlier runs."""
    page = view(scrubbed(record), [scrubbed(earlier) for earlier in history])
    figures = [{"title": title, "svg": inlined(svg)} for title, svg in drawings]
    return template(template_text).render(page, drawings=figures) + "\n"


@functools.cache
def template(text):
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text)


def layouts(folder, name):
    """The texts of a template and of that of a run's page, whose style it has."""
    return [Path(folder, each).read_text(encoding="utf-8") for each in (name, "report.html.j2")]


def scrubbed(value):
    """The same with every text and name made harmless: no control characters, no turned direction of writing."""
    if isinstance(value, dict):
        return {clean(name): scrubbed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def inlined(svg):
    """An SVG file as HTML may hold it: without the declarations at its beginning."""
    return re.sub(r"<\?xml.*?\?>|<!DOCTYPE[^>]*>", "", svg, flags=re.DOTALL).strip()


def view(record, history=()):
    flows = record["flows"]
    guide = next((flow for flow in flows if flow["told_as"] == "guide"), None)
    story = next((flow for flow in flows if flow["told_as"] == "story"), None)
    return {
        "run_id": record["run_id"],
        "cloud": record["cloud"],
        "verdict": verdict_view(record),
        "waterfall": waterfall(record),
        "flow": flow_view(guide) if guide else None,
        "story": story_view(story) if story else None,
        "coverage": [coverage_view(flow) for flow in flows if flow["coverage"]],
        "hosts": [host_view(host) for host in record["hosts"]],
        "slowest": slowest(record),
        "requests": requests(record),
        "boot": boot_parts(guide) if guide else None,
        "plots": plot.plots(record, history),
        "unseen": [hints for flow in flows if (hints := unseen(flow))],
    }


# Words and numbers


def moment(text, digits=3):
    """The time of day, to as many digits of a second."""
    if text is None:
        return None
    time = parse(text)
    return f"{time:%H:%M:%S}" + (f".{time:%f}"[: digits + 1] if digits else "")


def duration(seconds):
    """A duration in the unit that suits it."""
    if seconds is None:
        return None
    if seconds >= 99.95:
        return f"{seconds:.0f} s"
    if seconds >= 0.9995:
        return f"{seconds:.3g} s"
    if seconds >= 0.0009995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds * 1e6:.0f} µs"


def signed(value, form):
    return format(value, f"+{form}").replace("-", MINUS)


def words(name):
    return name.replace("_", " ")


def doubt(*parts):
    """How far a time may be off, as the sum of those parts that are not None."""
    seconds = sum(part for part in parts if part is not None)
    return f"±{duration(seconds)}" if seconds >= 0.0005 else None


def share(part, whole):
    """A part of a whole as a width, in percent."""
    return round(100 * part / whole, 3) if whole else 0.0


# The verdict


def verdict_view(record):
    verdict = record["verdict"]
    failed = failed_stage(with_removal(record))
    where = [(name, verdict[name]) for name in ("stage", "step", "component", "host") if verdict[name] is not None]
    started = parse(record["started"])
    return {
        "result": verdict["result"],
        "word": RESULTS[verdict["result"]],
        "reason": verdict["reason"],
        "where": where,
        "started": f"{started:%Y-%m-%d %H:%M:%S} UTC",
        "started_iso": record["started"],
        "duration": duration(record["duration_s"]) or "not finished",
        "evidence": verdict.get("evidence") or [],
        "headline": verdict.get("headline"),
        "finding": finding.parts(record),
        "unexplained": verdict.get("unexplained") or [],
        "leaning": leaning.drawing(verdict),
        "alternatives": [finding.suspect_in_words(suspect) for suspect in verdict["alternatives"]],
        "doubts": (record.get("diagnosis") or {}).get("doubts") or [],
        "failures": [failure_view(failure) for failure in (record.get("diagnosis") or {}).get("failures") or []],
        "error": error_view(failed["error"], verdict["reason"]) if failed and failed["error"] else [],
        "limits": [(limit["ok"], limit["said"]) for limit in record["thresholds"]],
        "account": account(record),
        "left": [(words(thing["kind"]), thing["name"], thing["why"]) for thing in record["leftovers"]],
    }


def failure_view(failure):
    """A cause of requests that failed: in words, how many they were, and the first of them."""
    shown = [(request["at"][11:19], finding.request_in_words(request)) for request in failure["requests"]]
    return {
        "cause": finding.failure_in_words(failure),
        "count": plural(failure["count"], "request"),
        "requests": shown,
        "more": failure["count"] - len(shown),
    }


def error_view(error, reason):
    """(name, text) of the parts of a stage's error that the sentence of the verdict does not have."""
    pairs = [
        ("kind", words(error["kind"])),
        ("HTTP status", error["status"]),
        ("request id", error["request_id"]),
        ("resource", error["resource"]),
        ("what the cloud said", error["said"]),
        ("look at", error["hint"]),
    ]
    quoted = ("what the cloud said", "look at")
    return [(name, text) for name, text in pairs if text and not (name in quoted and text in reason)]


def account(record):
    """How many resources the run made, deleted and left, in a sentence."""
    if record.get("diagnosis"):
        return "Nothing was made: this is a diagnosis by collected logs, and no run. Its times are those in the logs."
    left = record["made"] - record["deleted"]
    made = f"{plural(record['made'], 'resource')} made, {record['deleted']} deleted"
    if record["kept"]:
        return f"{made}; the rest is kept, as asked for."
    return f"{made}, nothing is left behind." if left == 0 and not record["leftovers"] else f"{made}, {left} left."


# The stages


def waterfall(record):
    """The stages, and the reading of the hosts after them, as bars on one axis of the whole run."""
    started, stages = record["started"], record["stages"]
    ends = [stage["finished"] for stage in stages if stage["finished"]]
    if record.get("evidence"):
        ends.append(record["evidence"]["finished"])
    whole = record["duration_s"] or max((seconds_between(started, end) for end in ends), default=0)
    rows = [stage_view(stage, started, whole, record["history"].get(stage["stage"])) for stage in stages]
    for row in rows:
        row["flows"] = flows_of_stage(record, row["name"])
    if record.get("evidence"):
        begin, end = record["evidence"]["started"], record["evidence"]["finished"]
        rows.append(bar_row("hosts read", "done", seconds_between(started, begin), seconds_between(begin, end), whole))
    if record.get("removal"):
        row = stage_view(record["removal"], started, whole, None)
        # What was kept may have been removed an hour later, far outside the axis.
        if record["finished"] and seconds_between(record["finished"], record["removal"]["started"]) > 0:
            row.update(bar=None, waits=[])
        rows.append({**row, "flows": flows_of_stage(record, row["name"])})
    return {"rows": rows, "ticks": ticks(whole), "whole": duration(whole)}


def flows_of_stage(record, stage):
    """The flows that are told beside this stage, with their steps in any stage that are a part of the run."""
    return [told_beside(flow) for flow in record["flows"] if flow["told_as"] == "stage" and stage == main_stage(flow)]


def main_stage(flow):
    """The stage with most of a flow's steps that are a part of the run; None if there are none."""
    stages = Counter(step["stage"] for step in flow["steps"] if step["status"] != "skipped")
    return max(stages, key=stages.get, default=None)


def told_beside(flow):
    steps = [step for step in flow["steps"] if step["status"] != "skipped"]
    zero = min((step["at"] for step in steps if step["at"]), default=None)
    seen = sum(step["status"] == "seen" for step in steps)
    said = f"{flow['title']}: {seen} of {plural(len(steps), 'step')} seen"
    return {"rows": [step_view(step, zero) for step in steps], "said": said}


def bar_row(name, status, offset, seconds, whole):
    return {
        "name": name,
        "status": status,
        "reason": None,
        "offset": f"+{offset:.1f} s" if offset is not None else None,
        "seconds": duration(seconds),
        "bar": (share(offset, whole), share(seconds or 0, whole)) if offset is not None else None,
        "median": None,
        "compared": None,
        "waits": [],
        "flows": [],
    }


def stage_view(stage, started, whole, usual):
    offset = seconds_between(started, stage["started"]) if stage["started"] else None
    row = bar_row(stage["stage"], stage["status"], offset, stage["duration_s"], whole)
    row["reason"] = stage["error"]["message"] if stage["error"] else stage["details"].get("reason")
    row["waits"] = [wait_view(wait, started, whole) for wait in stage["waits"]]
    if usual and stage["status"] == "ok":
        row["median"] = min(100.0, share(offset + usual["median_s"], whole))
        row["compared"] = compared(stage["duration_s"], usual)
    return row


def compared(seconds, usual):
    """How a duration differs from those of earlier runs, and whether the stage was slow."""
    more = seconds - usual["median_s"]
    text = f"{'+' if more >= 0 else MINUS}{duration(abs(more))} to the median of {plural(usual['runs'], 'run')}"
    return {"said": text, "slow": seconds > usual["p95_s"], "p95": f"p95 {duration(usual['p95_s'])}"}


def wait_view(wait, started, whole):
    return {
        "for": wait["for"],
        "seconds": duration(wait["seconds"]),
        "resolution": doubt(wait["resolution_s"]),
        "timed_out": wait.get("timed_out", False),
        "looks": plural(wait["looks"], "look"),
        "bar": (share(seconds_between(started, wait["started"]), whole), share(wait["seconds"], whole)),
        "states": [
            {"state": state["state"], "after": duration(state["after_s"]), "resolution": doubt(state["resolution_s"])}
            for state in wait["states"]
        ],
    }


def ticks(whole, most=6):
    """(percent, label) of round marks on an axis of so many seconds."""
    if not whole:
        return []
    step = next(size * 10**power for power in range(-3, 12) for size in (1, 2, 5) if whole / (size * 10**power) <= most)
    return [(share(number * step, whole), f"{number * step:g}") for number in range(int(whole / step) + 1)]


# The flow


def flow_view(flow):
    """The steps by their phases, in the order of the flow."""
    zero = min((step["at"] for step in flow["steps"] if step["at"]), default=None)
    phases = [
        (name or "other", [step_view(step, zero) for step in steps])
        for name, steps in itertools.groupby(flow["steps"], key=lambda step: step["phase"])
    ]
    names = list(dict.fromkeys(name for name, _rows in phases))
    groups = [phase_view(name, names.index(name), rows) for name, rows in phases]
    counts = Counter(step["status"] for step in flow["steps"])
    return {
        "title": flow["title"],
        "groups": groups,
        "phases": names,
        "of": len(flow["steps"]),
        "counted": sum("table" in step["numbers"] for step in flow["steps"]),
        "not_seen": len(flow["steps"]) - counts["seen"],
        "counts": [(status, counts[status]) for status in COUNTED if counts[status]],
        "rivals": flow["rivals"],
        "zero": moment(zero, 6),
    }


def phase_view(name, number, rows):
    seen = sum(row["status"] == "seen" for row in rows)
    return {
        "name": name,
        "rows": rows,
        "seen": seen,
        "number": number,
        "of": len(rows),
        "any_unseen": seen < len(rows),
    }


def step_view(step, zero):
    return {
        "id": step["id"],
        "source": step["source"],
        "target": step["target"],
        "message": step["message"],
        "kind": step["kind"],
        "counted": "table" in step["numbers"],
        "became": step["became"],
        "today": step["today"],
        "status": step["status"],
        "reason": step["reason"] if step["status"] != "seen" else None,
        "at": moment(step["at"]),
        "offset": since(zero, step["at"]),
        "doubt": doubt(step["resolution_s"], step["error_s"]) if step["at"] else None,
        "duration": duration(step["duration_s"]),
        "host": step["host"],
        "evidence": [evidence_view(evidence) for evidence in step["evidence"]],
    }


def since(zero, at):
    return None if at is None else f"+{grouped(round(seconds_between(zero, at) * 1000))} ms"


def evidence_view(evidence):
    copied = ("host", "service", "source", "tier", "grade", "level", "proves", "text")
    return {
        "at": moment(evidence["at"], 6),
        "doubt": doubt(evidence["resolution_s"], evidence["error_s"]) if evidence["at"] else None,
        **{name: evidence[name] for name in copied},
    }


def story_view(flow):
    zero = min((step["at"] for step in flow["steps"] if step["at"]), default=None)
    return {
        "title": flow["title"],
        "steps": [
            {**step_view(step, zero), "covers": ", ".join(map(str, step.get("covers") or []))} for step in flow["steps"]
        ],
    }


def unseen(flow):
    """The steps that nothing showed, by the reason that says what would show them; the reason of most steps first."""
    steps = [step for step in flow["steps"] if step["status"] in ("unseen", "missing", "skipped")]
    by_reason = {}
    for step in steps:
        key = (step["status"], step["reason"] or "no reason is known")
        by_reason.setdefault(key, []).append((step["id"], step["message"]))
    groups = [{"status": status, "reason": reason, "steps": named} for (status, reason), named in by_reason.items()]
    groups.sort(key=lambda group: -len(group["steps"]))
    return {"title": flow["title"], "groups": groups, "of": len(steps)}


def coverage_view(flow):
    rows = []
    for row in flow["coverage"]:
        # The first records with a flow do not have the number of its steps.
        whole = row.get("of") or sum(row[name] for name in COUNTED)
        rows.append(
            {
                "tier": row["tier"],
                "access": TIERS[row["tier"]],
                "level": row["level"],
                "counts": [(name, row[name], share(row[name], whole)) for name in COUNTED],
                "of": whole,
            }
        )
    return {"title": flow["title"], "columns": COUNTED, "rows": rows}


def boot_parts(flow):
    """How long each part of the boot took, as bars that may overlap; None without the time of any part."""
    at = {step["id"]: step["at"] for step in flow["steps"] if step["at"]}
    intervals = [(part, *part_interval(at, part)) for part in flow["parts"]]
    timed = [(start, end) for _part, start, end in intervals if start is not None]
    if not timed:
        return None
    zero = min(start for start, _end in timed)
    whole = max(seconds_between(zero, end) for _start, end in timed)
    rows = [part_view(part, start, end, zero, whole) for part, start, end in intervals]
    return {"rows": rows, "ticks": ticks(whole), "whole": duration(whole), "zero": moment(zero)}


def part_view(part, start, end, zero, whole):
    row = {"name": part["name"], "said": part["says"], "seconds": None, "bar": None, "offset": None}
    if start is None:
        return row
    offset, seconds = seconds_between(zero, start), seconds_between(start, end)
    return {
        **row,
        "seconds": duration(seconds),
        "bar": (share(offset, whole), share(seconds, whole)),
        "offset": f"{signed(offset, '.1f')} s",
    }


def part_interval(at, part):
    """(start, end) of a part of the boot: to its last known end, or to the first named end that is known."""
    starts = [at[step] for step in part["from"] if step in at]
    ends = [at[step] for step in part.get("to") or part["to_first"] if step in at]
    if not starts or not ends:
        return None, None
    start = min(starts)
    end = max(ends) if "to" in part else ends[0]
    # Clocks of two hosts may differ by more than a short part takes: then its length is not known.
    return (start, end) if start <= end else (None, None)


# Hosts and requests


def host_view(host):
    checks = host["checks"]
    counts = Counter(check["status"] for check in checks)
    return {
        "name": host["host"],
        "parts": ", ".join(host["parts"]) or "none",
        "groups": ", ".join(host["groups"]),
        "status": host["status"],
        "reason": host["reason"],
        "clock": clock(host["clock_offset_s"], host["clock_error_s"]),
        "counts": [(status, words(status), counts[status]) for status in STATUSES if counts[status]],
        "wrong": [check for check in checks if check["status"] in ("failed", "unreadable")],
        "checks": [
            {**check, "word": words(check["status"]), "took": duration(check["seconds"] or None)} for check in checks
        ],
        "unread": [{name: part.get(name) for name in ("what", "kind", "command", "why")} for part in host["unread"]],
    }


def clock(offset, error):
    """The difference of a host's clock to that of the control node."""
    if offset is None:
        return "not measured"
    return f"{signed(offset * 1000, '.1f')} ms" + ("" if error is None else f" ±{error * 1000:.1f} ms")


def slowest(record):
    calls = slowest_calls(record, SLOWEST)
    longest = max((call["seconds"] for _stage, call in calls), default=0)
    return [
        {
            "seconds": duration(call["seconds"]),
            "width": share(call["seconds"], longest),
            "stage": stage,
            "service": call["service"],
            "method": call["method"],
            "path": call["path"],
            "status": call["status"] or call.get("error") or "no answer",
            "request_id": call.get("request_id"),
        }
        for stage, call in calls
    ]


def requests(record):
    """How many requests each stage made, and how long they took together."""
    rows = []
    for stage in with_removal(record):
        times = [call["seconds"] for call in stage["calls"]]
        refused = sum(call["status"] is None or call["status"] >= 400 for call in stage["calls"])
        rows.append(
            {
                "stage": stage["stage"],
                "count": len(times),
                "total": duration(sum(times)) if times else None,
                "mean": duration(sum(times) / len(times)) if times else None,
                "longest": duration(max(times, default=None)),
                "refused": refused,
            }
        )
    return rows
