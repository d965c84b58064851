# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other boots at the same moment: when they were under way, and which ids belong to one boot alone."""

from __future__ import annotations

from .._collect.api.instance import SETTLING

# A boot that began so many seconds before another one may still be under way.
RIVALRY = 180
# As Nova's own log, its server before it, and a web server write the request for a server
RIVALS = ('/servers" status: 202', '/servers HTTP/1.1" status: 202', "/servers => generated")
# The end of another boot is known by the line in which nova-compute says how long it took.
BUILT = "seconds to build instance"
TOOK = r"Took (?P<seconds>[\d.]+) seconds to build instance"
# Kinds of ids that other boots may have too: of a request before the boot, and of something that they share
WEAK = {"asked", "shared"}


def own_keys(event):
    """The kinds of ids in an event that belong to this boot alone."""
    return event["keys"].keys() - WEAK


def rivals_in(asked, built, answer=None):
    """When other boots were under way, as (first, last): from their request until their guest has settled.

    asked, built: the events of nova-api and of nova-compute. answer: an administrator's answer about other boots, if
    one was asked for it: its moment, and (first, last) of each boot. Only the logs show boots that were requested after
    that moment, or any boot if nobody was asked.
    """
    posts = [event for event in asked if set(RIVALS) & set(event["window"])]
    own = own_post(posts)
    since, boots = answer or (0, [])
    others = [post for post in posts if not post["keys"] and post != own and post["at"] >= since - 1]
    ends = [event for event in built if BUILT in event["window"] and not event["keys"]]
    return [*boots, *((post["at"], end_of(post, ends)) for post in others)]


def own_post(posts):
    """Our own request as the web server logged it, or None: that line has no id, and lies next to Nova's own line."""
    keyed = [post["at"] for post in posts if post["keys"]]
    of_web_server = [post for post in posts if post.get("began") and not post["keys"]]
    if not keyed or not of_web_server:
        return None

    def distance(post):
        return min(abs(post["at"] - at) for at in keyed)

    nearest = min(of_web_server, key=distance)
    return nearest if distance(nearest) <= 1 + nearest["resolution_s"] else None


def end_of(post, ends):
    """A boot took as long as nova-compute says in its last line; a request without that may still be under way."""
    fitting = [end["until"] for end in ends if end["until"] and -2 <= end["at"] - post["at"] <= 15]
    return max(fitting) + SETTLING if fitting else post["at"] + RIVALRY
