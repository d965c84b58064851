# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the cloud itself says of its services and agents: which of them it still hears. For administrators."""

from __future__ import annotations

from .._cloud.connection import answer_of
from .._cloud.errors import CLOUD_ERRORS, explain
from .._record.errors import STRANGE, StageError

# The names of components, where the APIs call them otherwise
NAMES = {
    "neutron-openvswitch-agent": "neutron-l2-agent",
    "neutron-linuxbridge-agent": "neutron-l2-agent",
}


def look(admin):
    """(list of component, host, state, enabled, heard; what could not be asked and why)."""
    found, unread = [], []
    for ask in (compute, network, volume):
        try:
            found += ask(admin)
        except (*CLOUD_ERRORS, StageError) as exc:
            unread.append(explain(exc, f"asking for the agents of the service {ask.__name__}")["message"])
        # A web server before the API may answer anything.
        except STRANGE:
            unread.append(f"the agents of the service {ask.__name__}: an answer of an unknown form")
    return found, unread


def compute(admin):
    return [
        agent(one["binary"], one["host"], one["state"] == "up", one["status"] == "enabled", one["updated_at"])
        for one in answer_of(admin.compute.get("/os-services"))["services"]
    ]


def network(admin):
    return [
        agent(one["binary"], one["host"], one["alive"], one["admin_state_up"], one["heartbeat_timestamp"])
        for one in answer_of(admin.network.get("/agents"))["agents"]
    ]


def volume(admin):
    if not admin.has_service("block-storage"):
        return []
    return [
        # A back end of cinder-volume is named host@back end.
        agent(one["binary"], host, one["state"] == "up", one["status"] == "enabled", one["updated_at"])
        for one in answer_of(admin.block_storage.get("/os-services"))["services"]
        for host in one["host"].split("@")[:1]
    ]


def agent(binary, host, up, enabled, heard):
    return {
        "component": NAMES.get(binary, binary),
        "host": host,
        "state": "up" if up else "down",
        "enabled": bool(enabled),
        "heard": heard,
    }
