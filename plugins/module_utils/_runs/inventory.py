# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of a result: the versions behind it, and what was not checked, from the records of its runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeVar

from .._model import codec
from .._model.details import AuthDetails
from .._model.inventory import (
    SCHEMA,
    Chosen,
    FinishedRun,
    HostOfRun,
    Inventory,
    KnownHost,
    ServiceApi,
    Skipped,
    SkippedKind,
    StageOfRun,
    Tools,
)
from .._model.sweep import PreflightStatus, Sweep
from .._model.words import CheckStatus, HostStatus, StageName, StageStatus
from .._report.messages.level import left_out_in_words

T = TypeVar("T")
NOT_CHECKED = (CheckStatus.NOT_APPLICABLE, CheckStatus.UNREADABLE)


def of_run(run: FinishedRun) -> Inventory:
    """Return the inventory of a run by itself."""
    return Inventory(
        schema=SCHEMA,
        id=run.run_id,
        cloud=run.cloud,
        level=run.level.name if run.level else None,
        started=run.started,
        finished=run.finished,
        result=run.verdict.result,
        tools=tools_of([run]),
        services=services_of([run]),
        chosen=chosen_of([run]),
        hosts=hosts_of([run]),
        skipped=tuple(skipped_of(run)),
    )


def of_sweep(sweep: Sweep, runs: Sequence[FinishedRun]) -> Inventory:
    """Return the inventory of a sweep. runs: those of its targets that have a record."""
    return Inventory(
        schema=SCHEMA,
        id=sweep.sweep_id,
        cloud=sweep.cloud,
        level=sweep.level,
        started=sweep.started,
        finished=sweep.finished,
        result=sweep.verdict.result,
        tools=tools_of(runs),
        services=services_of(runs),
        chosen=chosen_of(runs),
        hosts=hosts_of(runs),
        skipped=(
            *skipped_of_sweep(sweep),
            *chain.from_iterable(map(skipped_of, runs)),
        ),
    )


def once(things: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(things))


# Versions


def tools_of(runs: Iterable[FinishedRun]) -> tuple[Tools, ...]:
    return once(run.tools for run in runs if run.tools)


def services_of(runs: Iterable[FinishedRun]) -> tuple[ServiceApi, ...]:
    found = once(chain.from_iterable(map(apis_of, runs)))
    return tuple(sorted(found, key=lambda api: api.service))


def apis_of(run: FinishedRun) -> list[ServiceApi]:
    """Return the APIs of a run's cloud, as the stage auth has found them."""
    auth = next(
        (stage for stage in run.stages if stage.stage is StageName.AUTH), None
    )
    details = (
        codec.from_json(AuthDetails, auth.details) if auth else AuthDetails()
    )
    return [
        ServiceApi(
            each.service,
            each.version,
            each.min_microversion,
            each.max_microversion,
        )
        for each in details.services or ()
    ]


def chosen_of(runs: Iterable[FinishedRun]) -> tuple[Chosen, ...]:
    stages = chain.from_iterable(run.stages for run in runs)
    resources = chain.from_iterable(stage.resources for stage in stages)
    return once(
        Chosen(thing.kind, thing.name)
        for thing in resources
        if thing.name and not thing.created
    )


def hosts_of(runs: Iterable[FinishedRun]) -> tuple[KnownHost, ...]:
    """Return each host once, as the last run has found it."""
    found = chain.from_iterable(run.hosts for run in runs)
    hosts = {host.host: host for host in found}
    return tuple(
        KnownHost(name, hosts[name].parts, hosts[name].status)
        for name in sorted(hosts)
    )


# What was not checked


def skipped_of_sweep(sweep: Sweep) -> list[Skipped]:
    """Return what the preflight could not check, the hosts that were excluded, and the targets without a record."""
    unread = [
        check
        for check in sweep.preflight
        if check.status is PreflightStatus.UNREADABLE
    ]
    found = [
        Skipped(
            SkippedKind.PREFLIGHT, check.name, check.reason, host=check.host
        )
        for check in unread
    ]
    found += [
        Skipped(SkippedKind.HOST, host.host, host.reason, host=host.host)
        for host in sweep.excluded
    ]
    without = [target for target in sweep.targets if target.directory is None]
    found += [
        Skipped(
            SkippedKind.TARGET, each.name, each.reason, each.run_id, each.host
        )
        for each in without
    ]
    return found


def skipped_of(run: FinishedRun) -> list[Skipped]:
    parts = run.level.left_out if run.level else ()
    found = [
        Skipped(
            SkippedKind.LEVEL, part.part, left_out_in_words(part), run.run_id
        )
        for part in parts
    ]
    stages = [
        stage for stage in run.stages if stage.status is StageStatus.SKIPPED
    ]
    found += [
        Skipped(
            SkippedKind.STAGE, stage.stage.value, reason_of(stage), run.run_id
        )
        for stage in stages
    ]
    for host in run.hosts:
        found += skipped_on(host, run.run_id)
    return found


def reason_of(stage: StageOfRun) -> str:
    reason = stage.details.get("reason")
    return reason if isinstance(reason, str) else ""


def skipped_on(host: HostOfRun, run_id: str) -> list[Skipped]:
    """Return what was not read or checked on a host."""
    found = []
    if host.status is not HostStatus.READ:
        found.append(
            Skipped(
                SkippedKind.HOST,
                host.host,
                host.reason or host.status.value,
                run_id,
                host.host,
            )
        )
    found += [
        Skipped(SkippedKind.READ, read.what, read.reason, run_id, host.host)
        for read in host.unread
    ]
    checks = [check for check in host.checks if check.status in NOT_CHECKED]
    found += [
        Skipped(
            SkippedKind.CHECK,
            check.check,
            check.reason or "",
            run_id,
            host.host,
        )
        for check in checks
    ]
    return found
