# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The services and agents of the cloud, and which of them it still hears. Only administrators may ask."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ..._cloud.connection import answer_of
from ..._cloud.errors import CLOUD_ERRORS, explain
from ..._record.errors import MALFORMED, StageError

# Names of components, where the APIs use other names
NAMES = {
    "neutron-openvswitch-agent": "neutron-l2-agent",
    "neutron-linuxbridge-agent": "neutron-l2-agent",
    # It took the place of the metadata agent in 2025.2.
    "neutron-ovn-agent": "neutron-ovn-metadata-agent",
}


def look(admin):
    """(list of component, host, state, enabled, heard; what could not be asked and why)."""
    asks = (compute, network, volume)
    with ThreadPoolExecutor(len(asks)) as pool:
        answers = list(pool.map(lambda ask: answered(ask, admin), asks))
    return [agent for agents, _why in answers for agent in agents], [why for _agents, why in answers if why]


def answered(ask, admin):
    """(the agents of a service, why it could not be asked or None)"""
    try:
        return ask(admin), None
    except (*CLOUD_ERRORS, StageError) as exc:
        return [], explain(exc, f"asking for the agents of the service {ask.__name__}")["message"]
    # A web server before the API may answer anything.
    except MALFORMED:
        return [], f"the agents of the service {ask.__name__}: an answer of an unknown form"


def compute(admin):
    return [
        of_service(service, service["host"]) for service in answer_of(admin.compute.get("/os-services"))["services"]
    ]


def network(admin):
    return [
        agent(
            entry["binary"],
            entry["host"],
            up=entry["alive"],
            enabled=entry["admin_state_up"],
            heard=entry["heartbeat_timestamp"],
        )
        for entry in answer_of(admin.network.get("/agents"))["agents"]
    ]


def volume(admin):
    if not admin.has_service("block-storage"):
        return []
    return [
        # A back end of cinder-volume is named host@back end.
        of_service(service, service["host"].partition("@")[0])
        for service in answer_of(admin.block_storage.get("/os-services"))["services"]
    ]


def of_service(service, host):
    return agent(
        service["binary"],
        host,
        up=service["state"] == "up",
        enabled=service["status"] == "enabled",
        heard=service["updated_at"],
    )


def agent(binary, host, *, up, enabled, heard):
    return {
        "component": NAMES.get(binary, binary),
        "host": host,
        "state": "up" if up else "down",
        "enabled": bool(enabled),
        "heard": heard,
    }
