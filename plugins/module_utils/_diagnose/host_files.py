# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time zone and the addresses of a host, by its collected files."""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .._record import clock
from .._record.errors import MALFORMED, StageError
from .layout import is_inside, text_of

TIMEDATECTL = (
    "sos_commands/systemd/timedatectl",
    "sos_commands/general/timedatectl",
    "sos_commands/host/timedatectl",
)
TIME_ZONE = re.compile(
    r"Time zone:\s*(?P<name>[\w/+-]+)(?:\s*\(\w+, (?P<offset>[+-]\d{4})\))?"
)
OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)", re.ASCII)
# In seconds. No zone is farther from UTC than Kiribati's, which is 14 hours to the east.
MOST_EAST = 14 * 3600
# In seconds; summer and winter may have offsets of their own.
HALF_YEAR = 182 * 86400
# In bytes: the rules of a zone are some kilobytes.
LONGEST_RULES = 65536
ADDRESSES = (
    "sos_commands/networking/ip_-o_addr",
    "sos_commands/networking/ip_-d_address",
    "ip_addr",
    "ip_address",
)
# Addresses that every host has
LOOPBACK = {"127.0.0.1", "::1"}
NOT_OF_HOST = ("127.", "::1", "ff", "fe0")


def offset_of(zone: str | ZoneInfo, at: float) -> int:
    """Return the seconds to the east at a time. zone: a name such as Asia/Kolkata, +05:30, or the rules themselves.

    A zone that is not known, or an offset that no zone has, is refused.
    """
    if isinstance(zone, ZoneInfo):
        return seconds_east(zone, at)
    match = OFFSET.fullmatch(zone)
    if match:
        return offset_in(match, zone)
    try:
        return seconds_east(ZoneInfo(zone), at)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if zone.upper() in ("UTC", "Z", "ETC/UTC", "GMT"):
            return 0
        hint = "Give one such as Asia/Kolkata or +05:30; names need Python's tzdata where the system has none."
        raise StageError(
            "invalid",
            f"{zone!r} is not a time zone that is known here",
            hint=hint,
        ) from None


def offset_in(match: re.Match[str], zone: str) -> int:
    """Return the seconds to the east that an offset such as +05:30 means."""
    sign, hours, minutes = match[1], int(match[2]), int(match[3])
    seconds = hours * 3600 + minutes * 60
    if minutes > 59 or seconds > MOST_EAST:
        hint = "Give one such as +05:30: at most 14 hours, and 59 minutes."
        raise StageError(
            "invalid", f"{zone!r} is not the offset of a time zone", hint=hint
        )
    return int(f"{sign}1") * seconds


def seconds_east(zone: ZoneInfo, at: float) -> int:
    offset = datetime.fromtimestamp(at, zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def check_zones(zones: dict[str, Any]) -> None:
    """Refuse the zones of hosts if one is not known. An empty text is as good as no zone."""
    for name, given in zones.items():
        if given == "":
            continue
        if not isinstance(given, str):
            hint = "Put it into quotes: YAML takes +10:00 for a number."
            message = f"{given!r}, the time zone of {name}, is not a text"
            raise StageError("invalid", message, resource=name, hint=hint)
        try:
            offset_of(given, 0)
        except StageError as exc:
            message = f"the time zone of {name}: {exc}"
            raise StageError(
                "invalid", message, resource=name, hint=exc.failure.hint
            ) from None


def zone_of(top: str) -> str | ZoneInfo | None:
    """Return the time zone of a collected host, or None if its files do not have it."""
    name = (text_of(top, "etc/timezone") or "").strip()
    return (
        known_zone(name)
        or zone_of_link(os.path.join(top, "etc/localtime"))
        or zone_of_rules(top)
        or zone_of_timedatectl(top)
    )


def known_zone(name: str) -> str | None:
    """Return the name, or None if it is not that of a time zone."""
    if not re.match(r"^[\w/+-]{1,64}$", name):
        return None
    try:
        offset_of(name, 0)
    except StageError:
        return None
    return name


def zone_of_link(path: str) -> str | None:
    """Return the zone that the link names; it is not followed."""
    target = os.readlink(path) if os.path.islink(path) else ""
    return known_zone(target.partition("zoneinfo/")[2])


def zone_of_rules(top: str) -> ZoneInfo | None:
    """Return the zone of a copied file of rules, which does not have its name."""
    path = os.path.join(top, "etc/localtime")
    if not is_inside(top, "etc/localtime") or not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            rules = ZoneInfo.from_file(io.BytesIO(stream.read(LONGEST_RULES)))
        return rules if has_possible_offsets(rules) else None
    except (OSError, struct.error, *MALFORMED):
        return None


def has_possible_offsets(rules: ZoneInfo) -> bool:
    """Return whether each offset of the rules is one that a zone can have.

    Python refuses one of a day or more when it meets it.
    """
    return all(
        abs(seconds_east(rules, at)) <= MOST_EAST
        for at in range(0, 1 << 31, HALF_YEAR)
    )


def zone_of_timedatectl(top: str) -> str | None:
    for part in TIMEDATECTL:
        match = TIME_ZONE.search(text_of(top, part) or "")
        if match:
            return known_zone(match["name"]) or known_zone(
                match["offset"] or ""
            )
    return None


def addresses_of(top: str) -> list[str]:
    """Return the addresses of the host's own interfaces."""
    text = "\n".join(text_of(top, part) or "" for part in ADDRESSES)
    return sorted(
        set(re.findall(r"\binet6? ([0-9a-f.:]+)(?:/\d+)", text)) - LOOPBACK
    )


def named_addresses(
    tops: Iterable[str], names: Iterable[str]
) -> dict[str, list[str]]:
    """Return the addresses that any host's etc/hosts has for each host."""
    addresses: dict[str, set[str]] = {name: set() for name in names}
    short = {name.partition(".")[0]: name for name in addresses}
    for top in tops:
        text = text_of(top, "etc/hosts") or ""
        for address, word in hosts_entries(text):
            name: str | None = word
            if word not in addresses:
                first_label = word.partition(".")[0]
                name = short.get(first_label)
            if name:
                addresses[name].add(address)
    return {name: sorted(texts) for name, texts in addresses.items()}


def hosts_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield each address in an etc/hosts with each of its names, without those that every host has."""
    for line in text.splitlines():
        address, *words = line.partition("#")[0].split() or [""]
        if not address.startswith(NOT_OF_HOST):
            yield from ((address, word) for word in words)


def time_given(text: str) -> float:
    """Return a time from the user, with a zone or in UTC, as seconds since the epoch."""
    try:
        return clock.seconds_of(text.strip())
    except ValueError:
        hint = "Give it as 2026-11-21T14:43:00Z or 2026-11-21 15:43+01:00; without a zone it is in UTC."
        raise StageError(
            "invalid", f"{text!r} is not a time in a known format", hint=hint
        ) from None
