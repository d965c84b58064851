# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(2081009)
BUG = Bug(
    NUMBER,
    URL,
    title="Glance looks for its policy before its configuration is read, and does not start",
    components=("glance-api",),
    shows=re.compile(
        r"NotInitializedError: call expression on parser has not been invoked"
    ),
    affects="Glance before 2025.1 with oslo.policy 4.5.0 or newer",
    remedy="Glance 2025.1, or oslo.policy 4.3.0",
)
