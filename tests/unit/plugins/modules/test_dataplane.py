# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seventh stage: the second server, and what both guests show of the paths between them."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import console as console_module
from ansible_collections.stackproof.provision.plugins.module_utils._act import guest, login, volumes
from tree import RECORDED

pytestmark = pytest.mark.usefixtures("hurry")
SUM = "89d41c8b9918753830c55a2457d59a6771b43f2b32b98e1b5b6f55c4e83f5257"
OLD_NONCE = "272b3bb0abec515ad4c8342a69d2b07f"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(console_module, "CONSOLE_PERIOD", 0.01)


@pytest.fixture
def consoles(run, cloud):
    """The recorded consoles of two guests, as they would be of this run; a test may replace their words."""
    nonce = guest.nonces(run.id, run.record.started).user_data
    texts = {
        name: (RECORDED / f"consoles/paths-{name}.txt").read_text().replace(OLD_NONCE, nonce)
        for name in ("first", "second")
    }

    def of(server):
        name = cloud.things["/compute/v2.1/servers"][server]["name"]
        return texts["second" if name.endswith("-second-server") else "first"]

    cloud.console = of
    return texts


@pytest.fixture
def booted(go, earlier, consoles):
    """The stages before this one, of a run with a data plane."""
    assert consoles
    earlier("image", "volume")
    go("network", dataplane=True)
    go("boot", dataplane=True)


@pytest.mark.usefixtures("booted")
def test_two_guests_find_all_paths(go, cloud):
    result = go("dataplane", dataplane=True)
    assert (result["changed"], result.get("failed")) == (True, None), result
    details = result["record"]["details"]
    assert [check["status"] for check in details["checks"]] == ["ok"] * 9 + ["not_applicable", "ok"]
    kinds = [resource["kind"] for resource in result["record"]["resources"]]
    assert kinds == ["second_server"]
    (group,) = cloud.all("os-server-groups")
    assert cloud.hints == [{"group": group["id"]}] * 2
    assert group["policy"] == "soft-anti-affinity"


@pytest.mark.usefixtures("booted")
def test_each_guest_is_given_the_address_of_the_other(go, cloud):
    go("dataplane", dataplane=True)
    addresses = {port["name"]: port["fixed_ips"][0]["ip_address"] for port in cloud.all("ports")}
    peers = [script.split("peer=")[1].split("\n")[0] for script in scripts(cloud)]
    assert peers == [addresses["stackproof-run-1-second-port"], addresses["stackproof-run-1-port"]]


def named_by_cloud(cloud, name="host-1.openstacklocal."):
    """Have a cloud with internal DNS. Return the address of the first guest."""
    port = next(port for port in cloud.all("ports") if port["name"] == "stackproof-run-1-port")
    address = port["fixed_ips"][0]["ip_address"]
    port["dns_assignment"] = [{"hostname": "host-1", "ip_address": address, "fqdn": name}]
    return address


def scripts(cloud):
    """Return the scripts of both guests."""
    return [base64.b64decode(fields["user_data"]).decode() for word, fields in cloud.bodies if word == "server"]


@pytest.mark.usefixtures("booted")
def test_the_second_guest_resolves_the_name_that_the_cloud_gave_the_first(go, cloud):
    address = named_by_cloud(cloud)
    go("dataplane", dataplane=True)
    first, second = scripts(cloud)
    assert "resolve host-1.openstacklocal '" not in first
    assert f"  resolve host-1.openstacklocal '{address}'\n" in second


@pytest.mark.usefixtures("booted")
def test_a_name_that_is_no_name_does_not_come_into_a_script(go, cloud, consoles):
    named_by_cloud(cloud, "host-1;reboot")
    consoles["second"] = without(consoles["second"], "name")
    record = go("dataplane", dataplane=True)["record"]
    assert "reboot" not in scripts(cloud)[1]
    (check,) = [check for check in record["details"]["checks"] if check["check"] == "name"]
    assert check["status"] == "not_applicable"


def without(console, check):
    """Return a console without the line about a check."""
    lines = [line for line in console.splitlines() if f'"check": "{check}"' not in line]
    return "\n".join(lines)


@pytest.mark.usefixtures("consoles")
def test_both_guests_resolve_the_name_of_the_user(go, cloud, earlier):
    earlier("image", "volume")
    go("network", dataplane=True)
    go("boot", dataplane=True, dataplane_name="example.org")
    named_by_cloud(cloud)
    go("dataplane", dataplane=True, dataplane_name="example.org")
    assert ["  resolve example.org ''\n" in script for script in scripts(cloud)] == [True, True]


@pytest.mark.usefixtures("consoles")
def test_guests_on_two_networks_have_no_name_for_each_other(go, cloud, earlier):
    earlier("image", "volume")
    go("network", dataplane=True, path="routed")
    go("boot", dataplane=True)
    named_by_cloud(cloud)
    go("dataplane", dataplane=True)
    assert "resolve" not in scripts(cloud)[1]


@pytest.mark.usefixtures("booted")
def test_a_name_that_is_not_resolved_fails(error, consoles):
    consoles["second"] = consoles["second"].replace('"found": "192.168.222.202"', '"found": ""')
    failure = error("dataplane", dataplane=True)
    assert (failure["kind"], failure["message"]) == (
        "name_unresolved",
        "from the second guest to the first: host-192-168-222-202.openstacklocal does not resolve by 192.168.222.2",
    )


def moves(cloud):
    """Return where the volume was detached and attached: the method, and the name of the server."""
    servers = cloud.things["/compute/v2.1/servers"]
    asked = cloud.asked("DELETE", "/os-volume_attachments/") and cloud.asked(None, "/os-volume_attachments")
    return [(method, servers[path.split("/")[4]]["name"].removeprefix("stackproof-run-1-")) for method, path in asked]


@pytest.mark.usefixtures("booted")
def test_the_volume_goes_to_the_second_guest_and_comes_back(go, cloud):
    (check,) = [
        one for one in go("dataplane", dataplane=True)["record"]["details"]["checks"] if one["check"] == "volume"
    ]
    assert check["text"].startswith("the volume came with what was written to it")
    assert check["seconds"] > 0
    assert moves(cloud) == [
        ("DELETE", "server"),
        ("POST", "second-server"),
        ("DELETE", "second-server"),
        ("POST", "server"),
    ]
    (volume,) = cloud.all("volumes")
    assert all(f"'{volume['id'][:20]}'" in script for script in scripts(cloud))


@pytest.fixture
def shared(go, earlier, cloud, consoles):
    """The volume of such a run that several servers may have."""
    assert consoles
    cloud.states["volumes"] = [{"status": "available", "multiattach": True}]
    earlier("image")
    go("volume")
    (volume,) = cloud.all("volumes")
    volume["_states"] = []
    go("network", dataplane=True)
    go("boot", dataplane=True)
    return volume


@pytest.mark.usefixtures("shared")
def test_a_volume_for_several_servers_stays_with_the_first_guest(go, cloud):
    ((status, text),) = handed_over(go)
    assert (status, text[:49]) == ("ok", "both have the volume with what was written to it ")
    assert moves(cloud) == [("POST", "second-server"), ("DELETE", "second-server")]
    # Nova's default version refuses such a volume.
    (boot, *_others) = [request for request in cloud.requests if request.method == "POST" and b"mapping" in request.raw]
    (attached,) = [request for request in cloud.requests if b"volumeAttachment" in request.raw]
    for request in (boot, attached):
        assert request.headers["OpenStack-API-Version"] == f"compute {volumes.MULTIATTACH_SINCE}"


def test_a_second_server_that_does_not_get_a_shared_volume_fails(error, cloud, shared):
    # The volume stays in use, as the first server has it.
    cloud.gives_up = True
    failure = error("dataplane", dataplane=True)
    assert (failure["kind"], failure["message"]) == ("service", f"the server gave up {shared['name']}")


@pytest.mark.usefixtures("booted")
def test_other_content_fails(error, consoles):
    consoles["second"] = consoles["second"].replace(SUM, "b" * 64)
    failure = error("dataplane", dataplane=True)
    assert failure["kind"] == "volume_differs"
    assert failure["message"].startswith("from the first guest to the second: the volume has other content")


@pytest.mark.usefixtures("booted")
def test_a_second_guest_that_does_not_see_the_volume_fails(error, consoles):
    consoles["second"] = consoles["second"].replace('"check": "read"', '"check": "x"')
    failure = error("dataplane", dataplane=True, timeout=3)
    assert (failure["kind"], failure["message"]) == (
        "volume_unread",
        "the second guest did not show what it has read on the volume",
    )


def handed_over(go):
    """Return what is said of the volume."""
    checks = go("dataplane", dataplane=True)["record"]["details"]["checks"]
    return [(check["status"], check["text"]) for check in checks if check["check"] == "volume"]


@pytest.mark.usefixtures("booted")
@pytest.mark.parametrize(
    ("disk", "reason"),
    [
        ("", "the first guest shows no disk with its id"),
        ("vdb", "the first guest cannot write to it, or has no sha256sum"),
    ],
)
def test_a_first_guest_that_cannot_write_is_no_failure(go, cloud, consoles, disk, reason):
    written = f'"disk": "vdb", "sum": "{SUM}"'
    consoles["first"] = consoles["first"].replace(written, f'"disk": "{disk}", "sum": ""')
    assert handed_over(go) == [("not_applicable", f"no volume was handed over: {reason}")]
    assert moves(cloud) == []


@pytest.mark.usefixtures("consoles")
def test_without_a_volume_none_is_handed_over(go, earlier):
    earlier("image")
    go("network", dataplane=True)
    go("boot", dataplane=True)
    assert handed_over(go) == [("not_applicable", "no volume was handed over: the run has none")]


@pytest.mark.usefixtures("consoles")
def test_a_root_disk_is_not_handed_over(go, cloud, earlier):
    cloud.states["volumes"] = [{"status": "available", "bootable": "true"}]
    earlier("image")
    go("volume", source="image")
    (volume,) = cloud.all("volumes")
    go("network", dataplane=True)
    go("boot", dataplane=True, attach="root")
    assert handed_over(go) == [("not_applicable", "no volume was handed over: it is the root disk of the first guest")]
    assert volume["id"][:20] not in "".join(scripts(cloud))


@pytest.mark.usefixtures("booted")
def test_a_volume_is_not_handed_over_against_the_will_of_the_user(go, cloud):
    checks = go("dataplane", dataplane=True, dataplane_volume=False)["record"]["details"]["checks"]
    assert checks[-1]["text"] == "no volume was handed over: stackproof_dataplane_volume is false"
    assert moves(cloud) == []


@pytest.fixture
def programs(monkeypatch):
    """Programs of ssh that make a key and log in; a test may take one away or have it fail."""
    have = dict.fromkeys(login.PROGRAMS, 0)

    def run(words):
        if "-f" in words and "-y" not in words:
            Path(words[words.index("-f") + 1]).write_text("private")
        output = "ecdsa-sha2-nistp256 AAAA comment" if "-y" in words else "guest-1\n"
        return subprocess.CompletedProcess(words, have[words[0]], output, "Permission denied (publickey).")

    monkeypatch.setattr(login, "run", run)
    monkeypatch.setattr(login.shutil, "which", have.get)
    monkeypatch.setattr(login, "PATIENCE", 0.05)
    return have


@pytest.fixture
def reachable(go, cloud, earlier, consoles, run, programs):
    """The stages before this one, of a run with a floating IP. Return the path of its private key."""
    assert consoles
    assert programs
    earlier("image", "volume")
    cloud.put("networks", name="outside", **{"router:external": True})
    go("network", dataplane=True, external_network="outside", floating_ip=True)
    go("boot", dataplane=True)
    return Path(run.login_key)


def logged_in(result):
    return next(check for check in result["record"]["details"]["checks"] if check["check"] == "login")


def test_the_client_logs_in_with_a_key_that_is_gone_afterwards(go, cloud, reachable):
    assert reachable.exists()
    check = logged_in(go("dataplane", dataplane=True))
    assert (check["status"], check["source"], check["target"]) == ("ok", "client", "first")
    assert check["text"] == "logged in as root with the key pair of the run; the guest calls itself guest-1"
    assert not reachable.exists()
    (pair,) = cloud.all("os-keypairs")
    (first, second) = cloud.all("servers")
    assert (first["key_name"], second.get("key_name")) == (pair["name"], None)
    assert pair["name"] == "stackproof-run-1-key-pair"


def test_a_login_that_is_refused_fails_and_the_key_is_gone(error, programs, reachable):
    programs["ssh"] = 255
    failure = error("dataplane", dataplane=True)
    assert (failure["kind"], failure["message"]) == (
        "no_login",
        "from the client to the first guest: no login as root: Permission denied (publickey).",
    )
    assert not reachable.exists()


@pytest.mark.usefixtures("reachable")
def test_a_machine_without_ssh_does_not_log_in(go, programs):
    del programs["ssh"]
    assert logged_in(go("dataplane", dataplane=True))["text"] == "no login: this machine has no program ssh"


@pytest.mark.usefixtures("reachable")
def test_a_guest_whose_users_have_no_key_is_no_failure(go, consoles):
    consoles["first"] = consoles["first"].replace('"user": "root"', '"user": ""')
    check = logged_in(go("dataplane", dataplane=True))
    assert (check["status"], check["text"]) == (
        "not_applicable",
        "no login: no user of the guest has the key pair",
    )


@pytest.mark.usefixtures("booted", "programs")
def test_without_a_floating_ip_no_key_pair_is_made(go, cloud):
    check = logged_in(go("dataplane", dataplane=True))
    assert (check["status"], cloud.all("os-keypairs")) == ("not_applicable", [])


@pytest.mark.usefixtures("booted")
def test_one_host_for_both_is_no_failure_but_is_reported(go):
    record = go("dataplane", dataplane=True)["record"]
    assert record["details"]["spread"] is False
    assert record["details"]["reason"].startswith("the cloud has put both servers on one host")


@pytest.mark.usefixtures("booted")
def test_a_path_that_is_too_narrow_fails(error, consoles):
    consoles["second"] = consoles["second"].replace('"largest": 1500', '"largest": 1400')
    failure = error("dataplane", dataplane=True)
    assert failure["kind"] == "path_narrow"
    assert failure["message"].startswith("from the second guest to the first: packets over 1400 bytes are lost")


@pytest.mark.usefixtures("booted")
@pytest.mark.parametrize(
    ("until", "kind", "message"),
    [
        ("probe: ", "no_console", "the second server: its console shows nothing"),
        ('"step": "disks"', "no_lease", "the second server: the guest asked for a lease and got none"),
        ("stackproof-path", "no_paths", "the second guest did not show the end of its checks"),
    ],
)
def test_a_second_guest_that_does_not_come_to_its_end_is_named_with_what_is_missing(
    run, error, consoles, until, kind, message
):
    nonces = guest.nonces(run.id, run.record.started)
    whole = consoles["second"].replace("a5795be14a8e933942df830b256e0be4", nonces.metadata)
    consoles["second"] = whole.partition(until)[0].strip()
    failure = error("dataplane", dataplane=True, timeout=2)
    assert (failure["kind"], failure["message"]) == (kind, message)


def test_it_needs_the_stages_before_it(error):
    assert error("dataplane", dataplane=True)["kind"] == "invalid"


@pytest.mark.parametrize("options", [{}, {"dataplane": True, "guest": "none"}])
def test_what_is_not_asked_for_is_skipped(go, cloud, options):
    record = go("dataplane", **options)["record"]
    assert record["status"] == "skipped"
    assert cloud.requests == []


def test_without_a_data_plane_nothing_more_is_made(go, cloud, earlier):
    earlier("image", "volume")
    go("network")
    go("boot")
    assert cloud.all("os-server-groups") == []
    assert not any(port["name"].endswith("second-port") for port in cloud.all("ports"))
