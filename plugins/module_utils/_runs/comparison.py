# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of two results: what is different since the earlier one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from .._model.comparison import (
    SCHEMA,
    CheckChange,
    Comparison,
    PreflightChange,
    Side,
    StageChange,
    StepChange,
    TimeChange,
    VerdictChange,
    VersionChange,
)
from .._model.host import Check
from .._model.inventory import (
    Chosen,
    FinishedRun,
    Inventory,
    KnownHost,
    ServiceApi,
    StepOfRun,
    Tools,
)
from .._model.sweep import PreflightCheck
from .._model.words import (
    CheckStatus,
    Result,
    StageName,
    StageStatus,
    StepStatus,
)
from .._record.errors import StageError
from .figures import figures_of, median_of
from .results import FinishedResult

K = TypeVar("K")
V = TypeVar("V")
# What something is, and which version or choice of it
Named = tuple[str, "str | None"]
# A run before and a run now, by the name of their target
Pairs = Mapping[str, tuple[FinishedRun, FinishedRun]]

# With fewer targets nothing is known of the spread of a stage's times. Boots that passed on the lab differ by a factor
# of up to 1.9 between runs, so a smaller one says nothing.
ENOUGH_TARGETS = 5
FEW_TIMES, FEW_SECONDS = 2.0, 2.0
# With enough of them, the median has to be outside of what 90 % of the targets had before, and by as much as makes a
# stage of a single run slow.
MANY_TIMES, MANY_SECONDS = 1.1, 1.0
# So that a time of 0 s divides nothing
LEAST_S = 0.001


def compare(before: FinishedResult, now: FinishedResult) -> Comparison:
    """Return what is different between two results of one kind."""
    check_kinds(before, now)
    pairs = {
        name: (before.runs[name], run)
        for name, run in now.runs.items()
        if name in before.runs
    }
    return Comparison(
        schema=SCHEMA,
        before=side_of(before),
        now=side_of(now),
        compared=len(pairs),
        verdicts=tuple(verdict_changes(before, now)),
        stages=tuple(stage_changes(pairs)),
        times=tuple(time_changes(pairs)),
        checks=tuple(check_changes(pairs)),
        preflight=tuple(preflight_changes(before, now)),
        versions=tuple(version_changes(before.inventory, now.inventory)),
        steps=tuple(step_changes(pairs)),
    )


def check_kinds(before: FinishedResult, now: FinishedResult) -> None:
    if (before.sweep is None) != (now.sweep is None):
        message = f"{before.inventory.id} and {now.inventory.id} are not of one kind: one is a run, the other a sweep"
        raise StageError(
            "invalid", message, hint="Compare two runs, or two sweeps."
        )


def side_of(result: FinishedResult) -> Side:
    known = result.inventory
    return Side(
        id=known.id,
        cloud=known.cloud,
        level=known.level,
        started=known.started,
        finished=known.finished,
        result=known.result,
        targets=len(result.verdicts),
    )


def differences(
    before: Mapping[K, V], now: Mapping[K, V]
) -> Iterator[tuple[K, V | None, V | None]]:
    """Yield each key whose value is another one, with both values: None where there is none."""
    for key in dict.fromkeys([*before, *now]):
        if before.get(key) != now.get(key):
            yield key, before.get(key), now.get(key)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


# Verdicts and stages


def verdict_changes(
    before: FinishedResult, now: FinishedResult
) -> Iterator[VerdictChange]:
    for target, was, is_now in differences(before.verdicts, now.verdicts):
        source = before if is_now in (None, Result.PASS) else now
        yield VerdictChange(target, was, is_now, source.headlines.get(target))


def stage_changes(pairs: Pairs) -> list[StageChange]:
    groups = grouped(changes_of_stages(pairs))
    return [
        StageChange(*key, len(targets), targets[0])
        for key, targets in groups.items()
    ]


def changes_of_stages(
    pairs: Pairs,
) -> Iterator[tuple[tuple[StageName, StageStatus, StageStatus], str]]:
    """Yield each stage of a target with another status, and the target. One that a run does not have is skipped."""
    for target, (before, now) in pairs.items():
        for name, was, is_now in differences(
            statuses_of(before), statuses_of(now)
        ):
            change = (
                name,
                was or StageStatus.SKIPPED,
                is_now or StageStatus.SKIPPED,
            )
            if change[1] is not change[2]:
                yield change, target


def statuses_of(run: FinishedRun) -> dict[StageName, StageStatus]:
    return {stage.stage: stage.status for stage in run.stages}


# Times


def time_changes(pairs: Pairs) -> Iterator[TimeChange]:
    """Yield the stages whose times differ by more than noise, over the targets on which they worked both times."""
    for name in StageName:
        before = []
        now = []
        for earlier, later in pairs.values():
            was = seconds_of(earlier, name)
            is_now = seconds_of(later, name)
            if was is not None and is_now is not None:
                before.append(was)
                now.append(is_now)
        yield from time_change(name, before, now)


def seconds_of(run: FinishedRun, name: StageName) -> float | None:
    for stage in run.stages:
        if stage.stage is name and stage.status is StageStatus.OK:
            return stage.duration_s
    return None


def time_change(
    stage: StageName, before: Sequence[float], now: Sequence[float]
) -> Iterator[TimeChange]:
    was, is_now = median_of(before), median_of(now)
    if (
        was is None
        or is_now is None
        or not is_beyond_noise(before, was, is_now)
    ):
        return
    yield TimeChange(
        stage, was, is_now, round(is_now / max(was, LEAST_S), 2), len(now)
    )


def is_beyond_noise(
    before: Sequence[float], was: float, is_now: float
) -> bool:
    """Return whether a median is so far from the one before that it is not by chance."""
    shorter, longer = sorted((was, is_now))
    if len(before) < ENOUGH_TARGETS:
        return (
            longer - shorter >= FEW_SECONDS and longer >= FEW_TIMES * shorter
        )
    figures = figures_of(before)
    if figures and figures.p5_s <= is_now <= figures.p95_s:
        return False
    return longer - shorter >= MANY_SECONDS and longer >= MANY_TIMES * shorter


# Checks


class Difference(NamedTuple):
    """A check of a host that came out differently."""

    host: str
    check: str
    before: CheckStatus | None
    now: CheckStatus | None


def check_changes(pairs: Pairs) -> list[CheckChange]:
    """Return the checks of hosts that came out differently, each once for all targets for which it did."""
    groups = grouped(changes_of_checks(pairs))
    return [
        CheckChange(*key, len(reasons), reasons[0])
        for key, reasons in sorted(groups.items(), key=place_of)
    ]


def place_of(group: tuple[Difference, list[str | None]]) -> tuple[str, str]:
    difference, _reasons = group
    return difference.host, difference.check


def changes_of_checks(pairs: Pairs) -> Iterator[tuple[Difference, str | None]]:
    """Yield what came out differently, with the reason now. Only hosts count that were checked both times."""
    for before, now in pairs.values():
        earlier = checks_of(before)
        for host, checks in checks_of(now).items():
            known = earlier.get(host, checks)
            for name, was, is_now in differences(known, checks):
                change = Difference(
                    host, name, status_of(was), status_of(is_now)
                )
                if change.before is change.now:
                    continue
                reason = is_now.reason if is_now else None
                yield change, reason


def status_of(check: Check | None) -> CheckStatus | None:
    return check.status if check else None


def checks_of(run: FinishedRun) -> dict[str, dict[str, Check]]:
    """Return the checks by host and name, of each host that has any."""
    checked = [host for host in run.hosts if host.checks]
    return {host.host: by_name(host.checks) for host in checked}


def by_name(checks: Iterable[Check]) -> dict[str, Check]:
    return {check.check: check for check in checks}


def preflight_changes(
    before: FinishedResult, now: FinishedResult
) -> Iterator[PreflightChange]:
    for name, was, is_now in differences(
        preflight_of(before), preflight_of(now)
    ):
        change = PreflightChange(
            check=name,
            before=was.status if was else None,
            now=is_now.status if is_now else None,
            reason=is_now.reason if is_now else "",
        )
        if change.before is not change.now:
            yield change


def preflight_of(result: FinishedResult) -> dict[str, PreflightCheck]:
    return (
        {check.name: check for check in result.sweep.preflight}
        if result.sweep
        else {}
    )


# Versions


def version_changes(
    before: Inventory, now: Inventory
) -> Iterator[VersionChange]:
    for what, was, is_now in differences(
        versions_in(before), versions_in(now)
    ):
        yield VersionChange(what, was, is_now)


def versions_in(known: Inventory) -> dict[str, str]:
    """Return each version, each thing that the runs used, and the parts of each host, by what it is."""
    values = [
        *map(version_of_api, known.services),
        *chain.from_iterable(map(programs_of, known.tools)),
        *map(chosen_thing, known.chosen),
        *map(parts_of_host, known.hosts),
    ]
    groups = grouped((what, value) for what, value in values if value)
    return {
        what: ", ".join(dict.fromkeys(texts)) for what, texts in groups.items()
    }


def version_of_api(api: ServiceApi) -> Named:
    return f"API of {api.service}", api.max_microversion or api.version


def chosen_thing(chosen: Chosen) -> Named:
    return chosen.kind.replace("_", " "), chosen.name


def parts_of_host(host: KnownHost) -> Named:
    return f"parts of {host.host}", ", ".join(host.parts) or "none"


def programs_of(tools: Tools) -> list[Named]:
    return [
        ("stackproof.provision", tools.collection),
        ("ansible-core", tools.ansible_core),
        ("Python", tools.python),
        ("openstacksdk", tools.openstacksdk),
    ]


# Steps

# Flow, id and words of a step, and both statuses
StepKey = tuple[str, str, str, StepStatus, StepStatus]


def step_changes(pairs: Pairs) -> list[StepChange]:
    """Return the steps that are missing now and were not, or the other way round, each once for all targets."""
    groups = grouped(changes_of_steps(pairs))
    return [StepChange(*key, len(targets)) for key, targets in groups.items()]


def changes_of_steps(pairs: Pairs) -> Iterator[tuple[StepKey, str]]:
    for target, (before, now) in pairs.items():
        earlier = steps_of(before)
        for (flow, name), step in steps_of(now).items():
            was = earlier.get((flow, name), step)
            if is_missing(was) != is_missing(step):
                yield (
                    (flow, name, step.message, was.status, step.status),
                    target,
                )


def steps_of(run: FinishedRun) -> dict[tuple[str, str], StepOfRun]:
    found = {}
    for flow in run.flows:
        found.update({(flow.name, step.id): step for step in flow.steps})
    return found


def is_missing(step: StepOfRun) -> bool:
    return step.status is StepStatus.MISSING
