# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Renders records of runs as OpenMetrics, of gauges only, so that a textfile collector reads it too."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .._model.record import Record
from .._model.stage import Stage
from .._model.stuck import StuckGroup
from .._model.sweep import Sweep
from .._model.verdict import Verdict
from .._model.words import Result, StageStatus
from .._record.words import clean

FILE = "metrics.prom"
END = "# EOF"
Value: TypeAlias = "float | int | None"


@dataclass(frozen=True)
class Sample:
    """A number with its labels. One without a value is left out."""

    labels: Mapping[str, str]
    value: Value


@dataclass(frozen=True)
class Family:
    """The samples of one name. text: what they are, for a reader."""

    name: str
    text: str
    samples: list[Sample]


# A sweep, and the name of each of its targets with the record of its run
SweepRuns = tuple[Sweep, Sequence[tuple[str, Record]]]


def metrics(record: Record) -> str:
    """Return the metrics of a run."""
    return exposition(families_of(record))


def metrics_of_sweeps(sweeps: Sequence[SweepRuns]) -> str:
    """Return the metrics of sweeps and of their runs."""
    families: list[Family] = []
    for sweep, _runs in sweeps:
        families += families_of_sweep(sweep)
    for _sweep, runs in sweeps:
        for target, record in runs:
            families += labelled(families_of(record), {"target": target})
    return exposition(families)


def families_of(record: Record) -> list[Family]:
    """Return all metrics of a run."""
    stages = [
        stage
        for stage in record.stages_and_removal
        if stage.started is not None
    ]
    passed = int(record.verdict.result == Result.PASS)
    families = [
        single(
            "stackproof_run_passed", "Whether the last run passed.", passed
        ),
        Family(
            "stackproof_run_failed_at",
            "The stage, step, component and host at which the last run failed.",
            failed_at(record.verdict),
        ),
        single(
            "stackproof_run_duration_seconds",
            "Duration of the last run.",
            record.duration_s,
        ),
        single(
            "stackproof_run_finished_timestamp_seconds",
            "When the last run ended.",
            record.finished,
        ),
        single(
            "stackproof_run_leftovers",
            "Resources that the last run left behind.",
            len(record.leftovers),
        ),
        Family(
            "stackproof_host_checks",
            "Checks of the hosts, by their status.",
            checks_by_status(record),
        ),
        per_stage(
            "stackproof_stage_passed",
            "Whether a stage worked.",
            stages,
            stage_passed,
        ),
        per_stage(
            "stackproof_stage_duration_seconds",
            "Duration of a stage.",
            stages,
            stage_duration,
        ),
        per_stage(
            "stackproof_stage_requests",
            "Requests of a stage.",
            stages,
            count_of_requests,
        ),
        per_stage(
            "stackproof_stage_request_seconds",
            "Sum of the durations of a stage's requests.",
            stages,
            seconds_of_requests,
        ),
    ]
    return labelled(families, {"cloud": str(record.cloud)})


def families_of_sweep(sweep: Sweep) -> list[Family]:
    part = f"{sweep.slice.number}/{sweep.slice.of}" if sweep.slice else ""
    passed = int(sweep.verdict.result is Result.PASS)
    families = [
        single(
            "stackproof_sweep_passed",
            "Whether the last sweep passed, with its checks of the cloud.",
            passed,
        ),
        single(
            "stackproof_sweep_finished_timestamp_seconds",
            "When the last sweep ended.",
            sweep.finished,
        ),
    ]
    return labelled(families, {"cloud": sweep.cloud, "slice": part})


def metrics_of_stuck(
    groups: Sequence[StuckGroup], asked: float, cloud: str | None
) -> str:
    """Return how many things are stuck on a cloud, and for how long, by kind and state."""
    counts: Counter[tuple[str, str]] = Counter()
    oldest: dict[tuple[str, str], float] = {}
    for group in groups:
        place = (group.kind, group.state)
        counts[place] += group.count
        oldest[place] = max(oldest.get(place, 0.0), asked - group.since)
    families = [
        Family(
            "stackproof_stuck",
            "How many servers, volumes, ports and images are in error, or in a state that does not last.",
            [
                Sample(of_stuck(place), number)
                for place, number in counts.items()
            ],
        ),
        Family(
            "stackproof_stuck_longest_seconds",
            "For how long the first of them has been so.",
            [
                Sample(of_stuck(place), round(seconds, 1))
                for place, seconds in oldest.items()
            ],
        ),
        single(
            "stackproof_stuck_listed_timestamp_seconds",
            "When they were listed.",
            round(asked, 3),
        ),
    ]
    return exposition(labelled(families, {"cloud": str(cloud)}))


def of_stuck(place: tuple[str, str]) -> dict[str, str]:
    kind, state = place
    return {"kind": kind, "state": state}


def single(name: str, text: str, value: Value) -> Family:
    return Family(name, text, [Sample({}, value)])


def per_stage(
    name: str,
    text: str,
    stages: Iterable[Stage],
    value_of: Callable[[Stage], Value],
) -> Family:
    return Family(
        name,
        text,
        [Sample({"stage": stage.stage}, value_of(stage)) for stage in stages],
    )


def labelled(
    families: Iterable[Family], common: Mapping[str, str]
) -> list[Family]:
    """Return families whose samples have some more labels, before their own."""
    made = []
    for family in families:
        samples = [
            replace(sample, labels={**common, **sample.labels})
            for sample in family.samples
        ]
        made.append(replace(family, samples=samples))
    return made


def failed_at(verdict: Verdict) -> list[Sample]:
    """Return the place of a failure; what is not known of it is an empty label. A run that passed has none."""
    if verdict.result == Result.PASS:
        return []
    place = {
        "stage": verdict.stage or "",
        "step": verdict.step or "",
        "component": verdict.component or "",
        "host": verdict.host or "",
    }
    return [Sample(place, 1)]


def checks_by_status(record: Record) -> list[Sample]:
    counts: Counter[tuple[str, str]] = Counter()
    for host in record.hosts:
        counts.update((host.host, check.status.value) for check in host.checks)
    return [
        Sample({"host": name, "status": status}, count)
        for (name, status), count in sorted(counts.items())
    ]


def stage_passed(stage: Stage) -> int:
    return int(stage.status != StageStatus.FAILED)


def stage_duration(stage: Stage) -> float | None:
    return stage.duration_s


def count_of_requests(stage: Stage) -> int:
    return len(stage.calls)


def seconds_of_requests(stage: Stage) -> float:
    return round(sum(call.seconds for call in stage.calls), 6)


def exposition(families: Iterable[Family]) -> str:
    """Return the text of families. All samples of one name stand together, as the format requires."""
    texts: dict[str, str] = {}
    samples: dict[str, list[Sample]] = defaultdict(list)
    for family in families:
        texts[family.name] = family.text
        samples[family.name] += family.samples
    lines = []
    for name, text in texts.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
        known = [
            sample for sample in samples[name] if sample.value is not None
        ]
        lines += [
            f"{name}{in_braces(sample.labels)} {sample.value}"
            for sample in known
        ]
    return "\n".join([*lines, END, ""])


def joined(text: str, other: str) -> str:
    """Return two texts of metrics that have no name in common as one, which has one end."""
    return text.removesuffix(f"{END}\n") + other


def in_braces(labels: Mapping[str, str]) -> str:
    pairs = ",".join(
        f"{name}={quoted(value)}" for name, value in labels.items()
    )
    return f"{{{pairs}}}"


def quoted(value: str) -> str:
    # A JSON string escapes what the format wants escaped: backslash, quote and line feed; and tabs, which it does not.
    return json.dumps(clean(value).replace("\t", " "), ensure_ascii=False)
