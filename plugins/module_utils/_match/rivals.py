# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other boots at the same moment: when they were under way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .._collect.api.instance import SETTLING
from .._model.event import Event

# In seconds: a boot that began so long before another one may still be under way.
RIVALRY = 180
# As Nova's own log, its server before it, and a web server write the request for a server
RIVALS = (
    '/servers" status: 202',
    '/servers HTTP/1.1" status: 202',
    "/servers => generated",
)
# The end of another boot is known by the line in which nova-compute says how long it took.
BUILT = "seconds to build instance"
TOOK = r"Took (?P<seconds>[\d.]+) seconds to build instance"
# In seconds: how long before its request, by the clocks of two hosts, and after it a boot may begin to be built
EARLIEST_BUILD, LATEST_BUILD = -2, 15

# (first, last) moment of another boot
Boot = tuple[float, float]


def rivals_in(
    asked: Iterable[Event],
    built: Iterable[Event],
    answer: tuple[float, Sequence[Boot]] | None = None,
) -> list[Boot]:
    """Return when other boots were under way: from their request until their guest has settled.

    asked, built: the events of nova-api and of nova-compute. answer: an administrator's answer about other boots, if
    one was asked for it: its moment, and each boot. Only the logs show boots that were requested after that moment, or
    any boot if nobody was asked.
    """
    since, boots = answer or (0.0, ())
    posts = [
        event for event in asked if not set(RIVALS).isdisjoint(event.texts)
    ]
    ends = [
        event for event in built if BUILT in event.texts and not event.keys
    ]
    logged = [
        (post.at, end_of(post, ends))
        for post in posts_of_others(posts)
        if post.at >= since - 1
    ]
    return [*boots, *logged]


def posts_of_others(posts: Sequence[Event]) -> list[Event]:
    own = own_post(posts)
    return [post for post in posts if not post.keys and post is not own]


def own_post(posts: Sequence[Event]) -> Event | None:
    """Return our own request as the web server logged it, or None: it has no id, and lies next to Nova's own line."""
    keyed: list[float] = []
    of_web_server: list[Event] = []
    for post in posts:
        if post.keys:
            keyed.append(post.at)
        elif post.get("began"):
            of_web_server.append(post)
    if not of_web_server:
        return None

    def distance(post: Event) -> float:
        return min((abs(post.at - at) for at in keyed), default=math.inf)

    nearest = min(of_web_server, key=distance)
    tolerated = 1 + nearest.resolution_s
    if distance(nearest) > tolerated:
        return None
    return nearest


def end_of(post: Event, ends: Iterable[Event]) -> float:
    """Return when a boot had settled. A request without the line that it was built may still be under way."""
    fitting = [
        end.until
        for end in ends
        if end.until and EARLIEST_BUILD <= end.at - post.at <= LATEST_BUILD
    ]
    return max(
        (until + SETTLING for until in fitting), default=post.at + RIVALRY
    )
