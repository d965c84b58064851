# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a service or an agent works, as the cloud and its host report it."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from .._components.tables import enabling
from .._model.facts import Facts
from .._model.record import Agent
from .cloud import Cloud
from .definitions import HOLDS, Found, broken, read, unreadable_if

SERVER = "neutron-server"


def agents_of(cloud: Cloud, component: str) -> list[Agent]:
    """Return the services or agents of a component on all hosts, as the cloud reports them."""
    return [
        agent
        for agent in cloud.record.known_agents
        if agent.component == component
    ]


def agent_on(cloud: Cloud, component: str, host: str | None) -> Agent | None:
    return next(
        (
            agent
            for agent in agents_of(cloud, component)
            if cloud.name_of(agent.host) == host
        ),
        None,
    )


def host_with(cloud: Cloud, component: str) -> str | None:
    """Return the first host that has a service of a component."""
    having = (
        host
        for host, facts in cloud.facts.items()
        if has_service(facts, component)
    )
    return next(having, None)


def has_service(facts: Facts, component: str) -> bool:
    return component in map(attrgetter("component"), facts.services)


def is_alive(cloud: Cloud, component: str, host: str | None) -> Found:
    """Return whether a service or agent runs and reports to the cloud, and nobody has disabled it."""
    halted = cloud.why_not_running(component, host)
    # The cloud takes it for alive until it has not reported for a minute.
    if halted is not None:
        return broken(halted)
    # The API that knows them may be what does not answer.
    unreadable_if(not agents_of(cloud, component))
    read(host)
    agent = agent_on(cloud, component, host)
    return (
        broken("unknown to the cloud")
        if agent is None
        else is_in_service(agent)
    )


def is_in_service(agent: Agent) -> Found:
    if not agent.enabled:
        return replace(broken("disabled"), mend=enabling(agent.component))
    if agent.state == "up":
        return HOLDS
    return broken(
        f"not reporting since {agent.last_report}"
        if agent.last_report
        else "not reporting"
    )
