# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Open vSwitch: its daemon and its database on each host are one component."""

from __future__ import annotations

from .component import Commands, Component, Port, Project, UsualError

PROJECTS = (
    Project(
        "openvswitch",
        configuration=("/etc/openvswitch",),
        packages=("openvswitch-*",),
        components=(
            Component(
                "ovsdb",
                is_beside_instance=True,
                stages=("metadata",),
                carries=("OVSDB",),
                log_name="openvswitch",
                mentioned_as=(
                    "ovs-vsctl",
                    "ovs-ofctl",
                    "vswitch",
                    "br-int",
                    # Their libraries speak to OVN's databases as well.
                    "ovsdb(?!app|_idl| Error)",
                    "openflow",
                ),
                ports=(Port(6640, "ovsdb"),),
                url_options=("ovsdb_connection",),
                programs=("ovs-vswitchd", "ovsdb-server"),
                # It still asks for the tap of a guest that has gone.
                usual_errors=(
                    UsualError("netdev_linux", None, 0.5),
                    UsualError("dpif_netdev", None, 0.5),
                ),
                commands=Commands(
                    state="ovs-vsctl show",
                    overview="ovs-vsctl show; ovs-vsctl get-manager; nc -v -z -w 3 127.0.0.1 6640",
                ),
            ),
        ),
    ),
)
