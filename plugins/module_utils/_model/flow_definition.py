# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flow as its file defines it: steps, and the rules by which evidence shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from .flow import Part
from .words import Level, Since, StageName, View


@dataclass(frozen=True)
class Rule:
    """What evidence shows a step. docs/flows.md explains each key.

    says: a pattern that a line matches. window: a text of a line that has no id of the run.
    within: the steps between which it lies; None at either end is the begin or the end of the run.
    """

    source: str
    service: str
    kind: Optional[str] = None
    where: str = ""
    says: Optional[str] = None
    window: Optional[str] = None
    within: Optional[tuple[Optional[str], Optional[str]]] = None
    needs: Optional[str] = None
    pick: Optional[str] = None
    edge: Optional[str] = None
    tier: Optional[int] = None
    level: Optional[Level] = None
    text: Optional[str] = None

    @property
    def needed_level(self) -> Level:
        return self.level or Level.INFO


@dataclass(frozen=True)
class StepDefinition:
    """A step of a flow.

    observe, cached, absent: the rules by which it happened, was answered by a cache, or did not have to happen.
    state: the links of chains that hold after it, and are broken if it did not happen.
    when: an expression on the facts of the run. Where it does not hold, the step is absent with the reason `instead`,
    or skipped with the reason `unless`. otherwise: the reason to skip it where nothing shows it.
    """

    id: str
    source: str
    target: str
    message: str
    kind: str
    responsible: str
    phase: Optional[str] = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    became: Optional[Since] = None
    today: Optional[str] = None
    when: Optional[str] = None
    unless: Optional[str] = None
    instead: Optional[str] = None
    otherwise: Optional[str] = None
    follows: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    observe: tuple[Rule, ...] = ()
    cached: tuple[Rule, ...] = ()
    absent: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.observe + self.cached + self.absent

    @property
    def is_optional(self) -> bool:
        """Return whether a cache may answer it, or it may be proved not to happen."""
        return bool(self.cached or self.absent)


@dataclass(frozen=True)
class Phase:
    """What the steps of a phase have in common. when, unless, instead: for its steps without a `when` of their own."""

    stage: Optional[StageName] = None
    repeats: bool = False
    when: Optional[str] = None
    unless: Optional[str] = None
    instead: Optional[str] = None


@dataclass(frozen=True)
class Explanation:
    """Why an exchange that no step shows is there all the same."""

    where: str
    reason: str


@dataclass(frozen=True)
class Flow:
    """A flow.

    base: the flow whose steps its own steps cover, if it is one that sums up another.
    counted: an expression that says which steps the coverage counts; without it all count.
    exclusive: whether each event shows one step only, in their order.
    shown_when: an expression on the facts of a run, by which a page shows it.
    actions: what Nova may be asked to do with a server that it already has; the flow is of such an operation.
    """

    name: str
    title: str
    lifelines: tuple[str, ...]
    steps: tuple[StepDefinition, ...]
    stage: Optional[StageName] = None
    judged: bool = False
    shown_as: Optional[View] = None
    shown_when: Optional[str] = None
    counted: Optional[str] = None
    exclusive: bool = False
    phases: Mapping[str, Phase] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    actions: tuple[str, ...] = ()
    others: tuple[Explanation, ...] = ()
    base: Optional[Flow] = None
    extends: Optional[str] = None

    @property
    def observed_steps(self) -> tuple[StepDefinition, ...]:
        """Return the steps that evidence shows: its own, or those of the flow that it sums up."""
        return self.base.observed_steps if self.base else self.steps

    def stage_of(self, step: StepDefinition) -> StageName:
        phase = self.phases.get(step.phase or "")
        if phase and phase.stage:
            return phase.stage
        return self.stage or StageName.BOOT

    def repeats(self, step: StepDefinition) -> bool:
        return (self.phases.get(step.phase or "") or Phase()).repeats
