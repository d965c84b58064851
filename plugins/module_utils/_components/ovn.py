# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OVN."""

from __future__ import annotations

from .component import Commands, Component, Port, Project

# What a chassis is connected to, and by which settings
CHASSIS = "ovn-appctl -t ovn-controller connection-status; ovs-vsctl get open . external-ids"

PROJECTS = (
    Project(
        "ovn",
        packages=("ovn-*",),
        components=(
            Component(
                "ovn-nb-db",
                network_back_end="ovn",
                stages=("network",),
                mentioned_as=(
                    "northbound",
                    "OVN_Northbound",
                    "nb_idl",
                    # Its tables
                    r"(?-i:\b(?:NB_Global|Logical_(?:Switch|Router)\w*|DHCP_Options|Port_Group|Address_Set)\b)",
                ),
                ports=(Port(6641, "ovsdb"),),
                url_options=("ovn_nb_connection",),
                commands=Commands(
                    state=(
                        "ovn-nbctl get NB_Global . options; "
                        "ovn-nbctl --type=port-group acl-list neutron_pg_drop"
                    )
                ),
            ),
            Component(
                "ovn-sb-db",
                network_back_end="ovn",
                stages=("network", "metadata"),
                mentioned_as=(
                    "southbound",
                    "OVN_Southbound",
                    "sb_idl",
                    # Its tables
                    r"(?-i:\b(?:SB_Global|Port_Binding|Chassis_Private|Datapath_Binding|MAC_Binding|Logical_Flow)\b)",
                    # Words of everyday speech, but for the quotes
                    r'(?-i:\btable \\?"(?:Chassis|Encap)\\?"|\\?"(?:Chassis|Encap)\\?" table)',
                ),
                ports=(Port(6642, "ovsdb"),),
                url_options=("ovn_sb_connection",),
                commands=Commands(state="ovn-sbctl show"),
            ),
            Component(
                "ovn-northd",
                depends_on=("ovn-nb-db", "ovn-sb-db"),
                network_back_end="ovn",
                stages=("network",),
                programs=("ovn-northd",),
            ),
            Component(
                "ovn-controller",
                depends_on=("ovsdb", "ovn-sb-db", "ovn-northd"),
                is_beside_instance=True,
                network_back_end="ovn",
                stages=("metadata",),
                exceptions=("VirtualInterface", "PortBindingFailed"),
                programs=("ovn-controller",),
                commands=Commands(
                    state=CHASSIS,
                    overview=CHASSIS,
                ),
            ),
        ),
    ),
)
