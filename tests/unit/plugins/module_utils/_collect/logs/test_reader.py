# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the logs of a host, with the real grep, find, head and tail, on real and on made up lines.

recorded/followed/logs are lines of the logs of five hosts of a real cloud, with tokens and signatures taken out.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import struct
import subprocess
import time
import tracemalloc
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import commands, info_module
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import (
    grep,
    journald,
    line_formats,
    log_files,
    reader,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.scan import Scan
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.wanted import Wanted, Writer
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._match import wanted as wanted_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from tree import FLOWS, RECORDED

FOLLOWED = RECORDED / "followed"
BEGAN = datetime(2026, 11, 21, 14, 43, tzinfo=UTC)
KOLKATA = timedelta(hours=5, minutes=30)
SERVER, BOOT = "593bff83-ecde-4bff-b038-2774dcc49b76", "req-03b40d4a-6468-4371-a2d5-864347bcb436"
TAP = "tapaf65584b-27"
STARTING, BUILT, POST = "Starting instance", "seconds to build instance", "/servers => generated"


class Local:
    """Runs commands on this machine, but for what a test must say: who asks, the zone, and the journal."""

    def __init__(self, zone="+0000", journal=None):
        self.zone, self.journal, self.asked, self.before = zone, journal, [], bool

    def __call__(self, words, take=None):
        words = words[2:] if words[0] == "timeout" else words
        self.asked.append(words)
        self.before(words)
        if words[0] in ("id", "date"):
            return 0, {"id": "0\n", "date": f"{self.zone}\n"}[words[0]], ""
        if words[0] == "journalctl":
            return self.entries(words, take)
        assert words[0] in ("find", "head", "tail", "grep")
        # As ansible decodes what a command prints
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(
            words, capture_output=True, encoding="utf-8", errors="surrogateescape", env=environment, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def entries(self, words, take):
        if self.journal is None:
            return 127, "", "journalctl: No such file or directory"
        field = next((word.partition("=")[2] for word in words if word.startswith("--field=")), None)
        if field:
            return 0, "".join(f"{name}\n" for name in self.journal if field_of(name) == field), ""
        since, until = (float(word.partition("=@")[2]) for word in words if word.startswith(("--since", "--until")))
        asked = words[words.index(next(word for word in words if word.startswith("--until"))) + 1 :]
        assert asked[1::2] == ["+"] * (len(asked) // 2)
        chosen = [
            exported(at, message, field_of(name), name)
            for name, entries in self.journal.items()
            for at, message in entries
            if f"{field_of(name)}={name}" in asked[::2] and since <= BEGAN.timestamp() + at <= until
        ]
        return 0, take(io.BytesIO(b"".join(chosen))), ""


def exported(at, message, field, name):
    """An entry as journalctl exports it: what is not a line of plain text comes behind its length."""
    lines = [f"__CURSOR=s=1;i={at}", f"__REALTIME_TIMESTAMP={int((BEGAN.timestamp() + at) * 1e6)}", f"{field}={name}"]
    head = "\n".join(lines).encode()
    if message is None:
        return head + b"\n\n"
    plain = message.isascii() and not any(byte < 32 for byte in message)
    body = b"MESSAGE=" + message if plain else b"MESSAGE\n" + struct.pack("<Q", len(message)) + message
    return head + b"\n" + body + b"\n\n"


def field_of(name):
    return "_SYSTEMD_UNIT" if name.endswith(".service") else "SYSLOG_IDENTIFIER"


@pytest.fixture
def logs(tmp_path):
    """A folder with a log of nova-compute, and what reads it."""
    return Logs(tmp_path / "nova")


def logs_of(host, services, wanted):
    """The logs of a host as they leave it."""
    writers = [from_json(Writer, service) for service in services]
    result = reader.read(host, writers, from_json(Wanted, wanted))
    return {"events": [event.to_json() for event in result.events], "sources": to_json(result.sources)}


class Logs:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.execute = Local()
        self.services = [{"service": "nova-compute", "files": [f"{folder}/nova-compute.log"]}]
        since = BEGAN.timestamp() - 300
        self.wanted = {
            "keys": {"server": [SERVER], "request": [BOOT], "tap": [TAP]},
            "phrases": [{"service": "nova-compute", "pattern": STARTING}],
            "windows": [],
            "since": since,
            "began": since + 300,
            "until": since + 400,
        }

    def write(self, lines, name="nova-compute.log", changed=100):
        path = self.folder / name
        text = "\n".join([*lines, ""])
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        os.utime(path, (BEGAN.timestamp() + changed,) * 2)
        return path

    def read(self):
        self.host = commands.Host(self.execute)
        return logs_of(self.host, self.services, self.wanted)

    def moments(self):
        return [round(event["at"] - BEGAN.timestamp(), 3) for event in self.read()["events"]]

    def source(self):
        (source,) = self.read()["sources"]
        return source


def line(seconds, message, context=f"{BOOT} {BOOT} u p", logger="nova.compute.manager", zone=timedelta(0)):
    stamp = BEGAN + timedelta(seconds=seconds) + zone
    return f"{stamp:%Y-%m-%d %H:%M:%S.%f}"[:-3] + f" 1914 DEBUG {logger} [{context}] {message}"


OTHER = "req-11111111-2222-4333-8444-555555555555"
EARLIER = line(-310, "x", "-")


def test_a_line_that_is_ours_becomes_an_event(logs):
    logs.write([EARLIER, line(10, f"[instance: {SERVER}] {STARTING}...")])
    result = logs.read()
    assert result["events"] == [
        {
            "at": BEGAN.timestamp() + 10,
            "resolution_s": 0.001,
            "service": "nova-compute",
            "kind": "line",
            "level": "debug",
            "keys": {"server": [SERVER], "request": [BOOT]},
            "phrases": [STARTING],
            "texts": [],
        }
    ]
    assert result["sources"] == [
        {
            "service": "nova-compute",
            "path": str(logs.folder / "nova-compute.log"),
            "complete": True,
            "first": BEGAN.timestamp() - 310,
            "reason": None,
            "requests": False,
        }
    ]
    assert logs.host.unread == []


@pytest.mark.parametrize(
    "message", [line(10, "says another thing"), line(10, f"{STARTING}...", OTHER), line(10, f"{STARTING}...", "-")]
)
def test_what_is_not_ours_or_says_nothing_that_is_looked_for_is_no_event(logs, message):
    logs.write([EARLIER, message])
    assert (logs.read()["events"], logs.source()["complete"]) == ([], True)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (TAP, 1),
        (f"({TAP})", 1),
        (f"x-{TAP}-y", 1),
        (f"{TAP}58", 0),
        (f"{TAP}a", 0),
        (f"my{TAP}", 0),
        (f"{SERVER}0", 0),
        (f"volume-{SERVER}", 1),
    ],
)
def test_a_key_that_is_the_beginning_of_a_longer_one_is_not_found(logs, text, count):
    logs.write([EARLIER, line(10, f"{STARTING} {text}", "-")])
    assert len(logs.read()["events"]) == count


def scan_for(keys):
    wanted = {"phrases": [], "windows": [], "since": 0.0, "began": 0.0, "until": 1.0}
    return Scan(from_json(Wanted, {"keys": {"port": list(keys)}, **wanted}), 0)


def test_keys_are_found_as_an_expression_for_all_of_them_finds_them():
    chance = random.Random(8)
    for _case in range(300):
        keys = {"".join(chance.choices("ab-:", k=chance.randint(1, 4))) for _key in range(chance.randint(1, 6))}
        either = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
        expression = re.compile(rf"(?<![0-9A-Za-z])(?:{either})(?![0-9A-Za-z])")
        for _line in range(20):
            text = "".join(chance.choices("ab-: \u00e9", k=12))
            found = scan_for(keys).keys_in(text).get("port", [])
            assert found == list(dict.fromkeys(expression.findall(text))), (keys, text)


def test_very_many_keys_make_no_line_slower():
    """Two thousand lines of a run whose record names sixty thousand ids."""
    chance = random.Random(9)
    keys = [str(uuid.UUID(int=chance.getrandbits(128))) for _key in range(60000)]
    text = line(10, f"[instance: {keys[-1]}] {STARTING} of {SERVER}")
    began = time.process_time()
    scan = scan_for(keys)
    assert all(scan.keys_in(text) == {"port": [keys[-1]]} for _line in range(2000))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(("seconds", "count"), [(-302, 0), (-300.5, 1), (0, 1), (100.9, 1), (102, 0), (86400, 0)])
def test_lines_of_other_times_are_no_events(logs, seconds, count):
    logs.write([EARLIER, line(seconds, STARTING)])
    assert len(logs.read()["events"]) == count


UWSGI = (
    "[pid: 1|app: 0|req: 5/9] 10.0.0.1 () {{36 vars in 745 bytes}} [{0:%a %b} {0.day:2d} {0:%H:%M:%S} 2026] POST "
    "/v2.1/servers => generated 4 bytes in 3146 msecs (HTTP/1.1 202) 9 headers in 427 bytes (1 switches on core 0)"
)
APACHE = '10.0.0.1 - - [{0:%d/%b/%Y:%H:%M:%S} +0000] "POST /v2.1/servers => generated HTTP/1.1" 202 1 "-" "-"'


@pytest.mark.parametrize(
    "form",
    [
        UWSGI,
        "{0:%Y-%m-%d %H:%M:%S}.000 1 INFO nova [-] /servers => generated",
        "{0:%Y-%m-%dT%H:%M:%S}Z|1|a|INFO|/servers => generated",
        "{0:%b} {0.day:2d} {0:%H:%M:%S} nova[1]: /servers => generated",
        "2026-01-01 00:00:00.000 1 INFO nova [-] /servers => generated {0:%Y-%m-%d %H:%M}",
    ],
    ids=["uwsgi", "oslo.log", "ISO", "syslog", "the time behind"],
)
@pytest.mark.parametrize("day", [21, 5])
def test_windows_are_open_at_the_minutes_of_the_run_only(logs, form, day):
    shift = timedelta(days=21 - day)
    for name in ("since", "began", "until"):
        logs.wanted[name] -= shift.total_seconds()
    logs.wanted["windows"] = [{"service": "nova-compute", "text": POST}]
    seconds = (-86400, -400, -299, 10, 99, 200, 3600)
    lines = [form.format(BEGAN - shift + timedelta(seconds=number)) for number in seconds]
    logs.write([line(-90 * 86400, "x", "-"), *lines])
    events = logs.read()["events"]
    # A line in which the time of the run is only spoken of is read, and has another time.
    expected = [] if form.startswith("2026-01") else [-299, 10, 99]
    assert [event["at"] - BEGAN.timestamp() + shift.total_seconds() for event in events] == expected
    assert all(event["texts"] == [POST] and event["keys"] == {} for event in events)


@pytest.mark.usefixtures("german")
def test_a_log_of_syslog_on_a_german_host_is_read(logs):
    logs.write([f"Nov 21 14:{minute}:10 compute1 nova[1]: {STARTING} {SERVER}" for minute in (37, 43)])
    assert (logs.source()["complete"], logs.moments()) == (True, [10])


def test_a_window_of_one_service_is_none_of_another(logs):
    logs.wanted["windows"] = [{"service": "nova-api", "text": BUILT}]
    logs.write([EARLIER, line(10, f"Took 1 {BUILT}", "-")])
    assert logs.read()["events"] == []


def test_a_rotated_file_that_was_changed_after_the_start_is_read(logs):
    logs.write([EARLIER, line(10, STARTING)], "nova-compute.log.1", changed=20)
    logs.write([line(30, "x", "-"), line(40, STARTING)])
    logs.write([line(5, STARTING)], "nova-compute.log-20261121", changed=20)
    result = logs.read()
    assert sorted(round(event["at"] - BEGAN.timestamp()) for event in result["events"]) == [5, 10, 40]
    assert [(Path(source["path"]).name, source["complete"], source["reason"]) for source in result["sources"]] == [
        ("nova-compute.log", False, "it begins after the run did"),
        ("nova-compute.log-20261121", False, "it begins after the run did"),
        ("nova-compute.log.1", True, None),
    ]


def test_a_file_that_begins_when_all_is_over_is_no_source(logs):
    logs.write([line(200, "x", "-")])
    assert logs.read() == {"events": [], "sources": []}


def test_a_log_that_was_truncated_while_the_run_went_on_is_not_whole(logs):
    logs.write([f"half of a line {SERVER}", line(12, STARTING), line(13, STARTING)])
    source = logs.source()
    assert (source["complete"], source["reason"]) == (False, "it begins after the run did")
    assert source["first"] == BEGAN.timestamp() + 12
    assert logs.moments() == [12, 13]


def test_a_log_of_which_no_line_has_a_time_is_not_whole(logs):
    logs.write([f"{STARTING} {SERVER}"] * 3)
    assert (logs.source()["complete"], logs.source()["reason"]) == (False, "the time of its first line is not known")


def test_the_first_line_that_has_a_time_counts(logs):
    logs.write(["Traceback (most recent call last):", f"DEBUG nova [{BOOT}] no time", EARLIER, line(1, STARTING)])
    assert (logs.source()["complete"], logs.source()["first"]) == (True, BEGAN.timestamp() - 310)


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2", "zst"])
def test_a_compressed_file_is_named_as_not_read(logs, ending):
    path = logs.write([EARLIER, line(10, STARTING)], f"nova-compute.log.2.{ending}")
    result = logs.read()
    assert result["events"] == []
    assert [(source["path"], source["complete"], source["reason"]) for source in result["sources"]] == [
        (str(path), False, "it is compressed")
    ]


def test_a_file_with_a_great_hole_is_named_as_not_read_and_the_others_are_read(logs):
    """grep takes a hole for one line, and keeps it in memory."""
    logs.services = [{"service": "nova-compute", "files": [f"{logs.folder}/nova-compute*.log"]}]
    logs.write([EARLIER, line(20, STARTING)], "nova-compute-2.log")
    path = logs.write([EARLIER, line(10, STARTING)], "nova-compute-1.log")
    os.truncate(path, 1 << 40)
    os.utime(path, (BEGAN.timestamp() + 100,) * 2)
    result = logs.read()
    assert [(Path(source["path"]).name, source["complete"], source["reason"]) for source in result["sources"]] == [
        ("nova-compute-1.log", False, "it has a hole of 1024.0 GiB"),
        ("nova-compute-2.log", True, None),
    ]
    assert [round(event["at"] - BEGAN.timestamp()) for event in result["events"]] == [20]
    assert not any(str(path) in words for words in logs.execute.asked)
    assert logs.host.unread == []


def test_a_host_with_one_file_that_has_a_great_hole_is_asked_for_no_line(logs):
    path = logs.write([EARLIER, line(10, STARTING)])
    os.truncate(path, 1 << 40)
    os.utime(path, (BEGAN.timestamp() + 100,) * 2)
    assert logs.source()["reason"] == "it has a hole of 1024.0 GiB"
    assert [words[0] for words in logs.execute.asked] == ["date", "id", "find"]


def test_a_small_hole_is_read_over(logs):
    path = logs.write([EARLIER])
    with path.open("r+b") as stream:
        stream.seek(1 << 20)
        stream.write(f"\n{line(10, STARTING)}\n".encode())
    os.utime(path, (BEGAN.timestamp() + 100,) * 2)
    assert (logs.source()["reason"], logs.moments()) == (None, [10])


def test_the_logs_in_a_container_have_other_paths_than_those_of_the_host(logs):
    path = str(logs.write([EARLIER]))
    os.truncate(path, 1 << 40)
    assert log_files.holes_in(commands.Host(logs.execute), [path])[path] == pytest.approx(1 << 40)
    assert log_files.holes_in(commands.Host(logs.execute, {"logs": ["docker", "exec"]}), [path]) == {}
    assert log_files.holes_in(commands.Host(logs.execute), ["/nowhere/at/all.log"]) == {}


def test_first_lines_without_an_end_take_no_memory(logs, monkeypatch):
    """Of a file without line ends head prints all, as of one line."""
    monkeypatch.setattr(log_files, "LARGEST_EDGES", 4 << 20)
    path = logs.folder / "nova-compute.log"
    with path.open("wb") as stream:
        for _part in range(40):
            stream.write(b"y" * (1 << 20))
    os.utime(path, (BEGAN.timestamp() + 100,) * 2)
    host = commands.Host(info_module.execute, sudo=())
    tracemalloc.start()
    try:
        edges = host.attempt("the first and last lines of the logs", log_files.edges_of, [str(path)], default={})
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert edges == {}
    (unread,) = host.unread
    assert (unread.what, unread.kind) == ("the first and last lines of the logs", "failed")
    assert unread.reason.endswith("it prints more than 4 MiB")
    assert memory < 20 << 20


def test_a_file_that_was_not_changed_since_is_passed_over(logs):
    logs.write([EARLIER, line(10, STARTING)], changed=-301)
    assert logs.read() == {"events": [], "sources": []}
    assert [words[0] for words in logs.execute.asked] == ["date", "id", "find"]


def test_files_of_services_that_are_not_known_are_passed_over(logs):
    for name in ("nova-novncproxy.log", "nova-compute.logs", "nova-compute-x.log"):
        logs.write([EARLIER, line(10, STARTING)], name)
    assert logs.read() == {"events": [], "sources": []}


def test_a_folder_that_is_not_there_is_no_failure(logs):
    logs.services.append({"service": "glance-api", "files": ["/nowhere/at/all/*.log"]})
    logs.write([EARLIER, line(10, STARTING)])
    assert (logs.moments(), logs.host.unread) == ([10], [])


def test_folders_in_a_pattern_may_have_any_name(logs):
    logs.services = [{"service": "nova-compute", "files": [f"{logs.folder}/*/compute*.log"]}]
    (logs.folder / "a").mkdir()
    logs.write([EARLIER, line(10, STARTING)], "a/compute-1.log")
    assert logs.moments() == [10]


@pytest.mark.parametrize("command", ["grep", "head", "tail"])
def test_a_file_that_is_gone_before_it_is_read_is_not_whole_and_the_others_are_read(logs, command):
    path = logs.write([EARLIER, line(10, STARTING)], "nova-compute-1.log")
    logs.write([EARLIER, line(20, STARTING)], "nova-compute-2.log")
    logs.services = [{"service": "nova-compute", "files": [f"{logs.folder}/nova-compute*.log"]}]
    logs.execute.before = lambda words: words[0] == command and path.unlink(missing_ok=True)
    result = logs.read()
    assert [source["complete"] for source in result["sources"]] == [False, True]
    moments = [round(event["at"] - BEGAN.timestamp()) for event in result["events"]]
    assert moments == [20]
    assert logs.host.unread == []


@pytest.mark.parametrize("command", ["grep", "second head"])
def test_a_file_that_is_replaced_while_it_is_read_is_not_whole_and_what_was_found_counts(logs, command):
    path = logs.write([EARLIER, line(10, STARTING)])
    heads = iter([False, command == "second head"])

    def rotate(words):
        if command == words[0] or (words[0] == "head" and next(heads)):
            path.unlink()
            logs.write([line(150, "a new file")])

    logs.execute.before = rotate
    result = logs.read()
    assert [(source["complete"], source["reason"]) for source in result["sources"]] == [
        (False, "it was rotated away while it was read")
    ]
    assert len(result["events"]) == (1 if command == "second head" else 0)


def test_a_search_that_was_ended_proves_nothing_though_a_file_vanished_too(logs):
    """The lines until then are not all lines."""
    logs.write([EARLIER, line(10, STARTING)])
    real = logs.execute.__call__
    logs.execute = lambda words, take: (124, "", "grep: /x: No such file") if "grep" in words else real(words, take)
    result = logs.read()
    assert [(source["complete"], source["reason"]) for source in result["sources"]] == [(False, "it was not read")]
    assert [entry.kind for entry in logs.host.unread] == ["hung"]


def test_logs_that_sudo_refuses_are_unread(logs):
    logs.write([EARLIER, line(10, STARTING)])
    local, refused = Local(), (1, "", "sudo: a password is required")
    logs.execute = lambda words, take: refused if "find" in words else local(words, take)
    assert logs.read() == {"events": [], "sources": []}
    assert [(entry.what, entry.kind) for entry in logs.host.unread] == [("the list of logs", "refused")]


def test_a_flood_is_not_whole(logs, monkeypatch):
    monkeypatch.setattr(grep, "MOST", 50)
    logs.write([EARLIER, *(line(number / 10, STARTING) for number in range(80))])
    source = logs.source()
    assert (source["complete"], source["reason"]) == (False, "more than 50 lines were found in it")
    assert len(logs.read()["events"]) == 50


def test_bytes_that_are_no_text_do_no_harm(logs):
    logs.write([EARLIER, line(10, f"{STARTING} \udcff\udc80 {SERVER}"), "\udcff\udcfe", "\0" * 50, line(11, STARTING)])
    assert (logs.moments(), logs.source()["complete"]) == ([10, 11], True)


def test_a_container_that_writes_utc_on_a_host_in_another_zone(logs):
    logs.execute = Local("+0530")
    logs.write([EARLIER, line(10, STARTING), line(100, "the last", "-")])
    assert (logs.moments(), logs.source()["complete"]) == ([10], True)


def test_a_host_in_another_zone(logs):
    logs.execute = Local("+0530")
    logs.wanted["windows"] = [{"service": "nova-compute", "text": BUILT}]
    lines = [line(-310, "x", "-", zone=KOLKATA), line(10, STARTING, zone=KOLKATA)]
    logs.write([*lines, line(20, f"Took 3 {BUILT}", "-", zone=KOLKATA), line(100, "last", "-", zone=KOLKATA)])
    assert (logs.moments(), logs.source()["first"]) == ([10, 20], BEGAN.timestamp() - 310)


def test_a_method_is_named_a_line_before_by_the_same_process_for_the_same_request(logs):
    message = "4841ca74b2714d5ab3369d2a71fa72a2"
    amqp = {"logger": "oslo_messaging._drivers.amqpdriver"}
    logs.write(
        [
            EARLIER,
            line(1, "Calling RPC method build_and_run_instance on target compute", **amqp),
            line(2, "Calling RPC method another on target compute", OTHER, **amqp),
            line(3, f"CAST unique_id: {message} exchange 'nova' topic 'compute.c2'", **amqp),
            line(4, f"CAST unique_id: {message[::-1]} exchange 'nova' topic 'compute.c2'", **amqp),
        ]
    )
    calls = [(event["action"], event["method"]) for event in logs.read()["events"]]
    assert calls == [("method", "build_and_run_instance"), ("cast", "build_and_run_instance"), ("cast", None)]


def test_values_of_a_line_are_taken_only_where_they_can_be_no_secret_and_never_replace_what_is_known(logs):
    logs.wanted["phrases"] = [
        {
            "service": "nova-compute",
            "pattern": r"Took (?P<seconds>\S+) s of (?P<host>\S+) at (?P<at>\d+) (?P<key>[^|]*)$",
        }
    ]
    logs.write([EARLIER, line(10, "Took 3.5 s of another at 5 a secret, with blanks")])
    (event,) = logs.read()["events"]
    assert (event["seconds"], event["at"] - BEGAN.timestamp(), event["host"]) == ("3.5", 10, "another")
    assert "key" not in event


JOURNAL = {
    "slapd": [
        (-9000, b"daemon started"),
        (10.25, b'conn=1001 op=0 BIND dn="uid=lab,ou=people,dc=example,dc=org" method=128'),
        (10.5, b"conn=1001 op=0 RESULT tag=97 err=0 qtime=0.000010 \xff"),
        (20, None),
        (500, b'BIND dn="later"'),
    ]
}


def test_a_journal_is_whole_and_has_the_times_of_its_entries(logs):
    logs.services = [{"service": "slapd", "journals": ["slapd"]}]
    logs.wanted["windows"] = [{"service": "slapd", "text": text} for text in ("BIND dn=", "RESULT tag=97")]
    logs.execute = Local("+0530", JOURNAL)
    result = logs.read()
    assert [(event["at"] - BEGAN.timestamp(), event["texts"], event["resolution_s"]) for event in result["events"]] == [
        (10.25, ["BIND dn="], 1e-6),
        (10.5, ["RESULT tag=97"], 1e-6),
    ]
    assert result["sources"] == [
        {
            "service": "slapd",
            "path": "journal of slapd",
            "complete": True,
            "first": None,
            "reason": None,
            "requests": None,
        }
    ]


def test_a_journal_that_was_silent_is_whole_and_one_that_was_never_there_is_none(logs):
    logs.services = [{"service": "slapd", "journals": ["slapd", "never.service"]}]
    logs.execute = Local(journal={"slapd": JOURNAL["slapd"][:1]})
    result = logs.read()
    assert (result["events"], [source["path"] for source in result["sources"]]) == ([], ["journal of slapd"])
    asked = [words[-1] for words in logs.execute.asked if words[0] == "journalctl"]
    assert sorted(asked) == ["--field=SYSLOG_IDENTIFIER", "--field=_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER=slapd"]


def test_several_journals_are_read_at_once_and_told_apart(logs):
    logs.services = [
        {"service": "slapd", "journals": ["slapd"]},
        {"service": "nova-compute", "journals": ["devstack@n-cpu.service"]},
    ]
    logs.wanted["windows"] = [
        {"service": "slapd", "text": "BIND dn="},
        {"service": "nova-compute", "text": BUILT},
    ]
    compute = [(7, line(7, f"Took 3 {BUILT} BIND dn=", "-").encode())]
    logs.execute = Local(journal={**JOURNAL, "devstack@n-cpu.service": compute, "other": compute})
    result = logs.read()
    assert [(event["service"], event["texts"]) for event in result["events"]] == [
        ("slapd", ["BIND dn="]),
        ("nova-compute", [BUILT]),
    ]
    assert len(result["sources"]) == 2
    assert len([words for words in logs.execute.asked if words[0] == "journalctl"]) == 3


COLOURED = (
    f"\x1b[01;31mERROR nova.compute.manager [\x1b[01;36mNone {BOOT} \x1b[00;36mdemo demo\x1b[01;31m] "
    f"[instance: {SERVER}] Instance failed to spawn\x1b[00m: oslo_messaging.exceptions.MessagingTimeout: no reply"
)


@pytest.mark.parametrize("message", [COLOURED, COLOURED.replace("\x1b[01;31mERROR", "ERROR")])
def test_a_message_with_colours_and_without_a_time_is_read_by_its_ids_and_its_level(logs, message):
    """So devstack logs where stack.sh had a terminal. The level is the message's first word."""
    logs.services = [{"service": "nova-compute", "journals": ["devstack@n-cpu.service"]}]
    logs.wanted["errors"] = True
    others = message.replace(BOOT, "req-1").replace(SERVER, "none")
    entries = [(9, b"a line\nof two"), (10, message.encode()), (20, others.encode())]
    logs.execute = Local(journal={"devstack@n-cpu.service": entries})
    errors = [event for event in logs.read()["events"] if event["kind"] == "error"]
    assert [(round(event["at"] - BEGAN.timestamp()), event["keys"]) for event in errors] == [
        (10, {"request": [BOOT], "server": [SERVER]}),
        (20, {}),
    ]


def test_a_flood_in_the_journal_is_cut_off_and_said(logs, monkeypatch):
    logs.services = [{"service": "slapd", "journals": ["slapd"]}]
    logs.wanted["windows"] = [{"service": "slapd", "text": "BIND dn="}]
    monkeypatch.setattr(journald, "MOST", 3)
    logs.execute = Local(journal={"slapd": [(second, b"BIND dn=") for second in range(5)]})
    result = logs.read()
    assert len(result["events"]) == 3
    assert [(source["complete"], source["reason"]) for source in result["sources"]] == [
        (False, "more than 3 entries were found in it")
    ]


def test_a_journal_that_cannot_be_read_is_unread(logs):
    logs.services = [{"service": "slapd", "journals": ["slapd"]}]
    assert logs.read() == {"events": [], "sources": []}
    assert [(entry.what, entry.kind) for entry in logs.host.unread] == [("the journal", "missing")]


def test_a_line_of_a_devstack_journal_has_its_time_from_there(logs):
    logs.services = [{"service": "nova-compute", "journals": ["devstack@n-cpu.service"]}]
    text = f"\x1b[00;32mDEBUG nova.compute.manager [\x1b[01;36m{BOOT} {BOOT} \x1b[00;36ma b\x1b[00;32m] {STARTING}"
    logs.execute = Local(journal={"devstack@n-cpu.service": [(7, text.encode())]})
    (event,) = logs.read()["events"]
    assert (event["at"] - BEGAN.timestamp(), event["level"], event["phrases"]) == (7, "debug", [STARTING])


# The tests below read the logs of real hosts.


@pytest.fixture
def recorded(tmp_path, platform):
    """Return a function that reads the logs of a recorded host, after each line was changed."""

    def read(name, change=lambda text: text, zone="+0000"):
        folder = tmp_path / name
        for path in (FOLLOWED / "logs" / name).rglob("*.log"):
            copy = folder / path.relative_to(FOLLOWED / "logs" / name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text(errors="surrogateescape").splitlines()
            copy.write_text("\n".join(map(change, lines)) + "\n", errors="surrogateescape")
            os.utime(copy, (WANTED["until"],) * 2)
        services = [
            {"service": service["service"], "files": [f"{folder}{pattern}" for pattern in service.get("files") or []]}
            for service in platform()["logs"]
        ]
        host = commands.Host(Local(zone))
        result = logs_of(host, services, WANTED)
        assert host.unread == []
        return result

    return read


WANTED = {
    **json.loads((FOLLOWED / "wanted.json").read_text()),
    **wanted_module.wanted([flow.load(str(FLOWS / f"{name}.yml")) for name in ("modern", "http_trace")]),
}
HOSTS = {
    "controller1": {"nova-api", "nova-conductor", "nova-scheduler", "neutron-server", "cinder-api", "cinder-volume",
                    "glance-api", "placement", "keystone", "nova-metadata"},
    "compute1": {"nova-compute", "neutron-l2-agent"},
    "compute2": {"nova-compute", "neutron-l2-agent", "openvswitch"},
    "network1": {"neutron-dhcp-agent", "neutron-l2-agent", "neutron-metadata-agent", "dnsmasq"},
    "storage1": {"ceph"},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTS)
def test_a_recorded_host_has_events_of_all_that_took_part(recorded, name):
    result = recorded(name, zone="+0530" if name == "compute2" else "+0000")
    assert {event["service"] for event in result["events"]} == HOSTS[name]
    assert result["sources"]
    wanted_keys = {key for keys in WANTED["keys"].values() for key in keys}
    for event in result["events"]:
        assert WANTED["since"] - 2 <= event["at"] <= WANTED["until"] + 2
        assert {key for keys in event["keys"].values() for key in keys} <= wanted_keys
        assert event["keys"] or event["texts"]


def test_a_recorded_instance_is_built_in_the_order_in_which_nova_works(recorded):
    events = sorted(recorded("compute2", zone="+0530")["events"], key=lambda event: event["at"])
    first = {}
    for event in events:
        for phrase in event["phrases"]:
            first.setdefault(phrase, event["at"])
    phrases = [
        r"Starting instance\.\.\.", "Claim successful on node",
        r"allocate_for_instance\(\)", "Successfully plugged vif",
        r"VM Started \(Lifecycle Event\)",
    ]  # fmt: skip
    assert [first[phrase] for phrase in phrases] == sorted(first[phrase] for phrase in phrases)
    kinds = Counter(event["kind"] for event in events)
    assert set(kinds) == {"rpc", "line"}


SECRETS = {
    "X-Auth-Token": "gAAAAABrAa0XzVEXsecretsecretsecretsecret_-=",
    "admin_password": "Hunter2secret",
    "user_data": "IyEvYmluL3NoCmVjaG8gc2VjcmV0Cg==",
    "X-Instance-ID-Signature": "5a1e7secret0c0ffee0123456789abcdef0123456789abcdef0123456789abcd",
}


@pytest.mark.parametrize("name", HOSTS)
def test_secrets_in_any_line_are_not_returned(recorded, name):
    zone = "+0530" if name == "compute2" else "+0000"
    planted = " ".join(f"{field}: {value}" for field, value in SECRETS.items())
    query = "&".join(f"{field}={value}" for field, value in SECRETS.items())

    def plant(text):
        text = text.replace(" HTTP/1.1", f"?{query} HTTP/1.1").replace(" => generated", f"?{query} => generated")
        if text.startswith("{"):
            return text.replace('"referrer":""', f'"referrer":"{planted}"')
        return text if text.endswith(("/host", "/opts")) else f"{text} {planted}"

    usual, result = recorded(name, zone=zone), recorded(name, plant, zone)
    # The text of a window may be right behind the path.
    assert len(result["events"]) >= 0.9 * len(usual["events"]) > 0
    text = json.dumps([result["events"], [source["reason"] for source in result["sources"]]])
    assert [value for value in SECRETS.values() if value in text] == []
    assert "secret" not in text
    allowed = {"at", "resolution_s", "service", "kind", "level", "keys", "phrases", "texts", "method", "path", "status",
               "client", "seconds", "began", "action", "topic", "message"}  # fmt: skip
    assert {field for event in result["events"] for field in event} <= allowed


def test_what_is_not_ours_is_passed_over_quickly_and_takes_no_memory(logs):
    logs.wanted["windows"] = [{"service": "nova-compute", "text": BUILT}]
    foreign = [line(number / 2000, f"Lock {OTHER} acquired by x " + "y" * 100, OTHER) for number in range(2000)]
    with (logs.folder / "nova-compute.log").open("w") as file:
        file.write(f"{EARLIER}\n")
        for _turn in range(100):
            file.write("\n".join(foreign) + "\n")
        file.write(line(10, STARTING) + "\n")
    os.utime(logs.folder / "nova-compute.log", (BEGAN.timestamp() + 100,) * 2)
    tracemalloc.start()
    began = time.perf_counter()
    assert logs.moments() == [10]
    assert time.perf_counter() - began < 6
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("days", [0.01, 1, 2, 60, 5000, 2000000])
@pytest.mark.parametrize("zone", [0, 19800])
def test_the_times_to_look_for_are_few_and_leave_out_none(days, zone):
    """Of ten minutes each minute is looked for, of months each hour, of years each day."""
    since = 1795271880.0
    until = since + days * 86400
    texts = grep.moments(since, until, zone)
    assert len(texts) <= 4 * 4 * grep.MOST_MOMENTS
    for at in (since, (since + until) / 2, until) if days < 9999 else ():
        stamp = datetime.fromtimestamp(at, timezone(timedelta(seconds=zone)))
        month = line_formats.MONTHS[stamp.month - 1]
        for form in (
            "%Y-%m-%d %H:%M:%S",
            "%Y-%m-%dT%H:%M:%S",
            f"{month} {stamp.day:2d} %H:%M:%S",
            f"%d/{month}/%Y:%H:%M:%S",
        ):
            assert any(stamp.strftime(form).startswith(text) for text in texts)


REFUSED_BY = 'Got 403: {"errors": [{"status": 403, "title": "Forbidden"}]}.'


@pytest.mark.parametrize(
    ("behind", "how"),
    [
        ([REFUSED_BY], "denied"),
        (["Command: rbd ls", "Exit code: 1", "Stdout: ''", "Stderr: 'Permission denied'"], "denied"),
        # That is of another line.
        ([line(11, "waiting"), REFUSED_BY], None),
        ([f"[SQL: SELECT 1 WHERE x = '{REFUSED_BY}']"], None),
        ([f"{SERVER} {REFUSED_BY}"], None),
        (["words that say nothing"], None),
        ([], None),
    ],
)
def test_a_message_of_several_lines_may_say_how_it_failed_in_a_later_one(logs, behind, how):
    logs.wanted["errors"] = True
    text = "Failed to retrieve allocation candidates from placement API for filters: x"
    failed = line(10, text).replace("DEBUG", "ERROR")
    logs.write([EARLIER, failed, *behind, line(12, "the next")])
    (error,) = [event for event in logs.read()["events"] if event["kind"] == "error"]
    assert (error["how"], error["mentions"]) == (how, ["placement-api"])
