# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A failed run as the judge sees it: its record, the stage that failed, and what is asked of both again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .._match import order, places
from .._model import codec
from .._model.flow import Step
from .._model.host import Host
from .._model.record import Record
from .._model.service import Service, services_of
from .._model.stage import Stage
from .._model.words import StageName, StageStatus
from .weights import WEIGHTS, Weights

# The stage ran out of time: it may only have been slow.
DEADLINE = "deadline"


@dataclass(frozen=True)
class Case:
    """A stage of a run that failed, with the numbers by which it is judged."""

    record: Record
    stage: Stage
    weights: Weights = WEIGHTS

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the flow by which the stage is judged."""
        return order.judged_steps(self.record.flows, self.stage.stage)

    @cached_property
    def paths(self) -> list[list[Step]]:
        """Return the steps that come next after all that happened; none if no flow follows the stage."""
        is_followed = any(step.stage is self.stage.stage for step in self.steps)
        return order.paths(self.steps, self.stage.stage) if is_followed else []

    @cached_property
    def last_seen(self) -> Step | None:
        return order.last_seen(self.steps)

    @cached_property
    def pause_s(self) -> float | None:
        """Return how long before the stage's time was over the last step was seen; None if too long to be slow."""
        is_late = self.stage.error is not None and self.stage.error.kind == DEADLINE
        if not is_late or self.last_seen is None or self.last_seen.at is None or self.stage.finished is None:
            return None
        seconds = self.stage.finished - self.last_seen.at
        return max(seconds, 0.0) if seconds < self.weights.pause_s else None

    @cached_property
    def without_flows(self) -> dict[str, Any]:
        """Return the record as JSON has it, for what still reads that."""
        data: dict[str, Any] = codec.to_json(replace(self.record, flows=(), stages=()))
        return data

    @cached_property
    def instance_host(self) -> str | None:
        """Return the host of the instance, which may still be on its way there."""
        return places.host_of(self.without_flows)

    @cached_property
    def back_end(self) -> str | None:
        """Return the back end of Neutron, if it is known."""
        return places.back_end_of(self.without_flows)

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the inventory's name of each host, by the names that the host has for itself."""
        names: dict[str, str] = {}
        for host in self.record.hosts:
            names.update(dict.fromkeys(host.facts.get("names") or [], host.host))
        return names

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Return the host that has each address."""
        addresses: dict[str, str] = {}
        for host in self.record.hosts:
            addresses.update(dict.fromkeys(host.facts.get("addresses") or [], host.host))
        return addresses

    @cached_property
    def services(self) -> list[tuple[Host, Service]]:
        """Return each service with its host."""
        found: list[tuple[Host, Service]] = []
        for host in self.record.hosts:
            found += [(host, service) for service in services_of(host)]
        return found

    @property
    def is_seen(self) -> bool:
        """Return whether anything is known of the hosts or from logs, and not only from the API."""
        return bool(self.record.hosts or self.record.diagnosis)


def failed_stage(stages: Sequence[Stage]) -> Stage | None:
    """Return the first failed stage in the order of a run, or None."""
    failed = [stage for stage in stages if stage.status == StageStatus.FAILED]
    names = tuple(StageName)
    return min(failed, key=lambda stage: names.index(stage.stage), default=None)


def of_removal(record: Record, removal: Stage) -> Record:
    """Return a record in which the removal of the run is the only stage that asked for anything."""
    stages = [replace(stage, calls=(), waits=()) for stage in record.stages]
    started = record.started if removal.started is None else removal.started
    return replace(record, started=started, stages=(*stages, removal))
