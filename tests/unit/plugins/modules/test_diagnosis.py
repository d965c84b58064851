# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis of a boot that stopped somewhere: the recorded boot, cut off or with errors."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.diagnosis import Diagnosis
from ansible_collections.stackproof.provision.plugins.modules import bundle_info, diagnosis, report
from tree import RECORDED, ROLES

OF_BOOT = "req-03b40d4a-6468-4371-a2d5-864347bcb436 {} f209 94b6 - - default default"
LOCAL = "req-cde46fff-5e77-4a4c-ac81-ad543be792ff"
AGAIN = "If the server failed later, give the time of that: stackproof_since and stackproof_until."
CONTEXT = OF_BOOT.format(LOCAL)
INSTANCE = "[instance: 593bff83-ecde-4bff-b038-2774dcc49b76]"
COMPUTE, CONDUCTOR = ("compute2", "nova/nova-compute.log"), ("controller1", "nova/nova-conductor.log")


def error(seconds, message, logger="nova.compute.manager", level="ERROR", hour="20:13", context=CONTEXT):
    return f"2026-11-21 {hour}:{seconds:06.3f} 820 {level} {logger} [{context}] {message}"


def test_a_boot_that_was_built_passes(diagnose, bundle):
    record = diagnose()
    assert record["verdict"]["result"] == "pass"
    assert (
        record["verdict"]["reason"]
        == f"The logs show that Nova built the server {bundle.boot.server} on compute2 in 18.6 s. {AGAIN}"
    )
    assert (record["diagnosis"]["build_s"], record["errors"]) == (18.64, [])
    assert not any(step["status"] == "missing" for flow in record["flows"] for step in flow["steps"])
    stages = {stage["stage"]: stage for stage in record["stages"]}
    assert {name for name, stage in stages.items() if stage["status"] == "skipped"} == set(stages) - {"boot"}
    assert stages["auth"]["details"]["reason"] == "a diagnosis judges only what the logs show"
    assert (stages["boot"]["status"], stages["boot"]["started"]) == ("ok", record["started"])
    assert record["started"] == "2026-11-21T14:43:22.610215+00:00"


@pytest.mark.parametrize("year", ["0001", "1970", "2100", "9999"])
@pytest.mark.parametrize("context", [CONTEXT, "-"])
def test_lines_of_a_far_off_time_change_nothing(diagnose, bundle, year, context):
    """The clock of a host was wrong at its start, or for a moment."""
    said = f"7 INFO nova.compute.manager [{context}] {INSTANCE}"
    first = f"{year}-01-01 00:00:00.000 {said} Starting instance..."
    last = f"{year}-06-01 00:00:00.000 {said} Took 1.00 seconds to build instance."
    for key, lines in bundle.lines.items():
        bundle.lines[key] = [first, *lines, last]
    record = diagnose()
    assert (record["verdict"]["result"], record["diagnosis"]["build_s"]) == ("pass", 18.64)


# When the boot is cut off, which step is owed next, by whom and where
STOPPED = [
    ("14:43:25.900", "9", "nova-scheduler", "controller1"),
    ("14:43:26.560", "12", "nova-scheduler", "controller1"),
    ("14:43:27.040", "13", "nova-compute", None),
    ("14:43:27.150", "14", "nova-compute", "compute2"),
    ("14:43:31.250", "19", "nova-compute", "compute2"),
    ("14:43:38.460", "44", "nova-compute", "compute2"),
    ("14:43:41.999", "34", "neutron-l2-agent", "compute2"),
    ("14:43:44.300", "35", "neutron-l2-agent", "compute2"),
    ("14:43:44.410", "37", "neutron-server", "controller1"),
    ("14:43:44.470", "38", "neutron-server", "controller1"),
]


@pytest.mark.parametrize(("moment", "step", "component", "host"), STOPPED, ids=[f"step {stop[1]}" for stop in STOPPED])
def test_a_boot_that_stops_has_the_first_step_that_was_owed(diagnose, bundle, moment, step, component, host):
    bundle.stop(moment)
    record = diagnose()
    verdict = record["verdict"]
    assert (verdict["result"], verdict["stage"]) == ("fail", "boot")
    assert (verdict["step"], verdict["component"], verdict["host"]) == (step, component, host)
    assert f"the logs do not show that Nova built the server {bundle.boot.server}." in verdict["reason"]


@pytest.mark.parametrize("moment", [stop[0] for stop in STOPPED])
def test_logs_that_end_while_the_boot_is_under_way_accuse_nobody(diagnose, bundle, moment):
    """What they do not show may have happened after their end."""
    bundle.cut(moment)
    record = diagnose()
    verdict = record["verdict"]
    assert (verdict["result"], verdict["component"], verdict["alternatives"]) == ("incomplete", None, [])
    assert "s after its last line, when it may still have been running" in verdict["reason"]
    assert not any(step["status"] == "missing" for flow in record["flows"] for step in flow["steps"])


@pytest.mark.parametrize("year", ["1970", "2100"])
def test_a_line_of_a_far_off_time_does_not_make_the_logs_longer(diagnose, bundle, year):
    bundle.cut(STOPPED[5][0])
    bundle.add("controller1", "nova/nova-api.log", f"{year}-06-01 00:00:00.000 7 INFO nova [-] a")
    assert diagnose()["verdict"]["result"] == "incomplete"


def test_a_boot_whose_server_was_deleted_is_over(diagnose, bundle):
    """A client that waits no longer takes the server away, and the logs end soon after that."""
    moment, step, component, host = STOPPED[5]
    bundle.cut(moment)
    ask = f"2026-11-21 14:43:41.100 7 INFO nova.osapi_compute.wsgi.server [{OF_BOOT.format(LOCAL[:-4] + '0000')}] "
    path = f"/v2.1/servers/{bundle.boot.server}"
    line = f'{ask}10.71.16.254 "DELETE {path} HTTP/1.1" status: 204 len: 201 time: 0.41'
    bundle.add("controller1", "nova/nova-api.log", line)
    verdict = diagnose()["verdict"]
    assert (verdict["result"], verdict["step"], verdict["component"], verdict["host"]) == (
        "fail",
        step,
        component,
        host,
    )


def test_a_boot_does_not_go_on_because_somebody_asks_for_its_state(diagnose, bundle):
    moment, step, component, _host = STOPPED[5]
    bundle.stop(moment)
    context = OF_BOOT.format(LOCAL[:-4] + "0000").replace("03b40d4a", "00000000")
    asks = f'10.71.16.254 "GET /v2.1/servers/{bundle.boot.server}" status: 200 len: 201 microversion: 2.1 time: 0.04'
    line = f"2026-11-21 14:52:59.100 7 INFO nova.api.openstack.requestlog [{context}] {asks}"
    bundle.add("controller1", "nova/nova-api.log", line)
    verdict = diagnose()["verdict"]
    assert (verdict["result"], verdict["step"], verdict["component"]) == ("fail", step, component)


def test_no_rule_of_the_api_owes_anything(diagnose, bundle):
    bundle.stop("14:43:41.999")
    steps = {step["id"]: step for step in diagnose()["flows"][0]["steps"]}
    assert steps["34"]["reason"] == "it is not in the log of neutron-l2-agent on compute2"
    assert {steps[step]["status"] for step in ("1", "3", "58")} == {"unseen"}


def test_a_log_that_is_not_there_leaves_open_who_it_was(diagnose, bundle):
    bundle.stop("14:43:27.040")
    bundle.without("nova-compute")
    record = diagnose()
    verdict = record["verdict"]
    assert (verdict["result"], verdict["step"], verdict["component"]) == ("fail", "13", None)
    assert "no evidence explains why" in verdict["reason"]
    assert "nova-compute" in {suspect["component"] for suspect in verdict["alternatives"]}


def test_logs_that_do_not_tell_how_it_ended_are_not_judged(diagnose, bundle):
    bundle.without("nova-compute")
    bundle.lines = {key: [line for line in lines if "req-03b40d4a" in line] for key, lines in bundle.lines.items()}
    bundle.stop("14:43:27.040")
    record = diagnose()
    assert record["verdict"]["result"] == "incomplete"
    assert record["verdict"]["reason"].endswith(
        " ended. Check whether the logs of all services and hosts were collected."
    )
    assert record["stages"][4]["details"]["reason"] == "the logs do not show how it ended"


def test_a_log_that_begins_too_late_proves_nothing(diagnose, bundle):
    bundle.stop("14:43:41.999")
    key = ("compute2", "neutron/neutron-openvswitch-agent.log")
    began = 1795272205.0
    bundle.lines[key] = [line for at, line in bundle.times("compute2", bundle.lines[key]) if (at or 0) > began]
    bundle.add(*key, "2026-11-21 20:13:43.000 7 INFO neutron [-] a")
    steps = {step["id"]: step for step in diagnose()["flows"][0]["steps"]}
    assert steps["34"]["status"] == "unseen"


def test_a_service_that_logs_less_than_it_would_take_owes_nothing(diagnose, bundle):
    bundle.stop("14:43:27.600")
    bundle.lines[COMPUTE] = [line for line in bundle.lines[COMPUTE] if " DEBUG " not in line]
    bundle.lines[COMPUTE].insert(0, "2026-11-21 20:00:00.000 7 INFO nova [-] a")
    steps = {step["id"]: step for step in diagnose()["flows"][0]["steps"]}
    assert steps["14"]["status"] == "unseen"


BINDING = (
    "Failed to bind port af65584b-2706-4cfa-b540-f8f67310cbfc on host compute2 for vnic_type normal using segments [{}]"
)
SPAWN = "Instance failed to spawn: {}"
UNBOUND = "nova.exception.PortBindingFailed: Binding failed for port af65584b-2706-4cfa-b540-f8f67310cbfc, please"
UNPLUGGED = "nova.exception.VirtualInterfaceCreateException: Virtual Interface creation failed"


def test_an_error_that_carries_an_id_of_the_boot_names_who_failed(diagnose, bundle):
    bundle.stop("14:43:32.900")
    other = error(33.2, BINDING, "neutron.plugins.ml2.managers", hour="14:43", context=OF_BOOT.format("req-a"))
    bundle.add("controller1", "neutron/neutron-api.log", other)
    for seconds in (33.5, 33.501):
        bundle.add(*COMPUTE, error(seconds, f"{INSTANCE} {SPAWN.format(UNBOUND)}"))
    record = diagnose()
    verdict = record["verdict"]
    # Whether that host has an agent is not known.
    assert (verdict["component"], verdict["host"]) == ("neutron-server", "controller1")
    assert 'logged "Failed to bind port af65584b-2706-4cfa-b540-f8f67310cbfc on host compute2' in verdict["reason"]
    exceptions = {error["service"]: (error["exception"], error["own"]) for error in record["errors"]}
    assert exceptions == {
        "neutron-server": (None, True),
        "nova-compute": ("nova.exception.PortBindingFailed", True),
    }
    assert record["diagnosis"]["boot"]["outcome"] == "failed"


def test_who_waited_in_vain_did_not_fail_itself(diagnose, bundle):
    bundle.stop("14:43:42.000")
    bundle.add(*COMPUTE, error(50.0, f"{INSTANCE} {SPAWN.format(UNPLUGGED)}", hour="20:18"))
    verdict = diagnose()["verdict"]
    assert (verdict["step"], verdict["component"], verdict["host"]) == ("34", "neutron-l2-agent", "compute2")


def test_a_boot_for_which_there_is_no_host(diagnose, bundle):
    bundle.stop("14:43:26.100")
    lost = "nova.exception_Remote.NoValidHost_Remote: No valid host was found. There are not enough hosts available."
    warning = error(
        26.6, f"{INSTANCE} Setting instance to ERROR state.: {lost}", "nova.scheduler.utils", "WARNING", "14:43"
    )
    bundle.add(*CONDUCTOR, warning)
    record = diagnose()
    assert record["diagnosis"]["boot"]["outcome"] == "failed"
    assert [error["exception"] for error in record["errors"]] == ["nova.exception_Remote.NoValidHost"]
    assert record["verdict"]["result"] == "fail"


def test_an_error_of_another_boot_is_none_of_this_one(diagnose, bundle):
    other = "[instance: 13651ae0-e8ee-44e2-803f-dadb47945905] Instance failed to spawn: ValueError: a"
    bundle.add(*COMPUTE, error(40.0, other, context="None req-991f297e-a43f-4cff-b340-19fe3273f7ec u p"))
    bundle.add(*COMPUTE, error(41.0, "nova.exception.Late: a", context="-"))
    record = diagnose()
    assert record["verdict"]["result"] == "pass"
    assert {error["own"] for error in record["errors"]} == {False}


def test_a_server_whose_request_is_not_known_is_not_judged(diagnose, bundle):
    bundle.lines = {("controller1", "nova/nova-api-wsgi.log"): bundle.lines["controller1", "nova/nova-api-wsgi.log"]}
    key = ("controller1", "nova/nova-api-wsgi.log")
    bundle.lines[key] = [line for line in bundle.lines[key] if '"POST /v2.1/servers"' not in line and LOCAL not in line]
    bundle.add(*key, "2026-11-21 15:13:00.000 7 INFO nova [-] a")
    record = diagnose()
    assert record["verdict"]["result"] == "incomplete"
    assert "Its request is unknown: if you know it, give stackproof_request_id instead." in record["verdict"]["reason"]


def test_the_directory_has_what_a_run_has_and_no_more_of_the_lines(diagnose, call, bundle):
    bundle.stop("14:43:41.999")
    record = diagnose()
    directory = Path(diagnose.result["directory"])
    assert diagnose.result["changed"] is True
    assert diagnose.result["verdict"] == record["verdict"]
    about = codec.from_json(Diagnosis, record["diagnosis"])
    assert (about.host, about.boot.server, about.ended) == ("compute2", bundle.boot.server, True)
    assert codec.to_json(about) == record["diagnosis"]
    assert directory.stat().st_mode & 0o077 == 0
    lines = (directory / "events.jsonl").read_text().splitlines()
    assert len(lines) > 100
    assert all(json.loads(line)["keys"] for line in lines)
    template = str(ROLES / "report/templates/report.html.j2")
    result = call(report, run_dir=str(directory), end=False, enforce=False, template=template)
    assert (result.get("failed"), result["changed"]) == (None, False)
    summary = "\n".join(result["summary"])
    assert "Diagnosis " in summary
    assert " by the logs in bundle" in summary
    assert "failed at: step 34, component neutron-l2-agent, host compute2" in summary
    assert f"request    {LOCAL}" in summary
    page = (directory / "report.html").read_text()
    assert "Nothing was created: this is a diagnosis of collected logs, not a run." in page
    assert "it is not in the log of neutron-l2-agent on compute2" in page
    cases = ElementTree.parse(directory / "junit.xml").getroot().iter("testcase")
    assert [case.get("name") for case in cases if case.find("failure") is not None] == ["boot"]
    assert {"flow.svg", "flow.mmd", "flow.puml", "metrics.prom"} <= {path.name for path in directory.iterdir()}
    assert str(bundle.top.parent) not in json.dumps(record)


def test_doubts_and_the_end_of_another_day_are_told_and_old_logs_are_counted(diagnose, call):
    diagnose()
    path = Path(diagnose.result["directory"], "run.json")
    record = json.loads(path.read_text())
    old = [
        {"service": "x", "path": f"old-{number}.log", "complete": False, "first": None, "reason": "w"}
        for number in range(99)
    ]
    record["logs"][0]["sources"] = old
    record["diagnosis"]["warnings"] = ["the clock of compute1 is hours ahead"]
    record["finished"] = record["finished"].replace("2026-11-21", "2026-11-22")
    path.write_text(json.dumps(record))
    template = str(ROLES / "report/templates/report.html.j2")
    summary = call(report, run_dir=str(path.parent), end=False, enforce=False, template=template)["summary"]
    assert sum("old-" in line for line in summary) == 10
    assert "    and 89 more logs" in summary
    assert any(line.startswith("  time ") and "UTC to 2026-11-22T" in line for line in summary)
    assert "the clock of compute1 is hours ahead" in (path.parent / "report.html").read_text()


def test_check_mode_writes_nothing(diagnose, tmp_path):
    assert diagnose(check=True) is None
    assert diagnose.result["verdict"]["result"] == "pass"
    assert not (tmp_path / "diagnoses").exists()


def test_a_missing_library_is_said(call, tmp_path, monkeypatch):
    monkeypatch.setattr(flow_module, "HAS_LIBRARIES", False)
    result = call(diagnosis, bundle={}, flows=[], diagnoses=str(tmp_path))
    assert "jmespath" in result["msg"]


def test_a_bundle_of_another_shape_is_refused_with_the_place(call, bundle, bundle_options, tmp_path):
    options = bundle_options(bundle.write(), server_id=bundle.boot.server)
    read = call(bundle_info, **options)["bundle"]
    about = {"flows": options["flows"], "diagnoses": str(tmp_path / "diagnoses")}
    outcome = call(diagnosis, bundle={**read, "boot": {**read["boot"], "outcome": "gone"}}, **about)
    assert "bundle.boot.outcome: must be one of built, failed, not 'gone'" in outcome["msg"]
    assert "bundle: must be an object with name" in call(diagnosis, bundle={}, **about)["msg"]
    assert not (tmp_path / "diagnoses").exists()


def test_a_folder_that_cannot_be_made_is_said(call, bundle, bundle_options, tmp_path):
    (tmp_path / "file").write_text("")
    options = bundle_options(bundle.write(), server_id=bundle.boot.server)
    read = call(bundle_info, **options)["bundle"]
    result = call(diagnosis, bundle=read, flows=options["flows"], diagnoses=str(tmp_path / "file"))
    assert result["msg"].startswith(f"filing the diagnosis in {tmp_path}/file: Not a directory")


# Boots of the same cloud with a service frozen or stopped. recorded/diagnosed has the lines that have their ids.
DIAGNOSED = RECORDED / "diagnosed"
FAULTS = {
    "nova-compute-frozen": ("req-97acac52-a052-4ce3-99a1-0c9e32af5361", "req-c80ac2c9-e86b-4147-849f-1de4879c45f5"),
    "scheduler-stopped": ("req-152b5eb1-678e-48ac-956c-e7d49d64755d", "req-27b961c5-ef72-42ee-a5ba-6de736baeb7c"),
}
EARLIER = "2026-11-21 12:00:00.000 7 DEBUG oslo_messaging._drivers.amqpdriver [-] AMQPListener connection consume"
API = ("controller1", "nova/nova-api-wsgi.log")


@pytest.fixture
def real(bundle):
    """Return a function that makes the bundle that of a fault; what is asked first of Nova was not recorded."""

    def of(fault):
        request, client = FAULTS[fault]
        moment = (DIAGNOSED / fault / "controller1/var/log/nova/nova-conductor.log").read_text()[11:19]
        first = [line for line in bundle.lines[API] if bundle.boot.request in line and "2026-11-21 14:43:25" in line]
        first = [line.replace("14:43:25", moment).replace(bundle.boot.request, request) for line in first]
        names = ("nova-compute", "nova-conductor", "nova-scheduler")
        hosts = [("compute1", "compute2"), ("controller1",), ("controller1",)]
        bundle.lines = {
            (host, f"nova/{name}.log"): [EARLIER] for name, workers in zip(names, hosts) for host in workers
        }
        bundle.lines[API] = [EARLIER, *(line.replace(bundle.boot.client, client) for line in first)]
        for path in sorted((DIAGNOSED / fault).rglob("*.log")):
            host, _var, _log, *rest = path.relative_to(DIAGNOSED / fault).parts
            key = (host, "/".join(rest))
            bundle.add(*key, *([] if key in bundle.lines else [EARLIER]), *path.read_text().splitlines())
        return request

    return of


def test_a_compute_service_that_is_frozen(real, diagnose):
    verdict = diagnose(request_id=real("nova-compute-frozen"))["verdict"]
    assert (verdict["step"], verdict["component"], verdict["host"]) == ("13", "nova-compute", "compute1")


def test_a_scheduler_that_is_stopped(real, diagnose):
    record = diagnose(request_id=real("scheduler-stopped"))
    verdict = record["verdict"]
    assert (verdict["step"], verdict["component"], verdict["host"]) == ("8", "nova-scheduler", "controller1")
    assert "oslo_messaging.exceptions.MessagingTimeout" in {error["exception"] for error in record["errors"]}
    assert record["diagnosis"]["boot"]["outcome"] == "failed"


def test_a_pass_lists_the_errors_that_were_read_and_accuses_no_component(diagnose, bundle):
    later = error(50.0, "nova.exception.LateError: a", context="-", hour="20:14")
    bundle.add(*COMPUTE, error(41.0, "nova.exception.EarlyError: a", context="-"), later)
    verdict = diagnose()["verdict"]
    assert (verdict["result"], verdict["component"]) == ("pass", None)
    assert (
        "Errors were logged in that time: nova-compute (compute2): nova.exception.EarlyError; "
        f"nova-compute (compute2): nova.exception.LateError. {AGAIN}"
    ) in verdict["reason"]


def test_a_warning_does_not_make_a_boot_fail(diagnose, bundle):
    bundle.add(*COMPUTE, error(41.0, f"{INSTANCE} It timed out", level="WARNING"))
    record = diagnose()
    assert [error["severity"] for error in record["errors"]] == ["warning"]
    assert record["verdict"]["result"] == "pass"


def test_what_is_in_the_way_of_a_boot_is_no_fault_of_the_one_who_reports_it(diagnose, bundle):
    bundle.stop("14:43:32.900")
    there = "libvirt.libvirtError: operation failed: domain 'instance-7' already exists with uuid 28f81a63"
    bundle.add(*COMPUTE, error(33.5, f"{INSTANCE} {SPAWN.format(there)}"))
    verdict = diagnose()["verdict"]
    assert (verdict["result"], verdict["component"]) == ("fail", None)
    assert "already exists" in verdict["reason"]


UNUSABLE = "nova.exception.InternalError: Unsupported VIF type unbound convert '_nova_to_osvif_vif_unbound'"


def test_a_value_that_cannot_be_used_names_the_one_who_sent_it(diagnose, bundle):
    bundle.stop("14:43:32.900")
    bundle.add(*COMPUTE, error(33.5, f"{INSTANCE} {SPAWN.format(UNUSABLE)}"))
    assert diagnose()["verdict"]["component"] == "neutron-server"


def test_a_subnet_without_room_accuses_no_component_and_is_quoted(diagnose, bundle):
    bundle.stop("14:43:32.900")
    full = "nova.exception.NoMoreFixedIps: No fixed IP addresses available for network: x"
    bundle.add(*COMPUTE, error(33.5, f"{INSTANCE} {SPAWN.format(full)}"))
    verdict = diagnose()["verdict"]
    assert (verdict["result"], verdict["component"]) == ("fail", None)
    assert "No fixed IP addresses available" in verdict["reason"]


def test_a_password_that_sudo_asks_for_lies_on_the_host_of_who_called_it(diagnose, bundle):
    bundle.stop("14:43:32.900")
    bundle.add(*COMPUTE, error(33.4, f"{INSTANCE} plug failed: sudo: a password is required", level="WARNING"))
    bundle.add(*COMPUTE, error(33.5, f"{INSTANCE} {SPAWN.format('Exception: Unexpected error')}"))
    verdict = diagnose()["verdict"]
    assert (verdict["component"], verdict["host"]) == ("nova-compute", "compute2")
    assert "sudo: a password is required" in verdict["quote"]
