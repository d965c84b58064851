# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a flow's steps: what each follows, and what must have happened because of what was seen."""

from __future__ import annotations

from .._record.clock import seconds_between

# What did not happen, and did not have to: it is as far as the steps before it are.
PASSED_BY = ("cached", "absent", "skipped")
# Who owes what a cache may answer, or what may be proved not to happen
NOBODY = "nobody"
# Between two steps of a boot that goes well there may be so many seconds.
PAUSE = 10


def follows(steps):
    """Id to the ids of what each step follows. A flow that says nothing of it is one chain."""
    if any(step["follows"] for step in steps):
        return {step["id"]: step["follows"] for step in steps}
    return {step["id"]: [before["id"]] if before else [] for before, step in zip([None, *steps], steps)}


def happened(steps):
    """The ids of steps that were seen, or that something seen proves, as it follows them."""
    before = follows(steps)
    found, look = set(), [step["id"] for step in steps if step["status"] == "seen"]
    while look:
        one = look.pop()
        if one not in found:
            found.add(one)
            look += before[one]
    return found


def paths(steps, stage="boot"):
    """What comes next after all that happened: lists of steps, each up to the first whose absence is proved.

    Steps that follow nothing are no part of the chain, but for the first.
    """
    before, by_id = follows(steps), {step["id"]: step for step in steps}
    done = happened(steps)

    def is_done(one):
        step = by_id[one]
        passed_by = step["status"] in PASSED_BY or step.get("owed_by") == NOBODY
        return one in done or (passed_by and all(is_done(other) for other in before[one]))

    done |= {one for one in by_id if is_done(one)}
    linked = [step for step in steps if before[step["id"]] or step is steps[0]]
    ready = [step for step in linked if step["id"] not in done and all(one in done for one in before[step["id"]])]
    found = [path_from(step, before, by_id, done) for step in ready]
    # What the stage is about comes first, and what is proved to be lacking before what nobody could have seen.
    return sorted(found, key=lambda path: (not is_of(path[-1], stage), path[-1]["status"] != "missing"))


def is_of(step, stage):
    return step["stage"] == stage


def path_from(first, before, by_id, done):
    path, reached = [first], done | {first["id"]}
    while path[-1]["status"] != "missing":
        following = None
        for step in by_id.values():
            # Where it waits for something else as well, it is at the end of another path.
            if step["id"] in reached or not before[step["id"]] or not reached.issuperset(before[step["id"]]):
                continue
            if step.get("owed_by") == NOBODY:
                reached.add(step["id"])
            elif following is None and path[-1]["id"] in ancestors(step["id"], before, by_id):
                following = step
        if following is None:
            break
        path.append(following)
        reached.add(following["id"])
    return path


def ancestors(one, before, by_id):
    """What a step follows, directly or through steps that nobody owes."""
    found = set()
    for other in before[one]:
        found.add(other)
        if by_id[other].get("owed_by") == NOBODY:
            found |= ancestors(other, before, by_id)
    return found


def after(step, steps):
    """The steps that follow one directly."""
    before = follows(steps)
    return [one for one in steps if step["id"] in before[one["id"]]]


def pause(stage, steps):
    """How long before the end of a stage's time something was seen to happen, if so lately that it may only be slow."""
    last = last_seen(steps)
    if (stage.get("error") or {}).get("kind") != "deadline" or not (last and stage.get("finished")):
        return None
    seconds = seconds_between(last["at"], stage["finished"])
    return max(seconds, 0) if seconds < PAUSE else None


def last_seen(steps):
    """The step of the chain that was seen last, but for those that repeat whatever happens."""
    before = follows(steps)
    timed = [one for one in steps if one["status"] == "seen" and one["at"] and before[one["id"]] and not one["repeats"]]
    return max(timed, key=lambda one: one["at"], default=None)
