# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name that a guest is to resolve: which one it is, how the guest asks for it, and what it shows."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any

from .._model.details import PathCheck
from .._model.words import CheckStatus
from . import guest
from .options import HOST_NAME
from .showing import Line, other, passed, seconds_between
from .stage import Stage

CHECK = "name"
# Those of a guest's line, in this order
FIELDS = ("name", "wanted", "asker", "resolvers", "by", "found")

# systemd-resolved keeps the resolvers that DHCP gave in a file of its own. nslookup asks one of them; getent asks as
# all programs do, and does not show which resolver answered.
SCRIPT = r"""
ask() { nslookup "$1" "$2" 2>/dev/null | sed -n '/^Name:/,$s/^Address[^:]*: *\([0-9]*\.[0-9.]*\).*/\1/p' | head -n 1; }
resolve() {
  now; from=$up asker='' by='' found=''
  file=/run/systemd/resolve/resolv.conf
  if [ ! -r $file ]; then file=/etc/resolv.conf; fi
  resolvers=$(sed -n 's/^nameserver[[:space:]]*\([0-9A-Fa-f:.]*\).*/\1/p' $file | tr '\n' ' ')
  if command -v nslookup >/dev/null; then
    asker=nslookup
    for by in $resolvers; do found=$(ask "$1" "$by"); if [ -n "$found" ]; then break; fi; done
  elif command -v getent >/dev/null; then
    asker=getent by=$resolvers
    found=$(getent ahostsv4 "$1" | sed -n '1s/ .*//p')
  fi
  now
  show name ", \"name\": \"$1\", \"wanted\": \"$2\", \"asker\": \"$asker\", \"resolvers\": \"$resolvers\", \
\"by\": \"$by\", \"found\": \"$found\", \"from\": $from, \"to\": $up"
}
"""


@dataclass(frozen=True)
class Name:
    """A name to resolve. address: where it must lead, if it is that of the other guest."""

    text: str
    address: str | None = None

    @property
    def command(self) -> str:
        return f"  resolve {self.text} '{self.address or ''}'"


def given(name: str | None) -> Name | None:
    """Return the name that the user has chosen, if any."""
    return Name(name) if name else None


def of_first_guest(stage: Stage[Any]) -> Name | None:
    """Return the name that the cloud's own DNS has for the first guest, where the second one can ask for it.

    Nova may change the name of a port when it boots the server, so it is known only after that.
    """
    port = stage.resource("port")
    # Such a name holds on one network.
    if port is None or stage.resource("second_network"):
        return None
    assigned = stage.cloud.network.get_port(port.id).dns_assignment or ()
    names = [
        Name(entry["fqdn"].rstrip("."), entry["ip_address"])
        for entry in assigned
    ]
    return next(
        (
            name
            for name in names
            if HOST_NAME.fullmatch(name.text) and is_ipv4(name.address)
        ),
        None,
    )


def is_ipv4(address: Any) -> bool:
    try:
        ipaddress.IPv4Address(address)
    except ValueError:
        return False
    return True


def unasked(source: str) -> PathCheck:
    """Return the check of a guest that has no name to ask for."""
    return inapplicable(
        source,
        None,
        "the cloud names no guest there, and stackproof_dataplane_name is not set",
    )


def inapplicable(source: str, target: str | None, reason: str) -> PathCheck:
    return PathCheck(
        CHECK,
        source,
        target,
        CheckStatus.NOT_APPLICABLE,
        f"no name was resolved: {reason}",
    )


def check_of(source: str, line: Line) -> PathCheck:
    """Return what a guest shows of a name."""
    name, wanted, asker, resolvers, by, found = [
        guest.as_words(line.get(field)) or "" for field in FIELDS
    ]
    target = other(source) if wanted else None
    addresses = tuple(resolvers.split())
    if not addresses:
        return inapplicable(source, target, "DHCP gave the guest no resolver")
    if not asker:
        return inapplicable(
            source, target, "the guest has neither nslookup nor getent"
        )
    holds = bool(found) and wanted in ("", found)
    text = f"{name} resolves to {found} by {in_words(by)}"
    if not found:
        text = f"{name} does not resolve by {in_words(resolvers)}"
    elif not holds:
        text = f"{text}, and not to {wanted}"
    return PathCheck(
        CHECK,
        source,
        target,
        passed(holds),
        text,
        seconds_between(line),
        resolvers=addresses,
    )


def in_words(addresses: str) -> str:
    return " and ".join(addresses.split())
