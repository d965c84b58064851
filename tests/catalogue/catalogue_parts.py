# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of a cloud that the catalogue of faults breaks: components, their hosts, and their peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Peer:
    """A component that a part speaks to, and the port at which it does."""

    component: str
    host: str
    port: int | None = None


@dataclass(frozen=True)
class Part:
    """A component on a host, and how it can be broken."""

    component: str
    host: str
    units: tuple
    # The user in Keystone, and in the database
    account: str | None = None
    rights: str | None = None
    peers: tuple = ()
    settings: str | None = None
    programs: tuple = ()
    # Units that systemd ends together with it, and does not start again
    ended_with: tuple = ()
    # Units that keep connections to it, which are void after it was away
    clients: tuple = ()

    @property
    def services(self):
        """Its units but for sockets, which have no process."""
        return [unit for unit in self.units if not unit.endswith(".socket")]


@dataclass(frozen=True)
class Special:
    """A fault that only one component can have. components, hosts: of which a verdict may name any, as words."""

    make: Callable
    components: str
    hosts: str


@dataclass(frozen=True)
class Cloud:
    """A cloud to be broken: its parts, its special faults, and how a run on it is started."""

    parts: list
    specials: dict
    # The host of the databases and of the APIs, and what hangs on the accounts there, with tokens and connections
    controller: str
    apis: tuple
    workers: tuple
    # The variables of any run, and those of one that brings its own image besides
    variables: dict
    images: dict = field(default_factory=dict)

    def name_of(self, part):
        """A part's component, with the host where there are several of it."""
        several = sum(part.component == other.component for other in self.parts) > 1
        return f"{part.component}-{part.host}" if several and part.host != self.controller else part.component
