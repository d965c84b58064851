# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find in the words of a cloud what it did not have for a request: no host, no back end, no address, a quota."""

from __future__ import annotations

import re

from ..._model.shortage import Reason, Shortage, Sought
from ..._model.stage import Failure

OF_QUOTA = "quota"
# In the words of Nova, Neutron and Cinder
WORDS = {
    Sought.HOST: re.compile(
        r"No valid host|is not mapped to any cell|Compute host \S+ could not be found"
    ),
    Sought.ADDRESS: re.compile(
        r"No fixed IP addresses available|No more IP addresses available|IpAddressGenerationFailure|NoMoreFixedIps"
    ),
    Sought.SEGMENT: re.compile(
        r"No tenant network is available for allocation"
    ),
    # That a host cannot convert an image, or finds no data of it, is no matter of what the image is.
    Sought.IMAGE: re.compile(
        r"Image (?P<id>\S+) is unacceptable: (?!Unable to convert|Image has no|No image loc)(?P<reason>[^\n]{1,200})"
    ),
    Sought.BACKEND: re.compile(
        r"No valid back-?end|No weighed back-?ends available|Could not find any available weighted back-?end"
    ),
}
NO_ZONE = re.compile(
    r"requested availability zone is not available|Availability zone '[^']*' is invalid"
)
# Neutron names the network that has no address left.
OF_NETWORK = re.compile(r"on network (?P<id>[0-9a-f-]{36})")
NUMBERS = r"[\d, ]+"
QUOTAS = (
    # Nova. Several quotas stand in lists of the same order.
    re.compile(
        rf"Quota exceeded for (?P<name>[\w, ]+): Requested (?P<asked>{NUMBERS}), "
        rf"but already used (?P<used>{NUMBERS}) of (?P<limit>{NUMBERS})"
    ),
    # oslo.limit
    re.compile(
        r"(?P<name>\w+) is over limit of (?P<limit>\d+) "
        r"due to current usage (?P<used>\d+) and delta (?P<asked>\d+)"
    ),
    # Cinder
    re.compile(
        r"exceeds allowed (?P<name>\w+) quota\. "
        r"Requested (?P<asked>\d+)G, quota is (?P<limit>\d+)G and (?P<used>\d+)G has been consumed"
    ),
    re.compile(
        r"(?P<name>volume size) (?P<asked>\d+)G is larger than maximum allowed limit (?P<limit>\d+)G"
    ),
    re.compile(
        r"Maximum number of \w+ allowed \((?P<limit>\d+)\) exceeded for quota '(?P<name>[^']+)'"
    ),
    re.compile(
        r"Maximum number of (?P<name>\w+) allowed \((?P<limit>\d+)\) exceeded"
    ),
    # Nova about what a server has of its own, and Glance about an image
    re.compile(
        r"Maximum number of (?P<name>[\w ]{1,40}) exceeds (?P<limit>\d+)"
    ),
    re.compile(r"Quota exceeded, too many (?P<name>[\w ]{1,40})"),
    re.compile(
        r"exceeded on the number of allowed (?P<name>[\w ]{1,40})\. "
        r"Attempted: (?P<asked>\d+), Maximum: (?P<limit>\d+)"
    ),
    # Neutron, and Nova about a port of it
    re.compile(r"Quota exceeded for resources: \['(?P<name>\w+)'"),
    re.compile(r"Maximum number of (?P<name>\w+) exceeded"),
)


# What Nova's scheduler says before it asks Placement, of hosts that are for others
UNSCHEDULED = re.compile(
    r"Scheduling failed: (?P<words>(?!.*segment)[^\n]*(?:tenant|project|aggregate)[^\n]*)"
)


def why_not_scheduled(error: Failure) -> str | None:
    """Return why Nova's scheduler did not even look for a host, in its words."""
    found = UNSCHEDULED.search(error.answer or error.message)
    return found["words"].rstrip(" .") if found else None


def words_in(error: Failure) -> str:
    return f"{error.answer or ''} {error.message}"


def sought_in(error: Failure) -> Sought | None:
    """Return what the cloud did not find; None if the stage failed at something else."""
    if error.kind == OF_QUOTA:
        return Sought.QUOTA
    text = words_in(error)
    return next(
        (sought for sought, pattern in WORDS.items() if pattern.search(text)),
        None,
    )


def is_about_zone(error: Failure) -> bool:
    """Return whether the cloud does not know the availability zone that was asked for."""
    return NO_ZONE.search(words_in(error)) is not None


def network_in(error: Failure) -> str | None:
    """Return the id of the network that the words of the cloud name."""
    named = OF_NETWORK.search(words_in(error))
    return named["id"] if named else None


def image_in(error: Failure) -> Reason:
    """Return the image that Nova or Cinder do not accept, and their reason."""
    pattern = WORDS[Sought.IMAGE]
    found = pattern.search(error.answer or "") or pattern.search(error.message)
    if found is None:
        return Reason(Shortage.IMAGE)
    return Reason(
        Shortage.IMAGE, found["id"], detail=found["reason"].rstrip(" .")
    )


def quota_in(error: Failure) -> Reason:
    """Return the quota that was exceeded, with the numbers as far as the cloud shows them."""
    return quota_in_words(words_in(error))


def quota_in_words(text: str) -> Reason:
    for pattern in QUOTAS:
        match = pattern.search(text)
        if match:
            return quota_of(match.groupdict())
    return Reason(Shortage.QUOTA)


def quota_of(texts: dict[str, str]) -> Reason:
    """Return the first quota of a message that is exceeded."""
    names = listed(texts["name"])
    columns = [
        numbers_in(texts.get(column)) for column in ("asked", "used", "limit")
    ]
    found = []
    for number, name in enumerate(names):
        asked, used, limit = (
            column[number] if number < len(column) else None
            for column in columns
        )
        free = None if limit is None or used is None else max(0, limit - used)
        found.append(
            Reason(
                Shortage.QUOTA, name, asked=asked, free=free, capacity=limit
            )
        )
    return next(filter(is_exceeded, found), found[0])


def is_exceeded(quota: Reason) -> bool:
    return (
        quota.asked is not None
        and quota.free is not None
        and quota.asked > quota.free
    )


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def numbers_in(text: str | None) -> list[int]:
    return [int(part) for part in listed(text or "") if part.isdigit()]
