# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the inventory has the hosts that the API names."""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.module_utils import _instance


def test_inventory(readings, server):
    """One compute host of the inventory is the one that nova says runs the instance."""
    for one in readings:
        if "compute" in one.parts:
            one.fact("names", "the host's name")
    computes = [one for one in readings if "compute" in one.parts]
    homes = [one.name for one in computes if _instance.is_on(server, one.names)]
    known = ", ".join(f"{one.name} (calls itself {', '.join(one.facts['names'])})" for one in computes) or "none"
    named = server["host"] or f"a host that it shows as {server['host_id']}"
    assert homes, f"nova says that the instance is on {named}; the inventory's compute hosts are {known}"
    assert len(homes) == 1, f"{' and '.join(homes)} both call themselves as nova calls the instance's host"
