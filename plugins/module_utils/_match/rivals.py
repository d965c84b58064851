# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other boots at the same moment: when they were under way, and which ids are of one boot alone."""

from __future__ import annotations

from .._collect.instance import SETTLING

# A boot that began this long before another one may still be under way.
RIVALRY = 180
RIVALS = ('/servers" status: 202', "/servers => generated")
# How another boot's end is known: nova-compute says how long it took.
BUILT = "seconds to build instance"
TOOK = r"Took (?P<seconds>[\d.]+) seconds to build instance"
# An id of a request before the boot, and of something that other boots use as well
WEAK = {"asked", "shared"}


def own_keys(one):
    """The ids in an event that belong to this boot alone."""
    return one["keys"].keys() - WEAK


def rivals_in(asked, built, told=None):
    """When other boots were under way, as (first, last): from their request until their guest has settled.

    told: what an administrator was told of them, if one was asked: the moment, and (first, last) of each. Of those that
    were requested later, and of all if none was asked, only the logs know.
    """
    posts = [one for one in asked if set(RIVALS) & set(one["window"])]
    mine = [one for one in posts if one["keys"]]
    # Nova and its web server both log a request, and the second knows no id: one line of it is our own.
    own = sorted(
        (one for one in posts if one.get("began") and not one["keys"]),
        key=lambda one: min([abs(one["at"] - my["at"]) for my in mine] or [9e9]),
    )
    ours = (
        own[:1]
        if own and mine and any(abs(own[0]["at"] - my["at"]) <= 1 + own[0]["resolution_s"] for my in mine)
        else []
    )
    since, known = told or (0, [])
    others = [one for one in posts if not one["keys"] and one not in ours and one["at"] >= since - 1]
    ends = [one for one in built if BUILT in one["window"] and not one["keys"]]
    return known + [(one["at"], end_of(one, ends)) for one in others]


def end_of(post, ends):
    """A boot took as long as nova-compute says in its last line; a request without one may still be under way."""
    fitting = [one["until"] for one in ends if one["until"] and -2 <= one["at"] - post["at"] <= 15]
    return max(fitting) + SETTLING if fitting else post["at"] + RIVALRY
