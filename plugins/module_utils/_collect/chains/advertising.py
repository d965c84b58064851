# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The routers that are advertised to guests over IPv6: the L3 agent starts radvd for each of them."""

from __future__ import annotations

import re

from ..commands import Host, processes

PROGRAM = "radvd"
# Neutron names the configuration of radvd after the router.
CONFIGURATION = re.compile(r"/(?P<router>[0-9a-f-]{36})\.radvd\.conf$")


def read(host: Host) -> tuple[str, ...]:
    """Return the ids of the routers that have a radvd of their own."""
    found: set[str] = set()
    for _number, words in processes(host, None, PROGRAM):
        matches = map(CONFIGURATION.search, words)
        found.update(match["router"] for match in filter(None, matches))
    return tuple(sorted(found))
