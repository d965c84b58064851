# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All known bugs, one file for each. Ansible sends to a host what the code imports, so each file is named here."""

from __future__ import annotations

from . import (
    libvirt_309,
    lp_1928031,
    lp_1943937,
    lp_1951656,
    lp_1972028,
    lp_1978489,
    lp_1980211,
    lp_1982284,
    lp_2004555,
    lp_2028285,
    lp_2037102,
    lp_2081009,
    lp_2094842,
)

BUGS = tuple(
    module.BUG
    for module in (
        libvirt_309,
        lp_1928031,
        lp_1943937,
        lp_1951656,
        lp_1972028,
        lp_1978489,
        lp_1980211,
        lp_1982284,
        lp_2004555,
        lp_2028285,
        lp_2037102,
        lp_2081009,
        lp_2094842,
    )
)
