# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands in front of the services: a balancer, what keeps an address on one host, and a proxy of the database.

A cloud need not have any of them: without a unit on a host they are no suspects.
"""

from __future__ import annotations

from .component import LATELY, Commands, Component, Project

STAGES = ("auth", "image", "network", "volume", "boot")

PROJECTS = (
    Project(
        "haproxy",
        components=(
            Component(
                "haproxy",
                stages=STAGES,
                only_where_present=True,
                units=("haproxy.service", "kolla-haproxy-container.service"),
                commands=Commands(
                    state="echo 'show stat' | socat - UNIX-CONNECT:/run/haproxy/admin.sock | cut -d, -f1,2,18,57",
                ),
            ),
        ),
    ),
    Project(
        "keepalived",
        components=(
            Component(
                "keepalived",
                stages=STAGES,
                only_where_present=True,
                programs=("keepalived",),
                units=(
                    "keepalived.service",
                    "kolla-keepalived-container.service",
                ),
                commands=Commands(
                    state=f"ip -brief address show; journalctl --unit keepalived {LATELY}"
                ),
            ),
        ),
    ),
    Project(
        "proxysql",
        components=(
            Component(
                "proxysql",
                depends_on=("database",),
                stages=STAGES,
                only_where_present=True,
                mentioned_as=("proxysql",),
                programs=("proxysql",),
                units=("proxysql.service", "kolla-proxysql-container.service"),
            ),
        ),
    ),
)
