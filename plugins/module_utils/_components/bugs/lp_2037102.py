# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(2037102)
BUG = Bug(
    NUMBER,
    URL,
    title="OVN's metadata agent ends at its start if the file of a network namespace is left without its mount",
    components=("neutron-ovn-metadata-agent",),
    shows=re.compile(r"\[Errno 22\] failed to open netns"),
    affects="Neutron of Zed and 2023.1, among others",
    remedy="delete the namespaces ovnmeta-* (ip netns delete) and start the agent again",
)
