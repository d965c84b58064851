# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of a cloud that the catalogue of faults breaks: components, their hosts, and their peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

# When a fault begins: before the run, once its image is uploaded, once its network exists, once the cloud has answered
# the request for the server, or once the server runs and is to get its volume and then its floating IP
BEFORE, UPLOADED, NETWORKED, DURING, LATER = "before", "uploaded", "networked", "during", "later"
# The text in a run's progress at which it begins
TEXTS = {
    BEFORE: "",
    UPLOADED: '"stage": "network"',
    NETWORKED: '"stage": "boot"',
    DURING: '"stage": "boot", "text": "waiting for the server',
    LATER: '"stage": "boot", "text": "attaching the volume',
}


class FaultClass(StrEnum):
    """DEAD: something does not run or cannot be reached. WRONG: everything runs, and something is wrong."""

    DEAD = "dead"
    WRONG = "wrong"


class Kind(StrEnum):
    """What is wrong where everything runs. DEAD faults have no kind."""

    CREDENTIALS = "credentials"
    SETTINGS = "settings"
    CONTENTS = "contents"
    CAPACITY = "capacity"
    NAMES = "names"
    PATH = "path"
    PERMISSIONS = "permissions"
    SLOW = "slow"
    PARTIAL = "partial"
    LOCKS = "locks"
    LIMITS = "limits"
    TWO = "two together"


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
    # Where it answers by HTTP, which tells when it is up again
    port: int | None = None

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
class Wrong:
    """A fault where everything runs and something is wrong, or without a kind one of the class dead.

    components, hosts: of which a verdict may name any, as words. reason: patterns that the headline of a verdict
    without a component must match, all of them; without a reason, a component must be named.
    needs: what a run needs to meet the fault, as words of NEEDS in catalogue.py. variables: further ones of that run.
    """

    name: str
    kind: Kind | None
    make: Callable
    components: str = ""
    hosts: str = ""
    reason: tuple = ()
    needs: str = ""
    moment: str = BEFORE
    variables: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """A cloud as the tables of wrong faults need it. A host that it does not have is None.

    parts: the components with their hosts, settings and units. mysql: the database's client. project: that of a plain
    user. addresses: of the hosts, by name.
    """

    controller: str
    compute: str
    parts: tuple
    mysql: str
    project: str
    is_ovn: bool
    addresses: dict
    other: str | None = None
    network: str | None = None
    storage: str | None = None

    def parts_of(self, component):
        return [part for part in self.parts if part.component == component]

    def name_of(self, part):
        """A part's component, with the host where there are several of it."""
        return f"{part.component}-{part.host}" if len(self.parts_of(part.component)) > 1 else part.component


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
    wrong: tuple = ()
    # Those that are drawn into no half, by the name of the half that they are
    unseen: dict = field(default_factory=dict)

    def name_of(self, part):
        """A part's component, with the host where there are several of it."""
        several = sum(part.component == other.component for other in self.parts) > 1
        return f"{part.component}-{part.host}" if several and part.host != self.controller else part.component
