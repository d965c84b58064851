# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsing log lines, on lines of real logs in every format."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import line_formats, line_messages
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json

BOOT, LOCAL = "req-03b40d4a-6468-4371-a2d5-864347bcb436", "req-cde46fff-5e77-4a4c-ac81-ad543be792ff"
SERVER, IMAGE = "593bff83-ecde-4bff-b038-2774dcc49b76", "eb3db05b-1d3f-4163-b31d-ef1538244a5b"
WHO = "f209fb367c3a451e88183a0f6c4188e4 94b64eb11bf148c5b5b96b2e972f44df - - default default"
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
KOLKATA = 19800


def at(*words):
    return datetime(*words, tzinfo=UTC).timestamp()


def parse(line, near=NOON, zone=0):
    """The fields of a line that are set; None for a line without a format."""
    parsed = line_formats.parse(line, near, zone)
    if parsed is None:
        return None
    fields = {
        **parsed._asdict(),
        "requests": list(parsed.requests),
        "http": to_json(parsed.http),
        "queue": to_json(parsed.queue),
    }
    return {name: value for name, value in fields.items() if value is not None or name == "at"}


def oslo(message, logger="nova.compute.manager", level="DEBUG", context=f"{BOOT} {LOCAL} {WHO}"):
    return f"2026-11-21 14:43:25.787 1914 {level} {logger} [{context}] {message}"


def amqp(message, logger="oslo_messaging._drivers.amqpdriver", **more):
    return parse(oslo(f"{message} _send /usr/lib/python3/x.py:735", logger, **more))


def test_a_line_of_oslo_log_with_a_global_request_id_names_both_requests():
    assert parse(oslo("Starting instance... _do_build /usr/lib/x.py:1")) == {
        "at": at(2026, 11, 21, 14, 43, 25, 787000),
        "resolution_s": 0.001,
        "level": "debug",
        "failed": False,
        "warned": False,
        "logger": "nova.compute.manager",
        "requests": [BOOT, LOCAL],
        "process": "1914",
        "text": "Starting instance... _do_build /usr/lib/x.py:1",
        "kind": "line",
    }


@pytest.mark.parametrize(
    ("context", "requests"),
    [
        (f"None {LOCAL} {WHO}", [LOCAL]),
        (f"{BOOT} {LOCAL} {WHO}", [BOOT, LOCAL]),
        ("-", []),
        (f"{BOOT}0 {WHO}", [BOOT]),
        ("None req-short - -", []),
    ],
)
def test_requests_of_a_line_are_those_of_its_context(context, requests):
    assert parse(oslo(f"says {SERVER}", context=context))["requests"] == requests


@pytest.mark.parametrize(
    ("written", "logger", "level"),
    [
        ("DEBUG", "nova.compute.manager", "debug"),
        ("TRACE", "nova", "debug"),
        ("INFO", "nova", "info"),
        ("WARNING", "nova", "info"),
        ("ERROR", "nova", "info"),
        ("CRITICAL", "nova", "info"),
        ("DEBUG", "oslo_messaging._drivers.amqpdriver", "messaging"),
        ("DEBUG", "oslo.messaging._drivers.impl_rabbit", "messaging"),
        ("ERROR", "oslo.messaging._drivers.impl_rabbit", "info"),
        ("DEBUG", "oslo_messaging_not", "debug"),
        ("DEBUG", "oslo_concurrency.lockutils", "debug"),
    ],
)
def test_the_level_says_what_must_be_set_to_have_the_line(written, logger, level):
    assert parse(oslo("a", logger, written))["level"] == level


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("2026-11-21 14:43:25.787", at(2026, 11, 21, 14, 43, 25, 787000)),
        ("2026-11-21 14:43:25,787", at(2026, 11, 21, 14, 43, 25, 787000)),
        ("2026-11-21T14:43:25.787123", at(2026, 11, 21, 14, 43, 25, 787123)),
    ],
)
def test_the_time_of_oslo_log_has_three_digits_or_six(stamp, moment):
    assert parse(f"{stamp} 7 INFO nova [-] a")["at"] == moment


def test_a_time_in_another_zone():
    line = "2026-11-21 20:13:46.794 820 INFO nova [-] a"
    assert parse(line, zone=KOLKATA)["at"] == at(2026, 11, 21, 14, 43, 46, 794000)
    assert parse(line, zone=-3600)["at"] == at(2026, 11, 21, 21, 13, 46, 794000)


def test_a_line_of_devstacks_journal_has_colours_and_no_time():
    line = (
        f"\x1b[00;32mDEBUG nova.compute.manager [\x1b[01;36m{BOOT} {LOCAL} \x1b[00;36mdemo demo\x1b[00;32m] "
        f"\x1b[01;35m[instance: {SERVER}] \x1b[00;32mStarting instance...\x1b[00m "
        "\x1b[00;33m{{(pid=92) x y.py}}\x1b[00m"
    )
    parsed = parse(line)
    assert (parsed["at"], parsed["level"], parsed["requests"]) == (None, "debug", [BOOT, LOCAL])
    assert parsed["text"].startswith(f"[instance: {SERVER}] Starting instance... ")
    assert "\x1b" not in parsed["text"]


UWSGI = (
    "[pid: 1974|app: 0|req: 5/9] 10.71.16.254 () {36 vars in 745 bytes} [Sat Nov 21 14:43:22 2026] "
    "POST /v2.1/servers => generated 403 bytes in 3146 msecs (HTTP/1.1 202) 9 headers in 427 bytes"
)
APACHE = (
    '10.71.16.254 - - [21/Nov/2026:15:43:22 +0100] "GET /identity/v3/auth/tokens HTTP/1.1" 200 4910 "-" '
    '"openstacksdk/4.22.0 keystoneauth1/5.18.1"'
)
RGW = (
    '{"bucket":"glance","time":"2026-11-21T14:39:22.771696Z","time_local":"2026-11-21T14:39:22.771696+0000",'
    '"remote_addr":"10.71.16.12","user":"20b9b5b6","operation":"put_obj","uri":"PUT /swift/v1/AUTH_20b9/glance/811013db'
    ' HTTP/1.1","http_status":"201","error_code":"Created","bytes_sent":0,"total_time":3307,"temp_url":false}'
)


def test_a_request_in_the_log_of_uwsgi_has_the_second_at_which_it_came():
    parsed = parse(UWSGI)
    assert (parsed["at"], parsed["resolution_s"], parsed["level"], parsed["requests"]) == (
        at(2026, 11, 21, 14, 43, 22),
        1,
        "info",
        [],
    )
    assert parsed["http"] == {
        "method": "POST",
        "path": "/v2.1/servers",
        "status": 202,
        "client": "10.71.16.254",
        "seconds": 3.146,
        "began": True,
    }


def test_a_request_in_the_log_of_apache_says_its_zone():
    parsed = parse(APACHE, zone=KOLKATA)
    assert (parsed["at"], parsed["resolution_s"], parsed["kind"]) == (at(2026, 11, 21, 14, 43, 22), 1, "http")
    assert parsed["http"] == {
        "method": "GET",
        "path": "/identity/v3/auth/tokens",
        "status": 200,
        "client": "10.71.16.254",
        "seconds": None,
        "began": True,
    }


@pytest.mark.parametrize("line", [RGW, RGW + ",", RGW + "\n"])
def test_an_operation_of_the_object_gateway(line):
    parsed = parse(line, zone=KOLKATA)
    assert (parsed["at"], parsed["text"]) == (
        at(2026, 11, 21, 14, 39, 22, 771696),
        "put_obj /swift/v1/AUTH_20b9/glance/811013db",
    )
    assert parsed["http"] == {
        "method": "PUT",
        "path": "/swift/v1/AUTH_20b9/glance/811013db",
        "status": 201,
        "client": "10.71.16.12",
        "seconds": None,
    }


@pytest.mark.parametrize(
    "line",
    ["{", "{}", '{"time": 5}', RGW[:-30], RGW.replace("PUT /swift/v1/AUTH_20b9/glance/811013db HTTP/1.1", "PUT")],
)
def test_json_that_is_no_operation_is_nothing(line):
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "moment", "resolution", "text"),
    [
        (
            "2026-11-21T14:39:55.925536+0000 mon.a (mon.0) 128 : audit [DBG] from='client.? 10.71.16.14:0/34' "
            'cmd=[{"prefix": "mon dump", "format": "json"}]: dispatch',
            at(2026, 11, 21, 14, 39, 55, 925536),
            0.001,
            "mon.a (mon.0) 128",
        ),
        (
            "2026-11-21T14:43:43.557Z|00116|bridge|INFO|bridge br-int: added interface tapaf65584b-27 on port 2",
            at(2026, 11, 21, 14, 43, 43, 557000),
            0.001,
            "00116|bridge|INFO|bridge br-int: added interface",
        ),
        (
            "Nov 21 14:44:26 dnsmasq-dhcp[1195]: read /var/lib/neutron/dhcp/e565ba2a/host",
            at(2026, 11, 21, 14, 44, 26),
            1,
            "dnsmasq-dhcp[1195]: read",
        ),
        ("2026-11-21 15:43:43+01:00 host slapd[9]: x", at(2026, 11, 21, 14, 43, 43), 1, "host slapd[9]"),
    ],
    ids=["ceph's audit", "Open vSwitch", "dnsmasq", "whole seconds"],
)
def test_a_line_that_begins_with_a_time(line, moment, resolution, text):
    parsed = parse(line)
    assert (parsed["at"], parsed["resolution_s"], parsed["kind"], parsed["level"]) == (
        moment,
        resolution,
        "line",
        "info",
    )
    assert parsed["text"].startswith(text)


def http_of(message, logger="x.requestlog"):
    parsed = parse(oslo(message, logger, "INFO"))
    assert parsed["kind"] == "http"
    return tuple(parsed["http"][name] for name in ("method", "path", "status", "client", "seconds"))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            '10.71.16.254 "POST /v2.1/servers" status: 202 len: 403 microversion: 2.87 time: 3.140214',
            ("POST", "/v2.1/servers", 202, "10.71.16.254", 3.140214),
        ),
        # As wsgi_log_format of Nova and Cinder has it, where eventlet serves them
        (
            '10.71.16.12,10.71.16.254 "POST /v2.1/servers HTTP/1.1" status: 500 len: 403 time: 3.1402140',
            ("POST", "/v2.1/servers", 500, "10.71.16.12", 3.140214),
        ),
        (
            f'10.71.16.12 "GET /allocations/{SERVER}" status: 200 len: 4141 microversion: 1.36',
            ("GET", f"/allocations/{SERVER}", 200, "10.71.16.12", None),
        ),
        (
            f'10.71.16.12 - - [21/Nov/2026 14:39:43] "GET /v2/images/{IMAGE} HTTP/1.1" 200 1257 0.751302',
            ("GET", f"/v2/images/{IMAGE}", 200, "10.71.16.12", 0.751302),
        ),
        (
            '::ffff:10.71.16.12,<local> - - [21/Nov/2026 14:39:43] "GET /v2.0/ports HTTP/1.1" status: 200  len: 9 '
            "time: 0.0200000",
            ("GET", "/v2.0/ports", 200, "10.71.16.12", 0.02),
        ),
        (
            "GET http://10.71.16.12:8776/v3/94b64/volumes/1f49c276",
            ("GET", "/v3/94b64/volumes/1f49c276", None, None, None),
        ),
        (
            "http://10.71.16.12:8776/v3/94b64/volumes/1f49c276 returned with HTTP 200",
            (None, "/v3/94b64/volumes/1f49c276", 200, None, None),
        ),
    ],
    ids=["nova", "nova by eventlet", "placement", "eventlet", "eventlet with a status", "cinder asked", "cinder done"],
)
def test_a_request_in_a_message_of_oslo_log(message, expected):
    assert http_of(message) == expected


@pytest.mark.parametrize(
    "message", ['Starting request: 10.71.16.12 "GET /"', "wsgi starting up on http://0.0.0.0:9292", "GET nothing"]
)
def test_a_message_that_only_speaks_of_a_request_is_none(message):
    assert parse(oslo(message, "placement.requestlog"))["kind"] == "line"


ID, REPLY = "4841ca74b2714d5ab3369d2a71fa72a2", "reply_3c9a0a863a3b450f9cd852797ba60b84"
SERVED = "oslo_messaging.rpc.server"


@pytest.mark.parametrize(
    ("message", "logger", "rpc"),
    [
        (
            "Calling RPC method select_destinations on target scheduler",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "method", "method": "select_destinations", "topic": "scheduler"},
        ),
        (
            f"CAST unique_id: {ID} NOTIFY exchange 'nova' topic 'versioned_notifications.info'",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "notify", "message": ID, "topic": "versioned_notifications.info"},
        ),
        (
            f"CAST unique_id: {ID} exchange 'nova' topic 'compute.compute2'",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "cast", "message": ID, "topic": "compute.compute2"},
        ),
        (
            f"CAST unique_id: {ID} FANOUT topic 'neutron-vo-Port-1.10'",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "cast", "message": ID, "topic": "neutron-vo-Port-1.10"},
        ),
        (
            f"CALL msg_id: {ID} exchange 'nova' topic 'scheduler'",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "call", "message": ID, "topic": "scheduler"},
        ),
        (
            f"received message with unique_id: {ID} __call__",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "received", "message": ID},
        ),
        (
            f"received message msg_id: {ID} reply to {REPLY}",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "received", "message": ID},
        ),
        (
            f"Receive incoming message with id {ID} and method: select_destinations.",
            SERVED,
            {"action": "taken", "message": ID, "method": "select_destinations"},
        ),
        (
            f"sending reply msg_id: {ID} reply queue: {REPLY} time elapsed: 0.7411367550012073s",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "reply", "message": ID},
        ),
        (
            f"Replied success message with id {ID} and method: select_destinations. Time elapsed: 0.741",
            SERVED,
            {"action": "replied", "message": ID, "method": "select_destinations"},
        ),
        (
            f"received reply msg_id: {ID}",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "answered", "message": ID},
        ),
        (
            "received message with unique_id: 0f8fad5b-d9cb-469f-a165-70867728950e",
            "oslo_messaging._drivers.amqpdriver",
            {"action": "received", "message": "0f8fad5b-d9cb-469f-a165-70867728950e"},
        ),
    ],
)
def test_each_thing_that_is_done_with_a_message(message, logger, rpc):
    parsed = amqp(message, logger)
    assert (parsed["kind"], parsed["queue"], parsed["level"]) == ("rpc", rpc, "messaging")


def test_every_action_of_the_code_is_tested():
    actions = {action for action, _pattern in line_messages.RPC}
    assert actions == {
        "method", "notify", "cast", "call", "received", "taken", "reply", "replied", "answered",
    }  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [f"Expecting reply to msg {ID} in queue {REPLY}", "CAST unique_id: x", f"a CALL msg_id: {ID} exchange 'a'"],
)
def test_other_lines_of_messaging_are_lines(message):
    assert amqp(message)["kind"] == "line"


def test_a_service_that_quotes_messaging_sends_nothing():
    assert parse(oslo(f"CALL msg_id: {ID} exchange 'nova' topic 'scheduler'", "nova.api"))["kind"] == "line"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  warnings.warn('Policy enforcement is depending on the value of '",
        "Traceback (most recent call last):",
        "2026-11-21 14:43:25.787 no level",
        "==> /var/log/nova/nova-api.log <==",
    ],
)
def test_a_line_without_a_time_is_nothing(line):
    assert parse(line) is None


def test_the_start_of_a_uwsgi_process_has_a_time():
    event = parse("*** Starting uWSGI 2.0.28-debian (64bit) on [Sat Nov 21 14:38:26 2026] ***")
    assert (event["kind"], event["resolution_s"]) == ("line", 1)


@pytest.mark.parametrize(
    "line",
    [
        "2026-99-21 14:43:25.787 1914 INFO nova [-] a",
        "2026-11-21T23:59:60.123Z|00116|bridge|INFO|a leap second",
        APACHE.replace("21/Nov/2026", "31/Nov/2026"),
        APACHE.replace("21/Nov/2026", "21/Nix/2026"),
        UWSGI.replace("Nov 21", "Nix 21"),
        "Nix 21 14:44:26 dnsmasq[1]: a",
        "2026-11-21T14:43:25+9999 a",
    ],
)
def test_what_looks_like_a_time_and_is_none_is_nothing(line):
    assert parse(line) is None


@pytest.mark.parametrize(
    ("text", "near", "zone", "moment"),
    [
        ("Dec 31 23:59:59", at(2027, 1, 1, 0, 0, 5), 0, at(2026, 12, 31, 23, 59, 59)),
        ("Jan  1 00:00:02", at(2026, 12, 31, 23, 59, 58), 0, at(2027, 1, 1, 0, 0, 2)),
        ("Jan  1 05:30:02", at(2027, 1, 1, 0, 1), KOLKATA, at(2027, 1, 1, 0, 0, 2)),
        ("Feb 29 12:00:00", at(2028, 2, 29, 12, 1), 0, at(2028, 2, 29, 12, 0)),
        ("Feb 29 12:00:00", at(2029, 1, 1), 0, at(2028, 2, 29, 12, 0)),
        ("Feb 29 12:00:00", at(2026, 3, 1), 0, None),
    ],
    ids=["old year", "new year", "new year in another zone", "leap day", "leap day a year ago", "no leap day"],
)
def test_the_year_that_a_line_does_not_say(text, near, zone, moment):
    assert parse(f"{text} dnsmasq[1]: a", near, zone)["at"] == moment


@pytest.mark.usefixtures("german")
def test_months_are_english_whatever_the_language_of_the_host():
    assert parse(UWSGI)["at"] == parse(APACHE)["at"] == at(2026, 11, 21, 14, 43, 22)
    assert parse("Oct  1 14:44:26 dnsmasq[1]: a")["at"] == at(2026, 10, 1, 14, 44, 26)
    assert line_formats.spelled("Sat Nov 21 14:43:22 2026", KOLKATA) == at(2026, 11, 21, 9, 13, 22)


@pytest.mark.parametrize(
    "line",
    [
        oslo("x" * 1_000_000),
        oslo("GET http://" + "a" * 1_000_000),
        oslo('1.2.3.4 "GET ' + "/a?" * 400_000, "nova.requestlog"),
        amqp.__name__ + " " * 1_000_000,
        "a b " * 250_000,
        "x" * 1_000_000,
        UWSGI[:60] + "{" * 1_000_000,
        APACHE[:20] + " - " * 330_000,
        '{"time": "' + "9" * 1_000_000,
        "2026-11-21T14:43:25." + "9" * 1_000_000,
        oslo(f'10.0.0.1 "GET /a" status: 200 {"time: " * 160_000}', "nova.requestlog"),
        oslo("CMD " * 250_000, context="req-" * 200_000),
    ],
    ids=range(12),
)
def test_a_line_of_a_megabyte_is_cut_and_quick(line):
    began = time.process_time()
    parsed = parse(line)
    assert time.process_time() - began < 0.1
    assert parsed is None or len(parsed["text"]) <= line_formats.LONGEST


def test_a_long_line_is_understood_by_its_beginning():
    parsed = parse(oslo("Starting instance... " + "x" * 1_000_000))
    assert (parsed["at"], parsed["requests"]) == (at(2026, 11, 21, 14, 43, 25, 787000), [BOOT, LOCAL])
    assert len(parsed["text"]) < line_formats.LONGEST


def test_bytes_that_are_no_text_do_no_harm():
    line = oslo("caf\udce9 \udcff says", "nova.x\udcff")
    assert parse(line) is None  # no name of a logger
    assert parse(oslo("caf\udce9 \udcff says"))["text"] == "caf\udce9 \udcff says"
    assert parse(UWSGI.replace("/v2.1/servers", "/v2.1/\udcff"))["http"]["path"] == "/v2.1/\udcff"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v2.0/ports", "/v2.0/ports"),
        (f"/v2.0/ports?device_id={SERVER}", f"/v2.0/ports?device_id={SERVER}"),
        (f"/v2.0/ports?device_id={IMAGE}", "/v2.0/ports?device_id=*"),
        ("/v2.0/ports?tenant_id=94b64eb11bf148c5b5b96b2e972f44df&fields=id", "/v2.0/ports?tenant_id=*&fields=id"),
        ("/v2.0/ports?device_owner=network:dhcp", "/v2.0/ports?device_owner=network:dhcp"),
        ("/n?fields=provider%3Aphysical_network", "/n?fields=provider%3Aphysical_network"),
        ("/a?token=gAAAAABrAa0XzVEX&x", "/a?token=*&x=*"),
        ("/a?temp_url_sig=da39a3ee5e6b4b0d&temp_url_expires=1795275836", "/a?temp_url_sig=*&temp_url_expires=*"),
        ("/a?password=Hunter2&Secret=b", "/a?password=*"),
        ("/a?" + "b" * 40 + "=c", "/a?"),
        ("/a?gAAAAABrAa0XzVEX", "/a?"),
        ("/a?", "/a?"),
        (f"/a?id={SERVER}x&id={SERVER}", f"/a?id=*&id={SERVER}"),
    ],
)
def test_a_query_tells_what_is_ours_or_a_plain_name_only(path, expected):
    assert line_messages.masked_path(path, {SERVER: "server"}) == expected


def test_a_long_path_and_a_long_query_are_cut():
    assert len(line_messages.masked_path("/" + "a" * 10_000, {})) == 300
    assert len(line_messages.masked_path("/a?" + "b=c&" * 10_000, {})) < 2100


MESSAGE = f"[instance: {SERVER}] Claim successful on node compute2"
INFO = f"INFO nova.compute.claims [{BOOT} {LOCAL} {WHO}] {MESSAGE}"
SECOND, MILLI = at(2026, 11, 21, 14, 43, 25), at(2026, 11, 21, 14, 43, 25, 787000)
COLOURED = (
    f"\x1b[00;36mINFO nova.compute.claims [\x1b[01;36m{BOOT} {LOCAL} \x1b[00;36mdemo demo\x1b[00;36m] {MESSAGE}\x1b[00m"
)


@pytest.mark.parametrize(
    ("line", "moment", "resolution"),
    [
        (f"2026-11-21 14:43:25 1914 {INFO}", SECOND, 1),
        (f"2026-11-21 14:43:25.787 {INFO}", MILLI, 0.001),
        (f"2026-11-21T14:43:25.787Z 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21T15:43:25.787+01:00 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21T15:43:25+0100 1914 {INFO}", SECOND, 1),
        (f"Nov 21 14:43:26 compute2 nova-compute[1914]: 2026-11-21 14:43:25.787 1914 {INFO}", MILLI, 0.001),
        (f"Nov 21 14:43:25 compute2 nova-compute: {INFO}", SECOND, 1),
        (f"2026-11-21T14:43:26.100+00:00 compute2 nova-compute[7]: 2026-11-21 14:43:25.787 7 {INFO}", MILLI, 0.001),
        (f"2026-11-21T14:43:25.787000+0000 compute2 nova-compute[1914]: {INFO}", MILLI, 0.001),
        (f"2026-11-21T14:43:25.787000+0000 compute2 devstack@n-cpu.service[19]: {COLOURED}", MILLI, 0.001),
        (f"Nov 21 14:43:25.787000 compute2 devstack@n-cpu.service[19]: {COLOURED}", MILLI, 0.001),
        (f"Nov 21 14:43:25 compute2 nova[19]: {COLOURED}".replace("\x1b", "#033"), SECOND, 1),
        (f"2026-11-21 14:43:25.787 {COLOURED}", MILLI, 0.001),
        (f"[Sat Nov 21 14:43:26.000001 2026] [wsgi:error] [pid 1] 2026-11-21 14:43:25.787 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21 14:43:26.000001 2026-11-21 14:43:25.787 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21T14:43:25.799123456Z stdout F 2026-11-21 14:43:25.787 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21T15:43:25.799123456+01:00 stderr F 2026-11-21 14:43:25.787 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21T14:43:25.799123456Z 2026-11-21 14:43:25.787 1914 {INFO}", MILLI, 0.001),
        (f"2026-11-21T14:43:25.787000Z stdout F {INFO}", MILLI, 0.001),
    ],
    ids=[
        "no fraction", "no process", "RFC 3339", "a zone", "a zone and no fraction", "rsyslog", "rsyslog, no time",
        "rsyslog of today", "short-iso-precise", "devstack", "devstack, short-precise", "escapes as numbers",
        "devstack's screen", "Apache", "Apache with a time of its own", "Kubernetes", "podman", "docker",
        "Kubernetes, no time",
    ],
)  # fmt: skip
def test_a_line_of_oslo_log_is_understood_whoever_has_passed_it_on(line, moment, resolution):
    parsed = parse(line)
    assert (parsed["at"], parsed["resolution_s"]) == (pytest.approx(moment, abs=1e-6), resolution)
    assert (parsed["requests"], parsed["level"], parsed["text"]) == ([BOOT, LOCAL], "info", MESSAGE)


@pytest.mark.parametrize(
    ("context", "requests"),
    [
        (f"{LOCAL} demo demo", [LOCAL]),
        (f"{LOCAL} 1a2b 3c4d - - -", [LOCAL]),
        (f"{LOCAL} None None", [LOCAL]),
        (f"None {LOCAL} demo demo", [LOCAL]),
        (f"{BOOT} {LOCAL} demo demo", [BOOT, LOCAL]),
    ],
    ids=["Grizzly", "Kilo", "nobody", "no global id", "a global id"],
)
def test_contexts_of_older_and_newer_releases_have_their_requests(context, requests):
    assert parse(oslo("a", context=context))["requests"] == requests


def test_a_request_that_the_journal_has_of_a_web_server_is_understood():
    parsed = parse(f"2026-11-21T14:43:26.000000+0000 controller1 devstack@n-api.service[19]: {UWSGI}")
    assert (parsed["kind"], parsed["http"]["method"], parsed["at"]) == ("http", "POST", at(2026, 11, 21, 14, 43, 22))


@pytest.mark.parametrize(
    ("line", "writer"),
    [
        ("Nov 21 14:43:25 compute2 nova-compute[1914]: a", ("compute2", "nova-compute")),
        ("2026-11-21T14:43:25.787+00:00 compute2.example dnsmasq-dhcp[1]: a", ("compute2.example", "dnsmasq-dhcp")),
        ("2026-11-21T14:43:25.787000+0000 c devstack@n-cpu.service[19]: a", ("c", "devstack@n-cpu.service")),
        ("2026-11-21 14:43:25.787 1914 INFO nova [-] a", (None, None)),
        ("2026-11-21T14:43:25.787Z|00001|vlog|INFO|opened", (None, None)),
        ("a", (None, None)),
    ],
)  # fmt: skip
def test_syslog_and_the_journal_name_who_wrote_a_line(line, writer):
    assert line_formats.writer_of(line) == writer


LOST = "nova.exception_Remote.NoValidHost_Remote: No valid host was found. There are not enough hosts available."


def test_an_instance_that_the_conductor_gives_up_is_a_failure_with_the_exception_of_the_other_side():
    parsed = parse(oslo(f"Setting instance to ERROR state.: {LOST}", level="WARNING"))
    assert parsed["failed"]
    assert line_formats.exception_in(parsed["text"]) == "nova.exception_Remote.NoValidHost"
    assert not parse(oslo(LOST, level="WARNING"))["failed"]


def test_a_line_of_a_traceback_may_have_no_context():
    parsed = parse("2026-11-21 14:43:25.787 1914 ERROR nova.compute.manager nova.exception.PortBindingFailed: no")
    assert (parsed["requests"], parsed["failed"]) == ([], True)
    assert line_formats.exception_in(parsed["text"]) == "nova.exception.PortBindingFailed"
    # A line in the journal has the time of its entry.
    assert parse("ERROR nova no time and no context")["at"] is None


@pytest.mark.parametrize(
    ("message", "reasons"),
    [
        # A conductor's quote of a traceback is a list, as Python writes it: the words stand in it twice.
        (
            r"Error from last host: c2 (node c2): ['Traceback (most recent call last):\n', 'nova.exception."
            r"ComputeResourcesUnavailable: Insufficient compute resources: Requested instance NUMA topology cannot fit "
            r"the given host NUMA topology.\n', 'nova.exception.RescheduledException: Build of instance x was "
            r"re-scheduled: Insufficient compute resources: Requested instance NUMA topology cannot fit the given "
            r"host NUMA topology.\n']",
            "Requested instance NUMA topology cannot fit the given host NUMA topology",
        ),
        (
            "Insufficient compute resources: Free memory 512.00 MB < requested 2048 MB; Claim pci failed.",
            "Free memory 512.00 MB < requested 2048 MB; Claim pci failed",
        ),
        # As it stands where the frames of the traceback were left out
        (
            "Insufficient compute resources: Claim pci failed. ', 'nova.exception.RescheduledException",
            "Claim pci failed",
        ),
        ("Error from last host: c2 (node c2): ['libvirt.libvirtError: internal error\\n']", None),
    ],
)
def test_what_a_host_does_not_have_enough_of(message, reasons):
    assert line_formats.insufficient_in(message) == reasons


@pytest.mark.parametrize(
    ("message", "exception"),
    [
        ("['internal', 'public'] endpoint for placement service in RegionTwo region not found", "EndpointNotFound"),
        ("internal endpoint for compute service not found", "EndpointNotFound"),
        ("x.y.EndpointNotFound: internal endpoint for compute service not found", "x.y.EndpointNotFound"),
        ("the endpoint was not found", None),
    ],
)
def test_an_endpoint_that_the_catalog_lacks_is_known_without_its_class(message, exception):
    assert line_formats.exception_in(message) == exception


@pytest.mark.parametrize(
    "name",
    [
        "keystoneauth1.exceptions.catalog.EmptyCatalog",
        "neutron_lib.exceptions.l3.FloatingIPSetupProblem",
        "a.exceptions.OfNoUsualEnding",
        "nova.exception.OfNoUsualEnding",
    ],
)
def test_an_exception_of_any_name_is_known_by_its_module(name):
    assert line_formats.exception_in(f"{name}: what it says") == name
