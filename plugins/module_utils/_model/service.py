# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A service on a host, as systemd knows its unit, and the engine of containers its container."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from . import codec
from .host import Host

RUNNING = "running"


@dataclass(frozen=True)
class Service:
    """A service.

    since: when its unit got into this state, by the host's clock. restarts: those by systemd itself. container: the one
    that it is in, by the name that its engine has for it; it may be no unit of systemd. result: systemd's word for how
    it ended, if that was not by itself.
    """

    component: str
    unit: str
    state: str
    for_s: Optional[float] = None
    since: Optional[float] = None
    restarts: int = 0
    container: Optional[str] = None
    engine: Optional[str] = None
    result: Optional[str] = None

    @property
    def program(self) -> str:
        """Return the name of its program, as its unit has it."""
        return self.unit.partition(".")[0]


def services_of(host: Host) -> tuple[Service, ...]:
    """Return the services that were found on a host."""
    listed = host.facts.get("services") or []
    return tuple(
        codec.from_json(Service, service, f"services of {host.host}")
        for service in listed
    )
