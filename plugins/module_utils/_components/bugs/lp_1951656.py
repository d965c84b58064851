# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1951656)
BUG = Bug(
    NUMBER,
    URL,
    title="Newer libvirt adds the PCI address to the names of mediated devices, which Nova cannot parse",
    components=("nova-compute",),
    shows=re.compile(r"badly formed hexadecimal UUID string"),
    affects="hosts with vGPUs and a libvirt that names devices in the new way",
    remedy="a Nova that takes only the UUID out of the name of a mediated device",
)
