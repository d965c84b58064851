# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The addresses that services give others as those of their own host: one that is another host's leads there."""

from __future__ import annotations

from collections.abc import Iterable

from ..._components.tables import OWN_ADDRESSES, project_of
from ..._model.host import GivenAddress, OwnReport
from ..._model.how import How
from ..commands import Host
from .configuration import Option
from .names import address_in, is_name, resolved

# The component that reads each of these options
READERS = {address.option: reader for address, reader in OWN_ADDRESSES.items()}


def own(
    host: Host,
    components: set[str],
    options: Iterable[Option],
    mine: Iterable[str],
) -> list[OwnReport]:
    """Return the options with an address that this host does not have. mine: its names and addresses."""
    known = set(map(normal, mine))
    reports: list[OwnReport] = []
    for option in options:
        reader = reader_of(option)
        if reader in components and is_foreign(host, option.value, known):
            reports.append(report_of(reader, option))
    # A file of settings may be there twice, in and out of a container.
    return list(dict.fromkeys(reports))


def reader_of(option: Option) -> str:
    """Return the component that reads an option, if it gives an address of the host; an empty text for another."""
    reader = READERS.get(place_of(option), "")
    return reader if project_of(reader) == option.project else ""


def place_of(option: Option) -> str:
    return f"[{option.section}] {option.name}"


def report_of(component: str, option: Option) -> OwnReport:
    place = place_of(option)
    return OwnReport(
        component,
        How.ADDRESS.value,
        f"{place} is {option.value}, no address of this host",
        GivenAddress(option.path, place, option.value),
    )


def is_foreign(host: Host, value: str, known: set[str]) -> bool:
    """Return whether a value means an address that a host does not have. What means nothing here is not foreign."""
    if not value or normal(value) in known:
        return False
    meant = {value}
    if is_name(value):
        found = host.attempt(
            "the address of a setting", resolved, value, default=None
        )
        meant = set(found.addresses) if found else set()
    addresses = set(filter(is_of_a_host, meant))
    return bool(addresses) and known.isdisjoint(map(normal, addresses))


def normal(text: str) -> str:
    """Return an address in its usual form, and another text as it is."""
    address = address_in(text)
    return text if address is None else str(address)


def is_of_a_host(text: str) -> bool:
    """Return whether a text is an address at which others may reach a host."""
    address = address_in(text)
    if address is None:
        return False
    return not (address.is_loopback or address.is_unspecified)
