# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1982284)
BUG = Bug(
    NUMBER,
    URL,
    title="libvirt reports a finished live migration as failed, and Nova believes it",
    components=(
        "nova-compute",
        "libvirt",
    ),
    shows=re.compile(r"migration was active, but no RAM info was set"),
    affects="Nova of Yoga before 25.1.0, among others",
    remedy="Nova 25.1.0",
)
