# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a sweep, from the results of its targets and of the preflight checks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._model.sweep import (
    Outlier,
    PreflightCheck,
    PreflightStatus,
    Slice,
    SweepVerdict,
    Target,
)
from .._model.words import Result
from .._record.words import listed
from .._runs import causes

MOST_LISTED = 3

# Two targets ended alike if these agree: the result, the status of each stage, and the cause of a failure.
End = tuple[Result, tuple[tuple[str, str], ...], "causes.Cause | None"]


def judge(
    targets: Sequence[Target],
    preflight: Iterable[PreflightCheck],
    slow: Iterable[Outlier] = (),
    part: Slice | None = None,
    missing: Sequence[str] = (),
) -> SweepVerdict:
    """Return the verdict on the whole. part: the slice that the targets are; missing: other slices."""
    checks = [*preflight]
    bad = of_status(checks, PreflightStatus.FAILED)
    unread = of_status(checks, PreflightStatus.UNREADABLE)
    # A slice is allowed to be empty if there are fewer targets than slices.
    is_empty_slice = part is not None and part.targets > 0 and not targets
    has_failed = bool(bad) or not (targets or is_empty_slice)
    sentences = [
        *about_targets(targets, is_empty_slice),
        *about("Missing slices", missing),
        *about("Preflight", [check.reason for check in bad]),
        *about("Unknown", [check.reason for check in unread]),
        *about("Slow", [outlier.reason for outlier in slow]),
    ]
    return SweepVerdict(
        result=result_of(targets, has_failed, is_partial=bool(missing)),
        reason=" ".join(sentences),
        hosts=failed_hosts(targets, bad),
    )


def of_status(
    checks: Iterable[PreflightCheck], status: PreflightStatus
) -> list[PreflightCheck]:
    return [check for check in checks if check.status is status]


def result_of(
    targets: Iterable[Target], has_failed: bool, is_partial: bool
) -> Result:
    """Return the worst result. has_failed: whether anything else failed; is_partial: whether targets are missing."""
    results = {target.result for target in targets}
    if has_failed or Result.FAIL in results:
        return Result.FAIL
    if is_partial or Result.INCOMPLETE in results:
        return Result.INCOMPLETE
    return Result.PASS


def failed_hosts(
    targets: Iterable[Target], bad: Iterable[PreflightCheck]
) -> tuple[str, ...]:
    """Return the hosts with a failure, each once; a target without a host by its name."""
    hosts = [target.host or target.name for target in wrong(targets)]
    hosts += filter(None, (check.host for check in bad))
    return tuple(dict.fromkeys(hosts))


def wrong(targets: Iterable[Target]) -> list[Target]:
    return [target for target in targets if target.result is not Result.PASS]


def about(subject: str, texts: Sequence[str]) -> list[str]:
    return [f"{subject}: {listed(texts, MOST_LISTED)}."] if texts else []


def about_targets(
    targets: Sequence[Target], is_empty_slice: bool
) -> list[str]:
    failures = wrong(targets)
    if is_empty_slice:
        return ["No target is left for this slice."]
    if not targets:
        return ["There was no host to provision on."]
    if failures:
        reasons = [
            f"{names_of(group)}: {group[0].reason.rstrip('.')}"
            for group in alike(failures)
        ]
        return [
            f"{len(failures)} of {len(targets)} targets did not pass.",
            listed(reasons, MOST_LISTED, "; ") + ".",
        ]
    if len(targets) == 1:
        return [f"The target {targets[0].name} passed."]
    return [f"All {len(targets)} targets passed."]


def names_of(targets: Iterable[Target]) -> str:
    return listed([target.name for target in targets], MOST_LISTED)


def alike(targets: Iterable[Target]) -> list[list[Target]]:
    """Return groups of targets that ended alike: those that passed first, then the largest groups."""
    groups: dict[End, list[Target]] = {}
    for target in targets:
        groups.setdefault(end_of(target), []).append(target)
    return sorted(
        groups.values(),
        key=lambda group: (group[0].result is not Result.PASS, -len(group)),
    )


def end_of(target: Target) -> End:
    statuses = tuple(
        (stage.stage.value, stage.status.value) for stage in target.stages
    )
    cause = None if target.result is Result.PASS else causes.cause_of(target)
    return target.result, statuses, cause
