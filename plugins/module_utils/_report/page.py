# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's record as one page for a browser: every number, width and word is made here, the template only lays out."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter

try:
    import jinja2

    HAS_JINJA2 = True
except ImportError:
    HAS_JINJA2 = False

from .._record.clock import parse, seconds_between
from .._record.run import failed_stage
from . import plot
from .text import MINUS, STATUSES, alternative, clean, grouped, slowest_calls

SLOWEST = 10
RESULTS = {"pass": "Passed", "fail": "Failed", "incomplete": "Incomplete"}
COUNTED = ("seen", "window", "cached", "absent", "skipped", "unseen", "missing")
TIERS = ("plain user", "administrator", "ssh and logs", "instrumented")


def render(record, template_text, diagram=None, history=()):
    """The whole page. diagram is the text of an SVG that is trusted to be one; history is of earlier runs' records."""
    page = view(scrubbed(record), [scrubbed(one) for one in history])
    return template(template_text).render(page, diagram=inlined(diagram)) + "\n"


@functools.cache
def template(text):
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text)


def scrubbed(value):
    """The same with every text and name made harmless: no control characters, no turned direction of writing."""
    if isinstance(value, dict):
        return {clean(name): scrubbed(one) for name, one in value.items()}
    if isinstance(value, list):
        return [scrubbed(one) for one in value]
    return clean(value) if isinstance(value, str) else value


def inlined(svg):
    """An SVG file as HTML may hold it: without what only a file of its own begins with."""
    return None if svg is None else re.sub(r"<\?xml.*?\?>|<!DOCTYPE[^>]*>", "", svg, flags=re.DOTALL).strip()


def view(record, history=()):
    flows = record["flows"]
    guide = next((flow for flow in flows if flow["told_as"] == "guide"), None)
    story = next((flow for flow in flows if flow["told_as"] == "story"), None)
    return {
        "run_id": record["run_id"],
        "cloud": record["cloud"],
        "verdict": verdict(record),
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
    told = parse(text)
    return f"{told:%H:%M:%S}" + (f".{told:%f}"[: digits + 1] if digits else "")


def span(value):
    """A duration in the unit that suits it."""
    if value is None:
        return None
    if value >= 99.95:
        return f"{value:.0f} s"
    if value >= 0.9995:
        return f"{value:.3g} s"
    return f"{value * 1000:.3g} ms" if value >= 0.0009995 else f"{value * 1e6:.0f} µs"


def signed(value, form):
    return format(value, f"+{form}").replace("-", MINUS)


def plural(count, one, many=None):
    return f"{count} {one if count == 1 else many or one + 's'}"


def words(name):
    return name.replace("_", " ")


def doubt(*parts):
    """How far a time may be off, as far as it is known."""
    known = [part for part in parts if part is not None]
    return f"±{span(sum(known))}" if known and sum(known) >= 0.0005 else None


def share(part, whole):
    """A part of a whole as a width, in percent."""
    return round(100 * part / whole, 3) if whole else 0.0


# The verdict


def verdict(record):
    said = record["verdict"]
    failed = failed_stage(record["stages"])
    where = [(name, said[name]) for name in ("stage", "step", "component", "host") if said[name] is not None]
    started = parse(record["started"])
    return {
        "result": said["result"],
        "word": RESULTS[said["result"]],
        "reason": said["reason"],
        "where": where,
        "started": f"{started:%Y-%m-%d %H:%M:%S} UTC",
        "started_iso": record["started"],
        "duration": "not finished" if record["duration_s"] is None else span(record["duration_s"]),
        "evidence": said.get("evidence") or [],
        "next": said.get("next"),
        "alternatives": [alternative(one) for one in said["alternatives"]],
        "error": error_view(failed["error"], said["reason"]) if failed and failed["error"] else [],
        "limits": [(limit["ok"], limit["said"]) for limit in record["thresholds"]],
        "account": account(record),
        "left": [(words(one["kind"]), one["name"], one["why"]) for one in record["leftovers"]],
    }


def error_view(error, reason):
    """What a stage's error says beyond the sentence of the verdict."""
    pairs = [
        ("kind", words(error["kind"])),
        ("HTTP status", error["status"]),
        ("request id", error["request_id"]),
        ("resource", error["resource"]),
        ("what the cloud said", error["said"]),
        ("look at", error["hint"]),
    ]
    known = ("what the cloud said", "look at")
    return [(name, text) for name, text in pairs if text and not (name in known and text in reason)]


def account(record):
    """What has become of what the run made, in a sentence."""
    if record.get("diagnosis"):
        return "Nothing was made: this is a diagnosis by collected logs, and no run. Its times are those of the boot."
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
    ends += [record["evidence"]["finished"]] if record.get("evidence") else []
    whole = record["duration_s"] or max((seconds_between(started, end) for end in ends), default=0)
    rows = [stage_view(stage, started, whole, record["history"].get(stage["stage"])) for stage in stages]
    if record.get("evidence"):
        begin, end = record["evidence"]["started"], record["evidence"]["finished"]
        rows.append(bar_row("hosts read", "done", seconds_between(started, begin), seconds_between(begin, end), whole))
    return {"rows": rows, "ticks": ticks(whole), "whole": span(whole)}


def bar_row(name, status, offset, seconds, whole):
    return {
        "name": name,
        "status": status,
        "reason": None,
        "offset": f"+{offset:.1f} s" if offset is not None else None,
        "seconds": span(seconds),
        "bar": (share(offset, whole), share(seconds or 0, whole)) if offset is not None else None,
        "median": None,
        "compared": None,
        "waits": [],
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
    """How a duration differs from the earlier ones, and whether that is worth a look."""
    more = seconds - usual["median_s"]
    said = f"{'+' if more >= 0 else MINUS}{span(abs(more))} to the median of {plural(usual['runs'], 'run')}"
    return {"said": said, "slow": seconds > usual["p95_s"], "p95": f"p95 {span(usual['p95_s'])}"}


def wait_view(wait, started, whole):
    return {
        "for": wait["for"],
        "seconds": span(wait["seconds"]),
        "resolution": doubt(wait["resolution_s"]),
        "timed_out": wait.get("timed_out", False),
        "looks": plural(wait["looks"], "look"),
        "bar": (share(seconds_between(started, wait["started"]), whole), share(wait["seconds"], whole)),
        "states": [
            {"state": one["state"], "after": span(one["after_s"]), "resolution": doubt(one["resolution_s"])}
            for one in wait["states"]
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
    """The steps by their phases, in the order of the documents."""
    zero = min((step["at"] for step in flow["steps"] if step["at"]), default=None)
    groups = []
    for phase, steps in itertools.groupby(flow["steps"], key=lambda step: step["phase"]):
        rows = [step_view(step, zero) for step in steps]
        groups.append({"name": phase or "other", "rows": rows, "seen": sum(row["status"] == "seen" for row in rows)})
    names = list(dict.fromkeys(group["name"] for group in groups))
    for group in groups:
        group.update(
            number=names.index(group["name"]), of=len(group["rows"]), any_unseen=group["seen"] < len(group["rows"])
        )
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
        "duration": span(step["duration_s"]),
        "host": step["host"],
        "evidence": [evidence_view(one) for one in step["evidence"]],
    }


def since(zero, at):
    return None if at is None else f"+{grouped(round(seconds_between(zero, at) * 1000))} ms"


def evidence_view(one):
    return {
        "at": moment(one["at"], 6),
        "doubt": doubt(one["resolution_s"], one["error_s"]) if one["at"] else None,
        "host": one["host"],
        "service": one["service"],
        "source": one["source"],
        "tier": one["tier"],
        "grade": one["grade"],
        "level": one["level"],
        "proves": one["proves"],
        "text": one["text"],
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
    """What would show the steps that nothing showed: (reason, steps), the reason of most steps first."""
    steps = [step for step in flow["steps"] if step["status"] in ("unseen", "missing", "skipped")]
    reasons = dict.fromkeys((step["status"], step["reason"] or "no reason is known") for step in steps)
    groups = [
        {
            "status": status,
            "reason": reason,
            "steps": [(one["id"], one["message"]) for one in steps if is_of(one, status, reason)],
        }
        for status, reason in reasons
    ]
    groups.sort(key=lambda group: -len(group["steps"]))
    return {"title": flow["title"], "groups": groups, "of": len(steps)}


def is_of(step, status, reason):
    return step["status"] == status and (step["reason"] or "no reason is known") == reason


def coverage_view(flow):
    rows = []
    for row in flow["coverage"]:
        # Records of the first runs that followed a flow do not say of how many steps.
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
    """How long each part of the boot took, as bars that may overlap; None if no part is known."""
    at = {step["id"]: step["at"] for step in flow["steps"] if step["at"]}
    spans = [(part["name"], part["says"], *part_span(at, part)) for part in flow["parts"]]
    known = [one for one in spans if one[2] is not None]
    if not known:
        return None
    zero = min(start for _name, _said, start, _end in known)
    whole = max(seconds_between(zero, end) for _name, _said, _start, end in known)
    rows = []
    for name, said, start, end in spans:
        seconds = None if start is None else seconds_between(start, end)
        share_of_time = None if start is None else (share(seconds_between(zero, start), whole), share(seconds, whole))
        offset = None if start is None else signed(seconds_between(zero, start), ".1f") + " s"
        rows.append({"name": name, "said": said, "seconds": span(seconds), "bar": share_of_time, "offset": offset})
    return {"rows": rows, "ticks": ticks(whole), "whole": span(whole), "zero": moment(zero)}


def part_span(at, part):
    """(start, end) of a part of the boot: to its last known end, or to the first named end that is known."""
    begun = [at[step] for step in part["from"] if step in at]
    ended = [at[step] for step in part.get("to") or part["to_first"] if step in at]
    if not begun or not ended:
        return None, None
    start, end = min(begun), max(ended) if "to" in part else ended[0]
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
            {**check, "word": words(check["status"]), "took": span(check["seconds"] or None)} for check in checks
        ],
        "unread": [{name: one.get(name) for name in ("what", "kind", "command", "why")} for one in host["unread"]],
    }


def clock(offset, error):
    """How far a host's clock is off ours."""
    if offset is None:
        return "not measured"
    return f"{signed(offset * 1000, '.1f')} ms" + ("" if error is None else f" ±{error * 1000:.1f} ms")


def slowest(record):
    calls = slowest_calls(record, SLOWEST)
    longest = max((call["seconds"] for _stage, call in calls), default=0)
    return [
        {
            "seconds": span(call["seconds"]),
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
    for stage in record["stages"]:
        times = [call["seconds"] for call in stage["calls"]]
        refused = sum(call["status"] is None or call["status"] >= 400 for call in stage["calls"])
        rows.append(
            {
                "stage": stage["stage"],
                "count": len(times),
                "total": span(sum(times)) if times else None,
                "mean": span(sum(times) / len(times)) if times else None,
                "longest": span(max(times, default=None)),
                "refused": refused,
            }
        )
    return rows
