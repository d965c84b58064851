# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The instance itself, and the network that carries its frames: no project installs them."""

from __future__ import annotations

from .component import Commands, Component, Project

PROJECTS = (
    Project(
        "",
        components=(
            Component(
                "vm-instance",
                depends_on=(
                    "data network",
                    "neutron-l2-agent",
                    "dnsmasq",
                    "neutron-dhcp-agent",
                    "ovn-controller",
                ),
                is_beside_instance=True,
            ),
            Component(
                "data network",
                depends_on=("ovsdb", "neutron-l2-agent", "ovn-controller"),
                carries=("DHCP",),
                commands=Commands(
                    overview="ovs-vsctl show; ip -details -statistics link show; nft list ruleset",
                ),
            ),
        ),
    ),
)
