# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms in logs: the component that failed, and the one at which it failed."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from ansible_collections.stackproof.provision.plugins.module_utils._components.catalogue import COMPONENTS
from ansible_collections.stackproof.provision.plugins.module_utils._judge import model, shares
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import logs
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import AT_PEER, How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from cases_by_hand import case_of, logged

OWN = [None]
WORDS = sorted({word for component in COMPONENTS for word in component.exceptions})
TIMEOUT = "oslo_messaging.exceptions.MessagingTimeout"


def error(exception=None, service="nova-compute", own=True, logger="l.m", **more):
    return logged(service, exception=exception, own=own, logger=logger, **more)


def told(*errors):
    return logs.errors(case_of(errors=list(errors)))


def peers(*errors):
    return [symptom.peer for symptom in told(*errors)]


# As Nova has logged it where the disk of its instances was full
UNOPENED = error(
    "libvirt.libvirtError",
    quote="libvirt.libvirtError: Unable to open file: /var/lib/nova/instances/1d/console.log: No such file",
    mentions=["libvirt"],
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("/var/lib/nova/instances", OWN),
        ("/var/lib/nova/instances/1", ["libvirt"]),
        ("/", ["libvirt"]),
        (None, ["libvirt"]),
    ],
)
def test_an_error_about_a_file_of_a_full_disk_is_of_who_uses_that_disk(where, expected):
    exhausted = [] if where is None else [{"kind": "no space", "where": where, "text": "x"}]
    services = [
        {"component": name, "unit": f"{name}.service", "state": "running"} for name in ("nova-compute", "libvirt")
    ]
    here = as_json.host("h1", facts={"services": services}, examination={"exhausted": exhausted})
    found = logs.errors(case_of([here], errors=[{**UNOPENED, "host": "h1"}]))
    assert [symptom.peer for symptom in found] == expected


LACKING = error("keystoneauth1.exceptions.catalog.EndpointNotFound", mentions=["keystone", "placement-api"])


@pytest.mark.parametrize(
    ("catalog", "expected"),
    [
        (None, ["keystone", "placement-api"]),
        (["compute", "identity"], ["keystone"]),
        # It has one, so that the service looks elsewhere by its own settings.
        (["compute", "placement"], OWN),
    ],
)
def test_an_endpoint_that_is_not_found_is_a_fault_of_the_catalog_that_lacks_it(catalog, expected):
    auth = as_json.stage("auth", "ok", details={} if catalog is None else {"catalog": catalog})
    found = logs.errors(case_of(errors=[LACKING], stages=[auth]))
    assert [symptom.peer for symptom in found] == expected


@pytest.mark.parametrize(
    ("catalog", "service", "expected"),
    [
        # The run has seen none either.
        (None, "nova-compute", ["keystone"]),
        # Of the run it is not empty: it was lost where the request came in.
        (["compute"], "nova-compute", ["nova-api"]),
        (["compute"], "nova-api", OWN),
    ],
)
def test_a_catalog_that_is_lost_on_its_way_is_a_fault_of_the_api(catalog, service, expected):
    auth = as_json.stage("auth", "ok", details={} if catalog is None else {"catalog": catalog})
    empty = error("keystoneauth1.exceptions.catalog.EmptyCatalog", service, mentions=["keystone"])
    found = logs.errors(case_of(errors=[empty], stages=[auth]))
    assert [symptom.peer for symptom in found] == expected


def test_a_record_without_errors_shows_nothing():
    assert logs.errors(case_of()) == logs.errors(case_of(errors=None)) == told() == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (error(), OWN),
        (error("a.SomeError"), OWN),
        # The class of the exception
        (error("libvirt.libvirtError"), ["libvirt"]),
        (error("nova.exception.HypervisorUnavailable"), ["libvirt"]),
        (error("rbd.ImageNotFound"), ["ceph-mon"]),
        (error("rbd.PermissionError"), ["ceph-mon"]),
        (error("oslo_db.exception.DBConnectionError"), ["database"]),
        (error("ldap.SERVER_DOWN", "keystone"), ["ldap"]),
        (error("nova.exception.PortBindingFailed"), ["neutron-server", "neutron-l2-agent", "ovn-controller"]),
        (error(line_formats.QUEUE_UNREACHABLE), ["rabbitmq"]),
        # The library that raised it is that of the component that was asked.
        (error("InternalServerError", raised_in="neutronclient.v2_0.client"), ["neutron-server"]),
        (error("HTTPInternalServerError", raised_in="glanceclient.common.http"), ["glance-api"]),
        (error("OSError", raised_in="pymysql.connections"), ["database"]),
        (error("libvirt.libvirtError", raised_in="libvirt"), ["libvirt"]),
        # The address in the line says more than a library or a class.
        (error(peer="glance-api"), ["glance-api"]),
        (error("oslo_db.exception.DBError", peer="rabbitmq", raised_in="pymysql.connections"), ["rabbitmq"]),
        # A word in the line, or the logger
        (error(mentions=["cinder-api"]), ["cinder-api"]),
        (error(mentions=["cinder-api", "database"]), ["cinder-api", "database"]),
        (error(logger="nova.virt.libvirt.driver", how="refused"), ["libvirt"]),
        # A driver that says nothing speaks of itself.
        (error(logger="nova.virt.libvirt.driver"), OWN),
        (error(logger="nova.network.neutron", mentions=["neutron-server"]), ["neutron-server"]),
        (error(logger="keystonemiddleware.auth_token", service="glance-api"), ["keystone"]),
        # A line speaks of its own project all the time.
        (error(mentions=["nova-conductor", "nova-api"]), OWN),
        (error(logger="neutron.agent.dhcp.agent", service="neutron-dhcp-agent"), OWN),
    ],
)  # fmt: skip
def test_an_error_names_the_peer_at_which_it_failed(entry, expected):
    found = told(entry)
    assert [symptom.peer for symptom in found] == expected
    assert {symptom.kind for symptom in found} == {Kind.ERROR if expected == OWN else Kind.FAILED_AT}


@pytest.mark.parametrize(
    ("log", "component"),
    [("slapd", "ldap"), ("rgw", "ceph-rgw"), ("nova-metadata", "nova-api-metadata"), ("somebody", "somebody")],
)
def test_an_error_is_of_the_component_that_writes_the_log(log, component):
    assert [(symptom.component, symptom.host) for symptom in told(error(service=log))] == [(component, "h1")]


@pytest.mark.parametrize(
    "entry",
    [
        error("libvirt.libvirtError", "libvirt"),
        error("oslo_db.exception.DBError", "database"),
        error(service="glance-api", peer="glance-api"),
        error("x", "neutron-server", raised_in="neutronclient.v2_0.client"),
        error("ldap.SERVER_DOWN", "slapd"),
    ],
)
def test_a_component_does_not_fail_at_itself(entry):
    assert peers(entry) == OWN


@pytest.mark.parametrize("logger", ["nova.compute.manager", "nova.virt.libvirt.driver", "nova.network.neutron"])
def test_a_programming_error_in_its_own_code_is_its_own_fault(logger):
    assert peers(error("TypeError", logger=logger, raised_in="nova.compute.manager", mentions=["database"])) == OWN


def test_its_own_code_that_says_how_it_failed_speaks_of_another():
    raised = error("nova.exception.X", raised_in="nova.volume.cinder", how="refused", mentions=["cinder-api"])
    assert peers(raised) == ["cinder-api"]


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("nova-compute", ["nova-conductor", "nova-scheduler", "rabbitmq"]),
        ("nova-conductor", ["nova-scheduler", "rabbitmq"]),
        ("neutron-l2-agent", ["neutron-server", "rabbitmq"]),
        ("cinder-scheduler", ["cinder-volume", "rabbitmq"]),
        ("glance-api", ["rabbitmq"]),
    ],
)
@pytest.mark.parametrize("exception", [TIMEOUT, "MessagingTimeout"])
def test_a_call_without_an_answer_points_at_those_who_answer_calls_and_at_the_queue(exception, service, expected):
    assert peers(error(exception, service)) == expected


def test_an_error_that_may_be_of_several_counts_less_for_each():
    (sure,), unsure = told(error("rbd.ImageNotFound")), told(error("nova.exception.PortBindingFailed"))
    assert all(shares.strength(symptom, WEIGHTS) < shares.strength(sure, WEIGHTS) for symptom in unsure)


@pytest.mark.parametrize(
    "exception",
    [
        "nova.exception.MaxRetriesExceeded",
        "nova.exception.BuildAbortException",
        "nova.exception.RescheduledException",
        "nova.exception.NoValidHost",
        "nova.exception_Remote.NoValidHost",
    ],
)
def test_an_error_that_only_says_that_something_had_failed_before_is_no_symptom(exception):
    assert told(error(exception, peer="placement-api")) == []


def test_the_first_error_counts_more_than_later_ones():
    first, later = (error("a.SomeError", at=f"2026-11-21T12:00:0{second}.000000+00:00") for second in (1, 2))
    for order in ([first, later], [later, first]):
        strengths = {symptom.at: shares.strength(symptom, WEIGHTS) for symptom in told(*order)}
        assert strengths[seconds_of(first["at"])] > strengths[seconds_of(later["at"])]


def test_an_error_of_others_is_not_the_first():
    theirs = error("a.SomeError", at="2026-11-21T12:00:01.000000+00:00", own=False)
    afterwards = error("nova.exception.NoValidHost", at="2026-11-21T12:00:02.000000+00:00")
    mine = error("a.SomeError", at="2026-11-21T12:00:03.000000+00:00")
    alone = told(mine)
    assert told(theirs, afterwards, mine)[-1] == alone[0]


# Errors that a cloud logs when all goes well, too

NOISE = {"service": "openvswitch", "logger": "netdev_linux"}


def weight(**more):
    """How much an error says; one that says too little is no symptom."""
    return sum(shares.strength(symptom, WEIGHTS) for symptom in told(error(**more)))


def test_an_error_says_the_less_the_more_healthy_runs_log_it():
    never, seldom, sometimes, half, all_of_them = (weight(usual=rate) for rate in (None, 0.01, 0.3, 0.5, 1.0))
    assert never == seldom == weight()
    assert never / 2 > sometimes > half == all_of_them == 0


def test_an_error_at_a_peer_says_the_less_as_well_if_it_is_usual():
    assert 0 < weight(exception="rbd.ImageNotFound", usual=0.3) < weight(exception="rbd.ImageNotFound") / 2


@pytest.mark.parametrize(
    "unusual",
    [
        {**NOISE, "service": "nova-compute"},
        {**NOISE, "logger": "bridge"},
        {**NOISE, "exception": "a.SomeError"},
    ],
)
def test_an_error_is_known_to_be_usual_by_its_component_logger_and_exception(unusual):
    assert weight(**NOISE) == weight(usual=0.5)
    assert weight(**unusual) == weight()


@pytest.mark.parametrize(("usual", "bigger"), [(None, 0.5), (0.1, 0.5), (0.9, 0.9), (1.0, 1.0)])
def test_of_what_is_usual_everywhere_and_on_this_cloud_the_bigger_counts(usual, bigger):
    assert weight(**NOISE, usual=usual) == weight(usual=bigger)


def test_what_is_usual_is_reported_of_components_and_of_a_part_of_the_healthy_runs():
    usual = [error for component in COMPONENTS for error in component.usual_errors]
    assert usual
    assert all(0 < error.share <= 1 for error in usual)


def test_a_symptom_keeps_the_line_its_time_and_how_it_failed():
    entry = error("rbd.PermissionError", how="denied", quote="rbd.PermissionError: [errno 1]")
    (symptom,) = told(entry)
    assert (symptom.host, symptom.how, symptom.own, symptom.quote) == ("h1", How.DENIED, True, entry["quote"])
    assert symptom.at == seconds_of(entry["at"])
    assert symptom.exception == "rbd.PermissionError"


def test_an_error_without_an_exception_has_its_logger():
    assert told(error(logger="nova.compute.manager"))[0].logger == "nova.compute.manager"


def test_an_error_may_have_neither_a_line_nor_a_way_of_failing():
    (symptom,) = told(error("a.SomeError"))
    assert (symptom.how, symptom.quote) == (None, None)


@pytest.mark.parametrize("word", [*WORDS, *logs.AFTERWARDS, logs.TIMED_OUT])
def test_each_word_about_exceptions_is_in_one_that_can_be_read_from_a_log(word):
    """A word that is in no class would never be found."""
    classes = ["libvirt.libvirtError", "nova.exception.HypervisorUnavailable", "rados.ObjectNotFound",
               "rbd.ImageNotFound", "nova.exception.VirtualInterfaceCreateException", "neutron.PortBindingFailed",
               "oslo_db.exception.DBConnectionError", "oslo_db.exception.DBError", "sqlalchemy.exc.OperationalError",
               "ldap.SERVER_DOWN", "nova.exception.PlacementAPIConnectFailure", "nova.exception.MaxRetriesExceeded",
               "nova.exception.RescheduledException", "nova.exception.BuildAbortException",
               "nova.exception.NoValidHost", "nova.exception.VolumeNotCreated", TIMEOUT]  # fmt: skip
    assert any(word in (line_formats.exception_in(f"x: {name}: y") or "") for name in classes)


@pytest.mark.parametrize("how", [*AT_PEER, None])
def test_each_way_of_failing_can_be_judged(how):
    """The model knows it, also where a component failed at another one."""
    for entry in (error(how=how and how.value), error("rbd.ImageNotFound", how=how and how.value)):
        assert model.causes(case_of(), told(entry))


AT = "2026-11-21T12:00:{}+00:00"


@pytest.mark.parametrize(
    ("caller", "called"),
    [("nova-api", "nova-conductor"), ("cinder-api", "cinder-volume"), ("nova-compute", "glance-api")],
)
@pytest.mark.parametrize("suffix", ["", "nova.exception."])
def test_an_exception_that_a_caller_logs_once_more_is_of_the_component_that_sent_it_back(caller, called, suffix):
    first = error("IndexError", called, at=AT.format("05.200000"))
    once_more = error(f"{suffix}IndexError", caller, at=AT.format("05.300000"))
    symptoms = told(once_more, first)
    assert [(found.kind, found.component, found.peer) for found in symptoms] == [
        (Kind.FAILED_AT, caller, called),
        (Kind.ERROR, called, None),
    ]


@pytest.mark.parametrize(
    ("other", "more"),
    [
        ("KeyError", {}),
        ("IndexError", {"own": False}),
        # It came later, or long before.
        ("IndexError", {"at": AT.format("05.400000")}),
        ("IndexError", {"at": AT.format("03.000000")}),
        # The caller does not call it.
        ("IndexError", {"service": "neutron-dhcp-agent"}),
        ("IndexError", {"service": "nova-api"}),
    ],
)
def test_another_error_is_a_caller_s_own(other, more):
    first = error(other, **{"service": "nova-conductor", "at": AT.format("05.200000"), **more})
    own = error("IndexError", "nova-api", at=AT.format("05.300000"))
    assert [found.kind for found in told(first, own) if found.component == "nova-api"][-1] == Kind.ERROR


def at(second):
    return f"2026-11-21T12:00:{second:09.6f}+00:00"


def test_a_warning_counts_half_and_only_near_an_error_of_the_run():
    near, far = (error(severity="warning", how="silent", peer="libvirt", at=at(second)) for second in (4.0, 1.0))
    found = told(error(at=at(5.0)), near, far)
    assert [(symptom.peer, symptom.share) for symptom in found] == [(None, 1.0), ("libvirt", WEIGHTS.warning)]


def test_warnings_of_a_run_without_errors_count_wherever_they_stand():
    alone = error(severity="warning", how="silent", peer="libvirt", at=at(1.0))
    assert [symptom.share for symptom in told(alone, error(own=False))] == [WEIGHTS.warning, WEIGHTS.later_error]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (error("ovsdbapp.exceptions.TimeoutException", "neutron-l2-agent"), ["ovsdb"]),
        (error("ovsdbapp.exceptions.TimeoutException", "neutron-server"), ["ovn-nb-db", "ovn-sb-db"]),
        (error("ovsdbapp.exceptions.X", "neutron-server", mentions=["ovn-sb-db", "database"]), ["ovn-sb-db"]),
        (error("ovsdbapp.exceptions.X", "neutron-server", peer="ovn-nb-db"), ["ovn-nb-db"]),
        (error("E", "neutron-server", raised_in="ovsdbapp.backend.ovs_idl.command"), ["ovn-nb-db", "ovn-sb-db"]),
        (error("E", "neutron-server", logger="ovsdbapp.backend.ovs_idl.vlog"), ["ovn-nb-db", "ovn-sb-db"]),
        # What a service may not do on its own host has itself as the peer.
        (error("PermissionError", how="denied", peer="nova-compute"), OWN),
        # A value that cannot be used is the sender's as well; an exception of the code that reads it is not.
        (error("jsonschema.exceptions.ValidationError", raised_in="nova.network.neutron"), ["neutron-server"]),
        (error("AttributeError", raised_in="nova.network.neutron"), OWN),
    ],
)
def test_a_library_a_host_and_a_value_name_the_peer(entry, expected):
    assert peers(entry) == expected


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([error("neutron_lib.exceptions.IpAddressGenerationFailure")], True),
        ([error("nova.exception.NoMoreFixedIps", at=at(1.0)), error("NovaException", at=at(2.0))], True),
        ([error("NovaException", at=at(1.0)), error("nova.exception.NoMoreFixedIps", at=at(2.0))], False),
        ([error("nova.exception.NoMoreFixedIps", own=False)], False),
        ([], False),
    ],
)
def test_a_subnet_without_room_is_the_answer_of_the_cloud(errors, expected):
    assert logs.is_out_of_room(case_of(errors=errors)) is expected


@pytest.mark.parametrize(
    ("others", "expected"),
    [([], ["RemoteError"]), ([error("keystoneauth1.exceptions.http.Unauthorized")], ["Unauthorized"])],
)
def test_what_a_called_service_has_sent_back_counts_only_if_it_has_logged_nothing_itself(others, expected):
    found = told(error("oslo_messaging.rpc.client.RemoteError", host="h2"), *others)
    assert sorted({(symptom.exception or "").rpartition(".")[2] for symptom in found}) == expected


@pytest.mark.parametrize(("how", "peers"), [(None, [None]), ("denied", ["ceph-mon"])])
def test_a_rule_of_its_own_is_not_one_of_the_peer_for_whom_the_module_is(how, peers):
    exception = "glance.common.exception.ImageSizeLimitExceeded"
    refused = logged("glance-api", logger="glance_store._drivers.rbd", exception=exception, how=how)
    found = logs.errors(case_of(errors=[refused]))
    assert [(symptom.component, symptom.peer) for symptom in found] == [("glance-api", peer) for peer in peers]
