# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the inventory has the hosts that the API names."""

from __future__ import annotations


def test_inventory(readings, homes, server):
    """One compute host of the inventory is the one that nova says runs the instance."""
    computes = [one for one in readings if "compute" in one.parts]
    if not homes:
        for one in computes:
            one.fact("names", "the host's name")
    known = ", ".join(f"{one.name} (calls itself {', '.join(one.facts['names'])})" for one in computes if one.facts)
    named = server["host"] or f"a host that it shows as {server['host_id']}"
    assert homes, f"nova says that the instance is on {named}; the inventory's compute hosts are {known or 'none'}"
    names = " and ".join(one.name for one in homes)
    assert len(homes) == 1, f"{names} both call themselves as nova calls the instance's host"
