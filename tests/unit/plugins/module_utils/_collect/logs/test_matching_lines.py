# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of journals and of files, old and new, and the times at which they were written."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import UnreadError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import matching_lines
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.matching_lines import MatchingLine
from recorded_hosts import journal_of, printed, second

MAC = "fa:16:3e:2d:9a:e3"
LOG = "/var/log/neutron/dnsmasq.log"
FILE, BOTH = {"files": [LOG]}, {"journals": ["dnsmasq-dhcp"], "files": [LOG]}
NEW_YEAR = datetime(2027, 1, 1, tzinfo=timezone.utc).timestamp()
NONE = (2, "", f"grep: {LOG}: No such file or directory")


def entry(at, message, name="dnsmasq-dhcp"):
    return f"__REALTIME_TIMESTAMP={at}\nSYSLOG_IDENTIFIER={name}\nMESSAGE={message}\n\n"


@pytest.fixture
def lines(replay):
    """Return a function that reads the lines of a host that says something."""

    def of(sources, since=100.0, word="word", zone="+0000", **answers):
        instead = {"id -u": "0", "date +%z": zone + "\n", **answers}
        return matching_lines.read(replay(None, instead), "dhcp", sources, word, since)

    return of


def month_number(name):
    return "JanFebMarAprMayJunJulAugSepOctNovDec".index(name) // 3 + 1


def texts(result):
    return [line.text for line in result]


def test_recorded_lines_of_a_file(replay):
    parsed = matching_lines.read(replay("network1"), "dhcp", BOTH, MAC, 1795258881.0)
    lines = printed("network1", LOG).splitlines()
    assert [line.at for line in parsed] == [second(line[:15]) for line in lines]
    assert len(parsed) == 4
    assert {line.resolution_s for line in parsed} == {1}
    assert parsed[0].text == lines[0][16:]
    assert parsed[0].text.endswith(f"DHCPDISCOVER(tap6d66f24a-7d) {MAC} ")


def test_recorded_lines_of_a_journal(replay):
    owner = "43fab180-bf69-42bf-a74e-9ed8722a60fa"
    sources = {"journals": [f"haproxy-metadata-proxy-{owner}"]}
    fields = journal_of("network1", sources["journals"][0])[1]
    word, _space, rest = fields["MESSAGE"].partition(" ")
    assert word.startswith("192.168.222.230:")
    (line,) = matching_lines.read(replay("network1"), "metadata", sources, word, 1795258881.0)
    assert (line.at, line.resolution_s) == (int(fields["__REALTIME_TIMESTAMP"]) / 1e6, 1e-6)
    assert line.text == f"{word} {rest}"
    assert "/openstack/latest/user_data" in rest


def test_a_file_that_holds_nothing_of_the_word_is_read(replay):
    assert matching_lines.read(replay("network1-odd"), "dhcp", FILE, "fa:16:3e:00:00:00", 1795258881.0) == []


def test_no_file_at_all_is_a_failure(replay):
    with pytest.raises(UnreadError, match="No such file or directory"):
        matching_lines.read(replay("network1-odd"), "dhcp", {"files": ["/var/log/none.log"]}, "fa:16:3e:00:00:00", 0)


def test_one_file_of_two_is_enough(lines):
    other = "Jan  1 00:02:00 dnsmasq-dhcp[1]: word\n"
    result = lines({"files": ["/none", "/there"]}, NEW_YEAR, **{"/none": NONE, "/there": other})
    assert texts(result) == ["dnsmasq-dhcp[1]: word"]


def test_without_a_file_the_journal_is_enough(lines):
    assert texts(lines(BOTH, journalctl=entry(200_000_000, "a word"), grep=NONE)) == ["a word"]


def test_a_journal_is_asked_from_a_time_on(replay):
    host = replay(None, {"id -u": "0", "journalctl": ""})
    assert matching_lines.read(host, "dhcp", {"journals": ["a"]}, "word", 1795258881.4) == []
    (asked,) = [words for words in host.execute.asked if "journalctl" in words]
    assert asked.endswith("--since=@1795258881 SYSLOG_IDENTIFIER=a")


def test_a_journal_that_is_refused_is_a_failure(replay):
    host = replay(None, {"id -u": "0", "journalctl": (1, "", "sudo: a password is required")})
    with pytest.raises(UnreadError) as caught:
        matching_lines.read(host, "dhcp", BOTH, "word", 0)
    assert caught.value.kind == "refused"


@pytest.mark.parametrize("output", ["sudo: a password is required", f"grep: {LOG}: Permission denied"])
def test_a_file_that_is_there_but_cannot_be_read_is_a_failure_whatever_the_journal_says(lines, output):
    with pytest.raises(UnreadError, match=output):
        lines(BOTH, journalctl=entry(200_000_000, "a word"), grep=(1, "", output))


def test_lines_come_in_the_order_of_their_times_wherever_they_are_from(lines):
    journal = entry(300_000_000, "third word") + entry(100_000_001, "first word") + entry(0, "no such")
    result = lines(BOTH, journalctl=journal, grep="1970-01-01T00:03:20+00:00 second word\n")
    assert [(line.at, line.text) for line in result] == [
        (100.000001, "first word"),
        (200.0, "second word"),
        (300.0, "third word"),
    ]


def test_lines_of_before_are_left_out_but_for_those_of_the_same_second(lines):
    output = "".join(f"1970-01-01T00:01:{at}+00:00 {at} word\n" for at in ("38", "39", "39.5", "40"))
    assert texts(lines(FILE, since=100.0, grep=output)) == ["39 word", "40 word"]


@pytest.mark.parametrize(
    ("text", "near", "zone", "expected"),
    [
        ("Dec 31 23:59:59", NEW_YEAR + 5, 0, NEW_YEAR - 1),
        ("Jan  1 00:00:01", NEW_YEAR - 5, 0, NEW_YEAR + 1),
        ("Jan  1 01:00:01", NEW_YEAR + 5, 3600, NEW_YEAR + 1),
        ("Dec 31 23:00:01", NEW_YEAR + 5, -3600, NEW_YEAR + 1),
        ("Jan  1 05:30:01", NEW_YEAR - 5, 19800, NEW_YEAR + 1),
        ("Feb 29 12:00:00", datetime(2028, 3, 1, tzinfo=timezone.utc).timestamp(), 0, 1835438400),
    ],
)
def test_a_time_without_a_year_is_the_nearest(text, near, zone, expected):
    assert matching_lines.parse_line(f"{text} a[1]: b", near, zone).at == expected


@pytest.mark.parametrize("month", ["Jan", "Mar", "May", "Oct", "Nov", "Dec"])
@pytest.mark.usefixtures("german")
def test_months_are_english_whatever_the_language_of_the_host(lines, month):
    at = datetime.strptime(f"2026 {month_number(month)} 21 16:31:46 +0000", "%Y %m %d %H:%M:%S %z").timestamp()
    (line,) = lines(FILE, at - 5, grep=f"{month} 21 16:31:46 dnsmasq-dhcp[1]: word\n")
    assert line.at == at


@pytest.mark.parametrize("text", ["Jan  1 00:01:60 a[1]: a leap second", "Nix  1 00:01:00 a[1]: b"])
def test_what_looks_like_a_time_and_is_none_is_passed_over(text):
    assert matching_lines.parse_line(text, 0, 0) is None


@pytest.mark.parametrize(
    ("output", "seconds"), [("+0000", 0), ("+0530", 19800), ("-0330", -12600), ("-1100", -39600), ("+1400", 50400)]
)
def test_the_zone_of_a_host(replay, output, seconds):
    assert matching_lines.zone_of(replay(None, {"date +%z": output + "\n"})) == seconds


def test_a_file_of_a_host_in_another_zone(lines):
    at = datetime(2026, 11, 21, 16, 31, 46, tzinfo=timezone(timedelta(hours=5.5))).timestamp()
    (line,) = lines(FILE, at - 5, zone="+0530", grep="Nov 21 16:31:46 dnsmasq-dhcp[1]: word\n")
    assert line == MatchingLine(at, 1, "dnsmasq-dhcp[1]: word")


@pytest.mark.parametrize("zone", ["+0530", "-0500"])
def test_a_file_of_a_container_that_knows_no_zone_is_in_utc(lines, zone, monkeypatch):
    at = datetime(2026, 11, 21, 11, 1, 46, tzinfo=timezone.utc).timestamp()
    monkeypatch.setattr(matching_lines.time, "time", lambda: at + 60)
    (line,) = lines(FILE, at - 5, zone=zone, grep="Nov 21 11:01:46 dnsmasq-dhcp[1]: word\n")
    assert line.at == at


def test_without_any_source_nothing_is_known(replay):
    assert matching_lines.read(replay(None, {}), "dhcp", {"journals": [], "files": []}, "word", 0) is None


def test_no_file_needs_no_zone(replay):
    host = replay(None, {"id -u": "0", "journalctl": "", "grep": NONE})
    assert matching_lines.read(host, "dhcp", BOTH, "word", 0) == []


@pytest.mark.parametrize(
    ("text", "at", "resolution", "rest"),
    [
        ("1970-01-01T00:01:40Z a: b", 100.0, 1, "a: b"),
        ("1970-01-01T00:01:40.25+00:00  a: b", 100.25, 1e-3, "a: b"),
        ("1970-01-01T01:01:40.250000+01:00 host a[1]: b", 100.25, 1e-3, "host a[1]: b"),
        ("1969-12-31T23:31:40-00:30 a: b", 100.0, 1, "a: b"),
        ("Jan  1 00:01:40 a[1]: b", 100.0, 1, "a[1]: b"),
        ("Jan  1 00:01:40 host a[1]: b", 100.0, 1, "host a[1]: b"),
        ("Jan 11 00:01:40 host a[1]: b: c[2]: d", 864100.0, 1, "host a[1]: b: c[2]: d"),
    ],
)
def test_a_line_of_a_file_has_a_time_and_the_rest(text, at, resolution, rest):
    assert matching_lines.parse_line(text, 0, 0) == MatchingLine(at, resolution, rest)


@pytest.mark.parametrize("text", ["", "word", "00:01:40 a[1]: b", "-- more"])
def test_a_line_without_a_time_is_none(lines, text):
    assert lines(FILE, grep=text + "\n") == []


def test_without_a_begin_a_line_without_a_year_is_of_the_last_months(lines):
    """A module that is asked by hand need not be told since when."""
    written = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(days=3)
    month = "JanFebMarAprMayJunJulAugSepOctNovDec"[written.month * 3 - 3 : written.month * 3]
    text = f"{month} {written.day:2d} {written:%H:%M:%S} dnsmasq-dhcp[1]: a word"
    (line,) = lines(FILE, since=0, **{LOG: text})
    assert line.at == written.timestamp()
