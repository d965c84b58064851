# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All times of a recording are moved by the same seconds, however they are written, and nothing else is."""

from __future__ import annotations

import pytest
from recorder.times import Shift

# A day, two hours, three minutes and four seconds earlier
SHIFT = Shift("2026-12-02T12:03:04.900000+00:00", "2026-12-01T10:00:00.100000+00:00")


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("2026-12-02T12:03:04.900000+00:00", "2026-12-01T10:00:00.900000+00:00"),
        ("2026-12-02 12:03:05.123 7 INFO", "2026-12-01 10:00:01.123 7 INFO"),
        ("2026-12-02T17:33:05Z", "2026-12-01T15:30:01Z"),
        ("[02/Dec/2026:12:03:05.496]", "[01/Dec/2026:10:00:01.496]"),
        ("[Wed Dec  2 12:03:05 2026] GET", "[Tue Dec  1 10:00:01 2026] GET"),
        ("Thu Dec 10 12:03:05 2026", "Wed Dec  9 10:00:01 2026"),
        ("Dec  2 12:03:05 dnsmasq[7]: a", "Dec  1 10:00:01 dnsmasq[7]: a"),
        ("Dec  1 12:03:05 dnsmasq[7]: a", "Nov 30 10:00:01 dnsmasq[7]: a"),
        ("stackproof-20261202-120305-3f9a1c-server", "stackproof-20261201-100001-3f9a1c-server"),
        ("lease 1796212984 fa:16", "lease 1796119200 fa:16"),
        ("at 1796212984.014621", "at 1796119200.014621"),
        ('"1796212984264241"', '"1796119200264241"'),
    ],
)
def test_a_time_near_the_recording_is_moved_in_its_own_form(new, old):
    assert SHIFT.text(new) == old
    assert SHIFT.back().text(old) == new


@pytest.mark.parametrize(
    "text",
    [
        "2020-04-07T00:00:00Z",
        "2026-12-02",
        "1500000000",
        "17962129840",
        "21796212984",
        "port 1796212",
        "2026-99-99 12:03:05",
        "12:03:05",
        "99999999-999999-3f9a1c",
    ],
)
def test_what_is_no_time_near_the_recording_stays(text):
    assert SHIFT.text(text) == text


def test_numbers_keep_their_kind_and_their_microseconds():
    assert SHIFT.number(1796212984) == 1796119200
    assert isinstance(SHIFT.number(1796212984), int)
    assert repr(SHIFT.number(1796212984.014621)) == "1796119200.014621"
    assert [SHIFT.number(value) for value in (0, -1, True, 7.5, 140421741511808)] == [0, -1, True, 7.5, 140421741511808]
