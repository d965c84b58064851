# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the host to which a server was to move can carry its network at all."""

from __future__ import annotations

from .._model.words import StageName
from .cloud import Cloud
from .definitions import ChainDefinition
from .ovn_chassis import chassis_links
from .ovs_port import agent_links


def destination(cloud: Cloud) -> str | None:
    return cloud.destination


def is_known(cloud: Cloud, back_end: str) -> bool:
    return cloud.back_end == back_end and destination(cloud) is not None


WITH_AGENTS = ChainDefinition(
    name="destination_port",
    stages=(StageName.JOURNEY,),
    applies=lambda cloud: is_known(cloud, "agents"),
    links=agent_links(destination, "destination_"),
)
WITH_OVN = ChainDefinition(
    name="destination_chassis",
    stages=(StageName.JOURNEY,),
    applies=lambda cloud: is_known(cloud, "ovn"),
    links=chassis_links(destination),
)
