# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sixth stage: what the guest proves on its console, and whether it is reached."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import console as console_module
from ansible_collections.stackproof.provision.plugins.module_utils._act import reach
from ansible_collections.stackproof.provision.plugins.modules import metadata

pytestmark = pytest.mark.usefixtures("cloud", "hurry")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(console_module, "CONSOLE_PERIOD", 0.01)


@pytest.mark.parametrize(("waited", "pace"), [(0, 0.01), (2, 0.2), (30, 3), (50, 5), (290, 5)])
def test_a_guest_that_takes_long_is_looked_at_more_rarely(waited, pace):
    assert console_module.console_pace(waited) == pytest.approx(pace)


@pytest.fixture
def booted(earlier, cloud):
    """The server, after the stages before this one."""
    earlier("image", "network", "volume", "boot")
    return cloud.all("servers")[0]


def part(text, share):
    lines = text.splitlines(keepends=True)
    return "".join(lines[: round(len(lines) * share)])


def test_a_guest_is_followed_until_it_has_proved_both(go, cloud, booted, console):
    whole = console(booted["id"])
    shown = ["", part(whole, 0.4), part(whole, 0.5), part(whole, 0.6), whole]
    cloud.console = lambda _server: shown.pop(0) if len(shown) > 1 else shown[0]
    result = go("metadata")
    assert (result["changed"], result.get("failed")) == (False, None)
    record = result["record"]
    assert [state["state"] for state in record["waits"][0]["states"]] == [
        "no console output",
        "disks",
        "lease of 192.168.222.44",
        "metadata read",
        "both read",
    ]
    guest = record["details"]["guest"]
    assert (guest["metadata"], guest["user_data"], guest["uuid"]) == (True, True, booted["id"])
    assert record["details"]["lease_is_port_address"] is False  # the console is that of another run's guest
    assert "reached" not in record["details"]


def test_the_nonce_of_another_run_is_found_out_at_once(error, cloud, booted, console):
    cloud.console = console("0b5a3a1e-7a39-4f9e-9d52-6d1f7b6c2a10").replace("stackproof-guest", "other")
    cloud.console = cloud.console.replace('"stackproof_nonce":"', '"stackproof_nonce":"x')
    failure = error("metadata", timeout=30)
    assert failure["kind"] == "wrong_metadata"
    assert "that of 0b5a3a1e-7a39-4f9e-9d52-6d1f7b6c2a10" in failure["message"]
    assert failure["resource"] == booted["name"]
    assert len(cloud.asked("POST", "/action")) == 1


@pytest.mark.parametrize(
    ("share", "kind"), [(0, "no_console"), (0.4, "no_lease"), (0.5, "no_metadata"), (0.6, "no_user_data")]
)
def test_what_is_missing_at_the_deadline_is_named(error, go, cloud, booted, console, share, kind):
    cloud.console = part(console(booted["id"]), share)
    failure = error("metadata", timeout=1)
    assert failure["kind"] == kind
    assert failure["message"].startswith("the server stackproof-run-1-server: ")
    assert go.record("metadata")["waits"][0]["timed_out"] is True
    assert go.record("metadata")["details"]["guest"]["lines"] == len(cloud.console.splitlines())


def over_ipv6(console):
    """A console whose guest got no lease, and did without IPv4."""
    lines = [line for line in console.splitlines() if '"lease"' not in line]
    own = ['{"uptime": 10.1, "step": "no_lease"}', '{"uptime": 11.2, "step": "address6", "address": "fd57::5"}']
    return "\n".join([*(f"probe: {line}" for line in own), *lines])


def test_a_guest_that_reads_its_metadata_over_ipv6_has_to_get_its_lease(error, go, cloud, booted, console):
    cloud.console = over_ipv6(console(booted["id"]))
    failure = error("metadata", timeout=1)
    assert failure["kind"] == "no_lease"
    assert failure["message"].endswith("the guest read its metadata over IPv6, and got no lease over IPv4")
    assert go.record("metadata")["details"]["guest"]["address6"] == "fd57::5"


def test_a_guest_without_ipv4_needs_no_lease(go, cloud, booted, console, monkeypatch):
    cloud.console = over_ipv6(console(booted["id"]))
    monkeypatch.setattr(metadata, "fixed_ips_of", lambda _stage: ("fd57::5",))
    record = go("metadata")["record"]
    assert (record["status"], record["details"]["lease_is_port_address"]) == ("ok", True)


def test_a_console_that_is_not_there_yet_is_waited_for(go, cloud, booted, console):
    cloud.console = console
    cloud.trouble("POST", "/action", "nova not found", times=2)
    record = go("metadata")["record"]
    assert record["status"] == "ok"
    assert [state["state"] for state in record["waits"][0]["states"]] == ["no console output", "both read"]
    assert booted["status"] == "ACTIVE"


@pytest.mark.usefixtures("booted")
@pytest.mark.parametrize("how", ["reset", "cut", 502, 503])
def test_a_look_at_the_console_that_is_lost_is_repeated(go, cloud, console, how):
    cloud.console = console
    cloud.trouble("POST", "/action", how)
    record = go("metadata")["record"]
    assert record["status"] == "ok"
    assert [state["state"] for state in record["waits"][0]["states"]] == ["both read"]


@pytest.mark.usefixtures("booted")
def test_a_console_that_may_not_be_read(error, cloud):
    cloud.trouble("POST", "/action", "nova forbidden")
    assert error("metadata")["kind"] == "forbidden"


@pytest.mark.usefixtures("booted")
def test_a_console_without_text(error, cloud):
    cloud.console = None
    assert error("metadata", timeout=0.1)["kind"] == "no_console"


@pytest.fixture
def stranded(cloud, booted, console):
    """A guest that finds nobody who routes to its metadata, until its network has a router."""
    whole = console(booted["id"])
    alone = (
        part(whole, 0.5) + 'probe: {"step": "no_metadata", "reason": "curl: (7) Could not connect: No route to host"}\n'
    )
    cloud.console = lambda _server: whole if cloud.all("routers") else alone
    return booted


@pytest.mark.usefixtures("stranded")
def test_a_network_on_which_nobody_routes_to_the_metadata_gets_a_router(go, cloud):
    record = go("metadata")["record"]
    assert [resource["kind"] for resource in record["resources"]] == ["router", "router_interface"]
    assert [sorted(body) for kind, body in cloud.bodies if kind == "router"] == [["description", "name"]]
    assert record["details"]["reason"].startswith("A router was made: the guest found nobody who routes")


@pytest.mark.usefixtures("stranded")
@pytest.mark.parametrize("why", ["never", "OVN", "refused"])
def test_no_router_is_made_where_it_is_not_wanted_or_would_not_help(error, cloud, why):
    if why == "OVN":
        cloud.put("ports", device_owner="network:distributed", network_id=cloud.all("networks")[0]["id"])
    if why == "refused":
        cloud.trouble("POST", "/routers", "neutron quota")
    failure = error("metadata", timeout=1, router="never" if why == "never" else "auto")
    assert (failure["kind"], cloud.all("routers")) == ("no_metadata", [])
    assert "No route to host" in failure["message"]
    expected = {
        "never": "its metadata.",
        "OVN": "which OVN should do.",
        "refused": "needs a router for its metadata: ",
    }[why]
    assert expected in failure["hint"]


@pytest.fixture
def reachable(go, cloud, console):
    """A server with a floating IP, which is this machine's own address."""
    cloud.put("networks", name="public", **{"router:external": True})
    cloud.console = console
    go("image")
    go("network", floating_ip=True)
    go("volume", source="none")
    go("boot")


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("is_open", [True, False])
def test_the_guest_is_reached_by_its_floating_ip(go, is_open):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if not is_open:
            listener.close()
        record = go("metadata", tcp_port=port)["record"]
    reached = record["details"]["reached"]
    assert reached["address"] == "127.0.0.1"
    assert reached["ping"]["status"] in ("answered", "unreadable")
    assert reached["tcp"]["status"] == "answered"
    assert ("open" in reached["tcp"]["text"]) == is_open


@pytest.mark.usefixtures("reachable")
def test_a_guest_that_does_not_answer(error, go, monkeypatch):
    monkeypatch.setattr(reach, "ping", lambda _address: reach.silent("no echo reply"))
    failure = error("metadata", timeout=0.1)
    assert (failure["kind"], failure["message"]) == (
        "unreachable",
        "the guest is up, but 127.0.0.1 does not answer ping",
    )
    assert go.record("metadata")["details"]["reached"]["ping"]["text"] == "no echo reply"


def test_metadata_before_its_time(error, cloud):
    failure = error("metadata")
    assert (failure["kind"], failure["message"]) == ("invalid", "there is no server yet")
    assert cloud.requests == []


def test_check_mode_asks_nobody(go, cloud):
    assert go("metadata", check=True)["record"]["status"] == "ok"
    assert cloud.requests == []


def test_a_guest_that_is_not_to_be_asked_is_not(go, cloud, booted):
    assert booted
    before = len(cloud.requests)
    record = go("metadata", guest="none")["record"]
    assert (record["status"], record["details"]["reason"]) == ("skipped", "the guest is not to be asked")
    assert len(cloud.requests) == before
