# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The addresses that services give others as those of their own host: one that is another host's leads there."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from ..._components.tables import OWN_ADDRESSES
from ..._model.host import GivenAddress, OwnReport
from ..._model.how import How
from ..commands import Host
from .configuration import Option
from .names import is_name, resolved


def own(
    host: Host,
    components: set[str],
    options: Iterable[Option],
    mine: Iterable[str],
) -> list[OwnReport]:
    """Return the options with an address that this host does not have. mine: its names and addresses."""
    known = set(mine)
    foreign = [
        option
        for option in options
        if reader_of(option) in components
        and is_foreign(host, option.value, known)
    ]
    # A file of settings may be there twice, in and out of a container.
    return list(dict.fromkeys(map(report_of, foreign)))


def reader_of(option: Option) -> str | None:
    return OWN_ADDRESSES.get((option.section, option.name))


def report_of(option: Option) -> OwnReport:
    place = f"[{option.section}] {option.name}"
    return OwnReport(
        OWN_ADDRESSES[option.section, option.name],
        How.ADDRESS.value,
        f"{place} is {option.value}, no address of this host",
        GivenAddress(option.path, place, option.value),
    )


def is_foreign(host: Host, value: str, known: set[str]) -> bool:
    """Return whether a value means an address that a host does not have. What means nothing here is not foreign."""
    if value in known:
        return False
    if not is_name(value):
        return not ipaddress.ip_address(value).is_loopback
    meant = host.attempt(
        "the address of a setting", resolved, value, default=None
    )
    return bool(meant and meant.addresses) and known.isdisjoint(
        meant.addresses
    )
