# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cloud as its users and its administrator find it."""

from __future__ import annotations

import json
import re
import urllib.request

import pytest
from lab_under_test import GROUPS, on_the_lab
from openstack.connection import Connection
from openstack.exceptions import SDKException


def test_agents_and_services_are_alive(admin):
    compute = {(entry.binary, entry.host) for entry in admin.compute.services() if entry.state == "up"}
    assert {host for binary, host in compute if binary == "nova-compute"} == set(GROUPS["compute"])
    assert {binary for binary, host in compute if host in set(GROUPS["controller"])} >= {
        "nova-conductor",
        "nova-scheduler",
    }
    agents = {(entry.binary, entry.host) for entry in admin.network.agents() if entry.is_alive}
    layer2 = {host for binary, host in agents if binary == "neutron-openvswitch-agent"}
    assert layer2 == set(GROUPS["network"]) | set(GROUPS["compute"])
    for binary in ("neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent"):
        assert {host for name, host in agents if name == binary} == set(GROUPS["network"])
    volume = {(entry.binary, entry.host) for entry in admin.block_storage.services() if entry.state == "up"}
    assert {binary for binary, _host in volume} == {"cinder-scheduler", "cinder-volume"}


@pytest.mark.parametrize("who", ["member", "ldap_member", "admin"])
def test_both_domains_authenticate(request, who):
    cloud = request.getfixturevalue(who)
    roles = set(cloud.session.auth.get_access(cloud.session).role_names)
    assert ("admin" in roles) is (who == "admin")
    if who != "admin":
        assert "member" in roles


@pytest.mark.parametrize("who", ["member", "ldap_member"])
def test_a_wrong_password_is_refused(request, who):
    auth = dict(request.getfixturevalue(who).config.config["auth"], password="wrong")
    with pytest.raises(SDKException, match="401"):
        Connection(auth=auth, region_name="RegionOne", identity_api_version="3").authorize()


def test_the_directory_logs_binds(ldap_member, lab_hosts):
    ldap_member.authorize()
    journal = lab_hosts[GROUPS["controller"][0]].check_output("journalctl --unit slapd --lines 500 --no-pager")
    assert 'BIND dn="uid=ldap-user,ou=people,dc=corp,dc=example"' in journal


def test_tokens_are_fernet(member):
    assert member.authorize().startswith("gAAAA")


@pytest.mark.parametrize(("image", "store"), [("probe", "ceph"), ("probe-rgw", "rgw")])
def test_images_are_active_in_their_stores(admin, image, store):
    shown = admin.image.find_image(image, ignore_missing=False)
    assert shown.status == "active"
    assert admin.image.get(f"/images/{shown.id}").json()["stores"] == store


def test_image_locations_carry_no_password(member):
    for image in member.image.images(status="active"):
        raw = member.image.get(f"/images/{image.id}").json()
        urls = [raw["direct_url"], *(location["url"] for location in raw["locations"])]
        assert not [url for url in urls if "@" in url], "a location with a user and a password is open to every member"


def test_ceph_is_healthy_but_for_what_is_known(lab_hosts):
    storage = lab_hosts[GROUPS["storage"][0]]
    health = storage.check_output("ceph health detail")
    # Debian's Python of this release cannot load the manager's optional modules; the lab mutes that, and only that.
    assert health.startswith("HEALTH_OK")
    assert set(re.findall(r"MUTED[^)]*\) \[\w+\] (\w+):", health)) <= {"MGR_MODULE_DEPENDENCY"}


def test_notifications_and_tracing_are_off(lab_hosts):
    controller = lab_hosts[GROUPS["controller"][0]]
    queues = controller.check_output("rabbitmqctl --quiet list_queues name")
    assert not [name for name in queues.splitlines() if name.startswith("notifications")]
    vhosts = controller.check_output("rabbitmqctl --quiet list_vhosts name tracing --formatter json")
    assert [vhost["tracing"] for vhost in json.loads(vhosts)] == [False]


def test_the_object_store_answers_over_the_lab(admin):
    url = admin.object_store.get_endpoint()
    host = url.split("/")[2].partition(":")[0]
    on_the_lab(host)
    with urllib.request.urlopen("/".join(url.split("/")[:3]), timeout=10) as answer:
        assert answer.status == 200
