# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services and agents of a cloud, as the APIs show them to an administrator."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import requests
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import agents as agents_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from keystoneauth1 import exceptions

COMPUTE = {
    "binary": "nova-compute", "host": "compute1", "state": "up", "status": "enabled", "zone": "nova", "id": "7",
    "updated_at": "2026-11-21T17:10:00.000000", "disabled_reason": None, "forced_down": False,
}  # fmt: skip
NETWORK = {
    "binary": "neutron-openvswitch-agent", "host": "network1", "alive": True, "admin_state_up": True, "id": "8",
    "heartbeat_timestamp": "2026-11-21 17:10:00", "agent_type": "Open vSwitch agent",
    "configurations": {"secret": "x", "bridge_mappings": {"public": "br-ex"}, "tunnel_types": ["vxlan"]},
}  # fmt: skip
VOLUME = {
    "binary": "cinder-volume", "host": "controller1@ceph", "state": "up", "status": "enabled", "zone": "nova",
    "updated_at": "2026-11-21T17:10:00.000000",
}  # fmt: skip


def answer(status, **body):
    response = requests.Response()
    response.status_code, response._content = status, json.dumps(body).encode()
    response.headers["content-type"] = "application/json"
    return response


def refuse(_path, **_options):
    raise exceptions.ConnectFailure("nobody listens")


@pytest.fixture
def admin():
    """A cloud of which an administrator asks; what each service answers can be replaced."""

    def service(**body):
        return SimpleNamespace(get=lambda _path, **_options: answer(200, **body))

    return SimpleNamespace(
        compute=service(services=[COMPUTE]),
        network=service(agents=[NETWORK]),
        block_storage=service(services=[VOLUME]),
        has_service=lambda name: name == "block-storage",
    )


def look(admin):
    """The agents as the record has them, and why some could not be asked for."""
    agents, reasons = agents_module.look(admin)
    return to_json(agents), reasons


def entry(component, host, heard, state="up", enabled=True, **more):
    return {"component": component, "host": host, "state": state, "enabled": enabled, "last_report": heard, **more}


def test_services_and_agents_have_the_names_that_flows_use(admin):
    assert look(admin) == (
        [
            entry("nova-compute", "compute1", "2026-11-21T17:10:00.000000"),
            entry(
                "neutron-l2-agent", "network1", "2026-11-21 17:10:00", physical={"public": "br-ex"}, tunnels=["vxlan"]
            ),
            entry("cinder-volume", "controller1", "2026-11-21T17:10:00.000000", back_end="ceph"),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("service", "name", "listed", "change", "expected"),
    [
        ("compute", "services", COMPUTE, {"state": "down"}, ("down", True)),
        ("compute", "services", COMPUTE, {"status": "disabled"}, ("up", False)),
        ("network", "agents", NETWORK, {"alive": False}, ("down", True)),
        ("network", "agents", NETWORK, {"admin_state_up": False}, ("up", False)),
        ("block_storage", "services", VOLUME, {"state": "down", "status": "disabled"}, ("down", False)),
    ],
)
def test_what_is_down_or_disabled_is_told(admin, service, name, listed, change, expected):
    setattr(
        admin, service, SimpleNamespace(get=lambda _path, **_options: answer(200, **{name: [{**listed, **change}]}))
    )
    agents, unread = look(admin)
    agent = next(agent for agent in agents if agent["host"] == listed["host"].split("@")[0])
    assert ((agent["state"], agent["enabled"]), unread) == (expected, [])


def test_a_cloud_without_agents_has_none(admin):
    admin.compute = admin.network = SimpleNamespace(get=lambda _path, **_options: answer(200, services=[], agents=[]))
    admin.has_service = {"block-storage": False}.get
    assert look(admin) == ([], [])


def test_agents_of_other_kinds_keep_their_names(admin):
    agents = [{**NETWORK, "binary": binary} for binary in ("neutron-linuxbridge-agent", "neutron-dhcp-agent", "own")]
    admin.network = SimpleNamespace(get=lambda _path, **_options: answer(200, agents=agents))
    assert [agent.component for agent in agents_module.network(admin)] == [
        "neutron-l2-agent",
        "neutron-dhcp-agent",
        "own",
    ]


def test_a_volume_service_without_a_back_end_has_its_host(admin):
    services = [{**VOLUME, "binary": "cinder-scheduler", "host": "controller1"}]
    admin.block_storage = SimpleNamespace(get=lambda _path, **_options: answer(200, services=services))
    assert [(agent.component, agent.host) for agent in agents_module.volume(admin)] == [
        ("cinder-scheduler", "controller1")
    ]


@pytest.mark.parametrize(
    "broken", [refuse, lambda _path, **_options: answer(403, forbidden={"message": "Policy", "code": 403})]
)
@pytest.mark.parametrize(("service", "lost"), [("compute", 0), ("network", 1), ("block_storage", 2)])
def test_a_service_that_does_not_answer_keeps_nobody_else_from_being_asked(admin, service, lost, broken):
    everything = look(admin)[0]
    setattr(admin, service, SimpleNamespace(get=broken))
    agents, unread = look(admin)
    assert agents == [agent for number, agent in enumerate(everything) if number != lost]
    assert len(unread) == 1


@pytest.mark.parametrize(
    "body", [{}, {"services": None}, {"services": [{"binary": "nova-compute"}]}, {"services": ["x"]}]
)
def test_an_answer_of_an_unknown_form_is_said(admin, body):
    admin.compute = SimpleNamespace(get=lambda _path, **_options: answer(200, **body))
    agents, unread = look(admin)
    assert ([agent["component"] for agent in agents], unread) == (
        ["neutron-l2-agent", "cinder-volume"],
        ["the agents of the service compute: an answer of an unknown form"],
    )


def test_a_page_for_people_is_no_answer(admin):
    page = answer(200)
    page._content, page.request = b"<html>welcome</html>", SimpleNamespace(method="GET")
    admin.network = SimpleNamespace(get=lambda _path, **_options: page)
    agents, (why,) = look(admin)
    assert {agent["component"] for agent in agents} == {"nova-compute", "cinder-volume"}
    assert "is not JSON" in why


def test_nothing_but_what_is_named_is_kept(admin):
    assert "secret" not in json.dumps(look(admin)[0])
