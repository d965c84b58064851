# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1980211)
BUG = Bug(
    NUMBER,
    URL,
    title="The OVSDB client of Python cannot reconnect by SSL, so Neutron loses OVN's databases",
    components=(
        "neutron-server",
        "neutron-ovn-metadata-agent",
    ),
    shows=re.compile(
        r"non-zero flags not allowed in calls to send\(\) on <class 'eventlet\.green\.ssl"
    ),
    affects="python3-openvswitch 2.17.0 and 2.17.1",
    remedy="Open vSwitch 2.17.2; then restart neutron-server and the metadata agents",
)
