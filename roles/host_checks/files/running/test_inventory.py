# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the inventory has the hosts that the API names."""

from __future__ import annotations

import pytest


@pytest.mark.shown_by("openstack server show {server}; ansible-inventory --graph")
def test_inventory(readings, homes, server):
    """One compute host of the inventory is the one that nova says runs the instance."""
    computes = [reading for reading in readings if "compute" in reading.parts]
    if not homes:
        for compute in computes:
            compute.fact("names", "the host's name")
    read = [host for host in computes if host.facts]
    listed = ", ".join(f"{host.name} (calls itself {', '.join(host.facts['names'])})" for host in read)
    named = server["host"] or f"a host that it shows as {server['host_id']}"
    assert homes, f"nova says that the instance is on {named}; the inventory's compute hosts are {listed or 'none'}"
    names = " and ".join(home.name for home in homes)
    assert len(homes) == 1, f"{names} both call themselves as nova calls the instance's host"
