# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The symptoms that a verdict reports: those that speak for its cause, and the one that says most about it."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from itertools import filterfalse
from operator import attrgetter

from .._model.finding import Cause
from .._model.how import How
from .._model.symptom import Code, Kind, Symptom
from .symptoms.reach import is_wrong_endpoint
from .weights import Weights

# What says most about a cause in a line stands first.
HEADLINES = (
    Kind.STATE,
    Kind.LINK,
    Kind.REPORT,
    Kind.RESOURCE,
    Kind.REACH,
    Kind.FAILED_AT,
    Kind.ERROR,
    Kind.NOT_REPORTING,
    Kind.ANSWER,
    Kind.DIFFERENCE,
    Kind.CHANGE,
)
# What may be wrong, and is no failure in itself
SETTINGS = (Kind.DIFFERENCE, Kind.CHANGE)
WRONG = frozenset(HEADLINES) - {Kind.DIFFERENCE}
REPORTABLE = (*HEADLINES, Kind.STEP, Kind.RESTART)
# A service that starts, or that has ended and runs again, and a failure that does not say how: anything else about the
# same component says more.
SAYS_LITTLE = (How.STARTING, How.STOPPING, How.RESTARTED, None)
# A service that was not stopped by anybody
EXITED = (How.FAILED, How.STARTING, How.RESTARTED)
# Somebody did this to a service: a change of its configuration adds nothing, unless it came just before.
DELIBERATE = (How.STOPPED, How.FROZEN, How.PAUSED)
# The name of the run itself in flows
CLIENT = "client"


def reportable(cause: Cause) -> list[Symptom]:
    """Return the symptoms that say something of a cause, the weightiest first, each once."""
    chosen: dict[tuple[object, ...], Symptom] = {}
    for symptom in cause.symptoms:
        if symptom.kind not in REPORTABLE:
            continue
        if symptom.code == Code.STAGE_PART or symptom.component == CLIENT:
            continue
        chosen.setdefault(symptom.identity, symptom)
    return list(chosen.values())


def evidence(cause: Cause, weights: Weights) -> tuple[Symptom, ...]:
    """Return what speaks for a cause. A missing step or an old change counts only if nothing else does."""
    listed = reportable(cause)
    changed = {
        (symptom.path, symptom.setting)
        for symptom in listed
        if symptom.kind == Kind.CHANGE
    }
    facts = [
        symptom for symptom in listed if is_fact(symptom, changed, weights)
    ]
    telling = list(filterfalse(is_bare_error, facts))
    chosen = telling or facts or listed
    return tuple(chosen[: weights.evidence])


def is_fact(
    symptom: Symptom,
    changed: Container[tuple[str | None, str | None]],
    weights: Weights,
) -> bool:
    """Return whether a symptom is a fact about what is wrong, and no missing step or old change.

    changed: the file and the option of each change among the symptoms.
    """
    if symptom.kind == Kind.STEP or is_old_change(symptom, weights):
        return False
    # The change says so as well.
    return (
        symptom.kind != Kind.DIFFERENCE
        or (symptom.path, symptom.setting) not in changed
    )


def is_bare_error(symptom: Symptom) -> bool:
    """Return whether all that is known of an error is that somebody logged one."""
    return symptom.code == Code.LOGGED_ERROR and not symptom.exception


def explained(cause: Cause) -> tuple[Symptom, ...]:
    """Return the symptoms of others that a cause explains."""
    return tuple(
        symptom for symptom in reportable(cause) if not cause.shows(symptom)
    )


def by_weight(cause: Cause) -> list[Symptom]:
    """Return the symptoms for a headline: the cause's own first, and what is new or odd in its configuration last."""
    shown = [
        symptom for symptom in reportable(cause) if symptom.kind in HEADLINES
    ]

    def order(symptom: Symptom) -> tuple[bool, bool, bool, int]:
        is_change = symptom.kind in SETTINGS
        is_vague = symptom.kind is not Kind.LINK and symptom.how in SAYS_LITTLE
        return (
            is_change,
            not cause.shows(symptom),
            is_vague,
            HEADLINES.index(symptom.kind),
        )

    return sorted(shown, key=order)


def main_symptom(cause: Cause, weights: Weights) -> Symptom:
    """Return the symptom that says most about a cause: its own, or that of another which failed at it."""
    near = [
        symptom
        for symptom in by_weight(cause)
        if cause.shows(symptom) or symptom.peer == cause.component
    ]
    # What was changed long ago counts next to nothing: not that is why the cause is named.
    telling = [
        symptom for symptom in near if not is_old_change(symptom, weights)
    ]
    return [*telling, *reportable(cause), *cause.symptoms][0]


def recent_change(cause: Cause, weights: Weights) -> Symptom | None:
    """Return a recent change of a cause's configuration, if the headline does not report it already."""
    shown = by_weight(cause)
    if not shown:
        return None
    reported = shown[0]
    if reported.kind == Kind.CHANGE:
        return None
    for symptom in shown:
        if is_recent_change(symptom, weights) and may_lead_to(
            symptom, reported, weights
        ):
            return symptom
    return None


def may_lead_to(change: Symptom, reported: Symptom, weights: Weights) -> bool:
    """Return whether a change may be why a component does not work, as it is if the component ended just after it.

    The addresses of the catalogue are in a database.
    """
    if is_wrong_endpoint(reported):
        return False
    seconds = (change.ago_s or 0.0) - (reported.for_s or math.inf)
    return (
        reported.how not in DELIBERATE
        or 0 <= seconds <= weights.ended_by_change_s
    )


def is_recent_change(symptom: Symptom, weights: Weights) -> bool:
    return (
        symptom.kind == Kind.CHANGE and symptom.share >= weights.fresh_change
    )


def is_old_change(symptom: Symptom, weights: Weights) -> bool:
    return symptom.kind == Kind.CHANGE and symptom.share < weights.fresh_change


def left_over(
    cause: Cause, found: Iterable[Symptom], weights: Weights
) -> tuple[Symptom, ...]:
    """Return what else is wrong, which the cause does not explain. An old change of configuration is nothing wrong."""
    known = set(map(attrgetter("identity"), cause.symptoms))
    known.update(map(attrgetter("source"), cause.symptoms))
    cut = {
        (symptom.host, symptom.peer) for symptom in cut_connections(cause)[:1]
    }
    if not cut:
        # Without a host and a peer it is of the whole cloud, and shows no other fault.
        cut.add((None, None))
    rest: dict[tuple[object, ...], Symptom] = {}
    for symptom in found:
        if symptom.identity in known or symptom.source in known:
            continue
        if (symptom.host, symptom.peer) in cut:
            continue
        if is_wrong(symptom, weights):
            rest.setdefault(symptom.identity, symptom)
    return tuple(rest.values())


def is_wrong(symptom: Symptom, weights: Weights) -> bool:
    return (
        symptom.kind in WRONG
        and bool(symptom.component)
        and not is_old_change(symptom, weights)
    )


def cut_connections(cause: Cause) -> list[Symptom]:
    """Return the symptoms of a connection that is cut, with the cause at one end of it; those of its own end first."""
    ordered = sorted(
        reportable(cause), key=lambda symptom: not cause.shows(symptom)
    )
    return [
        symptom
        for symptom in ordered
        if is_cut_off(symptom) or symptom is cause.between
    ]


def is_cut_off(symptom: Symptom) -> bool:
    return (
        symptom.kind == Kind.REACH
        and symptom.only_from_here
        and symptom.component is not None
    )


def quoted(cause: Cause, cut_mark: str) -> Symptom | None:
    """Return the symptom with the line of a log that proves a cause best: a whole one that says how it failed.

    What a service that has exited said itself says more than the timeout of one that had waited for it.
    """
    lines = [symptom for symptom in cause.symptoms if symptom.quote]
    has_exited = any(
        is_exit(symptom) for symptom in cause.symptoms if cause.shows(symptom)
    )

    def order(symptom: Symptom) -> tuple[bool, ...]:
        is_of_another = has_exited and not cause.shows(symptom)
        is_cut = cut_mark in (symptom.quote or "")
        return (
            is_of_another,
            is_cut,
            symptom.how is None,
            not cause.shows(symptom),
            symptom.exception is None,
        )

    return min(lines, key=order, default=None)


def is_exit(symptom: Symptom) -> bool:
    """Return whether a service has ended by itself."""
    return symptom.kind == Kind.STATE and symptom.how in EXITED
