# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in logs: of each leave the host how it failed, the class of its exception, and a line without secrets."""

from __future__ import annotations

import json
import time

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.scan import Scan
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.wanted import Wanted
from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import api
from ansible_collections.stackproof.provision.plugins.module_utils._match import events, follow
from ansible_collections.stackproof.provision.plugins.module_utils._match.logged_errors import MOST_ERRORS, errors_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event

SERVER, BOOT = "593bff83-ecde-4bff-b038-2774dcc49b76", "req-03b40d4a-6468-4371-a2d5-864347bcb436"
OTHER = "req-99999999-6468-4371-a2d5-864347bcb436"
STAMP, NOON = "2026-11-21 12:00:00.000", 1795262400.0
SECRETS = {
    "token": "gAAAAABpIFvSecretTokenOfSomebody_x-y",
    "password": "correct-horse-Battery7Error",
    "user data": "I2Nsb3VkLWNvbmZpZwpwYXNzd29yZDogaHVudGVyMg==",
    "signature": "temp_url_sig=0123456789abcdef0123456789abcdef01234567",
    "escape": "\x1b]0;pwned\x07\x1b[2J\x1b[31m",
    "mail": "somebody@example.org",
}


def error(message, context=f"{BOOT} {OTHER} u p", logger="nova.compute.manager", stamp=STAMP, pid="171"):
    where = f" [{context}] " if context is not None else " "
    return f"{stamp} {pid} ERROR {logger}{where}{message}"


def scan(*lines, service="nova-compute", **wanted):
    keys = {"server": [SERVER], "request": [BOOT]}
    asked = {"phrases": [], "windows": [], "since": NOON - 300, "began": NOON - 30, "until": NOON + 30, "errors": True}
    scanner = Scan(from_json(Wanted, {"keys": keys, **asked, **wanted}), 0)
    scanner.take(service, ((None, line) for line in lines), 0)
    return [event.to_json() for event in scanner.events]


def filed(*lines, **wanted):
    """The text that these lines put into the record and into the file of events, and the errors."""
    logs = {"compute1": {"events": scan(*lines, **wanted), "addresses": [], "sources": []}}
    run = events.context_of(as_json.typed({}), {"log": logs})
    logged = events.of_source("log", run, logs)
    errors = to_json(errors_of(logged))
    return json.dumps([logs, errors, list(follow.lines(logged))]), errors


def classes(*lines):
    return [(raised["logger"], raised["exception"]) for raised in filed(*lines)[1]]


NOVA = "nova.compute.manager"
TODAY = [
    error("Instance failed to spawn: libvirt.libvirtError: internal error"),
    error("Traceback (most recent call last):", f"instance: {SERVER}"),
    error('  File "/usr/lib/python3/dist-packages/nova/compute/manager.py", line 2845', f"instance: {SERVER}"),
    error("    raise exception.VirtualInterfaceCreateException()", f"instance: {SERVER}"),
    error("nova.exception.VirtualInterfaceCreateException: Virtual Interface creation failed", f"instance: {SERVER}"),
    error("", f"instance: {SERVER}"),
]
# Lines of an error of a lab's nova-compute that waited for a conductor in vain; the middle was taken out.
PERIODIC = [
    error(
        "Error during ComputeManager.update_available_resource: oslo_messaging.exceptions.MessagingTimeout: Timed out",
        "None req-a2a5b2f4-1f30-419e-9d5d-6fad755bfb6e - - - - - -",
        "oslo_service.periodic_task",
    ),
    error("Traceback (most recent call last):", None, "oslo_service.periodic_task"),
    error("    raise oslo_messaging.MessagingTimeout(", None, "oslo_service.periodic_task"),
    error("           ~~~~~^^^^", None, "oslo_service.periodic_task"),
    error("oslo_messaging.exceptions.MessagingTimeout: Timed out waiting", None, "oslo_service.periodic_task"),
    error("", None, "oslo_service.periodic_task"),
]
NEUTRON = [
    error("Failed reporting state!", "None req-a2a5b2f4-1f30-419e-9d5d-6fad755bfb6e - - - - - -", "neutron.agent.dhcp"),
    error("Traceback (most recent call last):", None, "neutron.agent.dhcp"),
    error("neutron_lib.exceptions.ProcessExecutionError: Exit code: 1; Cmd: ['x']", None, "neutron.agent.dhcp"),
]
# Before Train a class was written without its module, and before Pike without the global id of the request.
OLDER = [
    error("Error updating resources for node compute1.: MessagingTimeout: Timed out", f"{OTHER} - - - - -"),
    error("Traceback (most recent call last):", None),
    error("MessagingTimeout: Timed out waiting for a reply to message ID 0a1b", None),
]
PYTHON2 = [
    error("Failed to start libvirt guest: libvirtError: cannot set up guest memory", f"{BOOT} u p - - -"),
    error("TypeError: 'NoneType' object is not iterable", None),
]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (TODAY, [(NOVA, "nova.exception.VirtualInterfaceCreateException")]),
        (PERIODIC, [("oslo_service.periodic_task", "oslo_messaging.exceptions.MessagingTimeout")]),
        (NEUTRON, [("neutron.agent.dhcp", "neutron_lib.exceptions.ProcessExecutionError")]),
        (OLDER, [(NOVA, "MessagingTimeout")]),
        (PYTHON2, [(NOVA, "TypeError")]),
        ([error("it is broken")], [(NOVA, None)]),
        ([error("x").replace("ERROR", "CRITICAL")], [(NOVA, None)]),
        ([error("x").replace("ERROR", "WARNING")], []),
        ([error("nova.exception.NotFound: x").replace("ERROR", "TRACE")], []),
    ],
)
def test_an_error_and_its_traceback_are_one_error(lines, expected):
    assert classes(*lines) == expected


@pytest.mark.parametrize("lines", [TODAY, PERIODIC, PYTHON2])
def test_an_entry_of_the_journal_may_have_a_whole_traceback(lines):
    assert filed("\n".join(lines)) == filed(*lines)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("nova.exception_Remote.NoValidHost_Remote: No valid host was found.", "nova.exception_Remote.NoValidHost"),
        ("Failed to schedule instances: nova.exception.NoValidHost: none", "nova.exception.NoValidHost"),
        ("ldap.SERVER_DOWN: {'result': -1, 'desc': \"Can't contact LDAP server\"}", "ldap.SERVER_DOWN"),
        ("x: rados.TimedOut: [errno 110] RADOS timed out", "rados.TimedOut"),
        ("x: oslo_messaging.exceptions.MessageUndeliverable", "oslo_messaging.exceptions.MessageUndeliverable"),
        ("failed to spawn: nova.exception.InvalidMachineType: 'pc-1' is not", "nova.exception.InvalidMachineType"),
        ("x: cinder.exceptions.ImageTooBig: no", "cinder.exceptions.ImageTooBig"),
        ("x: nova.exception.gAAAAABoT-1: a word that is no name", None),
        ("x: rbd.ImageNotFound: [errno 2] RBD image not found", "rbd.ImageNotFound"),
        ("x <class 'a'>: <HttpException: 503>", "HttpException"),
        ("a.FirstError: no: b.SecondError: yes", "b.SecondError"),
        ("AMQP server on 10.0.0.1:5672 is unreachable: <RecoverableConnectionError: x>", "the queue is unreachable"),
        ("Connection failed: [Errno 111] ECONNREFUSED (retrying in 2.0 seconds)", "the queue is unreachable"),
        (
            "Failed to schedule instances: oslo_messaging.rpc.client.RemoteError: Remote error: EndpointNotFound "
            "['internal', 'public'] endpoint for placement service in RegionOne region not found",
            "EndpointNotFound",
        ),
        ("nothing of the kind", None),
        ("", None),
        ("an Error happened", None),
    ],
)
def test_the_class_of_an_exception(message, expected):
    assert line_formats.exception_in(message) == expected


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "form",
    [
        "Authorization failed for token: {}",
        "{}",
        "{}: refused",
        "password={}: Failed: {}",
        "nova.exception.NotFound: {}: nothing",
        "x: {}.Error: {}Error",
        "GET /v2.1/x?token={} failed: {}",
        "[instance: {}] failed",
    ],
)
def test_no_secret_of_an_error_leaves_it(secret, form):
    message = form.replace("{}", secret)
    lines = [error(message), error(message, None), error("    " + message, None), error(message, f"{secret} {BOOT}")]
    text, errors = filed(*lines)
    assert errors
    for part in (secret, json.dumps(secret)[1:-1], secret[4:-4]):
        assert part not in text
    assert "\x1b" not in text
    assert "u001b" not in text


@pytest.mark.parametrize("secret", [SECRETS["token"], SECRETS["user data"], SECRETS["escape"]])
def test_what_is_no_name_of_a_logger_is_no_error(secret):
    assert secret[:20] not in filed(error("x", logger=f"{secret}=="))[0]
    assert filed(error("x", logger="a" * 200)) == filed()


@pytest.mark.parametrize("context", [f"{BOOT} u p", None])
def test_a_megabyte_in_an_error_takes_no_time_and_no_room(context):
    for filling in ("x", "a.", ": ", "Error", "\x1b[", "a" * 39 + "."):
        long = error(filling * (1024 * 1024 // len(filling)), context)
        before = time.process_time()
        text, errors = filed(long, long)
        assert time.process_time() - before < 1
        assert (len(errors), len(text) < 2000) == (1, True)


def test_errors_are_read_only_where_they_are_wanted():
    assert scan(error("x"), errors=False) == []
    assert [event["kind"] for event in scan(error("x"))] == ["error"]


def test_an_error_that_names_the_run_is_keyed_and_another_is_not():
    assert [raised["own"] for raised in filed(error("x"))[1]] == [True]
    assert [raised["own"] for raised in filed(error("x", f"{OTHER} u p"))[1]] == [False]


def test_a_line_of_its_traceback_makes_an_error_ours():
    lines = [error("x", f"{OTHER} u p"), error("y", f"instance: {SERVER}")]
    assert [raised["own"] for raised in filed(*lines)[1]] == [True]


@pytest.mark.parametrize(
    "other",
    [
        error("y", stamp="2026-11-21 12:00:00.200"),
        error("y", logger="nova.virt.libvirt.driver"),
        error("y", pid="172"),
    ],
)
def test_another_time_logger_or_process_is_another_error(other):
    assert len([event for event in scan(error("x"), other) if event["kind"] == "error"]) == 2


@pytest.mark.parametrize(("moment", "count"), [("11:59:00", 0), ("11:59:29", 1), ("12:00:31", 1), ("12:00:40", 0)])
def test_errors_of_before_and_after_the_run_are_no_matter(moment, count):
    assert len(scan(error("x", stamp=f"2026-11-21 {moment}.000", context="-"))) == count


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("/usr/lib/python3/dist-packages/neutronclient/v2_0/client.py", "neutronclient.v2_0.client"),
        ("/usr/lib/python2.7/site-packages/cinderclient/client.py", "cinderclient.client"),
        ("/opt/stack/nova/nova/network/neutron.py", "nova.network.neutron"),
        ("/opt/stack/data/venv/lib/python3.13/site-packages/libvirt.py", "libvirt"),
        # Of another place nothing is told: its name could be anything.
        ("/home/somebody/secret/thing.py", "nova.compute.manager"),
    ],
)
def test_the_module_of_the_innermost_frame_is_told(path, module):
    lines = [*TODAY[:3], error(f'  File "{path}", line 42, in _do', f"instance: {SERVER}"), *TODAY[3:]]
    assert [raised["raised_in"] for raised in filed(*lines)[1]] == [module]


def test_the_same_error_is_told_once_with_its_number():
    lines = [error("a.SomeError: x", stamp=f"2026-11-21 12:00:{second:02}.000") for second in range(5)]
    (only,) = filed(*lines)[1]
    assert only == {
        "service": "nova-compute",
        "host": "compute1",
        "logger": NOVA,
        "exception": "a.SomeError",
        "raised_in": None,
        "how": None,
        "peer": None,
        "peer_address": None,
        "mentions": [],
        "quote": "a.SomeError: x",
        "own": True,
        "at": "2026-11-21T12:00:00.000000+00:00",
        "count": 5,
        "usual": None,
    }


def test_a_flood_of_errors_is_cut():
    lines = [error("x", logger=f"a.logger{number}") for number in range(MOST_ERRORS + 50)]
    assert len(filed(*lines)[1]) == MOST_ERRORS


def test_an_error_of_the_run_is_kept_in_any_flood():
    lines = [error("x", "-", logger=f"a.logger{number}") for number in range(MOST_ERRORS + 50)]
    kept = filed(*lines, error("nova.exception.NotFound: x", f"instance: {SERVER}"))[1]
    assert [entry["exception"] for entry in kept if entry["own"]] == ["nova.exception.NotFound"]


def test_without_errors_there_are_none():
    assert errors_of([]) == ()


FILTERED = (
    f"{STAMP} 171 INFO nova.filters [{BOOT} {OTHER} u p] Filtering removed all hosts for the request with instance ID "
    f"'{SERVER}'. Filter results: ['ComputeFilter: (start: 2, end: 2)', "
    "'ServerGroupAntiAffinityFilter: (start: 2, end: 0)']"
)
OF_CINDER = (
    f"{STAMP} 171 INFO cinder.scheduler.base_filter [{BOOT} {OTHER} u p] Filtering removed all hosts for the request "
    f"with volume ID '{SERVER}'. Filter results: AvailabilityZoneFilter: (start: 24, end: 0), "
    "CapacityFilter: (start: 0, end: 0)"
)


@pytest.mark.parametrize(
    ("line", "filters"),
    [
        (FILTERED, [("ComputeFilter", 2, 2), ("ServerGroupAntiAffinityFilter", 2, 0)]),
        (OF_CINDER, [("AvailabilityZoneFilter", 24, 0), ("CapacityFilter", 0, 0)]),
    ],
)
def test_filters_of_a_scheduler_that_left_no_host_are_kept(line, filters):
    (found,) = filed(line)[1]
    assert [(result["filter"], result["start"], result["end"]) for result in found["filters"]] == filters
    assert (found["own"], found["exception"]) == (True, None)


def test_errors_have_no_filters():
    assert "filters" not in filed(error("x"))[1][0]


@pytest.mark.parametrize("level", ["DEBUG", "WARNING"])
def test_filters_are_read_from_the_line_that_any_scheduler_logs(level):
    assert filed(FILTERED.replace("INFO", level))[1] == []


NEUTRON_BINDING = "neutron.plugins.ml2.managers"
FRAME = '  File "/usr/lib/python3/dist-packages/oslo_messaging/_drivers/amqpdriver.py", line 433, in get'
CODE = "    return self.waiter.wait(timeout=timeout, database=database)"


@pytest.mark.parametrize("context", [None, f"instance: {SERVER}"])
def test_files_and_source_code_of_a_traceback_are_no_evidence(context):
    lines = [error(text, context) for text in ("Traceback (most recent call last):", FRAME, CODE, "ValueError: bad")]
    (raised,) = filed(error("It is broken"), *lines)[1]
    assert (raised["how"], raised["peer"], raised["mentions"], raised["quote"]) == (None, None, [], "ValueError: bad")
    assert (raised["exception"], raised["raised_in"]) == ("ValueError", "oslo_messaging._drivers.amqpdriver")


def test_a_traceback_that_was_sent_back_in_a_message_is_no_evidence():
    frames = f"['Traceback (most recent call last):\\n', '{FRAME}\\n{CODE}\\n', 'ValueError: bad\\n']"
    (raised,) = filed(error(f"It failed there: {frames}"))[1]
    assert (raised["how"], raised["mentions"]) == (None, [])
    assert "ValueError: bad" in raised["quote"]
    assert "amqpdriver" not in raised["quote"]
    assert raised["raised_in"] == "oslo_messaging._drivers.amqpdriver"


def test_what_a_command_printed_is_a_part_of_its_failure():
    lines = ["ProcessExecutionError: Unexpected error while running command.", "Exit code: 1", "Stdout: ''"]
    printed = "Stderr: 'sudo: a password is required'"
    (raised,) = filed(error("No"), *(error(line, None) for line in (*lines, printed)))[1]
    assert (raised["exception"], raised["how"]) == ("ProcessExecutionError", "denied")
    assert "sudo" in raised["quote"]
    (raised,) = filed(error("No"), *(error(line, None) for line in (*lines, "Stderr: ''")))[1]
    assert raised["quote"] == lines[0]


def test_the_host_of_a_command_that_failed_there_is_in_a_line_of_the_traceback():
    lines = ("ProcessExecutionError: Unexpected error while running command.", "Command: ssh 10.0.0.9 mkdir -p /x")
    (raised,) = filed(error("No"), *(error(line, None) for line in lines))[1]
    assert (raised["peer"], raised["peer_address"]) == (None, "10.0.0.9")


DEAD = (
    "Refusing to bind port af65584b to dead agent: {'admin_state_up': True, 'binary': 'neutron-openvswitch-agent',"
    " 'host': 'compute1'}"
)


def warning(message, context=f"{BOOT} {OTHER} u p", **more):
    return error(message, context, **more).replace("ERROR", "WARNING")


def test_a_warning_of_the_run_that_reports_a_failure_is_read():
    (raised,) = filed(warning(DEAD, logger=NEUTRON_BINDING), service="neutron-server")[1]
    assert (raised["severity"], raised["how"], raised["peer"]) == ("warning", "silent", "neutron-l2-agent")
    assert raised["own"]
    assert "Refusing to bind" in raised["quote"]


@pytest.mark.parametrize(
    "line",
    [
        warning(DEAD, f"{OTHER} u p"),
        warning("The option is deprecated"),
        # oslo.log adds the exception that is being handled.
        warning("The option is deprecated: nova.exception.InstanceNotFound: x"),
        warning(DEAD, stamp="2026-11-21 11:00:00.000"),
    ],
)
def test_a_warning_of_others_and_one_that_reports_no_failure_is_not_read(line):
    assert filed(line)[1] == []


def test_an_error_has_no_severity_in_a_record():
    assert "severity" not in filed(error("x"))[1][0]


@pytest.mark.parametrize(
    "lines", [PERIODIC, [error("Error updating resources for node c1.: ValueError: x", f"{BOOT} - -")]]
)
def test_an_error_of_periodic_work_is_not_that_of_the_request_whose_id_it_has(lines):
    (raised,) = filed(*(line.replace("None req-a2a5b2f4-1f30-419e-9d5d-6fad755bfb6e", BOOT) for line in lines))[1]
    assert raised["own"] is False


def test_a_traceback_through_the_periodic_tasks_makes_an_error_one_of_theirs():
    frame = '  File "/usr/lib/python3/dist-packages/oslo_service/periodic_task.py", line 222, in run_periodic_tasks'
    lines = [error("It failed"), *(error(text, None) for text in (frame, CODE, FRAME, CODE, "ValueError: x"))]
    assert [raised["own"] for raised in filed(*lines)[1]] == [False]


@pytest.mark.parametrize(
    "message",
    [
        "sudo: a password is required",
        "oslo_privsep.daemon.FailedToDropPrivileges: privsep helper command exited: permission denied",
        "[Errno 13] Permission denied: '/var/lib/nova/instances/rabbit'",
        "open: EACCES, asked by neutron",
        'sysctl: permission denied on key "net.ipv4.ip_forward" for neutron',
        "unable to find a keyring on /etc/ceph/ceph.client.x.keyring: (13) Permission denied",
    ],
)
def test_what_a_service_may_not_do_on_its_own_host_lies_there(message):
    (raised,) = filed(error(message))[1]
    assert (raised["peer"], raised["mentions"], raised["how"]) == ("nova-compute", [], "denied")


@pytest.mark.parametrize(
    ("message", "is_there"),
    [
        ("unable to connect to server at 'compute2:16509': Connection refused", True),
        ("operation failed: migration job: unexpectedly failed", True),
        ("authentication failed: authentication failed", True),
        (
            "Hook script execution failed: internal error: Child process (LC_ALL=C /etc/libvirt/hooks/qemu i-3 migrate "
            "begin -) unexpected exit status 1",
            True,
        ),
        # What libvirt of the other host could not start, define or plug in
        ("internal error: process exited while connecting to monitor: unsupported machine type 'pc-q35-8.2'", True),
        ("operation failed: guest CPU doesn't match specification: missing features: vmx", True),
        ("unsupported configuration: guest and host CPU are not compatible", True),
        ("internal error: Unable to add port tap1 to OVS bridge br-int", True),
        ("operation failed: domain 'instance-1' is already defined with uuid 1", True),
        ("internal error: process exited while connecting to monitor: Failed to bind socket: Cannot assign it", True),
        # What the source's own libvirt does not allow, its files and names
        ("internal error: State blocked by non-migratable CPU device", False),
        ("unsupported configuration: VIR_MIGRATE_PARALLEL requires peer-to-peer migration", False),
        ("Failed to connect to remote libvirt URI qemu+tls://c2/system: Cannot read CA certificate '/x.pem'", False),
        ("unable to connect to server: Unable to resolve address 'c2' service '16509': Name not known", False),
        ("Failed to connect socket to '/var/run/libvirt/libvirt-sock': Connection refused", False),
        ("Requested operation is not valid: domain is not running", False),
        ("internal error: State blocked by non-migratable device '0000:00:03.0/qxl'", False),
    ],
)
def test_an_error_may_be_about_the_host_to_which_a_server_is_moved(message, is_there):
    _text, (found,) = filed(error(f"[instance: {SERVER}] Live Migration failure: {message}"))
    assert found.get("at_destination", False) is is_there


@pytest.mark.parametrize(
    "message",
    ["Migration operation has aborted", "Live Migration failure: operation aborted: migration out: canceled by client"],
)
def test_an_error_that_only_follows_another_is_none(message):
    assert filed(error(f"[instance: {SERVER}] {message}"))[1] == []


def test_what_the_host_of_a_move_cannot_take_is_no_wrong_request():
    message = "Live Migration failure: unsupported configuration: guest and host CPU are not compatible"
    (found,) = filed(error(f"[instance: {SERVER}] {message}"))[1]
    assert found["how"] == "error"


REASON = "not able to execute ssh command: Command: ssh 10.0.0.9 Stderr: 'Permission denied (publickey)'"


def of_journey(event="compute_resize_instance", **failed):
    event = {"event": event, "finish_time": "2026-11-21T10:00:05.000000", "result": "Error", **failed}
    leg = {"operation": "migrate", "status": "failed", "request_id": BOOT, "failed": event}
    stage = as_json.stage("journey", "failed", details={"legs": [leg]})
    host = as_json.host("node-2", facts={"names": ["compute2"]})
    return as_json.typed({"stages": [stage], "hosts": [host]})


def errors_in(record, *logged):
    return errors_of([*api.from_failed_legs(record), *logged])


def test_what_nova_says_of_an_event_that_failed_is_an_error_of_its_host():
    (found,) = errors_in(of_journey(host="compute2", error=REASON))
    assert (found.service, found.host, found.how, found.own) == ("nova-compute", "node-2", "denied", True)


@pytest.mark.parametrize(
    "known",
    [
        {"host": "compute2"},
        {"error": REASON},
        {"host": "compute2", "error": REASON, "finish_time": None},
        # nova-conductor passes on what it was answered, and is on another host.
        {"host": "compute2", "error": REASON, "event": "cold_migrate"},
    ],
)
def test_of_an_event_that_says_too_little_nothing_is_known(known):
    assert errors_in(of_journey(**known)) == ()


@pytest.mark.parametrize(("later_s", "loggers"), [(4.0, ["a.b"]), (90.0, ["os-instance-actions", "a.b"])])
def test_what_the_service_has_logged_by_then_stands_alone(later_s, loggers):
    record = of_journey(host="compute2", error=REASON)
    (failed,) = api.from_failed_legs(record)
    fields = {"logger": "a.b"}
    own = Event(failed.at + later_s, "nova-compute", "error", host="node-2", keys={"request": [BOOT]}, fields=fields)
    assert [found.logger for found in errors_in(record, own)] == loggers
