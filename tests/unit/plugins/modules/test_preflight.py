# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look before a sweep, as Ansible asks for it, at a cloud that answers as a real one did."""

from __future__ import annotations

from datetime import datetime

import pytest
from ansible_collections.stackproof.provision.plugins.modules import preflight as module
from hosts_by_hand import Cloud, inventory, usual
from hosts_by_hand import hosts as compute_hosts

ANSWERS = {
    r"/compute/v2.1/os-services$": "nova services",
    r"/compute/v2.1/os-hypervisors/detail$": "nova hypervisors",
    r"/compute/v2.1/limits$": "nova limits",
    r"/network/v2.0/agents$": "neutron agents",
    r"/network/v2.0/quotas/": "neutron quota details",
    r"/volume/v3/.*/os-services$": "cinder services",
    r"/volume/v3/.*/limits$": "cinder limits",
}
HOSTS = Cloud(compute_hosts(2))
REFUSED = {
    **ANSWERS,
    r"/compute/v2.1/os-services$": "nova services refused",
    r"/compute/v2.1/os-hypervisors/detail$": "nova forbidden",
    r"/network/v2.0/agents$": "neutron agents of others",
    r"/volume/v3/.*/os-services$": "cinder services refused",
}
pytestmark = pytest.mark.usefixtures("hurry")


@pytest.fixture(autouse=True)
def then(monkeypatch):
    """The time of the recording."""
    recorded = datetime.fromisoformat("2026-11-21T17:04:45+00:00").timestamp()
    monkeypatch.setattr(module.Look, "now", lambda _look: recorded)


@pytest.fixture
def look(call, cloud):
    def act(answers=None, hosts=HOSTS, **options):
        cloud.hosts = hosts
        for path, name in (answers or ANSWERS).items():
            cloud.trouble("GET", path, name, times=9)
        return call(module, cloud="small", **options)

    return act


def wrong(result):
    return {check["name"]: (check["status"], check["reason"]) for check in result["checks"] if check["status"] != "ok"}


def test_healthy_cloud(look, cloud):
    result = look()
    # The recorded catalogue has endpoints of services that are not played here: they do not answer.
    assert {name for name in wrong(result) if "answers at" not in name} == set()
    assert (result["hosts"], result["excluded"], result["changed"]) == (["compute1", "compute2"], [], False)
    components = {check["component"] for check in result["checks"]}
    assert {"nova", "neutron", "cinder", "image", "identity", "compute"} <= components
    assert {method for method, _path in cloud.asked()} == {"GET", "POST"}
    assert cloud.asked("POST") == [("POST", "/identity/v3/auth/tokens")]


def test_without_a_volume_cinder_is_not_asked(look, cloud):
    result = look(volume="none")
    assert not [check for check in result["checks"] if check["component"] == "cinder"]
    assert cloud.asked(path="/limits") == [("GET", "/compute/v2.1/limits")]


def test_what_a_plain_user_may_not_see_is_not_a_failure(look):
    result = look(REFUSED)
    statuses = {name: how for name, (how, _why) in wrong(result).items() if "answers at" not in name}
    assert statuses == {
        "nova shows its services": "unreadable",
        "nova shows its hypervisors": "unreadable",
        "nova shows what its hosts have left": "unreadable",
        "neutron shows its agents": "unreadable",
        "cinder shows its services": "unreadable",
    }
    assert result["hosts"] == []


def test_broken_service_is_a_failed_check_and_the_others_are_asked(look, cloud):
    cloud.trouble("GET", r"/network/v2.0/agents$", 500, times=9)
    result = look()
    status, reason = wrong(result)["neutron shows its agents"]
    assert status == "failed"
    assert "(500)" in reason
    assert [check for check in result["checks"] if check["component"] == "cinder"]


def test_an_endpoint_that_does_not_answer(look, cloud):
    cloud.trouble("GET", r"/image", 503, times=99)
    statuses = {name: how for name, (how, _why) in wrong(look()).items() if name.startswith("image")}
    assert set(statuses.values()) == {"failed"}


def test_an_endpoint_is_asked_once_and_after_all_else(look, cloud):
    cloud.trouble("GET", r"/image", "reset", times=99)
    look()
    asked = [path for _method, path in cloud.asked("GET")]
    assert len([path for path in asked if path.startswith("/image")]) == 1
    assert all("os-services" not in path and "limits" not in path for path in asked[asked.index("/image") :])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"network": "provider-1"}, "the values of network for the sweep are not a list of names: 'provider-1'"),
        ({"zone": [1, 2]}, "the values of zone for the sweep are not a list of names: [1, 2]"),
        ({"volume_type": None}, "the values of volume_type for the sweep are not a list of names: None"),
        ({"flavour": ["a"]}, "a sweep can vary network, volume_type, zone besides the hosts, not flavour"),
    ],
)
def test_unknown_value_is_refused_before_the_cloud_is_asked(look, cloud, values, words):
    result = look(values=values)
    assert result["failed"]
    assert words in result["msg"]
    assert cloud.asked() == []


def test_without_a_token_all_is_failed_and_nothing_hangs(look, cloud):
    cloud.password = "another"
    result = look()
    assert {check["status"] for check in result["checks"]} == {"unreadable"}
    assert (result["hosts"], result.get("failed")) == ([], None)


def test_too_small_quota_is_reported_before_anything_is_made(look):
    result = look(parallel=100, values={"zone": [str(number) for number in range(100)]})
    status, reason = wrong(result)["the quota of instances is enough"]
    assert (status, reason.partition(";")[0]) == (
        "failed",
        "instances: 100 needed in parallel, but only 60 of 60 left",
    )
    # Two hosts make two runs, however many could be made at once.
    assert "the quota of instances is enough" not in wrong(look(parallel=100))


def test_a_flavor_that_does_not_exist(look):
    checks = wrong(look(flavor="nope"))
    assert "nope" in checks["nova shows the quotas"][1]


def test_flavor_fits_on_each_host(look):
    checks = [check for check in look()["checks"] if check["kind"] == "capacity"]
    assert [(check["name"], check["status"]) for check in checks] == [("flavor probe fits on compute hosts", "ok")]


def test_host_without_room_is_reported_before_anything_is_made(look, cloud):
    full = Cloud(compute_hosts(2, inventories=usual(VCPU=inventory(8, 8))))
    reasons = wrong(look(hosts=full))
    assert reasons["flavor probe fits on compute1"] == ("failed", "compute1 has 0 of 8 VCPUs free, 1 needed")
    assert cloud.asked("POST") == [("POST", "/identity/v3/auth/tokens")]


def test_hosts_together_need_room_for_all_instances_of_a_load_test(look):
    reasons = wrong(look(instances=20, parallel=20))
    status, reason = reasons["flavor probe fits on the compute hosts"]
    assert (status, reason) == ("failed", 'No host fits: flavor "probe": there is room for 16 of 20 instances')


@pytest.mark.parametrize(("attach", "status"), [("root", None), ("at_boot", "failed")])
def test_instance_that_boots_from_a_volume_needs_no_disk_of_a_host(look, attach, status):
    diskless = Cloud(compute_hosts(2, inventories={"VCPU": inventory(8), "MEMORY_MB": inventory(8192)}))
    assert wrong(look(hosts=diskless, attach=attach)).get("flavor probe fits on compute1", (None,))[0] == status


def test_zone_without_hosts_is_reported(look):
    reasons = wrong(look(zone="az9"))
    assert 'availability zone "az9" does not exist' in reasons["flavor probe fits on compute1"][1]


def test_administrators_cloud_is_asked_for_what_only_that_shows(look, know_cloud, cloud):
    know_cloud(small=cloud.entry(), other=cloud.entry())
    look(admin_cloud="other")
    assert len(cloud.asked("POST", "/auth/tokens")) == 2


def test_unknown_cloud_is_a_failure_of_the_module(call, cloud):
    result = call(module, cloud="nowhere")
    assert result["failed"]
    assert "known clouds: small" in result["msg"]
    assert not cloud.requests
