# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(2094842)
BUG = Bug(
    NUMBER,
    URL,
    title="A gateway on an external network without a subnet is refused by OVN",
    components=("neutron-server",),
    shows=re.compile(
        r"bad value to column networks \(.*0 values when type requires between 1"
    ),
    affects="Neutron with OVN",
    remedy="give the external network a subnet before it gets a router's gateway",
)
