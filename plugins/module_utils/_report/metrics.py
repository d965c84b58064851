# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Renders records of runs as OpenMetrics, of gauges only, so that a textfile collector reads it too."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from operator import itemgetter

from .._record.clock import seconds_of
from .._record.run import with_removal
from .text import clean

FILE = "metrics.prom"


def metrics(record):
    """The metrics of a run."""
    return exposition(families_of(record))


def metrics_of_sweeps(sweeps):
    """The metrics of some sweeps: pairs of a sweep's record, and pairs of a target's name and the record of its run."""
    families = [family for record, _runs in sweeps for family in families_of_sweep(record)]
    for _record, runs in sweeps:
        for target, record in runs:
            families += [
                (name, text, [({"target": target, **labels}, value) for labels, value in samples])
                for name, text, samples in families_of(record)
            ]
    return exposition(families)


def families_of(record):
    """Name, text, and pairs of labels and value, of all that is told of a run."""
    stages = [stage for stage in with_removal(record) if stage["started"]]
    finished = record["finished"] and seconds_of(record["finished"])
    families = [
        ("stackproof_run_passed", "Whether the last run passed.", [({}, int(record["verdict"]["result"] == "pass"))]),
        ("stackproof_run_failed_at", "Where the last run failed, and whose fault it is.", failed_at(record["verdict"])),
        ("stackproof_run_duration_seconds", "How long the last run took.", [({}, record["duration_s"])]),
        ("stackproof_run_finished_timestamp_seconds", "When the last run ended.", [({}, finished)]),
        ("stackproof_run_leftovers", "What the last run left behind.", [({}, len(record["leftovers"]))]),
        ("stackproof_host_checks", "Checks of the hosts, by how they ended.", checks_by_status(record)),
        ("stackproof_stage_passed", "Whether a stage worked.", per_stage(stages, passed)),
        ("stackproof_stage_duration_seconds", "How long a stage took.", per_stage(stages, itemgetter("duration_s"))),
        ("stackproof_stage_requests", "Requests of a stage.", per_stage(stages, count_of_requests)),
        (
            "stackproof_stage_request_seconds",
            "How long the requests of a stage took together.",
            per_stage(stages, seconds_of_requests),
        ),
    ]
    return labelled(families, {"cloud": record["cloud"]})


def families_of_sweep(record):
    part = "{number}/{of}".format(**record["slice"]) if record["slice"] else ""
    finished = record["finished"] and seconds_of(record["finished"])
    families = [
        (
            "stackproof_sweep_passed",
            "Whether the last sweep passed, with its checks of the cloud.",
            [({}, int(record["verdict"]["result"] == "pass"))],
        ),
        ("stackproof_sweep_finished_timestamp_seconds", "When the last sweep ended.", [({}, finished)]),
    ]
    return labelled(families, {"cloud": record["cloud"], "slice": part})


def labelled(families, common):
    return [
        (name, text, [({**common, **labels}, value) for labels, value in samples]) for name, text, samples in families
    ]


def failed_at(verdict):
    """Nothing for a run that passed. What is not known of the place is an empty label."""
    place = {name: verdict.get(name) or "" for name in ("stage", "step", "component", "host")}
    return [] if verdict["result"] == "pass" else [(place, 1)]


def checks_by_status(record):
    counts = Counter((host["host"], check["status"]) for host in record["hosts"] for check in host["checks"])
    return [({"host": host, "status": status}, count) for (host, status), count in sorted(counts.items())]


def per_stage(stages, value_of):
    return [({"stage": stage["stage"]}, value_of(stage)) for stage in stages]


def passed(stage):
    return int(stage["status"] != "failed")


def count_of_requests(stage):
    return len(stage["calls"])


def seconds_of_requests(stage):
    return round(sum(call["seconds"] for call in stage["calls"]), 6)


def exposition(families):
    """The text of families. All samples of one name stand together, as the format wants it."""
    texts, samples = {}, defaultdict(list)
    for name, text, more in families:
        texts[name] = text
        samples[name] += more
    lines = []
    for name, text in texts.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
        lines += [f"{name}{in_braces(labels)} {value}" for labels, value in samples[name] if value is not None]
    return "\n".join([*lines, "# EOF", ""])


def in_braces(labels):
    # A JSON string escapes what the format wants escaped: backslash, quote and line feed; and tabs, which it does not.
    texts = {name: json.dumps(clean(value).replace("\t", " "), ensure_ascii=False) for name, value in labels.items()}
    return "{" + ",".join(f"{name}={text}" for name, text in texts.items()) + "}"
