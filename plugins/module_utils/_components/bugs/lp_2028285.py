# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(2028285)
BUG = Bug(
    NUMBER,
    URL,
    title="A worker of neutron-server whose first request lists ports fails at each listing of ports",
    components=("neutron-server",),
    shows=re.compile(
        r"type object 'Port' has no attribute 'port_forwardings'"
    ),
    affects="Neutron of 2023",
    remedy="list the networks first after each restart of neutron-server",
)
