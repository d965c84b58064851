# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug

BUG = Bug(
    "libvirt#309",
    "https://gitlab.com/libvirt/libvirt/-/issues/309",
    title="QEMU loses the request to unplug a disk from a guest that is still booting, and refuses each further one",
    components=("nova-compute", "libvirt"),
    shows=re.compile(r"Device \S+ is already in the process of unplug"),
    affects="QEMU up to 8.0.0",
    remedy="QEMU 8.0.1 or 8.1; until then detach only after the guest has booted",
)
