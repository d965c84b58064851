# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chains: how a cloud carries a request from one store to the next, as far as each hop holds.

A chain is walked after a failed stage. Each of its links says what must be in a store, and what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .codec import omitted
from .words import Word

# How the last flow of a table of Open vSwitch is written, which drops what no other one takes
LAST_FLOW = "priority 0"


class LinkState(Word):
    """Whether a link holds. One without its input, or that the cloud does not have, does not apply."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNREADABLE = "unreadable"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True)
class Link:
    """A link of a chain.

    code: what must hold; _report/messages/links.py has its sentences. owner: the component that has to make it hold.
    host: where that is. expected, found: the values, where they differ. subject: the thing that it is about.
    command: what shows it by hand, and reader the host to run it on. mend: what puts it right, on its own host.
    reason: why it could not be read. carrier: the component on the way to the owner, which may as well be why a
    request does not reach it.
    """

    code: str
    state: LinkState
    owner: str
    host: Optional[str] = None
    subject: Optional[str] = omitted()
    expected: Optional[str] = omitted()
    found: Optional[str] = omitted()
    command: Optional[str] = omitted()
    reader: Optional[str] = omitted()
    reason: Optional[str] = omitted()
    carrier: Optional[str] = omitted()
    mend: Optional[str] = omitted()

    @property
    def lacks_flow(self) -> bool:
        """Return whether the last flow of a table took a packet that no other flow there carries on."""
        return str(self.found).startswith(LAST_FLOW)

    @property
    def place(self) -> tuple[str, Optional[str]]:
        """Return the component that has to make it hold, and its host."""
        return self.owner, self.host


@dataclass(frozen=True)
class Chain:
    """A chain that was walked, in the order in which the request is carried on. subject: what was asked for."""

    name: str
    subject: Optional[str]
    links: tuple[Link, ...]

    @property
    def broken(self) -> Optional[Link]:
        """Return the first link that does not hold: what comes after it has no input."""
        return next(
            (link for link in self.links if link.state is LinkState.BROKEN),
            None,
        )
