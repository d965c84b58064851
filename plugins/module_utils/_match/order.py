# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a flow's steps: which steps each follows, and which must have happened because of what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from .._model.flow import FollowedFlow, Step
from .._model.words import StageName, StepStatus

# Steps of these statuses did not have to happen: they are passed when the steps before them are.
PASSED_BY = (StepStatus.CACHED, StepStatus.ABSENT, StepStatus.SKIPPED)
# Responsible for the steps that a cache may answer, or that may be proved not to happen
NOBODY = "nobody"


def judged_flows(flows: Sequence[FollowedFlow]) -> Sequence[FollowedFlow]:
    """Return the flows by which the stages are judged; the first one of a run whose flows judge nothing."""
    return [flow for flow in flows if flow.judged] or flows[:1]


def judged_steps(
    flows: Sequence[FollowedFlow], stage: StageName = StageName.BOOT
) -> tuple[Step, ...]:
    """Return the steps of the flow by which a stage is judged: of its own flows the one that began last.

    So a volume that is given to a server after its boot is judged by its own flow. A stage without a flow is judged by
    the first flow that judges.
    """
    judged = judged_flows(flows)
    if not judged:
        return ()
    own = [flow for flow in judged if has_stage(flow, stage)]
    if not own:
        return judged[0].steps
    latest = max(own, key=lambda flow: began(flow, stage))
    return latest.steps


def has_stage(flow: FollowedFlow, stage: StageName) -> bool:
    return any(step.stage is stage for step in flow.steps)


def began(flow: FollowedFlow, stage: StageName) -> float:
    """Return when the first step of a flow in a stage was seen; zero if none was."""
    return min(
        (step.at for step in flow.steps if step.stage is stage and step.at),
        default=0.0,
    )


def follows(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """Return the id of each step with the ids of the steps that it follows. A flow that gives no order is a chain."""
    if any(step.follows for step in steps):
        return {step.id: step.follows for step in steps}
    followed: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for step in steps:
        followed[step.id] = before
        before = (step.id,)
    return followed


def happened(steps: Sequence[Step]) -> set[str]:
    """Return the ids of steps that were seen, or that a step that was seen proves, as it follows them."""
    before = follows(steps)
    proved: set[str] = set()
    to_visit = [step.id for step in steps if step.status is StepStatus.SEEN]
    while to_visit:
        name = to_visit.pop()
        if name not in proved:
            proved.add(name)
            to_visit += before[name]
    return proved


def paths(
    steps: Sequence[Step], stage: StageName = StageName.BOOT
) -> list[list[Step]]:
    """Return the steps that come next after all that happened: lists, each up to the first step that is missing.

    A step that follows nothing is not part of the chain, unless it is the first.
    """
    links = Chain(steps)
    linked = [
        step for step in steps if links.before[step.id] or step is steps[0]
    ]
    ready = [
        step
        for step in linked
        if step.id not in links.done
        and links.done.issuperset(links.before[step.id])
    ]
    awaited = set(chain.from_iterable(links.before.values()))

    def place(path: list[Step]) -> tuple[bool, bool, bool]:
        last = path[-1]
        return (
            last.stage is not stage,
            last.status is not StepStatus.MISSING,
            last.id not in awaited,
        )

    # The steps of the stage come first, and those that are proved to be missing before those that nobody could see. A
    # step that no other one follows keeps nothing from going on.
    return sorted((links.path_from(step) for step in ready), key=place)


class Chain:
    """The steps of a flow, linked by their order."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.before = follows(steps)
        self.done = happened(steps)
        self._by_id: Mapping[str, Step] = {step.id: step for step in steps}
        self.done |= {step.id for step in steps if self._is_done(step.id)}

    def _is_done(self, name: str) -> bool:
        """Return whether a step happened, or did not have to and all before it are done."""
        if name in self.done:
            return True
        step = self._by_id[name]
        passed_by = step.status in PASSED_BY or step.responsible == NOBODY
        return passed_by and all(map(self._is_done, self.before[name]))

    def path_from(self, first: Step) -> list[Step]:
        """Return the steps from the first one on, as far as each follows the one before it."""
        path, reached = [first], self.done | {first.id}
        while path[-1].status is not StepStatus.MISSING:
            step = self._step_after(path[-1], reached)
            if step is None:
                break
            path.append(step)
            reached.add(step.id)
        return path

    def _step_after(self, last: Step, reached: set[str]) -> Step | None:
        """Return the next step of a path, or None. Steps for which nobody is responsible are added to those reached."""
        following = None
        for step in self._by_id.values():
            # A step that waits for another one as well is at the end of another path.
            if (
                step.id in reached
                or not self.before[step.id]
                or not reached.issuperset(self.before[step.id])
            ):
                continue
            if step.responsible == NOBODY:
                reached.add(step.id)
            elif following is None and last.id in self._ancestors(step.id):
                following = step
        return following

    def _ancestors(self, name: str) -> set[str]:
        """Return the ids of the steps that a step follows, directly or through steps that nobody has to make happen."""
        names: set[str] = set()
        for other in self.before[name]:
            names.add(other)
            if self._by_id[other].responsible == NOBODY:
                names |= self._ancestors(other)
        return names


def last_seen(steps: Sequence[Step]) -> Step | None:
    """Return the step of the chain that was seen last; steps that repeat whatever happens do not count."""
    before = follows(steps)
    linked: list[Step] = []
    for step in steps:
        if step.status is not StepStatus.SEEN or not step.at:
            continue
        if step.repeats:
            continue
        if before[step.id]:
            linked.append(step)
    return max(linked, key=lambda step: step.at or 0.0, default=None)
