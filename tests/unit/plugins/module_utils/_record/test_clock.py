# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of time, and what Date headers allow to say of another clock."""

from __future__ import annotations

import random
import re
from datetime import timedelta, timezone
from email.utils import formatdate

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock as clock_module
from tree import ROOT


def answer(sent, stamp, received):
    return sent, formatdate(stamp, usegmt=True), received


def test_now_is_utc_with_microseconds():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", clock_module.now())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:07Z", 7),
        ("1970-01-01T00:00:07", 7),
        ("1970-01-01 00:00:07.25", 7.25),
        ("1970-01-01 00:00:07,250", 7.25),
        ("1970-01-01T05:30:07.5+05:30", 7.5),
        ("1970-01-01T05:30:07.5+0530", 7.5),
        ("1970-01-01T00:00:07.250000+00:00", 7.25),
        ("1970-01-01T00:00:07.250000999Z", 7.25),
        ("1970-01-02", 86400),
    ],
)
def test_a_time_in_every_form_of_iso_8601_that_services_use(text, seconds):
    assert clock_module.seconds_of(text) == seconds


def test_a_time_without_a_zone_is_in_the_given_one():
    kolkata = timezone(timedelta(hours=5, minutes=30))
    assert clock_module.seconds_of("1970-01-01 05:30:07", kolkata) == 7
    assert clock_module.seconds_of("1970-01-01 00:00:07Z", kolkata) == 7
    assert clock_module.parse("1970-01-01 00:00:07").tzinfo is timezone.utc


@pytest.mark.parametrize("text", ["", "yesterday", "1970-13-01", "1970-01-01T00:00:60Z", "1970-01-01T00:00:07+9999"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        clock_module.parse(text)


def test_nobody_else_reads_times():
    """Neither ISO 8601, whose forms differ by Python, nor names of months, which differ by the language of the host.

    The codec reads the one form that records have.
    """
    files = [path for path in (ROOT / "plugins").rglob("*.py") if "lab" not in path.name]
    readers = {path.name for path in files if re.search(r"fromisoformat|strptime\(.*%b", path.read_text())}
    assert (len(files) > 100, readers) == (True, {"clock.py", "codec.py"})


def test_seconds_between_two_points_of_time():
    before, after = "2026-11-21T23:59:59.900000+00:00", "2026-11-22T00:00:01.150000+00:00"
    assert clock_module.seconds_between(before, after) == 1.25
    assert clock_module.seconds_between(after, before) == -1.25


def test_a_stopwatch_does_not_follow_the_time_of_day(monkeypatch):
    watch = clock_module.Stopwatch()
    monkeypatch.setattr(clock_module, "now", lambda: "1970-01-01T00:00:00.000000+00:00")
    monkeypatch.setattr(clock_module.time, "time", lambda: 0.0)
    assert 0 <= watch.seconds() < 5


@pytest.mark.parametrize("samples", [[], [(1, None, 2)], [(1, "yesterday", 2)], [(1, "", 2), (2, None, 3)]])
def test_no_usable_date_gives_no_difference(samples):
    assert clock_module.clock_difference(samples) is None


def test_one_answer_allows_a_range_of_a_second_and_its_own_duration():
    # Sent at .2 and answered at .4, with the second 1000 on it: the other clock was between 1000.0 and 1001.0.
    assert clock_module.clock_difference([answer(1000.2, 1000, 1000.4)]) == {
        "offset_s": 0.2,
        "error_s": 0.6,
        "answers": 1,
        "consistent": True,
    }


def test_answers_without_a_date_do_not_count():
    difference = clock_module.clock_difference([(1, None, 2), answer(1000.2, 1000, 1000.4)])
    assert difference["answers"] == 1


def test_an_answer_that_turns_the_second_sharpens_the_difference():
    difference = clock_module.clock_difference([answer(999.90, 999, 999.95), answer(1000.0, 1000, 1000.05)])
    assert difference["error_s"] < 0.1
    assert difference["offset_s"] == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("ahead", [-7200.4, -0.6, 0.0, 0.25, 86400.0])
def test_the_true_difference_lies_within_the_error(ahead):
    chance = random.Random(str(ahead))
    for _round in range(50):
        samples, clock = [], 1_700_000_000 + chance.random()
        for _answer in range(chance.randint(1, 12)):
            sent = clock
            stamped = sent + chance.random() * 0.05
            received = stamped + chance.random() * 0.05
            samples.append(answer(sent, int(stamped + ahead), received))
            clock = received + chance.random()
        difference = clock_module.clock_difference(samples)
        assert difference["consistent"]
        assert abs(difference["offset_s"] - ahead) <= difference["error_s"] + 0.001


def test_clocks_that_differ_are_all_covered_by_the_error():
    difference = clock_module.clock_difference([answer(1000.2, 1000, 1000.3), answer(1000.4, 1010, 1000.5)])
    assert not difference["consistent"]
    assert difference["offset_s"] - difference["error_s"] <= 0
    assert difference["offset_s"] + difference["error_s"] >= 10
