# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The doubts about a boot that was found in logs, as sentences."""

from __future__ import annotations

from dataclasses import dataclass

from .boot_lines import BootIds, FoundBoot, lines_of_boot, near_and_far
from .boots import SHORTLY, WholeBoot
from .line import Line, Mark
from .log_directory import MOST_NAMED, moment

# In seconds. If the lines of two hosts on one boot are further apart than this, the zone of one is wrong.
APART = 840
# In seconds. Zones differ by quarters of an hour.
QUARTER = 900


def doubts(boot: WholeBoot) -> list[str]:
    by_time = [doubt_on_request(boot.found)] if boot.found.by_time else []
    _near, far = near_and_far(lines_of_boot(boot.lines, boot.ids))
    apart = hosts_apart(boot.lines, boot.ids)
    return [
        *by_time,
        *map(doubt_on_clock, far[:MOST_NAMED]),
        *map(doubt_on_zone, apart),
    ]


def doubt_on_request(boot: FoundBoot) -> str:
    why = f"no other boot was requested in the {SHORTLY} seconds before the server is first mentioned"
    return f"no log line has the request of the server {boot.server}: {boot.request} is assumed, because {why}"


def doubt_on_clock(line: Line) -> str:
    time = f"a log line of {line.service} on {line.host} about this boot is dated {moment(line.at)}"
    return f"{time}, more than a day from the others, and is ignored: check the clock of {line.host}"


@dataclass(frozen=True)
class Ahead:
    """A host whose lines of the boot are hours before or behind those of another one."""

    host: str
    other: str
    hours: float


def doubt_on_zone(ahead: Ahead) -> str:
    direction = "later" if ahead.hours > 0 else "earlier"
    difference = (
        f"{abs(ahead.hours):g} hours {direction} than those of {ahead.other}"
    )
    hint = "if its time zone differs, set it in stackproof_time_zones"
    return f"the log lines of {ahead.host} about this boot are {difference}: {hint}"


def hosts_apart(lines: list[Line], ids: BootIds) -> list[Ahead]:
    """Return the hosts whose lines of the boot's own requests are so far from those of others that a zone is wrong."""
    own, _far = near_and_far(list(filter(ids.has_request_of, lines)))
    if not own:
        return []
    times: dict[str, list[float]] = {}
    for line in own:
        times.setdefault(line.host, []).append(line.at)
    # They are compared with the host that was asked for the server.
    compared = min(
        own, key=lambda line: (Mark.ASKED not in line.marks, line.at)
    ).host
    first, last = min(times[compared]), max(times[compared])
    return [
        Ahead(host, compared, round((min(own_times) - first) / QUARTER) / 4)
        for host, own_times in sorted(times.items())
        if min(own_times) - last > APART or first - max(own_times) > APART
    ]
