# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1978489)
BUG = Bug(
    NUMBER,
    URL,
    title="Nova's CPU shares are beyond what cgroup v2 takes, so servers with more than 9 VCPUs do not start",
    components=(
        "nova-compute",
        "libvirt",
    ),
    shows=re.compile(r"Value specified in CPUWeight is out of range"),
    affects="Nova before 26.0.0, and of Yoga before 25.3.0, on hosts with cgroup v2",
    remedy="Nova 25.3.0 or 26.0.0; until then quota:cpu_shares of at most 10000 in the flavor",
)
