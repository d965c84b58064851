# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the cloud for its services and agents, and which of them it still hears. Only administrators may ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Optional

from ..._cloud.connection import answer_of
from ..._cloud.errors import CLOUD_ERRORS, explain
from ..._components.tables import BINARIES
from ..._model.codec import from_json
from ..._model.record import Agent
from ..._model.stores import bridge_mappings
from ..._record.errors import MALFORMED, StageError
from .answers import AgentAnswer, ServiceAnswer

# Since this version a service shows whether it is forced down.
FORCED_SINCE = "2.11"
FAILURES: tuple[type[BaseException], ...] = (*CLOUD_ERRORS, StageError)


@dataclass(frozen=True)
class Answer:
    """The answer of a service of the cloud. reason: why there is none."""

    agents: list[Agent]
    reason: Optional[str] = None


def look(admin: Any) -> tuple[list[Agent], list[str]]:
    """Return the agents, and why some could not be asked for."""
    asks = (compute, network, volume)
    with ThreadPoolExecutor(len(asks)) as pool:
        answers = list(pool.map(lambda ask: answered(ask, admin), asks))
    agents: list[Agent] = []
    for answer in answers:
        agents += answer.agents
    return agents, list(filter(None, (answer.reason for answer in answers)))


def answered(ask: Callable[[Any], list[Agent]], admin: Any) -> Answer:
    """Return the agents of a service, or why it could not be asked."""
    try:
        return Answer(ask(admin))
    except FAILURES as exc:
        return Answer(
            [],
            explain(
                exc, f"asking for the agents of the service {ask.__name__}"
            )["message"],
        )
    # A web server before the API may answer anything.
    except MALFORMED:
        return Answer(
            [],
            f"the agents of the service {ask.__name__}: an answer of an unknown form",
        )


def compute(admin: Any) -> list[Agent]:
    return services_of(admin.compute, microversion=FORCED_SINCE)


def network(admin: Any) -> list[Agent]:
    agents = answer_of(admin.network.get("/agents"))["agents"]
    return [of_agent(from_json(AgentAnswer, agent)) for agent in agents]


def volume(admin: Any) -> list[Agent]:
    return (
        services_of(admin.block_storage)
        if admin.has_service("block-storage")
        else []
    )


def services_of(api: Any, **options: Any) -> list[Agent]:
    services = answer_of(api.get("/os-services", **options))["services"]
    return [
        of_service(from_json(ServiceAnswer, service)) for service in services
    ]


def of_agent(agent: AgentAnswer) -> Agent:
    return Agent(
        component=component_of(agent.binary),
        host=agent.host,
        state="up" if agent.alive else "down",
        enabled=agent.enabled,
        last_report=agent.last_report,
        physical=physical_networks(agent.configurations),
        tunnels=tunnels_of(agent.configurations),
    )


def physical_networks(
    configurations: Mapping[str, Any],
) -> Optional[Mapping[str, str]]:
    """Return the physical networks that an agent reaches, each with its bridge; None for one that wires no ports."""
    mappings = configurations.get(
        "bridge_mappings", configurations.get("bridge-mappings")
    )
    if isinstance(mappings, Mapping):
        return {str(name): str(bridge) for name, bridge in mappings.items()}
    if isinstance(mappings, str):
        return bridge_mappings(mappings)
    return None


def tunnels_of(configurations: Mapping[str, Any]) -> Optional[tuple[str, ...]]:
    kinds = configurations.get("tunnel_types")
    if not isinstance(kinds, list):
        return None
    return tuple(map(str, kinds))


def of_service(service: ServiceAnswer) -> Agent:
    # A back end of cinder-volume is named host@back end.
    host, _at, back_end = service.host.partition("@")
    return Agent(
        component=component_of(service.binary),
        host=host,
        state="up" if service.state == "up" else "down",
        enabled=service.status == "enabled",
        last_report=service.last_report,
        back_end=back_end or None,
        reason=service.disabled_reason,
        forced_down=service.forced_down,
    )


def component_of(binary: str) -> str:
    return BINARIES.get(binary, binary)
