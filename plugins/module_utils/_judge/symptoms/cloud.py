# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms that the cloud itself reports: its answers, services that do not report, its message about the server."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from http import HTTPStatus
from operator import attrgetter

from ..._collect.logs.error_text import how_of, mentioned_in
from ..._components.tables import (
    answering_as,
    meant_by_exception,
    project_of,
    writer_of,
)
from ..._model.host import Reach
from ..._model.how import How
from ..._model.record import Agent, LoggedError
from ..._model.service import RUNNING
from ..._model.shortage import Answer, Explanation, Shortage
from ..._model.stage import Call, Stage
from ..._model.symptom import Code, Symptom
from ..._model.words import BY_ITSELF
from ..._record.clock import seconds_of
from ..._record.errors import MALFORMED
from ..._record.sole import sole
from .. import unsatisfied
from ..case import Case
from . import logs, reach

# The exception that Nova's API names in its answer
RAISED = re.compile(r"<class '(?P<name>[\w.]{1,200})'>")
NO_VALID_HOST = "No valid host"
IDENTITY = "identity"
DOWN = "down"
# Of the others nova-conductor or an API writes when they have reported. Their time may be behind or ahead.
OWN_CLOCK = ("nova-scheduler", "nova-conductor")
COMPUTE = "nova-compute"
UNKNOWN_TO_PLACEMENT = (Shortage.NO_PROVIDER, Shortage.NO_INVENTORY)
NEVER = "1970-01-01"
# Neutron's server notes the reports of agents with its own clock, and decides by its own settings who is down.
NETWORK, NETWORK_SERVER = "neutron", "neutron-server"
# In seconds; an API that is healthy may take as long, and one that hangs is waited for longer.
CUT_OFF_S = 1.0
TOO_LARGE = (
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
)


def answers(case: Case) -> list[Symptom]:
    """Return failures of the APIs to answer the stage's own requests. One that answered later is healthy again."""
    last = {
        call.service: call for call in case.stage.calls if not is_cut_off(call)
    }
    symptoms: list[Symptom] = []
    for service, call in last.items():
        component = answering_as(service)
        if component is not None:
            symptoms += of_last_call(case, component, call)
    return symptoms


def of_last_call(case: Case, component: str, call: Call) -> list[Symptom]:
    if call.status is None:
        return [silent_api(case, component, call)]
    if call.status >= HTTPStatus.INTERNAL_SERVER_ERROR or is_at_limit(
        case, call
    ):
        return failing_api(case, component, call)
    if call.status < HTTPStatus.BAD_REQUEST:
        return []
    is_rejected = call.status == HTTPStatus.UNAUTHORIZED
    if is_rejected and is_token_rejected(case.stage):
        return [rejecting_api(component)]
    if is_end_of_stage(case, call) or has_logged_error(case, component):
        return [refusing_api(case, component, call)]
    return []


def is_token_rejected(stage: Stage) -> bool:
    """Return whether a service rejected the token that Keystone had given: then no password is wrong."""
    last = {call.service: call.status for call in stage.calls}
    rejected = HTTPStatus.UNAUTHORIZED
    return last.get(IDENTITY) != rejected and rejected in last.values()


def rejecting_api(component: str) -> Symptom:
    """Return that an API and Keystone do not agree about a token: either may have forgotten what the other knows."""
    return Symptom(
        Code.API_NAMES_PEER,
        component,
        peer=reach.CATALOG,
        how=How.DENIED,
        own=True,
    )


def is_end_of_stage(case: Case, call: Call) -> bool:
    """Return whether the stage failed by the answer to a request, which was no mistake of the run if it is judged."""
    error = case.stage.error
    return error is not None and error.status == call.status


def is_at_limit(case: Case, call: Call) -> bool:
    """Return whether a request is too large for a service, and not its content for a quota."""
    return call.status in TOO_LARGE and case.stage.error_kind == "service"


def is_cut_off(call: Call) -> bool:
    """Return whether a request was given up after a moment, as the time of its stage was over: that accuses nobody."""
    is_timeout = call.status is None and (call.error or "").endswith("Timeout")
    return is_timeout and call.seconds < CUT_OFF_S


def has_logged_error(case: Case, component: str) -> bool:
    """Return whether a component logged an error for the requests of the stage."""
    return component in {
        writer_of(error.service) for error in case.record.own_errors
    }


def refusing_api(case: Case, component: str, call: Call) -> Symptom:
    """Return the refusal of an API that failed while it looked at the request."""
    share, request = case.weights.refusal, request_of(call)
    return Symptom(
        Code.API_ERROR,
        component,
        own=True,
        share=share,
        request=request,
        status=call.status,
    )


def request_of(call: Call) -> str:
    return f"{call.method} {call.path}"


def silent_api(case: Case, component: str, call: Call) -> Symptom:
    message = case.stage.error_message
    how = how_of(message) or How.SILENT
    peer = place_of(call, component, how)
    if peer and component != reach.CATALOG and reach.is_misplaced(case, peer):
        return reach.wrong_endpoint(case, peer)
    share = (
        case.weights.silent_api_unseen
        if how == How.SILENT and not case.is_seen
        else 1.0
    )
    return Symptom(
        Code.API_SILENT,
        component,
        how=how,
        own=True,
        share=share,
        request=request_of(call),
        address=call.host,
    )


def place_of(call: Call, component: str, how: How) -> Reach | None:
    """Return where the catalog has a component, as a request found it."""
    address, _colon, port = (call.host or "").rpartition(":")
    return (
        Reach(component, address.strip("[]"), int(port), how.value)
        if address and port.isdecimal()
        else None
    )


def failing_api(case: Case, component: str, call: Call) -> list[Symptom]:
    share = 1.0 if case.is_seen else case.weights.failing_api_unseen
    answer = Symptom(
        Code.API_ERROR,
        component,
        how=How.ERROR,
        own=True,
        share=share,
        request=request_of(call),
        status=call.status,
    )
    # The stage keeps the text of its last answer.
    if call is not case.stage.calls[-1] or case.stage.error is None:
        return [answer]
    text = case.stage.error.answer or ""
    return [answer, *peers_in(text, component, case, share)]


def peers_in(
    text: str, component: str, case: Case, share: float
) -> list[Symptom]:
    """Return the failures at other components that an API names in its answer.

    What it has logged meanwhile of the same peer says how it failed there: most answers say that in no other words
    than that the peer is not available.
    """
    peers = peers_named(text, component)
    logged = logged_about(peers, component, case)
    how = How.of(logged.how) if logged else how_of(text)
    # That Keystone is not available is said of one that rejects the service, too.
    is_sure = logged is not None or reach.CATALOG not in peers
    certain = is_sure and len(peers) == 1
    return [
        Symptom(
            Code.API_NAMES_PEER,
            component,
            peer=peer,
            how=how,
            own=True,
            certain=certain,
            share=share,
        )
        for peer in sorted(peers)
    ]


def logged_about(
    peers: Collection[str], component: str, case: Case
) -> LoggedError | None:
    """Return the last error in which a component has logged that it failed at one of some peers."""
    about = (
        error
        for error in reversed(case.record.known_errors)
        if writer_of(error.service) == component
        and {error.peer, *error.mentions}.intersection(peers)
    )
    return next(about, None)


def peers_named(text: str, component: str) -> set[str]:
    """Return the components of other projects in an API's answer: by the class of its exception, or by its words."""
    raised = RAISED.search(text)
    if raised is None:
        return set(logs.foreign(mentioned_in(text), project_of(component)))
    exception = raised["name"]
    if logs.TIMED_OUT in exception:
        return set(logs.answering(component, exception))
    named = meant_by_exception(exception) or mentioned_in(exception)
    return set(logs.foreign(named, project_of(component)))


def agents(case: Case) -> list[Symptom]:
    """Return the services that do not report to the cloud any more, or that were disabled."""
    examined = {host.host for host in case.record.hosts}
    unneeded = hosts_that_would_not_help(case)
    symptoms: list[Symptom] = []
    for agent in case.record.agents or ():
        host = case.names.get(agent.host, agent.host)
        if agent.component == COMPUTE and agent.host in unneeded:
            continue
        if agent.state == DOWN:
            found = not_reporting(agent, host, case)
            share = (
                1.0 if host in examined else case.weights.not_reporting_unseen
            )
            symptoms.append(replace(found, share=share))
        elif not agent.enabled:
            symptoms += disabled(agent, host)
    return symptoms


def not_reporting(agent: Agent, host: str, case: Case) -> Symptom:
    """Return that a service does not report. One that writes times of its own may write those of a wrong clock."""
    last_report = last_report_of(agent)
    since = time_of(last_report)
    found = Symptom(
        Code.SERVICE_NOT_REPORTING,
        agent.component,
        host=host,
        last_report=last_report,
        since=since,
    )
    if is_taken_for_down(agent, since, case):
        return Symptom(
            Code.SERVICE_TAKEN_FOR_DOWN,
            NETWORK_SERVER,
            peer=agent.component,
            peer_host=host,
            last_report=last_report,
        )
    if since is None or agent.component not in OWN_CLOCK:
        return found
    # The services that report show what time it was, whatever the clock of this host says.
    heard = filter(is_up, case.record.known_agents)
    times = filter(None, map(time_of, map(last_report_of, heard)))
    ahead_s = since - max(times, default=since)
    if ahead_s < case.weights.clock_offset_s:
        ahead_s = -behind_by(agent.component, host, since, case)
    if ahead_s == 0:
        return found
    return replace(
        found,
        code=Code.SERVICE_AHEAD,
        how=How.ALARM,
        since=None,
        offset_s=ahead_s,
    )


def behind_by(
    component: str, host: str | None, reported: float, case: Case
) -> float:
    """Return by how much the clock of a running service is behind, which reported before it began; else 0.

    It would have reported again by now. Clocks that differ so much are those of other zones of time.
    """
    asked = case.record.evidence
    services = [service for _host, service in case.units(component, host)]
    service = sole(set(services))
    if asked is None or service is None or service.state != RUNNING:
        return 0.0
    for_s, weights = service.for_s or 0.0, case.weights
    behind_s = asked.started - reported
    odd_s = behind_s % weights.zone_s
    is_of_zone = odd_s < weights.reported_s and behind_s > weights.zone_s
    has_reported = for_s > weights.clock_offset_s and behind_s > for_s
    return behind_s if is_of_zone and has_reported else 0.0


def is_taken_for_down(agent: Agent, since: float | None, case: Case) -> bool:
    """Return whether neutron-server reports an agent as down that has reported recently."""
    asked = case.record.evidence
    if since is None or asked is None:
        return False
    age_s = asked.started - since
    is_fresh = 0 <= age_s < case.weights.clock_offset_s
    return is_fresh and project_of(agent.component) == NETWORK


def is_up(agent: Agent) -> bool:
    return agent.state != DOWN


def disabled(agent: Agent, host: str) -> list[Symptom]:
    """Return that a service is disabled; one that has disabled itself names the peer at which it fails."""
    reason = agent.reason or ""
    peers = mentioned_in(reason) if reason.startswith(BY_ITSELF) else []
    if not peers:
        return [Symptom(Code.SERVICE_DISABLED, agent.component, host=host)]
    return [
        Symptom(
            Code.API_NAMES_PEER,
            agent.component,
            host=host,
            peer=peer,
            how=how_of(reason),
            own=True,
            certain=len(peers) == 1,
        )
        for peer in peers
    ]


def time_of(text: str | None) -> float | None:
    """Return a time as the APIs write it, in UTC; None if it is not a time."""
    try:
        return seconds_of(text or "")
    except MALFORMED:
        return None


def hosts_that_would_not_help(case: Case) -> set[str]:
    """Return the hosts that would not take the server even if their nova-compute worked, as one that was disabled."""
    error = case.stage.error
    if error is None:
        return set()
    explanation = unsatisfied.explained(case, error)
    if explanation is None or explanation.answer != Answer.BROKEN:
        return set()
    return {
        host.host
        for host in explanation.hosts
        if host.reasons and not host.is_broken
    }


def last_report_of(agent: Agent) -> str | None:
    """Return when a service reported last; one that never did has the beginning of the epoch in some APIs."""
    return (
        None
        if (agent.last_report or "").startswith(NEVER)
        else agent.last_report
    )


def no_valid_host(case: Case) -> list[Symptom]:
    """Return that Nova found no host for the server: of Placement, and of the compute hosts that are not available.

    If it is known what each host lacks, only the hosts count on which a component is broken.
    """
    error = case.stage.error
    if error is None:
        return []
    answer = error.answer or ""
    if NO_VALID_HOST not in answer + error.message:
        return []
    explanation = unsatisfied.explained(case, error)
    if explanation is not None and explanation.answer == Answer.BROKEN:
        return of_broken_hosts(case, explanation)
    symptoms = [no_host_at("placement-api", None)]
    for agent in case.record.known_agents:
        if is_compute_away(agent):
            host = case.names.get(agent.host, agent.host)
            symptoms.append(no_host_at(COMPUTE, host))
    return symptoms


def is_compute_away(agent: Agent) -> bool:
    """Return whether it is a nova-compute that gets no servers: it does not report, or was disabled."""
    return agent.component == COMPUTE and (
        agent.state == DOWN or not agent.enabled
    )


def of_broken_hosts(case: Case, explanation: Explanation) -> list[Symptom]:
    """Return a symptom for each host that would take the server if its nova-compute worked."""
    broken = list(filter(attrgetter("is_broken"), explanation.hosts))
    # No nova-compute has ever reported.
    if not broken:
        return [no_host_at(COMPUTE, None)]
    symptoms = []
    for host in broken:
        name = case.names.get(host.host, host.host)
        codes = {reason.code for reason in host.reasons}
        if codes.isdisjoint(UNKNOWN_TO_PLACEMENT):
            symptoms.append(no_host_at(COMPUTE, name))
        else:
            symptoms.append(missing_provider(name))
    return symptoms


def missing_provider(host: str) -> Symptom:
    return Symptom(Code.PROVIDER_MISSING, COMPUTE, host=host, own=True)


def no_host_at(peer: str, peer_host: str | None) -> Symptom:
    code = Code.NO_VALID_HOST
    return Symptom(
        code,
        "nova-scheduler",
        peer=peer,
        peer_host=peer_host,
        how=How.MISSING,
        own=True,
    )
