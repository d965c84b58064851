# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis of requests other than boots, in the logs of a recorded boot that worked."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.stackproof.provision.plugins.modules import bundle_info, report

PROJECT, STRANGER = "94b64eb11bf148c5b5b96b2e972f44df", "11111111bf148c5b5b96b2e972f44df1"
VOLUME, OTHER_SERVER = "2e1d2b5c-90a1-4f0e-8c71-0b6c2a9d6f11", "13651ae0-e8ee-44e2-803f-dadb47945905"
MAKE, SUBNET, LATER = (f"req-{number * 8}-5e77-4a4c-ac81-ad543be792ff" for number in "123")
SECRET = "gAAAAABsecretsecretsecretsecret"
CINDER, SCHEDULER = ("controller1", "cinder/cinder-api.log"), ("controller1", "cinder/cinder-scheduler.log")
NEUTRON, WORKER = ("controller1", "neutron/neutron-api.log"), ("storage1", "cinder/cinder-volume.log")


def said(seconds, message, request, logger, level="INFO", project=PROJECT):
    context = f"None {request} alice {project} - - default default" if request else "-"
    return f"2026-11-21 14:44:{seconds:06.3f} 820 {level} {logger} [{context}] {message}"


def answer(seconds, method, path, status, request, **about):
    logger = "eventlet.wsgi.server"
    return said(
        seconds, f'10.0.0.1 "{method} {path} HTTP/1.1" status: {status} len: 4 time: 0.4', request, logger, **about
    )


def volume_that_fails(bundle, project=PROJECT, request=MAKE):
    """It is asked for and begun, and fails where nobody waits for it."""
    bundle.add(*CINDER, answer(1, "POST", f"/v3/{project}/volumes?token={SECRET}", 202, request, project=project))
    logger = "cinder.volume.manager"
    text = (
        f"Volume {VOLUME} could not be made: no space, password={SECRET}: OSError: [Errno 28] No space left on device"
    )
    bundle.add(*WORKER, said(2, text, request, logger, "ERROR", project))


def subnet_that_fails(bundle, **about):
    text = "POST failed.: sqlalchemy.exc.OperationalError: (pymysql.err.OperationalError) (2006, 'gone away')"
    bundle.add(*NEUTRON, said(3, text, SUBNET, "neutron.api.v2.resource", "ERROR", **about))
    bundle.add(*NEUTRON, answer(3.1, "POST", "/v2.0/subnets", 500, SUBNET, **about))


ASKED = [
    {"request_id": MAKE},
    {"error": f"The volume is in error. (HTTP 500) (Request-ID: {MAKE}), try {SECRET}"},
    {"resource_id": VOLUME},
    {"since": "2026-11-21T14:44:00Z"},
]


@pytest.mark.parametrize("asked", ASKED, ids=[next(iter(asked)) for asked in ASKED])
def test_a_volume_that_fails_is_judged_by_whatever_it_is_asked_for(diagnose, bundle, asked):
    volume_that_fails(bundle)
    record = diagnose(**asked)
    verdict = record["verdict"]
    assert (verdict["result"], verdict["stage"]) == ("fail", "volume")
    assert (verdict["component"], verdict["host"]) == ("cinder-volume", "storage1")
    assert "No space left on device" in verdict["quote"]
    (failure,) = record["diagnosis"]["failures"]
    assert (failure["component"], failure["count"], failure["requests"][0]["id"]) == ("cinder-volume", 1, MAKE)
    assert f"POST /v3/{PROJECT}/volumes ({MAKE}) was answered 202 and failed afterwards" in verdict["reason"]
    assert (record["diagnosis"]["boot"], record["flows"]) == (None, [])
    statuses = {stage["stage"]: stage["status"] for stage in record["stages"]}
    assert {name for name, status in statuses.items() if status == "failed"} == {"volume"}
    assert SECRET not in json.dumps(record)


def test_an_error_without_a_request_says_what_else_to_give(call, bundle, bundle_options):
    result = call(bundle_info, **bundle_options(bundle.write(), error="Internal Server Error"))
    assert result["msg"].startswith("the error contains no request id (req-...)")
    assert "stackproof_since" in result["msg"]


def test_no_line_is_quoted_if_nobody_wants_quotes(diagnose, bundle):
    volume_that_fails(bundle)
    record = diagnose(quotes=False, request_id=MAKE)
    assert record["verdict"]["component"] == "cinder-volume"
    assert "No space left" not in json.dumps(record)


def test_all_that_failed_in_a_time_is_told_by_cause_the_one_behind_most_first(diagnose, bundle):
    volume_that_fails(bundle)
    subnet_that_fails(bundle)
    more = [answer(5 + number, "POST", "/v2.0/subnets", 500, f"{LATER[:-1]}{number}") for number in range(3)]
    bundle.add(*NEUTRON, *more)
    record = diagnose(since="2026-11-21T14:44:00Z")
    failures = record["diagnosis"]["failures"]
    assert sum(failure["count"] for failure in failures) == 5
    assert failures[0]["stage"] == record["verdict"]["stage"] == "network"
    assert "cinder-volume" in {failure["component"] for failure in failures}


def test_a_server_that_was_built_is_told_with_what_its_project_asked_for_in_vain(diagnose, bundle):
    volume_that_fails(bundle)
    record = diagnose()
    verdict = record["verdict"]
    assert (verdict["result"], verdict["stage"], verdict["component"]) == ("fail", "volume", "cinder-volume")
    assert verdict["reason"].startswith(
        f"The logs show that Nova built the server {bundle.boot.server} on compute2 in 18.6 s. "
    )
    assert record["diagnosis"]["boot"]["outcome"] == "built"
    assert {stage["stage"]: stage["status"] for stage in record["stages"]}["boot"] == "ok"
    assert record["flows"]


def long_after_its_removal(bundle):
    path = f"/v2.1/servers/{bundle.boot.server}"
    bundle.add("controller1", "nova/nova-api.log", answer(0.5, "DELETE", path, 204, f"{LATER[:-1]}0"))
    volume_that_fails(bundle)
    for key in (CINDER, WORKER):
        bundle.lines[key] = [line.replace("14:44:0", "14:55:0") if MAKE in line else line for line in bundle.lines[key]]


def removal_that_nobody_waits_for(bundle):
    path = f"/v3/{PROJECT}/volumes/{VOLUME}"
    bundle.add(*CINDER, answer(1, "DELETE", path, 202, MAKE))
    bundle.add(*WORKER, said(2, "It is busy", MAKE, "cinder.volume.manager", "ERROR"))


def of_another_server(bundle):
    text = f"[instance: {OTHER_SERVER}] Cannot reboot instance: no"
    bundle.add("compute1", "nova/nova-compute.log", said(1, text, LATER, "nova.compute.manager", "ERROR"))


def by_itself(bundle):
    line = said(1, "Error during a periodic task", LATER, "nova.compute.manager", "ERROR")
    bundle.add("compute1", "nova/nova-compute.log", line.replace(f"alice {PROJECT}", "- -"))


NOT_ITS_OWN = {
    "another project's": lambda bundle: volume_that_fails(bundle, STRANGER),
    "long after its removal": long_after_its_removal,
    "of another server": of_another_server,
    "what a service does by itself": by_itself,
    "a removal that nobody waits for": removal_that_nobody_waits_for,
    "a look for a thing that is not there": lambda bundle: bundle.add(
        *CINDER, answer(1, "GET", f"/v3/{PROJECT}/volumes/a", 404, MAKE)
    ),
}


@pytest.mark.parametrize("case", NOT_ITS_OWN)
def test_what_is_none_of_a_server_that_was_built_is_no_failure_of_it(diagnose, bundle, case):
    NOT_ITS_OWN[case](bundle)
    record = diagnose()
    assert (record["verdict"]["result"], record["diagnosis"]["failures"]) == ("pass", [])


def look_that_fails(bundle):
    bundle.add(*CINDER, answer(1, "GET", "/v3/volumes/detail", 500, LATER, project=STRANGER))


ITS_OWN = {
    "by the service user, about the server": lambda bundle: bundle.add(
        "compute2",
        "nova/nova-compute.log",
        said(1, f"[instance: {bundle.boot.server}] Cannot reboot: no", LATER, "nova.a", "ERROR", STRANGER).replace(
            " 14:44", " 20:14"
        ),
    ),
    "by an administrator, about its network": lambda bundle: bundle.add(
        *NEUTRON, answer(1, "PUT", "/v2.0/networks/e565ba2a-7a9b-4441-b73a-701e31c127f4", 500, LATER, project=STRANGER)
    ),
    "by another project, which was told of the failure": look_that_fails,
    "a removal that is answered with an error": lambda bundle: bundle.add(
        *CINDER, answer(1, "DELETE", f"/v3/{PROJECT}/volumes/{VOLUME}", 500, MAKE)
    ),
}


@pytest.mark.parametrize("case", ITS_OWN)
def test_what_concerns_a_server_that_was_built_is_a_failure_by_whomever_it_was_asked(diagnose, bundle, case):
    ITS_OWN[case](bundle)
    record = diagnose()
    assert (record["verdict"]["result"], len(record["diagnosis"]["failures"])) == ("fail", 1)


def test_a_request_without_an_end_is_judged_by_what_failed_beside_it_for_the_same_user(diagnose, bundle):
    """Some releases log the answer of a request under the id of another one."""
    bundle.add(*NEUTRON, said(1, "a word", MAKE, "neutron.a"))
    subnet_that_fails(bundle)
    record = diagnose(request_id=MAKE)
    assert (record["verdict"]["result"], record["verdict"]["stage"]) == ("fail", "network")
    assert record["diagnosis"]["failures"][0]["requests"][0]["id"] == SUBNET


def test_a_boot_that_the_logs_leave_in_the_air_leads_to_what_its_project_asked_for_in_vain(diagnose, bundle):
    bundle.cut("14:43:38.460")
    volume_that_fails(bundle)
    verdict = diagnose()["verdict"]
    assert (verdict["result"], verdict["stage"], verdict["component"]) == ("fail", "volume", "cinder-volume")
    assert verdict["reason"].startswith(f"The logs do not show how the boot of the server {bundle.boot.server} ended.")
    assert "Another request failed in that time. volume: cinder-volume (storage1)" in verdict["reason"]


def test_a_boot_that_the_logs_leave_in_the_air_does_not_lead_to_what_another_project_asked_for(diagnose, bundle):
    bundle.cut("14:43:38.460")
    look_that_fails(bundle)
    record = diagnose()
    assert (record["verdict"]["result"], record["diagnosis"]["failures"]) == ("incomplete", [])


def test_a_boot_that_failed_is_judged_by_its_flow_and_the_others_are_told(diagnose, bundle):
    volume_that_fails(bundle)
    bundle.lines["compute2", "nova/nova-compute.log"] = [
        line for line in bundle.lines["compute2", "nova/nova-compute.log"] if "seconds to build instance" not in line
    ]
    text = f"[instance: {bundle.boot.server}] Instance failed to spawn: ValueError: a"
    line = said(1, text, bundle.boot.request, "nova.compute.manager", "ERROR").replace("14:44:", "20:13:")
    line = line.replace(f"None {bundle.boot.request}", f"{bundle.boot.client} {bundle.boot.request}")
    bundle.add("compute2", "nova/nova-compute.log", line.replace("20:13:01", "20:13:41"))
    record = diagnose(since="2026-11-21T14:43:00Z")
    assert record["diagnosis"]["boot"]["server"] == bundle.boot.server
    assert record["verdict"]["stage"] == "boot"
    assert [failure["component"] for failure in record["diagnosis"]["failures"]] == ["cinder-volume"]


def test_a_request_that_did_not_fail_passes_with_its_answer(diagnose, bundle):
    bundle.add(*NEUTRON, answer(1, "POST", "/v2.0/networks", 201, MAKE))
    verdict = diagnose(request_id=MAKE)["verdict"]
    told = f"The logs show that the request did not fail: POST /v2.0/networks ({MAKE}) was answered 201."
    assert (verdict["result"], verdict["stage"], verdict["reason"]) == ("pass", None, told)


def test_a_request_whose_answer_nobody_logged_is_not_judged(diagnose, bundle):
    bundle.add(*NEUTRON, said(1, "a word", MAKE, "neutron.a"))
    verdict = diagnose(request_id=MAKE)["verdict"]
    assert (verdict["result"], verdict["component"]) == ("incomplete", None)
    assert verdict["reason"] == f"The logs do not show the outcome of {MAKE}."


def test_a_refusal_fails_and_names_nobody(diagnose, bundle):
    bundle.add(*CINDER, answer(1, "POST", f"/v3/{PROJECT}/volumes", 413, MAKE))
    verdict = diagnose(request_id=MAKE)["verdict"]
    assert (verdict["result"], verdict["component"], verdict["alternatives"]) == ("fail", None, [])
    assert verdict["reason"] == f"volume: POST /v3/{PROJECT}/volumes ({MAKE}) was answered 413."


@pytest.mark.parametrize("asked", [{}, {"since": "2026-11-21T14:44:00Z"}], ids=["a server", "a time"])
def test_a_refusal_that_nobody_asked_about_is_told_and_is_no_failure(diagnose, bundle, asked):
    bundle.add(*CINDER, answer(1, "POST", f"/v3/{PROJECT}/volumes", 413, MAKE))
    record = diagnose(**asked)
    assert (record["verdict"]["result"], record["verdict"]["component"]) == ("pass", None)
    assert [failure["requests"][0]["status"] for failure in record["diagnosis"]["failures"]] == [413]


def no_room(bundle):
    bundle.add(*CINDER, answer(1, "POST", f"/v3/{PROJECT}/volumes", 202, MAKE))
    text = "Failed to run task: No valid backend was found. password=hunter2: cinder.exception.NoValidBackend: No room"
    bundle.add(*SCHEDULER, said(2, text, MAKE, "cinder.scheduler.flows.create_volume", "ERROR"))


@pytest.mark.parametrize("quotes", [True, False])
def test_what_nobody_broke_is_told_by_the_line_that_says_what_was_lacking(diagnose, call, bundle, quotes):
    no_room(bundle)
    record = diagnose(request_id=MAKE, quotes=quotes)
    verdict = record["verdict"]
    assert (verdict["result"], verdict["component"]) == ("fail", None)
    assert ("cinder-scheduler (controller1): Failed to run task: No valid backend" in verdict["reason"]) is quotes
    assert ((verdict["quote"] or "").startswith("Failed to run task: No valid backend was found.")) is quotes
    assert "hunter2" not in json.dumps(record)
    # All files for readers can be written, though there is no headline.
    assert (
        any("No valid backend" in line for line in call(report, run_dir=diagnose.result["directory"])["summary"])
        is quotes
    )


def test_what_failed_beside_a_request_at_another_service_is_none_of_it(diagnose, bundle):
    bundle.add(*NEUTRON, said(1, "a word", SUBNET, "neutron.a"))
    volume_that_fails(bundle)
    assert diagnose(request_id=SUBNET)["verdict"]["result"] == "incomplete"


def test_what_services_do_by_themselves_is_told_and_is_no_failure(diagnose, bundle):
    by_itself(bundle)
    bundle.add(*NEUTRON, answer(1, "POST", "/v2.0/networks", 201, MAKE))
    record = diagnose(since="2026-11-21T14:44:00Z")
    assert record["verdict"]["result"] == "pass"
    assert [failure["count"] for failure in record["diagnosis"]["failures"]] == [1]


def test_the_terminal_and_the_page_show_the_requests_by_cause(diagnose, call, bundle):
    volume_that_fails(bundle)
    subnet_that_fails(bundle)
    diagnose(since="2026-11-21T14:44:00Z")
    lines = call(report, run_dir=diagnose.result["directory"])["summary"]
    text = "\n".join(lines)
    assert "requests that failed" in text
    assert re.search(r"\n +1  cinder-volume \(storage1\): .* \(confidence: \d\d %\)\n", text)
    assert f"14:44:00 cinder-api (controller1): POST /v3/{PROJECT}/volumes: 202 ({MAKE})" in text


ACTION = f"/v3/{PROJECT}/volumes/{VOLUME}/action"


def test_a_request_that_was_accepted_may_fail_under_another_id(diagnose, bundle):
    bundle.add(*CINDER, answer(1, "POST", ACTION, 202, MAKE))
    text = f"Failed at /volumes/{VOLUME}: OSError: [Errno 28] No space left on device"
    bundle.add(*WORKER, said(9, text, LATER, "cinder.volume.manager", "ERROR"))
    verdict = diagnose(request_id=MAKE)["verdict"]
    assert (verdict["result"], verdict["component"], verdict["host"]) == ("fail", "cinder-volume", "storage1")


@pytest.mark.parametrize(("seconds", "volume"), [(9, OTHER_SERVER), (35, VOLUME)])
def test_what_fails_for_another_resource_or_much_later_is_another_request(diagnose, bundle, seconds, volume):
    bundle.add(*CINDER, answer(1, "POST", ACTION, 202, MAKE))
    bundle.add(*WORKER, said(seconds, f"Failed at /volumes/{volume}: ValueError: x", LATER, "cinder.volume", "ERROR"))
    assert diagnose(request_id=MAKE)["verdict"]["result"] == "pass"


def test_an_answer_under_another_id_is_found_within_the_time_that_a_client_waits(diagnose, bundle):
    bundle.add(*CINDER, said(1, "Create volume", MAKE, "cinder.api.v3.volumes"))
    bundle.add(*CINDER, said(9, "It failed: ValueError: x", LATER, "cinder.api.middleware.fault", "ERROR"))
    bundle.add(*CINDER, answer(9.1, "POST", f"/v3/{PROJECT}/volumes", 500, LATER))
    verdict = diagnose(request_id=MAKE)["verdict"]
    assert (verdict["result"], verdict["component"]) == ("fail", "cinder-api")


def test_a_refusal_for_which_the_api_logged_an_error_names_it(diagnose, bundle):
    bundle.add(*CINDER, said(1, "It is not there: VolumeTypeNotFound: no", MAKE, "cinder.api.v3.volumes", "ERROR"))
    bundle.add(*CINDER, answer(1.1, "POST", f"/v3/{PROJECT}/volumes", 400, MAKE))
    verdict = diagnose(request_id=MAKE)["verdict"]
    assert (verdict["result"], verdict["component"]) == ("fail", "cinder-api")


def test_an_error_of_periodic_work_under_the_id_of_a_request_does_not_make_it_fail(diagnose, bundle):
    bundle.add(*CINDER, answer(1, "POST", ACTION, 202, MAKE))
    text = "Error during VolumeManager.publish_service_capabilities: ValueError: x"
    bundle.add(*WORKER, said(2, text, MAKE, "oslo_service.periodic_task", "ERROR"))
    assert diagnose(request_id=MAKE)["verdict"]["result"] == "pass"
