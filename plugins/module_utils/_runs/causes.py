# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causes of failures: runs whose failures agree in component, kind and stage have one cause.

The sentences of two such failures differ by hosts, ids and numbers, so no sentence is compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from .._model.record import Record
from .._model.verdict import Verdict
from .._model.words import Result

# In characters
LONGEST_HEADLINE = 300


class Failed(Protocol):
    """A run that may have failed, and how. Digests, targets and instances of load tests have these fields."""

    @property
    def component(self) -> str | None: ...
    @property
    def how(self) -> str | None: ...
    @property
    def stage(self) -> str | None: ...
    @property
    def step(self) -> str | None: ...
    @property
    def host(self) -> str | None: ...


T = TypeVar("T", bound=Failed)


@dataclass(frozen=True)
class Cause:
    """What failures have in common. step: only where it is not known how the component failed."""

    component: str | None
    how: str | None
    stage: str | None
    step: str | None


def cause_of(failed: Failed) -> Cause:
    step = failed.step if failed.how is None else None
    return Cause(
        component=failed.component,
        how=failed.how,
        stage=failed.stage,
        step=step,
    )


def by_cause(failures: Iterable[T]) -> dict[Cause, list[T]]:
    groups: dict[Cause, list[T]] = {}
    for failed in failures:
        groups.setdefault(cause_of(failed), []).append(failed)
    return groups


def hosts_of(failures: Iterable[Failed]) -> tuple[str, ...]:
    """Return the hosts of some failures, each once."""
    hosts = {failed.host for failed in failures}
    return tuple(sorted(filter(None, hosts)))


def headline_of(verdict: Verdict) -> str | None:
    """Return what was wrong with a run, in one line; None if it passed."""
    if verdict.result is Result.PASS:
        return None
    text = verdict.headline or verdict.reason
    return text.split("\n", maxsplit=1)[0][:LONGEST_HEADLINE]


def how_of(record: Record) -> str | None:
    """Return how a run failed: by the connection that broke, or by the error of its stage."""
    if record.verdict.result is Result.PASS:
        return None
    connection = record.verdict.connection
    if connection and connection.how:
        return connection.how
    failed = record.failed_stage
    return failed.error_kind if failed else None
