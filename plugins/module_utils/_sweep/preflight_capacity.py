# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Preflight checks that the hosts have room for the flavor. Pure: what the cloud has comes as an argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .._judge.capacity import explain
from .._model.capacity import Capacity
from .._model.shortage import Answer, Explanation
from .._model.sweep import PreflightCheck, PreflightKind, PreflightStatus
from .._report.messages import capacity as messages
from .._report.messages.words import plural
from .preflight import api_check


def checks_of_hosts(
    capacity: Capacity, hosts: Iterable[str]
) -> list[PreflightCheck]:
    """Return a check for each host that cannot take an instance of the flavor, and one for all that can.

    A host on which a component is broken has a check of its service already.
    """
    checks: list[PreflightCheck] = []
    fitting: list[Explanation] = []
    for host in hosts:
        explanation = explain_on(capacity, host)
        if explanation.answer == Answer.FITS:
            fitting.append(explanation)
        elif explanation.answer == Answer.SHORT:
            checks.append(
                fit_check(
                    explanation, f"on {host}", host_reason(explanation), host
                )
            )
        elif explanation.answer == Answer.UNKNOWN:
            return [unread_check(explanation)]
    if fitting:
        reason = f'flavor "{fitting[0].flavor}" fits on {plural(len(fitting), "compute host")}'
        checks.append(
            fit_check(
                fitting[0],
                "on compute hosts",
                reason,
                None,
                PreflightStatus.OK,
            )
        )
    return checks


def explain_on(capacity: Capacity, host: str) -> Explanation:
    """Return whether a host can take one instance."""
    if capacity.compute is None:
        return explain(capacity)
    requested = replace(capacity.compute.requested, host=host, count=1)
    return explain(
        replace(
            capacity, compute=replace(capacity.compute, requested=requested)
        )
    )


def checks_of_cloud(capacity: Capacity) -> list[PreflightCheck]:
    """Return the check that the hosts together can take all instances that are asked for."""
    explanation = explain(capacity)
    if explanation.answer == Answer.BROKEN:
        return []
    if explanation.answer == Answer.UNKNOWN:
        return [unread_check(explanation)]
    status = (
        PreflightStatus.OK
        if explanation.answer == Answer.FITS
        else PreflightStatus.FAILED
    )
    return [
        fit_check(
            explanation,
            "on the compute hosts",
            messages.answer_line(explanation),
            None,
            status,
        )
    ]


def host_reason(explanation: Explanation) -> str:
    if len(explanation.hosts) == 1:
        return messages.host_line(explanation.hosts[0])
    return messages.answer_line(explanation)


def fit_check(
    explanation: Explanation,
    where: str,
    reason: str,
    host: str | None,
    status: PreflightStatus = PreflightStatus.FAILED,
) -> PreflightCheck:
    name = f"flavor {explanation.flavor} fits {where}"
    return PreflightCheck(
        PreflightKind.CAPACITY, name, status, reason, host, "nova"
    )


def unread_check(explanation: Explanation) -> PreflightCheck:
    reason = next(iter(explanation.unread), messages.answer_line(explanation))
    return api_check(
        "what its hosts have left", "nova", PreflightStatus.UNREADABLE, reason
    )
