# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory of collected logs as Ansible reads it: in any layout, of any damage."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import struct
import tarfile
import time
import zoneinfo
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import host_files, question, sift
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.modules import bundle_info as module

FIVE = {"compute1", "compute2", "controller1", "network1", "storage1"}
COMPUTE = ("compute2", "nova/nova-compute.log")


@pytest.fixture
def read(call, bundle, bundle_options, monkeypatch):
    """Return a function that runs the module on the bundle; warned is what it has warned of."""
    warned = []
    monkeypatch.setattr(module.AnsibleModule, "warn", lambda _self, text: warned.append(text))

    def run(directory=None, **options):
        options = options or {"server_id": bundle.boot.server}
        result = call(module, **bundle_options(directory or bundle.top, **options))
        assert result.get("failed") or result["changed"] is False
        return unpacked(result["bundle"]) if "bundle" in result else result["msg"]

    run.warned = warned
    return run


def unpacked(bundle):
    """The events of each host are one text, as log_info returns them."""
    for read in [*bundle["hosts"].values(), *bundle["others"].values()]:
        read["events"] = json.loads(read["events"])
    return bundle


def sources(result, host=None):
    return {
        (source["service"], source["path"]): source["reason"]
        for name, read in result["hosts"].items()
        for source in read["sources"]
        if host in (None, name)
    }


def count(result):
    return {host: len(read["events"]) for host, read in result["hosts"].items()}


@pytest.fixture
def usual(read, bundle):
    """The bundle as it is read in the plainest layout."""
    bundle.write()
    return read()


# Ids


@pytest.mark.parametrize("asked", ["server", "request", "client"])
def test_any_id_of_the_boot_leads_to_all_others(read, bundle, asked):
    bundle.write()
    name = "server_id" if asked == "server" else "request_id"
    result, boot = read(**{name: getattr(bundle.boot, asked)}), bundle.boot
    assert result["boot"] == {
        "request": boot.request, "client": boot.client, "server": boot.server, "outcome": "built", "siblings": 0,
    }  # fmt: skip
    assert result["keys"]["request"] == sorted([boot.request, boot.client])
    assert (result["keys"]["server"], result["keys"]["port"]) == ([boot.server], [boot.port])
    assert (result["keys"]["volume"], result["keys"]["tap"]) == ([boot.volume], ["tapaf65584b-27"])
    assert result["named"] == {
        "image": "eb3db05b-1d3f-4163-b31d-ef1538244a5b",
        "network": "e565ba2a-7a9b-4441-b73a-701e31c127f4",
        "subnet": "a8237686-6f1b-47dd-a39c-1fbddcb8eb81",
    }
    assert sorted(result["named"].values()) == result["keys"]["shared"]
    assert result["host"] == "compute2"


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2026-11-21T14:43:00Z", "2026-11-21T14:44:00Z"),
        ("2026-11-21 15:43+01:00", None),
        ("2026-11-21 14:43", "2026-11-22"),
    ],
)
def test_the_only_boot_of_a_time_is_found(read, bundle, since, until):
    bundle.write()
    assert read(since=since, until=until)["boot"]["server"] == bundle.boot.server


def test_several_boots_of_a_time_are_named(read, bundle):
    bundle.write()
    message = read(since="2026-11-21T14:00:00Z")
    assert message.startswith("found 2 boots; none is marked as failed: 2026-11-21 14:39:41 UTC server 13651ae0-")
    assert f"server {bundle.boot.server}, request {bundle.boot.request}" in message
    assert message.endswith("-e stackproof_server_id=... or -e stackproof_request_id=...")


FAILED = "2026-11-21 14:40:30.100 385 ERROR nova.compute.manager [None req-991f297e-a43f-4cff-b340-19fe3273f7ec u p] {}"


def test_of_several_boots_the_one_that_failed_is_taken(read, bundle):
    key = ("compute1", "nova/nova-compute.log")
    bundle.lines[key] = [line for line in bundle.lines[key] if "13651ae0" not in line or "Took" not in line]
    bundle.add(
        *key, FAILED.format("[instance: 13651ae0-e8ee-44e2-803f-dadb47945905] Instance failed to spawn: ValueError: a")
    )
    bundle.write()
    assert read(since="2026-11-21T14:00:00Z")["boot"]["request"] == "req-991f297e-a43f-4cff-b340-19fe3273f7ec"


@pytest.mark.parametrize("since", [{"since": "2026-11-22T00:00Z"}, {"until": "2026-11-20T00:00Z"}])
def test_a_time_without_a_boot_is_refused_with_the_time_of_the_logs(read, bundle, since):
    bundle.write()
    message = read(**since)
    told = "no request failed and no server was booted in that time. The 27 files of compute1, compute2, controller1,"
    assert message.startswith(told)
    assert "cover 2026-11-21 14:3" in message


@pytest.mark.parametrize(
    ("text", "message"), [("yesterday", "'yesterday' is not a time in a known"), ("25:00", "is not a time")]
)
def test_a_text_that_is_not_a_time_is_refused(read, bundle, text, message):
    bundle.write()
    assert message in read(since=text)


def test_a_time_that_ends_before_it_begins_is_refused(read, bundle):
    bundle.write()
    assert "before it begins" in read(since="2026-11-21T14:00Z", until="2026-11-21T13:00Z")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"server_id": "593bff83"}, "'593bff83' is not a server id"),
        ({"request_id": "req-97acac52"}, "'req-97acac52' is not a request id"),
    ],
)
def test_a_part_of_an_id_is_refused(read, bundle, asked, words):
    bundle.write()
    assert words in read(**asked)


def test_an_id_may_be_written_as_people_copy_it(read, bundle, usual):
    assert read(server_id=f"  {bundle.boot.server.upper()} ")["keys"] == usual["keys"]
    assert read(request_id=bundle.boot.request.removeprefix("req-"))["keys"] == usual["keys"]


def test_a_zone_that_is_a_number_is_refused(read, bundle):
    bundle.write()
    assert "600, the time zone of compute1, is not a text" in read(
        server_id=bundle.boot.server, time_zones={"compute1": 600}
    )


@pytest.mark.parametrize("zone", ["+99:99", "-14:01", "+14:30", "+05:60", "UTC+1500", "-9900", "Mars/Olympus"])
@pytest.mark.parametrize("host", ["compute2", "compute9"])
def test_a_zone_that_no_place_has_is_refused_with_its_host_and_its_value(read, bundle, host, zone):
    bundle.write()
    message = read(server_id=bundle.boot.server, time_zones={host: zone})
    assert f"the time zone of {host}: {zone!r} is not " in message


@pytest.mark.parametrize("zone", ["+99:99", "+14:01", "-05:75"])
def test_a_zone_for_all_hosts_that_no_place_has_is_refused_with_its_value(read, bundle, zone):
    bundle.write()
    message = read(server_id=bundle.boot.server, time_zone=zone)
    assert f"{zone!r} is not the offset of a time zone" in message


@pytest.mark.parametrize("zone", ["+14:00", "-1400", "UTC+05:45", "Pacific/Kiritimati"])
def test_a_zone_that_a_place_has_is_taken(zone):
    assert abs(host_files.offset_of(zone, 1795272180)) <= 14 * 3600


def test_more_requests_than_are_read_are_doubted(read, bundle, monkeypatch):
    monkeypatch.setattr(question, "MOST", 1)
    bundle.write()
    refused = [f"req-{number:08x}-4d51-493e-b32f-1f9e2ada06a8" for number in range(3)]
    failed = "req-ffffffff-4d51-493e-b32f-1f9e2ada06a8"
    lines = [
        f"2026-11-21 14:5{place}:00.000 1 INFO nova.api.openstack.requestlog [{request} u p - - -] "
        f'10.0.0.1 "POST /v2.1/servers" status: {500 if request == failed else 409} len: 9 microversion: 2.1 time: 0.1'
        for place, request in enumerate([*refused, failed])
    ]
    (bundle.top / "controller1/var/log/nova/nova-api.log").write_text("\n".join([*lines, ""]))
    result = read(since="2026-11-21T14:50Z", until="2026-11-21T15:00Z")
    assert [request["id"] for request in result["requests"]] == [failed]
    assert "1 of 4 requests were read: narrow the time" in result["warnings"]


def test_an_id_that_is_nowhere_is_said_with_the_time_of_the_logs(read, bundle):
    bundle.write()
    message = read(server_id="00000000-ecde-4bff-b038-2774dcc49b76")
    assert message.startswith("no log line contains 00000000-ecde-4bff-b038-2774dcc49b76. The 27 files of compute1,")
    assert message.endswith("Check whether the logs of that time were collected, including rotated ones.")


def test_a_request_that_made_no_server_is_read_by_itself(read, bundle):
    bundle.write()
    request = "req-c00f9e93-4d51-493e-b32f-1f9e2ada06a8"
    result = read(request_id=request)
    assert (result["boot"], result["keys"], result["others"]) == (None, {"request": [request]}, {})
    assert [found["id"] for found in result["requests"]] == [request]
    services = {event["service"] for host in result["hosts"].values() for event in host["events"]}
    assert services <= {"neutron-dhcp-agent", "neutron-l2-agent", "neutron-server"}


def test_a_server_that_no_worker_names_is_found_by_who_does(read, bundle):
    bundle.cut("14:43:26.900")
    bundle.write()
    result = read()
    assert (result["boot"]["request"], result["boot"]["server"]) == (bundle.boot.request, bundle.boot.server)
    assert read.warned == []


def test_a_server_that_is_only_polled_is_found_by_the_time_and_that_is_said(read, bundle):
    bundle.cut("14:43:26.000")
    bundle.write()
    result = read()
    assert result["boot"]["request"] == bundle.boot.request
    assert [text[:61] for text in read.warned] == ["no log line has the request of the server 593bff83-ecde-4bff-"]


# Layouts


def test_a_tree_of_var_log_for_each_host(usual):
    assert set(usual["hosts"]) == FIVE
    assert usual["zones"] == {**dict.fromkeys(FIVE, 0), "compute2": 19800}
    assert usual["hosts"]["compute2"]["addresses"] == ["10.71.16.15"]
    assert set(sources(usual).values()) == {None}


@pytest.mark.parametrize(
    "layout",
    [
        "{host}/{name}",
        "{host}/var/log/kolla/{name}",
        "{host}/var/log/containers/{name}",
        "bundle/hosts/{host}/var/log/{name}",
        "{host}/logs/{base}",
        "{host}/{base}.1",
        "sosreport-{host}-2026-11-21-abcdefg/var/log/{name}",
        "sosreport-{host}-123456-20261121/var/log/{name}",
    ],
)
def test_other_layouts_say_the_same(read, bundle, usual, layout, tmp_path):
    bundle.top = tmp_path / "other"
    bundle.write(layout)
    result = read()
    assert count(result) == count(usual)
    assert {name for name, _path in sources(result)} == {name for name, _path in sources(usual)}
    assert result["keys"] == usual["keys"]


def test_a_host_may_be_called_as_a_project_is(read, bundle, usual, tmp_path):
    bundle.top = tmp_path / "other"
    bundle.write("ceph-{host}/{name}")
    assert count(read()) == {f"ceph-{host}": number for host, number in count(usual).items()}


def test_one_folder_of_files_is_one_host_that_is_called_as_the_folder(read, bundle):
    bundle.lines = {key: lines for key, lines in bundle.lines.items() if key[0] == "controller1"}
    bundle.write("{base}")
    result = read()
    assert list(result["hosts"]) == ["bundle"]
    assert sources(result)["nova-conductor", "nova-conductor.log"] is None


def test_names_that_have_the_folder_or_the_host_before_them_are_understood(read, bundle):
    bundle.lines = {key: lines for key, lines in bundle.lines.items() if key[0] == "controller1"}
    bundle.write("controller1-{base}")
    services = {name for name, _path in sources(read())}
    assert {"nova-conductor", "nova-scheduler", "cinder-volume", "glance-api", "placement"} <= services


def test_one_file_of_syslog_is_told_apart_by_its_lines(read, bundle, usual, tmp_path):
    bundle.top = tmp_path / "syslog"
    bundle.top.mkdir()
    bundle.write_syslog()
    result = read()
    assert set(result["hosts"]) == FIVE
    assert (result["host"], result["boot"]["request"]) == ("compute2", bundle.boot.request)
    assert {"nova-compute", "neutron-l2-agent"} <= {name for name, _path in sources(result, "compute2")}
    # The time in a web server's own line is at most a second before that of the line of syslog.
    wrong = {host: abs(count(result)[host] - many) for host, many in count(usual).items()}
    assert max(wrong.values()) <= 2


def test_a_report_of_sos_names_its_host_and_its_zone(read, bundle, usual, tmp_path):
    bundle.top = tmp_path / "reports"
    bundle.write("sosreport-{host}-2026-11-21-abcdefg/var/log/{name}")
    report = bundle.top / "sosreport-compute2-2026-11-21-abcdefg"
    for part in ("sos_commands/host", "sos_commands/networking", "etc"):
        (report / part).mkdir(parents=True)
    (report / "sos_commands/host/hostname").write_text("compute2.example.org\n")
    (report / "sos_commands/networking/ip_-o_addr").write_text("2: eth0    inet 10.71.16.15/22 brd 10.71.19.255\n")
    (report / "etc/localtime").symlink_to("../usr/share/zoneinfo/Asia/Kolkata")
    controller = bundle.top / "sosreport-controller1-2026-11-21-abcdefg/etc"
    controller.mkdir()
    (controller / "hosts").write_text(
        "127.0.0.1 localhost\n10.71.16.12 controller1\n10.71.16.13 network1.example.org x\n"
    )
    result = read(server_id=bundle.boot.server, time_zones={})
    assert result["zones"]["compute2.example.org"] == 19800
    assert result["host"] == "compute2.example.org"
    addresses = {host: read["addresses"] for host, read in result["hosts"].items()}
    assert addresses["compute2.example.org"] == ["10.71.16.15"]
    assert (addresses["controller1"], addresses["network1"]) == (["10.71.16.12"], ["10.71.16.13"])
    assert sum(count(result).values()) == sum(count(usual).values())


def rules_of(zone):
    """The file of a zone's rules, as a host has it."""
    return next(path for top in zoneinfo.TZPATH if (path := Path(top, zone)).exists()).read_bytes()


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("etc/timezone", b"Asia/Kolkata\n"),
        ("etc/localtime", rules_of("Asia/Kolkata")),
        ("sos_commands/systemd/timedatectl", b"      Time zone: Asia/Kolkata (IST, +0530)\n"),
        ("sos_commands/systemd/timedatectl", b"      Time zone: Mars/Olympus (XYZ, +0530)\n"),
    ],
)
def test_the_zone_of_a_host_is_read_where_it_is(read, bundle, part, text):
    bundle.write()
    path = bundle.top / "compute2" / part
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    assert read(server_id=bundle.boot.server, time_zones={})["zones"]["compute2"] == 19800


@pytest.mark.parametrize(("text", "east"), [(rules_of("America/New_York"), -18000), (b"TZif2 of nothing", 0)])
def test_rules_with_summer_time_are_those_of_the_day(read, bundle, text, east):
    bundle.write()
    (bundle.top / "compute2/etc").mkdir()
    (bundle.top / "compute2/etc/localtime").write_bytes(text)
    assert read(server_id=bundle.boot.server, time_zones={})["zones"]["compute2"] == east


# The rules of a zone 99 hours to the east: a header, one type of time, and its name
RULES_OF_99_HOURS = (
    b"TZif" + bytes(16) + struct.pack(">6I", 0, 0, 0, 0, 1, 4) + struct.pack(">lBB", 99 * 3600, 0, 0) + b"XXX\0"
)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("etc/timezone", b"+9999\n"),
        ("etc/localtime", RULES_OF_99_HOURS),
        ("sos_commands/systemd/timedatectl", b"      Time zone: Mars/Olympus (XYZ, +9999)\n"),
    ],
)
def test_an_offset_of_a_host_that_no_place_has_is_not_taken(read, bundle, part, text):
    bundle.write()
    path = bundle.top / "compute2" / part
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    assert read(server_id=bundle.boot.server, time_zones={})["zones"]["compute2"] == 0


def test_a_zone_that_is_not_said_is_doubted(read, bundle):
    bundle.write()
    result = read(server_id=bundle.boot.server, time_zones={})
    message = "the log lines of compute2 about this boot are 5.5 hours later than those of controller1: "
    hint = "if its time zone differs, set it in stackproof_time_zones"
    assert result["warnings"] == read.warned == [message + hint]


def test_a_host_of_a_zone_of_which_nothing_was_read_is_doubted(read, bundle):
    bundle.write()
    result = read(server_id=bundle.boot.server, time_zones={"compute2": "+05:30", "compute9": "+05:30"})
    there = ", ".join(sorted(result["zones"]))
    message = f"stackproof_time_zones names compute9, which has no logs here; found: {there}"
    assert result["warnings"] == read.warned == [message]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "5 hours", "../etc/passwd"])
def test_a_zone_that_is_none_is_said(read, bundle, zone):
    bundle.write()
    assert "is not a time zone that is known here" in read(server_id=bundle.boot.server, time_zone=zone)


def test_a_log_of_a_service_that_nobody_knows_is_carried_along(read, bundle):
    line = "2026-11-21 14:43:40.000 7 ERROR watcher.engine [{} req-a u p] gone: watcher.errors.TooLateError: a"
    bundle.add("network1", "watcher/watcher-engine.log", line.format(bundle.boot.request))
    bundle.add("network1", "dpkg.log", "2026-11-21 14:43:40 status installed x")
    bundle.write()
    result = read()
    events = [event for event in result["hosts"]["network1"]["events"] if event["service"] == "watcher-engine"]
    assert [(event["exception"], event["logger"]) for event in events] == [
        ("watcher.errors.TooLateError", "watcher.engine")
    ]
    assert ("dpkg", "var/log/dpkg.log") not in sources(result)


# Odd files


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_and_rotated_logs_are_read(read, bundle, usual, ending, pack, tmp_path):
    bundle.top = tmp_path / "packed"
    bundle.write()
    path = bundle.top / "compute2/var/log/nova/nova-compute.log"
    path.with_name(f"nova-compute.log.2.{ending}").write_bytes(pack(path.read_bytes()))
    path.unlink()
    result = read()
    assert count(result) == count(usual)
    assert sources(result)["nova-compute", f"var/log/nova/nova-compute.log.2.{ending}"] is None


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_what_is_cut_off_is_read_as_far_as_it_goes_and_is_not_whole(read, bundle, ending, pack):
    bundle.write()
    path = bundle.top / "compute2/var/log/nova/nova-compute.log"
    path.with_name(f"nova-compute.log.1.{ending}").write_bytes(pack(path.read_bytes())[:-40])
    result = read()
    why = sources(result)["nova-compute", f"var/log/nova/nova-compute.log.1.{ending}"]
    assert why == "it is cut off: what is compressed in it ends too early"


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("nova-compute.log.1", b"\x7fELF\0\0\0", "it is binary"),
        ("nova-compute.log.1.gz", b"no gzip", "it cannot be read: Not a gzipped file (b'no')"),
        ("nova-compute.log.1.zst", b"\x28\xb5", "it is compressed with zstd: unpack it first"),
        ("nova-compute.log.1", b"", "the time of its first line is not known"),
    ],
)
def test_a_log_that_is_no_text_is_named_with_the_reason(read, bundle, name, data, why):
    bundle.write()
    (bundle.top / "compute2/var/log/nova" / name).write_bytes(data)
    assert sources(read())["nova-compute", f"var/log/nova/{name}"] == why


def test_a_folder_that_may_not_be_read_is_named_with_the_reason(read, bundle, monkeypatch):
    bundle.write()
    closed = {f"{bundle.top}/compute1"}

    def refuse(path="."):
        if str(path).startswith(tuple(closed)):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", refuse)
    assert "the folder compute1 cannot be read: Permission denied" in read()["warnings"]
    closed |= {f"{bundle.top}/{name}" for name in FIVE}
    assert "the folder controller1 cannot be read: Permission denied" in read()


def test_a_log_that_may_not_be_read_is_named_with_the_reason(read, bundle, monkeypatch):
    bundle.write()
    real = os.open

    def refuse(path, *more, **options):
        if str(path).endswith("compute2/var/log/nova/nova-compute.log"):
            raise PermissionError(13, "Permission denied")
        return real(path, *more, **options)

    monkeypatch.setattr(sift.os, "open", refuse)
    assert sources(read())["nova-compute", "var/log/nova/nova-compute.log"] == "it cannot be read: Permission denied"


def test_a_journal_of_journald_is_named_with_the_way_to_export_it(read, bundle):
    bundle.lines = {COMPUTE: ["x"]}
    bundle.write()
    (bundle.top / "compute2/var/log/system.journal").write_bytes(b"LPKSHHRH" + b"\0" * 100)
    assert "system.journal: it is a journal: export it with journalctl --file=... -o short-iso-precise" in read()


def test_a_line_of_a_megabyte_and_one_without_an_end_do_no_harm(read, bundle, usual, tmp_path):
    bundle.top = tmp_path / "long"
    long = f"2026-11-21 20:13:40.000 7 INFO nova [{bundle.boot.request} u p] " + "x" * 3_000_000
    bundle.lines[COMPUTE] = ["y" * 1_000_000, *bundle.lines[COMPUTE], long]
    bundle.write()
    result = read()
    assert count(result) == count(usual)
    assert sources(result)["nova-compute", "var/log/nova/nova-compute.log"] is None


def test_bytes_that_are_no_text_do_no_harm(read, bundle, usual, tmp_path):
    bundle.top = tmp_path / "bytes"
    bundle.lines[COMPUTE] = [f"{line} \udcff\udc80" for line in bundle.lines[COMPUTE]]
    bundle.write()
    assert count(read())["compute2"] == count(usual)["compute2"]


def test_a_flood_is_not_whole(read, bundle, monkeypatch):
    monkeypatch.setattr(sift, "MOST", 30)
    bundle.write()
    assert sources(read())["nova-compute", "var/log/nova/nova-compute.log"] == "more than 30 lines were found in it"


@pytest.mark.parametrize("bomb", ["x" * 750_000, "x\n" * 375_000], ids=["one line", "many lines"])
def test_a_small_file_that_has_no_end_is_read_so_far_and_not_whole(read, bundle, monkeypatch, bomb):
    """The lines before it count."""
    monkeypatch.setattr(sift, "LARGEST", 1 << 18)
    bundle.write()
    path = bundle.top / "compute2/var/log/nova/nova-compute.log"
    text = "\n".join(bundle.lines[COMPUTE])
    path.with_name("nova-compute.log.1.gz").write_bytes(gzip.compress(f"{text}\n{bomb}".encode("utf-8", "replace")))
    path.unlink()
    result = read()
    assert sources(result)["nova-compute", "var/log/nova/nova-compute.log.1.gz"] == "more than 0 GiB are in it"
    assert count(result)["compute2"] > 0


def test_links_out_of_the_directory_are_not_followed_and_are_named(read, bundle, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "nova-compute.log").write_text("\n".join(bundle.lines.pop(COMPUTE)))
    bundle.write()
    (bundle.top / "compute2/var/log/nova").symlink_to(outside)
    (bundle.top / "compute2/var/log/own.log").symlink_to(outside / "nova-compute.log")
    (bundle.top / "compute2/var/log/inside.log").symlink_to("neutron/neutron-openvswitch-agent.log")
    (bundle.top / "compute2/var/log/nothing.log").symlink_to("/nowhere/at/all")
    result = read()
    assert "nova-compute" not in {name for name, _path in sources(result, "compute2")}
    assert [text for text in result["warnings"] if "link" in text] == [
        "compute2/var/log/nova is a link out of the directory and is not followed",
        "compute2/var/log/own.log is a link out of the directory and is not followed",
    ]


def test_a_whole_host_that_is_a_link_is_not_followed(read, bundle, tmp_path):
    bundle.write("../elsewhere/{host}/var/log/{name}")
    (bundle.top / "compute1").symlink_to(tmp_path / "elsewhere/compute1")
    assert read().startswith(f"there is no log in {bundle.top}")


def test_a_pipe_is_passed_over(read, bundle):
    bundle.write()
    os.mkfifo(bundle.top / "compute2/var/log/pipe.log")
    assert read()["boot"]["server"] == bundle.boot.server


def test_an_empty_directory_is_said(read, bundle):
    message = read()
    assert message.startswith(f"there is no log in {bundle.top}. Give a directory with a log of each service")


def test_a_directory_that_is_not_there_is_said(read, tmp_path):
    assert read(tmp_path / "nowhere") == f"{tmp_path}/nowhere does not exist. Give the directory that has the logs."


def test_an_archive_is_read_as_the_directory_in_it(read, bundle, tmp_path):
    bundle.write()
    packed = tmp_path / "logs.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(bundle.top, "logs")
    whole, unpacked_here = read(), read(packed)
    assert unpacked_here["name"] == "logs.tar.gz"
    assert {**unpacked_here, "name": ""} == {**whole, "name": ""}


def test_a_file_that_is_no_archive_is_said(read, tmp_path):
    (tmp_path / "one.log").write_text("a\n")
    assert "is a file, not a directory of logs. Give the directory that contains it" in read(tmp_path / "one.log")


def test_only_one_id_can_be_given(call, bundle, bundle_options):
    result = call(module, **bundle_options(bundle.write(), request_id="req-a", server_id="b"))
    assert "mutually exclusive" in result["msg"]


def test_a_missing_library_is_said(read, monkeypatch):
    monkeypatch.setattr(flow, "HAS_LIBRARIES", False)
    assert "jmespath" in read()


def test_nothing_of_a_line_is_returned_that_could_be_secret(read, bundle):
    secret = "gAAAAABsecret0token1value2"
    bundle.lines = {key: [f"{line} X-Auth-Token: {secret}" for line in lines] for key, lines in bundle.lines.items()}
    bundle.write()
    result = read()
    assert sum(count(result).values()) > 200
    assert secret not in json.dumps(result)
    assert "planted-secret" not in json.dumps(result)


def test_nothing_is_written(read, bundle):
    bundle.write()
    before = {path: path.stat().st_mtime_ns for path in Path(bundle.top).rglob("*")}
    read()
    assert {path: path.stat().st_mtime_ns for path in Path(bundle.top).rglob("*")} == before


@pytest.mark.parametrize("year", ["0001", "1970", "2016", "2100", "9999"])
def test_a_line_with_a_far_time_is_left_out_and_said(read, bundle, usual, tmp_path, year):
    """A clock that was wrong for a moment, or a host whose clock is."""
    line = next(line for line in bundle.lines[COMPUTE] if bundle.boot.request in line)
    bundle.add("compute2", "nova/nova-compute.log", line.replace("2026-11-21", f"{year}-12-31", 1))
    bundle.top = tmp_path / "again"
    bundle.top.mkdir()
    bundle.write()
    begun = time.process_time()
    result = read(bundle.top)
    assert time.process_time() - begun < 5
    assert (result["began"], result["until"], count(result)) == (usual["began"], usual["until"], count(usual))
    # Python cannot calculate with the first and the last days of the calendar: they do not count as times.
    doubt = f"a log line of nova-compute on compute2 about this boot is dated {year}-12-31"
    assert [doubt in text for text in result["warnings"]] == ([] if year in ("0001", "9999") else [True])
