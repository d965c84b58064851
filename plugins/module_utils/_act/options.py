# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Limits of the values that stages take, beyond the type and the choices that an argument spec can name."""

from __future__ import annotations

import functools
import ipaddress
import os
import re
import stat
from collections.abc import Callable, Mapping
from typing import Any

from .._record.errors import MALFORMED, StageError
from .._record.waiting import LONGEST_TIMEOUT

VOLUMES = ["empty", "image", "none"]
ATTACHED = ["at_boot", "after", "root"]
PORTS = ["nova", "precreated"]
ROUTERS = ["auto", "always", "never"]
GUESTS = ["console", "none"]
# Operations on a server after its boot
OPERATIONS = [
    "reboot", "hard_reboot", "stop", "pause", "suspend", "shelve", "snapshot", "rebuild", "resize", "resize_revert",
    "migrate", "live_migrate", "evacuate", "boot_snapshot", "extend_volume", "reattach_volume",
]  # fmt: skip
# Those for which the run needs a volume
WITH_VOLUME = ["extend_volume", "reattach_volume"]
# Those that make an image of the server, of which a run has one
WITH_IMAGE = ["snapshot", "boot_snapshot"]
# Both guests are on one network, or a router is between theirs.
PATHS = ["bridged", "routed"]
# How the guests of a new network get their IPv6 addresses, in the words of Neutron
IPV6_MODES = ["none", "slaac", "dhcpv6-stateless", "dhcpv6-stateful"]
# Guests make their addresses of the other half.
IPV6_PREFIX = 64
# A range needs addresses for its router, for DHCP, for the metadata, and for the guest.
LONGEST_PREFIX = 29
# A larger number is a mistake.
MOST_PEERS = 10000
# It stands in a script of the guests.
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
# Cinder keeps a size in 32 bits.
LARGEST_VOLUME = 2**31 - 1


def ipv4_range(value: Any) -> None:
    if ":" in str(value):
        raise ValueError(
            "it is not an IPv4 range, and the guest's proof goes over IPv4"
        )
    network = ipaddress.IPv4Network(value)
    if network.prefixlen > LONGEST_PREFIX:
        raise ValueError(
            f"it has {network.num_addresses} addresses; a range of /{LONGEST_PREFIX} is the smallest"
        )


def ipv6_range(value: Any) -> None:
    network = ipaddress.IPv6Network(value)
    if network.prefixlen != IPV6_PREFIX:
        raise ValueError(
            f"it is a range of /{network.prefixlen}; guests make their own addresses in one of /{IPV6_PREFIX}"
        )


def addresses(value: Any) -> None:
    if not isinstance(value, list):
        raise ValueError("it is not a list")
    for address in value:
        ipaddress.ip_address(address)


def number(value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not least <= int(value) <= most:
        raise ValueError(f"it is not a whole number from {least} to {most}")


def rules(value: Any) -> None:
    if not isinstance(value, list) or not all(map(is_rule, value)):
        raise ValueError("it is not a list of rules with a protocol")
    for rule in value:
        check_rule(rule)


def is_rule(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("protocol"))


def check_rule(rule: Mapping[str, Any]) -> None:
    if set(rule) - {"protocol", "port"}:
        raise ValueError("a rule has a protocol and a port, and nothing else")
    port = rule.get("port")
    if port is not None:
        number(port, 1, 65535)


def timeouts(value: Any) -> None:
    for part, seconds in value.items():
        if (
            seconds not in (None, "")
            and not 0 < float(seconds) <= LONGEST_TIMEOUT
        ):
            raise ValueError(
                f"its {part} is not a number of seconds above 0, at most {LONGEST_TIMEOUT}, a week"
            )


def host_name(value: Any) -> None:
    if not HOST_NAME.fullmatch(value):
        raise ValueError("it is not the name of a host")


def readable_file(value: Any) -> None:
    status = os.stat(os.path.expanduser(value))
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    if not status.st_size:
        raise ValueError("it is empty")
    if not os.access(os.path.expanduser(value), os.R_OK):
        raise ValueError("it cannot be read by this user")


# Variable of the playbooks to the check that raises an error if its value is beyond the limits
LIMITS: dict[str, Callable[[Any], None]] = {
    "stackproof_network_cidr": ipv4_range,
    "stackproof_network_ipv6_cidr": ipv6_range,
    "stackproof_network_dns_nameservers": addresses,
    "stackproof_network_rules": rules,
    "stackproof_tcp_port": functools.partial(number, least=1, most=65535),
    "stackproof_dataplane_name": host_name,
    "stackproof_dataplane_peers": functools.partial(
        number, least=1, most=MOST_PEERS
    ),
    "stackproof_volume_size": functools.partial(
        number, least=1, most=LARGEST_VOLUME
    ),
    "stackproof_image_file": readable_file,
    "stackproof_image_min_disk": functools.partial(
        number, least=0, most=LARGEST_VOLUME
    ),
    "stackproof_image_min_ram": functools.partial(
        number, least=0, most=LARGEST_VOLUME
    ),
    "stackproof_timeouts": timeouts,
}


def beyond_limits(name: str, value: Any) -> str | None:
    """Return why no stage can use the value of a variable; None if it is within its limits."""
    if name not in LIMITS:
        return None
    try:
        LIMITS[name](value)
    except (*MALFORMED, OSError) as exc:
        return str(getattr(exc, "strerror", None) or exc)
    return None


def check(values: Mapping[str, Any]) -> None:
    """Refuse the first value, by its variable, that a stage cannot use; an empty one stands for the default."""
    for name, value in values.items():
        why = (
            beyond_limits(name, value)
            if value is not None and value != ""
            else None
        )
        if why:
            hint = "docs/variables.md says which values it takes."
            raise StageError(
                "invalid",
                f"{name} cannot be {value!r:.80}: {why}",
                resource=name,
                hint=hint,
            )
