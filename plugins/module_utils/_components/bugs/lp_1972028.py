# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1972028)
BUG = Bug(
    NUMBER,
    URL,
    title="A tap device that vanishes while Nova lists the host's devices ends the update of its resources",
    components=("nova-compute",),
    shows=re.compile(
        r"Node device not found: no node device with matching name"
    ),
    affects="Nova of Yoga, among others",
    remedy="Ubuntu's nova 3:25.2.1-0ubuntu2.8, or a release that ignores the device",
)
