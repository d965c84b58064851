# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a flavor fits, as Ansible asks for it, at a cloud that answers over HTTP."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.modules import capacity_info as module
from hosts_by_hand import Cloud, disabled, hosts, inventory, usual

pytestmark = pytest.mark.usefixtures("hurry")
FULL = usual(VCPU=inventory(8, 8))


@pytest.fixture
def ask(call, cloud):
    def act(of_hosts, **options):
        cloud.hosts = Cloud(of_hosts)
        return call(module, cloud="small", **{"flavor": "probe", **options})

    return act


def test_flavor_that_fits(ask, cloud):
    result = ask(hosts(2))
    assert (result["fits"], result["answer"], result["room"]) == (True, "fits", 16)
    assert result["headline"] == 'flavor "probe" fits on 2 hosts; there is room for 16 instances'
    assert result["hosts"] == [{"host": name, "fits": True, "reasons": []} for name in ("compute1", "compute2")]
    assert (result["next"], result["unread"], result["changed"]) == (None, [], False)
    # A token is all that is made.
    assert cloud.asked("POST") == [("POST", "/identity/v3/auth/tokens")]
    assert {method for method, _path in cloud.asked()} == {"GET", "POST"}


def test_flavor_that_does_not_fit_has_the_reason_of_each_host(ask):
    result = ask([*map(disabled, hosts(1)), *hosts(2, inventories=FULL)[1:]])
    assert (result["fits"], result["answer"], result["room"]) == (False, "short", None)
    assert result["headline"] == ("No host fits: compute1 is disabled (maintenance), compute2 has 0 of 8 VCPUs free")
    assert [found["reasons"] for found in result["hosts"]] == [
        ["compute1 is disabled (maintenance)"],
        ["compute2 has 0 of 8 VCPUs free, 1 needed"],
    ]
    assert result["next"] == "openstack compute service list --service nova-compute --long"
    assert result["capacity"]["requested"]["flavor"] == "probe"


def test_zone_host_and_image_count(ask, cloud):
    result = ask(hosts(2), zone="az9", image="probe")
    assert result["headline"] == 'No host fits: availability zone "az9" does not exist (zones: nova)'
    assert ask(hosts(2), host="compute9")["headline"] == "No host fits: compute9 is no compute host"
    assert cloud.asked("GET", "/image/v2/images/")


def test_more_instances_than_there_is_room_for(ask):
    assert ask(hosts(2), count=17)["headline"] == 'No host fits: flavor "probe": there is room for 16 of 17 instances'


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"flavor": "nope"}, "the cloud has no flavor nope; it has probe"),
        ({"image": "nope"}, "the cloud has no image nope"),
        ({"count": 0}, "count cannot be 0"),
        ({"timeout": -1}, "timeout cannot be -1"),
    ],
)
def test_wrong_option_is_refused_with_its_name(ask, options, words):
    result = ask(hosts(2), **options)
    assert result["failed"]
    assert words in result["msg"]


def test_plain_user_gets_no_answer_and_the_reason(call, cloud):
    cloud.trouble("GET", r"/os-services$", "nova services refused", times=9)
    result = call(module, cloud="small", flavor="probe")
    assert (result["fits"], result["answer"], result["hosts"]) == (None, "unknown", [])
    assert any("Policy doesn't allow os_compute_api:os-services:list" in reason for reason in result["unread"])
    assert json.dumps(result)
