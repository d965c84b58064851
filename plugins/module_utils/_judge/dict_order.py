# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a flow's steps: which steps each follows, and which must have happened because of what was seen."""

from __future__ import annotations

from .._record.clock import seconds_between

# Steps of these statuses did not have to happen: they are passed when the steps before them are.
PASSED_BY = ("cached", "absent", "skipped")
# Owes the steps that a cache may answer, or that may be proved not to happen
NOBODY = "nobody"
# So many seconds may pass between two steps of a boot that goes well.
PAUSE = 10


def judged_steps(record, stage="boot"):
    """The steps of the flow by which a stage is judged: of its own flows the one that began last.

    So a volume that is given to a server after its boot is judged by its own flow. A stage without a flow is judged by
    the first flow that judges.
    """
    judged = [flow for flow in record["flows"] if flow["judged"]] or record["flows"][:1]
    own = [flow for flow in judged if any(is_of(step, stage) for step in flow["steps"])]
    last = max(own, key=lambda flow: began(flow, stage), default=None) or next(iter(judged), {"steps": []})
    return [step for step in last["steps"] if "follows" in step]


def began(flow, stage):
    """When the first step of a flow in a stage was seen; an empty text if none was."""
    return min((step["at"] for step in flow["steps"] if is_of(step, stage) and step["at"]), default="")


def follows(steps):
    """Id of each step to the ids of the steps that it follows. A flow that gives no order is one chain."""
    if any(step["follows"] for step in steps):
        return {step["id"]: step["follows"] for step in steps}
    return {step["id"]: [before["id"]] if before else [] for before, step in zip([None, *steps], steps)}


def happened(steps):
    """The ids of steps that were seen, or that a step that was seen proves, as it follows them."""
    before = follows(steps)
    proved, to_visit = set(), [step["id"] for step in steps if step["status"] == "seen"]
    while to_visit:
        name = to_visit.pop()
        if name not in proved:
            proved.add(name)
            to_visit += before[name]
    return proved


def paths(steps, stage="boot"):
    """The steps that come next after all that happened: lists, each up to the first step whose absence is proved.

    A step that follows nothing is not part of the chain, unless it is the first.
    """
    before, by_id = follows(steps), {step["id"]: step for step in steps}
    done = happened(steps)

    def is_done(name):
        step = by_id[name]
        passed_by = step["status"] in PASSED_BY or step.get("owed_by") == NOBODY
        return name in done or (passed_by and all(map(is_done, before[name])))

    done |= {name for name in by_id if is_done(name)}
    linked = [step for step in steps if before[step["id"]] or step is steps[0]]
    ready = [step for step in linked if step["id"] not in done and done.issuperset(before[step["id"]])]
    # The steps of the stage come first, and those that are proved to be missing before those that nobody could see.
    return sorted(
        (path_from(step, before, by_id, done) for step in ready),
        key=lambda path: (not is_of(path[-1], stage), path[-1]["status"] != "missing"),
    )


def is_of(step, stage):
    return step["stage"] == stage


def path_from(first, before, by_id, done):
    """The steps from the first one on, as far as each follows the one before it."""
    path, reached = [first], done | {first["id"]}
    while path[-1]["status"] != "missing":
        step = step_after(path[-1], before, by_id, reached)
        if step is None:
            break
        path.append(step)
        reached.add(step["id"])
    return path


def step_after(last, before, by_id, reached):
    """The next step of a path, or None. Steps that nobody owes are passed: they are added to those reached."""
    following = None
    for step in by_id.values():
        # A step that waits for another one as well is at the end of another path.
        if step["id"] in reached or not before[step["id"]] or not reached.issuperset(before[step["id"]]):
            continue
        if step.get("owed_by") == NOBODY:
            reached.add(step["id"])
        elif following is None and last["id"] in ancestors(step["id"], before, by_id):
            following = step
    return following


def ancestors(name, before, by_id):
    """The ids of the steps that a step follows, directly or through steps that nobody owes."""
    names = set()
    for other in before[name]:
        names.add(other)
        if by_id[other].get("owed_by") == NOBODY:
            names |= ancestors(other, before, by_id)
    return names


def after(step, steps):
    """The steps that directly follow a step."""
    before = follows(steps)
    return [other for other in steps if step["id"] in before[other["id"]]]


def pause(stage, steps):
    """Seconds from the step that was seen last to the end of the stage's time, if so few that it may only be slow."""
    last = last_seen(steps)
    if (stage.get("error") or {}).get("kind") != "deadline" or not (last and stage.get("finished")):
        return None
    seconds = seconds_between(last["at"], stage["finished"])
    return max(seconds, 0) if seconds < PAUSE else None


def last_seen(steps):
    """The step of the chain that was seen last; steps that repeat whatever happens do not count."""
    before = follows(steps)
    seen = [step for step in steps if step["status"] == "seen" and step["at"]]
    return max(
        (step for step in seen if before[step["id"]] and not step["repeats"]),
        key=lambda step: step["at"],
        default=None,
    )
