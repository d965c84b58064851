# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find who broke a run that failed: the likeliest cause of all its symptoms, and the step that is missing.

A cause is named if it is likely enough. Otherwise the likeliest are listed, and none is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter

from .._components.tables import carriers_of, depends_on, stands_for
from .._model.finding import Cause, Finding, Suspect
from .._model.flow import Step
from .._model.how import How
from .._model.record import Record
from .._model.service import RUNNING
from .._model.shortage import Explanation, Shortage, Sought
from .._model.symptom import Code, Kind, Symptom
from .._model.verdict import Connection, Place
from .._model.words import StageStatus
from .._record.masking import CUT
from . import dependencies, evidence, model, symptoms, unsatisfied, used
from .advice import advice_for, advice_for_suspect
from .advice_for_request import advice_for_request
from .case import Case
from .leads import asked_last
from .own_errors import (
    advice_for_own_error,
    is_loss,
    is_own_error,
    is_refusal,
    may_be_of_cloud,
    refused_by,
)
from .path import own_arrow, path_of
from .symptoms import logs
from .weights import MOST_CERTAIN, WEIGHTS, Weights, rounded
from .world import World

# A service in one of these states does no work, and does not begin to.
NOT_AT_WORK = (How.STOPPED, How.FAILED, How.FROZEN, How.PAUSED)
VOLUME_SERVICE = "cinder-volume"
HALTED = (Kind.STATE, Kind.NOT_REPORTING)
NO_BACKEND = (Shortage.BACKEND_MISSING, Shortage.FILTERED)


def finding(record: Record, weights: Weights = WEIGHTS) -> Finding | None:
    """Return what is known of the cause of a failure; of a run that asked for something wrong, only what shows it."""
    record = record.as_second_guest
    stage = record.failed_stage
    if stage is None:
        return None
    case = Case(record, stage, weights)
    explanation = unsatisfied.of_case(case)
    if explanation is not None:
        return by_request(explanation, case)
    if is_own_error(stage) and not is_loss(case):
        return by_own_error(case)
    if logs.is_out_of_room(case):
        return None
    return by_fault(case)


def by_request(explanation: Explanation, case: Case) -> Finding:
    """Return that what the run asked for cannot be had, unless a fault of a component explains that."""
    if may_be_broken(explanation, case):
        finding = by_fault(case)
        if finding.cause is not None:
            return finding
    quoting = (
        symptom
        for symptom in logs.errors(case)
        if explanation.is_said_in(symptom.quote)
    )
    return Finding(
        unsatisfied=explanation,
        last_seen=case.last_seen,
        quoted=next(quoting, None),
        advice=advice_for_request(explanation, case),
    )


def by_own_error(case: Case) -> Finding:
    """Return what shows what the run asked for as whom, or who refuses that by a fault of its own."""
    own = Finding(advice=advice_for_own_error(case))
    if not may_be_of_cloud(case):
        return own
    found = by_fault(case)
    if found.cause is None:
        return own
    if found.change is not None and is_refusal(case):
        refusing = refused_by(case, found.cause.symptoms)
        is_to_blame = found.cause.component in refusing
    else:
        is_to_blame = is_shown_by(asked_last(case.stage), found, case)
    return found if is_to_blame else own


def is_shown_by(api: str | None, found: Finding, case: Case) -> bool:
    """Return whether the API that refused a request shows itself what is wrong with it, and not with the request.

    That another one of its kind is down says nothing: this one has answered.
    """
    symptom = found.main
    if symptom is None or symptom.component != api:
        return False
    if case.stage.error_kind == "tls":
        return symptom.code is Code.CERTIFICATE_EXPIRED
    return symptom.code is Code.LOGGED_ERROR and symptom.own


def by_fault(case: Case) -> Finding:
    """Return who broke the run, as far as that is known."""
    found = symptoms.of_case(case)
    causes = model.causes(case, used.by_run(found, case))
    general = general_finding(causes, case)
    if general.cause is not None:
        return with_cause(general, general.cause, found, case)
    unmet = unsatisfied.unmet(case)
    if unmet is None:
        return general
    return replace(
        general,
        unsatisfied=unmet,
        quoted=None,
        advice=advice_for_request(unmet, case),
    )


def general_finding(causes: Sequence[Cause], case: Case) -> Finding:
    """Return the cause that is named, if one is, with the other suspects, the missing step and what to do."""
    weights = case.weights
    first = next(iter(causes), None)
    causes = without_guess(causes, case)
    cause = named(causes, weights)
    restart = restart_in(causes, weights)
    suspects = [other for other in causes if other.suspect != Suspect.RESTART]
    shown = suspects[: weights.suspects]
    if cause is not None:
        others = suspects[1 : 1 + weights.alternatives]
        cause, shown = with_doubt(cause, others, weights)
    return Finding(
        cause=cause,
        restart=restart,
        suspects=tuple(
            replace(one, advice=advice_for_suspect(one, case)) for one in shown
        ),
        step=step_of(first, case),
        pause_s=case.pause_s,
        last_seen=case.last_seen,
        quoted=quoted_of(suspects, restart, case),
        advice=advice_for(cause, restart, suspects, case),
    )


def quoted_of(
    suspects: Sequence[Cause], restart: Cause | None, case: Case
) -> Symptom | None:
    """Return the line about the likeliest of causes that are not named: it may tell a reader more than their names."""
    if restart or not suspects or case.pause_s is not None:
        return None
    return evidence.quoted(suspects[0], CUT)


def finding_in_health(
    record: Record, weights: Weights = WEIGHTS
) -> Finding | None:
    """Return what Ceph reports of itself after a run whose stages all worked; None if it is as well as before."""
    worked = [
        stage for stage in record.stages if stage.status is StageStatus.OK
    ]
    if not worked:
        return None
    # Ceph has said itself what is wrong with it, so that hardly anything unknown is left.
    case = Case(record, worked[-1], replace(weights, unknown=0.0))
    causes = model.causes(case, symptoms.hosts.ceph(case))
    cause = named(causes, weights)
    if cause is None:
        return None
    doubted, _others = with_doubt(cause, (), weights)
    return Finding(
        cause=doubted,
        advice=advice_for(cause, None, (), case),
        evidence=evidence.evidence(cause, weights),
        path=own_arrow(cause, None, weights),
        main=evidence.main_symptom(cause, weights),
    )


def may_be_broken(explanation: Explanation, case: Case) -> bool:
    """Return whether the back end that is missing may have got another name just now, by its configuration."""
    reason = explanation.reason
    is_of_volume = explanation.sought == Sought.BACKEND
    if not is_of_volume or reason is None or reason.code not in NO_BACKEND:
        return False
    if is_halted(VOLUME_SERVICE, case):
        return True
    changes = symptoms.configuration.fresh_changes(case)
    return VOLUME_SERVICE in map(attrgetter("component"), changes)


def is_halted(component: str, case: Case) -> bool:
    """Return whether a service of a component does not run or does not report, on any host."""
    found = [*symptoms.hosts.states(case), *symptoms.cloud.agents(case)]
    halted = {one.component for one in found if one.kind in HALTED}
    return component in halted


def with_cause(
    general: Finding, cause: Cause, found: Sequence[Symptom], case: Case
) -> Finding:
    """Return a finding with what is known of the cause that it names."""
    weights = case.weights
    left = evidence.left_over(cause, found, weights)
    return replace(
        general,
        quoted=evidence.quoted(cause, CUT),
        connection=connection_of(cause),
        evidence=evidence.evidence(cause, weights),
        explains=evidence.explained(cause),
        unexplained=left[: weights.evidence],
        also=second_causes(left, case),
        dependencies=dependencies.edges(cause, weights),
        path=path_of(cause, case, general.step, found),
        main=evidence.main_symptom(cause, weights),
        change=evidence.recent_change(cause, weights),
    )


def second_causes(left: Sequence[Symptom], case: Case) -> tuple[Symptom, ...]:
    """Return what proves by itself that another component is broken, which this run needs as well.

    left: the symptoms that the named cause does not explain.
    """
    parts = used.parts_of_flow(case)
    needed = parts.union(*map(depends_on, parts))
    world = World(case, left)
    second: list[Symptom] = []
    for symptom in used.by_run(left, case):
        component, host = symptom.place
        if component not in needed or not is_proof(symptom):
            continue
        if world.is_elsewhere(component, host) or works_elsewhere(
            component, host, case
        ):
            continue
        second.append(symptom)
    return tuple(second)


def is_proof(symptom: Symptom) -> bool:
    """Return whether a component that shows it is broken, whatever else is: it does not run, or breaks a chain."""
    if symptom.code == Code.UNIT_NOT_RUNNING:
        return symptom.how in NOT_AT_WORK
    return symptom.code == Code.UNIT_CRASH_LOOP or (
        symptom.code == Code.LINK_BROKEN and symptom.certain
    )


def works_elsewhere(component: str, host: str | None, case: Case) -> bool:
    """Return whether another host has the same service, which runs and may have done the work."""
    for other, service in case.services:
        if other.host == host or service.component != component:
            continue
        if service.state == RUNNING:
            return True
    return False


def named(causes: Sequence[Cause], weights: Weights) -> Cause | None:
    """Return the cause that is likely enough to be named. Two that are the ends of one connection are so together."""
    if not causes or causes[0].suspect == Suspect.RESTART:
        return None
    first = causes[0]
    if first.confidence >= weights.named:
        return first
    for other in causes[1 : 1 + weights.alternatives]:
        confidence = rounded(first.confidence + other.confidence)
        between = next(
            (
                symptom
                for symptom in first.symptoms
                if is_between(symptom, first, other)
            ),
            None,
        )
        if (
            between is not None
            and first.confidence + other.confidence >= weights.named
        ):
            return replace(first, confidence=confidence, between=between)
    return None


def without_guess(causes: Sequence[Cause], case: Case) -> Sequence[Cause]:
    """Return causes of which the first is less likely if a missing step alone speaks for it.

    The hosts were examined, and it looks well there.
    """
    is_examined = any(host.examination for host in case.record.hosts)
    if not causes or not is_examined:
        return causes
    first, *others = causes
    if evidence.main_symptom(first, case.weights).kind != Kind.STEP:
        return causes
    confidence = rounded(first.confidence * case.weights.guess)
    return [replace(first, confidence=confidence), *others]


def with_doubt(
    cause: Cause, others: Iterable[Cause], weights: Weights
) -> tuple[Cause, list[Cause]]:
    """Return a cause with the probability that such ones were right in fact, and others with what that leaves them."""
    known = min(cause.confidence, MOST_CERTAIN)
    tempered: float = (known / (1 - known)) ** (1 / weights.doubt)
    confidence = rounded(tempered / (1 + tempered))
    left = 1 - confidence
    more = left / (1 - known)
    # The other end of a connection is a part of what is known of the cause.
    doubted = [
        replace(other, confidence=rounded(min(left, other.confidence * more)))
        for other in others
    ]
    return replace(cause, confidence=confidence), doubted


def restart_in(causes: Sequence[Cause], weights: Weights) -> Cause | None:
    """Return the restart before the run that explains it all, for which no component is to blame."""
    if (
        not causes
        or causes[0].suspect != Suspect.RESTART
        or causes[0].confidence < weights.named
    ):
        return None
    return causes[0]


def is_between(symptom: Symptom, first: Cause, other: Cause) -> bool:
    """Return whether a symptom is about the connection between two causes."""
    ends = (symptom.place, symptom.peer_place)
    return (
        symptom.peer is not None
        and is_end(first, ends)
        and is_end(other, ends)
    )


def is_end(
    cause: Cause, ends: Iterable[tuple[str | None, str | None]]
) -> bool:
    return any(
        name == cause.component and host in (None, cause.host)
        for name, host in ends
    )


def step_of(cause: Cause | None, case: Case) -> Step | None:
    """Return the first missing step that a cause has to do with: is responsible for, is to take, or carries."""
    missing = list(chain.from_iterable(case.paths))
    if cause is None:
        return next(iter(missing), None)
    near: list[Step] = []
    for has_to_do in (is_responsible, takes_part, is_needed):
        near += [step for step in missing if has_to_do(cause.component, step)]
    return next(iter([*near, *missing]), None)


def is_responsible(component: str, step: Step) -> bool:
    return component in stands_for(step.doer)


def takes_part(component: str, step: Step) -> bool:
    return component in stands_for(step.taker) or component in carriers_of(
        step.kind
    )


def is_needed(component: str, step: Step) -> bool:
    return component in depends_on(step.doer)


def connection_of(cause: Cause) -> Connection | None:
    """Return the connection that is cut, if the cause is one end of it."""
    for symptom in evidence.cut_connections(cause)[:1]:
        ends = Place(*symptom.place), Place(*symptom.peer_place)
        return Connection(*ends, symptom.how)
    return None
