# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The component that each kind of evidence points at, and evidence that points at none."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import log_formats
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit, pointers, suspects


class Noted:
    """Takes down the pointers."""

    host = "compute1"

    def __init__(self):
        self.pointed, self.nearer = [], []

    def point(self, component, host, weight, why):
        self.pointed.append((component, host, weight, why))

    def near(self, component, _step, weight, _why):
        self.nearer.append((component, weight))


def pointed_by(pointer, record=None, stage=None):
    noted = Noted()
    pointer(noted, {"hosts": [], **(record or {})}, stage)
    return noted.pointed


def host(**facts):
    return {"host": "h1", "status": "read", "unread": [], "facts": facts}


ALL = (pointers.units, pointers.agents, pointers.ceph, pointers.errors)


@pytest.mark.parametrize("pointer", ALL)
@pytest.mark.parametrize("record", [{}, {"hosts": [host()]}, {"hosts": [host(services=None, ceph=None, names=None)]}])
def test_where_nothing_was_read_nobody_is_pointed_at(pointer, record):
    assert pointed_by(pointer, record) == []


def call(status, service="compute", path="/v2.1/servers"):
    return {"method": "GET", "path": path, "service": service, "status": status}


@pytest.mark.parametrize(
    ("calls", "pointed"),
    [
        ([], []),
        ([call(200), call(404), call(409)], []),
        ([call(None)], [("nova-api", None, pointers.NO_ANSWER, "did not answer GET /v2.1/servers")]),
        ([call(503)], [("nova-api", None, pointers.SERVER_ERROR, "answered 503 to GET /v2.1/servers")]),
        # An API that answered later is well again.
        (
            [call(503), call(None, "volume", "/v3/x"), call(200)],
            [("cinder-api", None, pointers.NO_ANSWER, "did not answer GET /v3/x")],
        ),
        # A service that no flow knows
        ([call(500, "dns")], []),
    ],
)
def test_answers_of_the_apis(calls, pointed):
    assert pointed_by(pointers.answers, stage={"calls": calls}) == pointed


def test_who_was_asked_and_did_not_answer_is_a_suspect_in_any_stage():
    noted = Noted()
    pointers.answers(noted, {}, {"stage": "auth", "calls": [call(None, "image", "/")]})
    assert [component for component, _weight in noted.nearer] == ["glance-api"]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("stopped", "is stopped since 12 s (x.service)"),
        ("failed", "has failed, and does not run since 12 s (x.service)"),
        ("frozen", "is frozen: its processes are stopped by a signal (x.service)"),
        ("activating", "is starting since 12 s (x.service)"),
        ("deactivating", "is stopping since 12 s (x.service)"),
        ("running", None),
    ],
)
def test_services_that_do_not_run(state, why):
    service = {"component": "x", "unit": "x.service", "state": state, "for_s": 12.3}
    pointed = pointed_by(pointers.units, {"hosts": [host(services=[service])]})
    assert pointed == ([("x", "h1", pointers.GONE, why)] if why else [])


def test_a_service_that_stopped_nobody_knows_when():
    service = {"component": "x", "unit": "x.service", "state": "stopped", "for_s": None}
    assert pointed_by(pointers.units, {"hosts": [host(services=[service])]})[0][3] == "is stopped (x.service)"


def agent(**more):
    return {"component": "nova-compute", "host": "n1", "state": "up", "enabled": True, "heard": "noon", **more}


def test_who_is_not_heard_from_a_host_that_nobody_looked_at_may_be_kept_from_speaking():
    ((component, place, weight, _why),) = pointed_by(pointers.agents, {"agents": [agent(state="down")]})
    assert (component, place, weight) == ("nova-compute", "n1", pointers.UNHEARD_ONLY)
    # Not enough to name a component, even if it owed the first step.
    assert weight + suspects.OWED < culprit.NAMED


@pytest.mark.parametrize(
    ("more", "weight"), [({}, None), ({"state": "down"}, pointers.UNHEARD), ({"enabled": False}, 2)]
)
def test_agents_have_the_inventorys_names_of_their_hosts(more, weight):
    record = {"hosts": [host(names=["n1", "n1.example"])], "agents": [agent(**more)]}
    assert [pointer[:3] for pointer in pointed_by(pointers.agents, record)] == (
        [("nova-compute", "h1", weight)] if weight else []
    )


def test_an_agent_of_a_host_that_nobody_read_keeps_its_name():
    assert pointed_by(pointers.agents, {"agents": [agent(state="down")]})[0][1] == "n1"


def test_osds_that_are_down_and_what_ceph_says_of_itself():
    checks = {"OSD_DOWN": "1 osds down", "MON_DOWN": "1/3 mons down", "PG_AVAILABILITY": "stale", "RECENT_CRASH": "x"}
    ceph = {"osds": {"0": False, "1": True, "2": False}, "health": {"status": "HEALTH_WARN", "checks": checks}}
    pointed = {
        (pointer[0], pointer[2]): pointer[3] for pointer in pointed_by(pointers.ceph, {"hosts": [host(ceph=ceph)]})
    }
    assert pointed == {
        ("ceph-osd", 8): "0, 2 is down, as Ceph says",
        ("ceph-mon", 2): "is not well, as Ceph says: MON_DOWN",
        ("ceph-osd", 2): "is not well, as Ceph says: OSD_DOWN, PG_AVAILABILITY",
    }


def test_a_ceph_that_is_well_is_no_suspect():
    ceph = {"osds": {"0": True}, "health": {"status": "HEALTH_OK", "checks": {}}}
    assert pointed_by(pointers.ceph, {"hosts": [host(ceph=ceph)]}) == []


@pytest.mark.parametrize(
    ("command", "kind", "number"),
    [
        ("ceph --id admin health", "hung", 2),
        ("sudo -n rbd --id admin info vms/x", "hung", 2),
        ("sudo -n docker exec ceph_mon ceph --id admin health", "hung", 2),
        ("ceph --id admin health", "failed", 0),
        ("sudo -n ls /etc/ceph", "hung", 0),
        ("sudo -n virsh dumpxml ceph.xml", "hung", 0),
    ],
)
def test_a_ceph_that_hangs(command, kind, number):
    unread = [{"what": "x", "kind": kind, "command": command, "why": "w"}]
    assert len(pointed_by(pointers.ceph, {"hosts": [{**host(), "unread": unread}]})) == number


def error(exception, service="nova-compute", keyed=True, **more):
    said = {"service": service, "host": "h1", "logger": "l.m", "exception": exception, "keyed": keyed, "count": 1}
    return {**said, **more}


def errors(*logged):
    return [(pointer[0], pointer[1], pointer[2]) for pointer in pointed_by(pointers.errors, {"errors": list(logged)})]


@pytest.mark.parametrize(
    ("logged", "pointed"),
    [
        (error(None), [("nova-compute", "h1", 4)]),
        (error(None, keyed=False), [("nova-compute", "h1", 1)]),
        (error("a.SomeError"), [("nova-compute", "h1", 4)]),
        # A component that failed at another one is less to blame.
        (error("libvirt.libvirtError"), [("nova-compute", "h1", 1), ("libvirt", "h1", 6)]),
        (error("libvirt.libvirtError", keyed=False), [("nova-compute", "h1", 1), ("libvirt", "h1", 1)]),
        (error("rbd.ImageNotFound"), [("nova-compute", "h1", 1), ("ceph-mon", None, 4)]),
        (
            error("nova.exception.PortBindingFailed"),
            [
                ("nova-compute", "h1", 1), ("neutron-l2-agent", "h1", 3), ("ovn-controller", "h1", 3),
                ("neutron-server", None, 3),
            ],
        ),
        (error("oslo_db.exception.DBConnectionError"), [("nova-compute", "h1", 1), ("database", None, 4)]),
        # A component that waited in vain has broken nothing.
        (error("oslo_messaging.exceptions.MessagingTimeout"), []),
        (error("keystoneauth1.exceptions.connection.ConnectTimeout"), []),
        (error(log_formats.QUEUE_UNREACHABLE), [("nova-compute", "h1", 3), ("rabbitmq", None, 2)]),
        # The library that raised it says whom the component had asked.
        (
            error("InternalServerError", raised_in="neutronclient.v2_0.client"),
            [("nova-compute", "h1", 1), ("neutron-server", None, 5)],
        ),
        (error("libvirt.libvirtError", raised_in="libvirt"), [("nova-compute", "h1", 1), ("libvirt", "h1", 6)]),
        (error("TypeError", raised_in="nova.compute.manager"), [("nova-compute", "h1", 4)]),
        (error(None, "slapd"), [("ldap", "h1", 4)]),
        (error(None, "rgw"), [("ceph-rgw", "h1", 4)]),
        (error(None, "somebody"), [("somebody", "h1", 4)]),
    ],
)  # fmt: skip
def test_errors_in_logs(logged, pointed):
    assert errors(logged) == pointed


def test_a_directory_that_is_down_is_what_keystone_failed_at():
    assert ("ldap", None, 5) in errors(error("ldap.SERVER_DOWN", "keystone"))


@pytest.mark.parametrize("word", [*(hint[0] for hint in pointers.HINTS), *pointers.VICTIM])
def test_each_word_about_exceptions_is_in_one_that_can_be_read_from_a_log(word):
    """A word that is in no class would never be found."""
    classes = ["libvirt.libvirtError", "nova.exception.HypervisorUnavailable", "rados.ObjectNotFound",
               "rbd.ImageNotFound", "nova.exception.VirtualInterfaceCreateException", "neutron.PortBindingFailed",
               "oslo_db.exception.DBConnectionError", "sqlalchemy.exc.OperationalError", "ldap.SERVER_DOWN",
               "nova.exception.NoValidHost", "oslo_messaging.exceptions.MessagingTimeout",
               "cotyledon.DeadlinePassed", "keystoneauth1.exceptions.connection.ConnectTimeout",
               "requests.exceptions.ReadTimeout", "keystoneauth1.exceptions.http.GatewayTimeout"]  # fmt: skip
    assert any(word in (log_formats.exception_in(f"x: {name}: y") or "") for name in classes)


def test_no_valid_host_points_at_placement_and_brings_the_computes_near():
    stage = {"error": {"said": None, "message": "No valid host was found."}}
    noted = Noted()
    pointers.faults(noted, {"agents": [agent(state="down"), agent(), agent(component="cinder-volume")]}, stage)
    assert [pointer[:3] for pointer in noted.pointed] == [("placement-api", None, 3), ("nova-scheduler", None, 1)]
    assert noted.nearer[0] == ("nova-compute", 2)
    assert {"libvirt", "ceph-mon"} <= {component for component, weight in noted.nearer if weight < 1}


@pytest.mark.parametrize("message", [None, "", "no end after 44 s"])
def test_other_words_of_nova_say_nothing(message):
    assert pointed_by(pointers.faults, stage={"error": {"said": message, "message": "x"}}) == []


def guest(**more):
    return {"stage": "metadata", "details": {"guest": {"lines": 3, "steps": [], **more}}}


@pytest.mark.parametrize(
    ("stage", "components"),
    [
        ({"stage": "boot", "details": {}}, []),
        ({"stage": "metadata", "details": None}, []),
        # The console was not read.
        ({"stage": "metadata", "details": {}}, []),
        (guest(lines=0), ["vm-instance"]),
        (guest(), []),
        (guest(steps=[{"step": "dhcp_start"}]), ["data network", "dnsmasq", "ovn-controller"]),
        (guest(steps=[{"step": "dhcp_start"}, {"step": "lease"}]), []),
    ],
)
def test_what_the_guest_wrote(stage, components):
    assert [pointer[0] for pointer in pointed_by(pointers.guest, stage=stage)] == components


ANSWERED = {"stage": "metadata", "details": {"guest": {"steps": [{"step": "no_metadata", "http_status": 403}]}}}


def test_an_answer_to_the_guest_says_who_refused_it():
    record = {"hosts": [host()]}
    (pointer,) = pointed_by(pointers.metadata, record, ANSWERED)
    assert (pointer[0], pointer[2]) == ("nova-api-metadata", 5)
    assert pointed_by(pointers.metadata, record, {**ANSWERED, "stage": "boot"}) == []


def test_what_the_proxy_answered_says_the_same():
    requests = [{"status": 200}, {"status": 404}, {"status": 404}, {"status": 418}]
    record = {"hosts": [{**host(), "facts": {"metadata": {"port": [{"requests": requests}, {"requests": None}]}}}]}
    pointed = pointed_by(pointers.metadata, record, {"stage": "metadata", "details": {}})
    assert [(pointer[0], pointer[2]) for pointer in pointed] == [(agent, 4) for agent in pointers.METADATA_AGENTS]


@pytest.mark.parametrize("kind", ["nova.exception.MaxRetriesExceeded", "nova.exception.BuildAbortException"])
def test_what_only_says_that_something_failed_before_says_nothing_of_who(kind):
    assert errors(error(kind)) == []


def test_who_is_refused_has_itself_to_blame():
    assert errors(error("rbd.PermissionError")) == [("nova-compute", "h1", 4)]


@pytest.mark.parametrize(
    ("dnsmasq", "pointed"),
    [
        # dnsmasq runs, knows the guest, and heard nothing: the requests are lost on their way.
        ({"processes": [1], "hosts": [{"mac": "m"}], "log": []}, ["data network"]),
        (
            {"processes": [1], "hosts": [{"mac": "m"}], "log": [{"at": 1}]},
            ["data network", "dnsmasq", "ovn-controller"],
        ),
        ({"processes": [1], "hosts": [], "log": []}, ["data network", "dnsmasq", "ovn-controller"]),
        ({"processes": [], "hosts": None, "log": None}, ["data network", "dnsmasq", "ovn-controller"]),
        ({"processes": None, "hosts": None, "log": None}, ["data network", "dnsmasq", "ovn-controller"]),
    ],
)
def test_a_guest_that_got_no_lease(dnsmasq, pointed):
    noted = Noted()
    noted.host = "c1"
    stage = guest(steps=[{"step": "dhcp_start"}])
    pointers.guest(noted, {"hosts": [host(dhcp={"p": dnsmasq}), host(dhcp=None)]}, stage)
    assert [component for component, _host, _weight, _why in noted.pointed] == pointed
    sure = noted.pointed[0][2] >= culprit.NAMED
    assert sure is (len(pointed) == 1)
