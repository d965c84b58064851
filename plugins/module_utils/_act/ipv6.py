# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""IPv6 between two guests: whether each has the address that Neutron gave its port, and reaches the other over it.

Beside IPv4 it is a check of its own; of guests that have nothing else all paths go over it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from .._model.details import PathCheck
from .._model.words import CheckStatus
from . import guest
from .options import IPV6_PREFIX
from .showing import Line, number, other, passed, seconds_between

ADDRESS, PING = "address6", "ping6"
PINGS = 3
# In tries of a second each: the router answers a guest that asks for it, and DHCP comes after that.
PATIENCE = 30
# After these tries a busybox asks by DHCP: nothing else starts its client.
ASKS_AFTER = 5

# The kernel lists addresses as 32 digits, with their scope in the fourth column: 00 is global.
SCRIPT = r"""
has6() { grep -q "^$1 [0-9a-f]* [0-9a-f]* 00 " /proc/net/if_inet6; }
ping6_of() { if command -v ping6 >/dev/null; then ping6 "$@"; else ping -6 "$@"; fi; }
lease6() {
  read -r _ _ _ _ _ device <<ROW
$(grep -v ' lo$' /proc/net/if_inet6)
ROW
  printf '#!/bin/sh\n[ "$1" != bound ] || ip -6 address add "$ipv6/128" dev "$interface"\n' >/tmp/lease6
  chmod 700 /tmp/lease6
  udhcpc6 -i "$device" -s /tmp/lease6 -n -q >/dev/null 2>&1
}
own6() {
  now; from=$up tries=0
  until has6 "$1" || [ $tries -ge @PATIENCE6@ ]; do
    if [ $tries -eq @ASKS_AFTER@ ] && command -v udhcpc6 >/dev/null; then lease6; fi
    tries=$((tries + 1)); sleep 1
  done
  now
  others=$(sed -n 's/^\([0-9a-f]*\) [0-9a-f]* [0-9a-f]* 00 .*/\1/p' /proc/net/if_inet6 | tr '\n' ' ')
  show address6 ", \"wanted\": \"$1\", \"has\": \"$others\", \"from\": $from, \"to\": $up"
  has6 "$1"
}
reach6() {
  tries=0
  until ping6_of -c 1 -W 1 "$1" >/dev/null 2>&1 || [ $tries -ge @PATIENCE6@ ]; do tries=$((tries + 1)); sleep 1; done
  output=$(ping6_of -c @PINGS6@ -W 1 "$1" 2>&1)
  count=$(echo "$output" | grep -c 'time=')
  time=$(echo "$output" | sed -n 's/.*time=\([0-9.]*\).*/\1/p' | tail -n 1)
  show ping6 ", \"answers\": $count, \"ms\": ${time:-null}"
}
"""
VALUES = {"PATIENCE6": PATIENCE, "ASKS_AFTER": ASKS_AFTER, "PINGS6": PINGS}


@dataclass(frozen=True)
class Ends:
    """The addresses of a guest and of the other one."""

    own: ipaddress.IPv6Address
    peer: ipaddress.IPv6Address

    @property
    def own_command(self) -> str:
        return f"  own6 {self.own.packed.hex()}"

    @property
    def command(self) -> str:
        return f"{self.own_command} && reach6 {self.peer}"


def ends_of(
    own: Iterable[str] | None, peer: Iterable[str] | None
) -> Ends | None:
    """Return the ends, by the addresses of two ports; None where a port has no IPv6."""
    here, there = first_ipv6(own), first_ipv6(peer)
    if here is None or there is None:
        return None
    return Ends(here, there)


def first_ipv6(
    addresses: Iterable[str] | None,
) -> ipaddress.IPv6Address | None:
    found = (address for address in addresses or () if ":" in address)
    return next(map(ipaddress.IPv6Address, found), None)


def of_address(source: str, line: Line) -> PathCheck:
    """Return whether a guest has the address of its port. value: how many it has in the subnet of that."""
    wanted = in_words(guest.as_text(line.get("wanted")))
    others = in_words(guest.as_text(line.get("has")))
    found = others.split(" and ") if others else []
    holds = bool(wanted) and wanted in found
    in_subnet = [one for one in found if wanted and is_near(one, wanted)]
    text = f"has {wanted}, which is that of its port"
    if not holds:
        text = f"has not got {wanted}, the address of its port; it has {others or 'none'}"
    return PathCheck(
        ADDRESS,
        source,
        None,
        passed(holds),
        text,
        seconds_between(line),
        len(in_subnet),
    )


def is_near(one: str, other: str) -> bool:
    """Return whether two addresses are in one subnet, whose half of them guests make themselves."""
    subnet = ipaddress.IPv6Network((other, IPV6_PREFIX), strict=False)
    return ipaddress.IPv6Address(one) in subnet


def in_words(digits: str | None) -> str:
    """Return addresses, as the kernel lists them, in the usual form."""
    return " and ".join(filter(None, map(readable, (digits or "").split())))


def readable(digits: str) -> str | None:
    try:
        return str(ipaddress.IPv6Address(bytes.fromhex(digits)))
    except ValueError:
        return None


def of_ping(source: str, line: Line) -> PathCheck:
    """Return whether the other guest answers."""
    answers, took = number(line.get("answers")) or 0, number(line.get("ms"))
    status = CheckStatus.OK if answers else CheckStatus.FAILED
    text = f"{answers:.0f} of {PINGS} packets over IPv6 were answered"
    seconds = None if took is None else took / 1000
    return PathCheck(
        PING, source, other(source), status, text, seconds, answers, PINGS
    )
