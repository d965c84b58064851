# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is on the way to a peer besides the connection: certificates, names, and balancers in front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .codec import Time, omitted


@dataclass(frozen=True)
class Certificate:
    """A certificate that has expired or will soon: one that a peer presents, or one in a file of the host.

    component: whose it is. expires: when.
    """

    component: str
    expires: Time
    address: Optional[str] = omitted()
    port: Optional[int] = omitted()
    path: Optional[str] = omitted()


@dataclass(frozen=True)
class ResolvedName:
    """The addresses that a host finds behind the name of a peer; none if the name does not resolve there."""

    name: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class BackEnd:
    """A server behind a balancer that the balancer takes for down. server: None where all servers of a proxy are.

    check: why it is down. address, port: where it should answer.
    """

    proxy: str
    server: Optional[str]
    check: str
    address: Optional[str] = omitted()
    port: Optional[int] = omitted()
