# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the peers that answered a host: it cannot be asked any more to try a connection."""

from __future__ import annotations

from ..._collect.commands import Host
from ..._collect.examination.peer_probes import connection_in
from ..._components.tables import component_at
from ..._model.host import OPEN, Reach

# The queue of a socket to its peer, while the peer has acknowledged all of it
NOTHING_UNANSWERED = "0"


def answering(host: Host) -> tuple[Reach, ...]:
    """Return the peers that have acknowledged all that was sent to them on a connection which is open."""
    words = (
        "ss",
        "--no-header",
        "--tcp",
        "--numeric",
        "--processes",
        "state",
        "established",
    )
    lines = host.ask(None, *words).splitlines()
    open_ones = [
        connection_in(line)
        for line in lines
        if line.split()[1:2] == [NOTHING_UNANSWERED]
    ]
    found = {(one.address, one.port) for one in filter(None, open_ones)}
    answered: list[Reach] = []
    for address, port in sorted(found):
        component = component_at(port)
        if component is not None:
            answered.append(Reach(component, address, port, OPEN))
    return tuple(answered)
