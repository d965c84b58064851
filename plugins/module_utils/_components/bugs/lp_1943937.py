# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from .bug import Bug, launchpad

NUMBER, URL = launchpad(1943937)
BUG = Bug(
    NUMBER,
    URL,
    title="RabbitMQ keeps records of queues that are dead, and each declaration of such a queue times out",
    components=(
        "nova-api",
        "nova-conductor",
        "nova-compute",
        "nova-scheduler",
        "neutron-server",
        "neutron-l2-agent",
        "neutron-dhcp-agent",
        "neutron-l3-agent",
        "cinder-volume",
        "cinder-scheduler",
        "rabbitmq",
    ),
    shows=re.compile(
        r"failed to perform operation on queue '[^']+' in vhost '[^']+' due to timeout"
    ),
    affects="RabbitMQ clusters after nodes were lost or restarted",
    remedy="stop all RabbitMQ servers and start them together, or delete the queue while its service is stopped",
)
