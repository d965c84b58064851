# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The values that the stages take, and their check before a run makes anything."""

from __future__ import annotations

import functools
import ipaddress
import os
import stat

from .._record.errors import MALFORMED, StageError

VOLUMES = ["empty", "image", "none"]
ATTACHED = ["at_boot", "after", "root"]
PORTS = ["nova", "precreated"]
ROUTERS = ["auto", "always", "never"]
GUESTS = ["console", "none"]
# A range needs addresses for its router, for DHCP, for the metadata, and for the guest.
LONGEST_PREFIX = 29
# Cinder keeps a size in 32 bits.
LARGEST_VOLUME = 2**31 - 1


def ipv4_range(value):
    if ":" in str(value):
        raise ValueError("it is not an IPv4 range, and the guest's proof goes over IPv4")
    network = ipaddress.IPv4Network(value)
    if network.prefixlen > LONGEST_PREFIX:
        raise ValueError(f"it has {network.num_addresses} addresses; a range of /{LONGEST_PREFIX} is the smallest")


def addresses(value):
    if not isinstance(value, list):
        raise ValueError("it is not a list")
    for address in value:
        ipaddress.ip_address(address)


def number(value, least, most):
    if isinstance(value, bool) or not least <= int(value) <= most:
        raise ValueError(f"it is not a whole number from {least} to {most}")


def rules(value):
    if not isinstance(value, list) or not all(isinstance(rule, dict) and rule.get("protocol") for rule in value):
        raise ValueError("it is not a list of rules with a protocol")
    for rule in value:
        if set(rule) - {"protocol", "port"}:
            raise ValueError("a rule has a protocol and a port, and nothing else")
        if rule.get("port") is not None:
            number(rule["port"], 1, 65535)


def choice(value, choices):
    if value not in choices:
        raise ValueError(f"it is not one of {', '.join(choices)}")


def readable_file(value):
    status = os.stat(os.path.expanduser(value))
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    if not status.st_size:
        raise ValueError("it is empty")
    if not os.access(os.path.expanduser(value), os.R_OK):
        raise ValueError("it cannot be read by this user")


port = functools.partial(number, least=1, most=65535)
# Variable of the playbooks to the check of its value
CHECKS = {
    "stackproof_network_cidr": ipv4_range,
    "stackproof_network_dns_nameservers": addresses,
    "stackproof_network_rules": rules,
    "stackproof_tcp_port": port,
    "stackproof_router": functools.partial(choice, choices=ROUTERS),
    "stackproof_port": functools.partial(choice, choices=PORTS),
    "stackproof_volume": functools.partial(choice, choices=VOLUMES),
    "stackproof_volume_size": functools.partial(number, least=1, most=LARGEST_VOLUME),
    "stackproof_attach": functools.partial(choice, choices=ATTACHED),
    "stackproof_guest": functools.partial(choice, choices=GUESTS),
    "stackproof_image_file": readable_file,
    "stackproof_image_min_disk": functools.partial(number, least=0, most=LARGEST_VOLUME),
    "stackproof_image_min_ram": functools.partial(number, least=0, most=LARGEST_VOLUME),
}


def check(values):
    """Refuse the first value that no stage can use. values: variable to value; an empty one is its default."""
    for name, value in values.items():
        if value is not None and value != "":
            check_value(name, value)


def check_value(name, value):
    try:
        CHECKS[name](value)
    except (*MALFORMED, OSError) as exc:
        why = getattr(exc, "strerror", None) or exc
        hint = "docs/variables.md says which values it takes."
        raise StageError("invalid", f"{name} cannot be {value!r:.80}: {why}", resource=name, hint=hint) from None
