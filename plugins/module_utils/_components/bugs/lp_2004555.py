# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(2004555)
BUG = Bug(
    NUMBER,
    URL,
    title="Since the fix of CVE-2023-2088 Cinder lets Nova detach volumes only with a service token",
    components=(
        "nova-compute",
        "cinder-api",
    ),
    shows=re.compile(r"ConflictNovaUsingAttachment"),
    affects="all releases with that fix whose nova.conf sends no service token",
    remedy="[service_user] send_service_user_token = true in nova.conf, with a user that has the role service",
)
