# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1928031)
BUG = Bug(
    NUMBER,
    URL,
    title="OVN's metadata agent answers requests before it is connected to the southbound database",
    components=("neutron-ovn-metadata-agent",),
    shows=re.compile(
        r"'MetadataProxyHandler' object has no attribute 'sb_idl'"
    ),
    affects="Neutron of about Wallaby",
    remedy="a newer Neutron, whose agent waits for the connection",
)
