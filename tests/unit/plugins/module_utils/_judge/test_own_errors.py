# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that failed at what it asked for itself: the command that shows it."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Call, Resource
from cases_by_hand import STARTED, error, logged


def failed(stage, kind, details=None, calls=()):
    """Return a record whose stage failed with an error of a kind, after a stage that has found an image."""
    image = as_json.plain(Resource("image", "i d", "cirros", created=False))
    stages = [
        as_json.stage("image", "ok", resources=[image]),
        as_json.stage(stage, "failed", error=error(kind), details=details or {}, calls=list(calls)),
    ]
    return {**as_json.new_record("run", "cloud"), "stages": stages}


FLAVOR = {"flavor": {"name": "m1 large", "ram": 1, "vcpus": 1, "disk": 1}}
CALL = as_json.plain(Call("GET", "identity", "/v3", None, 1.0, 0.1, None, host="10.0.0.1:5000"))


@pytest.mark.parametrize(
    ("record", "command"),
    [
        (failed("boot", "invalid", FLAVOR), "openstack flavor show 'm1 large'; openstack image show 'i d'"),
        (failed("boot", "invalid", {"flavor": 3}), "openstack image show 'i d'"),
        (failed("volume", "invalid", {"requested_type": "fast"}), "openstack volume type show fast"),
        (failed("volume", "invalid"), None),
        (failed("network", "invalid"), None),
        (failed("auth", "unauthorized"), "openstack token issue"),
        (failed("auth", "tls", calls=[CALL]), "openssl s_client -connect 10.0.0.1:5000 -showcerts < /dev/null"),
        (failed("auth", "tls"), None),
        (failed("image", "forbidden"), "openstack role assignment list --names --auth-user --auth-project"),
        (failed("image", "conflict"), None),
    ],
)
def test_the_command_that_shows_what_was_asked_for(record, command):
    verdict = as_json.verdict_on(record)
    assert (verdict["next"], verdict["component"], verdict["headline"]) == (command, None, None)


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("Block Device Mapping is Invalid: failed to get snapshot {id}.", "openstack volume snapshot show {id}"),
        ("Network {id} could not be found.", "openstack network show {id}"),
        ("Invalid volume '{id}', image {id}", "openstack volume show {id}; openstack image show {id}"),
        ("Instance {id} and the snapshots of 2026", None),
    ],
)
def test_what_the_answer_names_is_shown_first(answer, command):
    """Nova says of a part of a server only that it could not get it."""
    name = "0a1b2c3d-0000-4000-8000-0000000000ff"
    record = failed("boot", "invalid", FLAVOR)
    record["stages"][1]["error"]["message"] = answer.format(id=name)
    usual = "openstack flavor show 'm1 large'; openstack image show 'i d'"
    expected = f"{command}; {usual}" if command else usual
    assert as_json.verdict_on(record)["next"] == expected.format(id=name)


def call(service, method, path, status):
    return as_json.plain(Call(method, service, path, status, 1.0, 0.1, None))


GIVEN, REFUSED = call("identity", "POST", "/v3/auth/tokens", 201), call("image", "GET", "/v2/images/probe", 401)


def test_a_service_that_rejects_a_token_that_was_given_is_not_a_wrong_password():
    verdict = as_json.verdict_on(failed("image", "unauthorized", calls=[REFUSED, GIVEN, REFUSED]))
    assert verdict["next"] != "openstack token issue"
    suspects = {other["component"] for other in verdict["alternatives"]} | {verdict["component"]}
    assert {"glance-api"} <= suspects


def test_of_a_refused_request_the_lines_of_the_service_are_shown():
    """Keystone answers each of them in the same words, and logs why."""
    service = {"component": "keystone", "unit": "k.service", "state": "running"}
    refused = {**call("identity", "POST", "/v3/auth/tokens", 401), "request_id": "req-1"}
    record = {
        **failed("auth", "unauthorized", calls=[refused]),
        "hosts": [as_json.host("ctl", facts={"services": [service]})],
    }
    command = as_json.verdict_on(record)["next"]
    assert command.startswith("openstack token issue; on ctl: journalctl --unit k.service --grep req-1 --since")


def with_changed(component, path, record):
    """Return a record with a host on which a file of a component was changed just now, which logged an error."""
    service = {"component": component, "unit": f"{component}.service", "state": "running"}
    examination = {
        "clients": None, "own": [], "reach": [], "pending": [], "resources": [], "differences": [],
        "changed": [{"path": path, "ago_s": 20.0}],
    }  # fmt: skip
    host = as_json.host("ctl", facts={"services": [service]}, examination=examination)
    return {**record, "hosts": [host], "errors": [logged(component, host="ctl", logger="x.wsgi", how="denied")]}


def test_who_refuses_all_of_a_sudden_with_other_settings_is_named():
    record = failed("auth", "unauthorized", calls=[call("identity", "POST", "/v3/auth/tokens", 401)])
    verdict = as_json.verdict_on(with_changed("keystone", "/etc/keystone/keystone.conf", record))
    assert (verdict["component"], verdict["host"]) == ("keystone", "ctl")
    assert verdict["then"].startswith("after correcting /etc/keystone/keystone.conf, on ctl")
    # It refuses nobody.
    other = as_json.verdict_on(with_changed("glance-api", "/etc/glance/glance-api.conf", record))
    assert (other["component"], other["next"]) == (None, "openstack token issue")


def test_a_token_that_is_no_longer_given_is_the_run_s_own():
    denied = call("identity", "POST", "/v3/auth/tokens", 401)
    verdict = as_json.verdict_on(failed("image", "unauthorized", calls=[REFUSED, denied]))
    assert verdict["next"] == "openstack token issue"


@pytest.mark.parametrize(
    ("answer", "is_judged"),
    [
        ("The resource could not be found.", True),
        ("404 Not Found The resource could not be found.", True),
        ("Not Found The requested URL was not found on the server. If you", True),
        ("Network 00000000-0000-4000-8000-000000000000 could not be found.", False),
    ],
)
def test_an_api_without_a_path_that_the_others_have_is_judged(answer, is_judged):
    record = failed("network", "not_found", calls=[call("network", "POST", "/v2.0/security-groups", 404)])
    record["stages"][-1]["error"] |= {"answer": answer, "status": 404}
    verdict = as_json.verdict_on(record)
    suspects = {other["component"] for other in verdict["alternatives"]} | {verdict["component"]}
    assert ("neutron-server" in suspects) is is_judged


@pytest.mark.parametrize(
    ("stage", "service", "answer", "component"),
    [
        ("volume", "block-storage", "Availability zone 'az9' is invalid.", "cinder-api"),
        ("boot", "compute", "The requested availability zone is not available", "nova-api"),
    ],
)
def test_a_zone_that_the_run_did_not_ask_for_is_of_the_settings_of_the_api(stage, service, answer, component):
    def verdict_on(**details):
        record = failed(stage, "invalid", details, calls=[call(service, "POST", "/things", 400)])
        record["stages"][-1]["error"] |= {"answer": answer, "status": 400}
        return as_json.verdict_on(with_changed(component, f"/etc/{component}/x.conf", record))

    assert (verdict_on()["component"], verdict_on()["host"]) == (component, "ctl")
    assert verdict_on(requested_zone="az9")["component"] is None


def test_who_refuses_what_it_has_just_made_with_other_settings_is_named():
    network = as_json.plain(Resource("network", "1234-n", "run-network", created=True))
    asked = call("network", "POST", "/v2.0/subnets", 409)
    stages = [
        as_json.stage("image", "ok"),
        as_json.stage(
            "network",
            "failed",
            error=error("conflict", message="MTU of 1234-n is not valid"),
            calls=[asked],
            resources=[network],
        ),
    ]
    path = "/etc/neutron/neutron.conf"
    record = with_changed("neutron-server", path, {**as_json.new_record("run", "cloud"), "stages": stages})
    verdict = as_json.verdict_on(record)
    assert (verdict["component"], verdict["host"]) == ("neutron-server", "ctl")
    # What others have may be in use.
    stages[1]["error"]["message"] = "MTU of 5678-n is not valid"
    assert as_json.verdict_on(record)["component"] is None


@pytest.mark.parametrize("details", [{"requested_zone": "nova:c1"}, {"requested_host": "c1"}])
def test_a_host_that_only_an_administrator_may_choose_is_no_fault(details):
    asked = call("compute", "POST", "/v2.1/servers", 403)
    record = failed("boot", "forbidden", details, calls=[asked])
    changed = with_changed("nova-api", "/etc/nova/nova.conf", record)
    assert as_json.verdict_on(changed)["component"] is None
    without = with_changed("nova-api", "/etc/nova/nova.conf", failed("boot", "forbidden", calls=[asked]))
    assert as_json.verdict_on(without)["component"] == "nova-api"


def with_host(component, record, errors=(), **examination):
    service = {"component": component, "unit": f"{component}.service", "state": "running"}
    facts = {"services": [service], "addresses": ["10.0.0.1"]}
    hosts = [as_json.host("ctl", facts=facts, examination=examination)]
    return {**record, "started": STARTED, "hosts": hosts, "errors": list(errors)}


def test_an_api_whose_certificate_has_expired_is_named():
    record = failed("auth", "tls", calls=[CALL])
    expired = {"component": "keystone", "address": "10.0.0.1", "port": 5000, "expires": STARTED}
    verdict = as_json.verdict_on(with_host("keystone", record, certificates=[expired]))
    assert (verdict["component"], verdict["host"]) == ("keystone", "ctl")
    # That of another service did not answer this request.
    other = with_host("glance-api", record, certificates=[{**expired, "component": "glance-api", "port": 9292}])
    assert as_json.verdict_on(other)["component"] is None


@pytest.mark.parametrize(
    ("more", "named"), [({}, "cinder-api"), ({"own": False}, None), ({"severity": "warning"}, None)]
)
def test_an_api_that_logs_an_error_for_what_it_refuses_is_named(more, named):
    record = failed("volume", "invalid", calls=[call("block-storage", "POST", "/v3/volumes", 400)])
    exception = "cinder.exception.VolumeTypeNotFoundByName"
    error_of_api = logged("cinder-api", host="ctl", exception=exception, raised_in="cinder.volume.volume_types", **more)
    assert as_json.verdict_on(with_host("cinder-api", record, errors=[error_of_api]))["component"] == named


@pytest.mark.parametrize(("made", "named"), [(True, "glance-api"), (False, None)])
def test_what_the_cloud_has_lost_is_no_wrong_question(made, named):
    image = as_json.plain(Resource("image", "1234-i", "run-image", created=made))
    asked = call("image", "GET", "/v2/images/1234-i", 404)
    wrong = error("not_found", message="No image found with ID 1234-i")
    stages = [as_json.stage("image", "failed", error=wrong, calls=[asked], resources=[image])]
    record = {**as_json.new_record("run", "cloud"), "stages": stages}
    refused = logged("glance-api", host="ctl", exception="glance.common.exception.ImageSizeLimitExceeded")
    usual = logged("glance-api", host="ctl", severity="warning", exception="glance.common.exception.NotFound")
    errors = [refused if made else usual]
    assert as_json.verdict_on(with_host("glance-api", record, errors=errors))["component"] == named
