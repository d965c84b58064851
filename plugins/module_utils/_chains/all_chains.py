# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All chains, and the stages after whose failure each is walked."""

from __future__ import annotations

from .._model.chain import Chain
from .._model.record import Record
from .._model.words import StageName
from . import (
    destination,
    dhcp,
    guest_path,
    image,
    ipv6,
    metadata,
    ovn_gateway,
    ovn_port,
    ovs_port,
    ovs_router,
    server,
    volume,
)
from .cloud import Cloud
from .definitions import walk

CHAINS = (
    image.CHAIN,
    volume.CHAIN,
    ovn_port.CHAIN,
    ovs_port.CHAIN,
    server.CHAIN,
    dhcp.CHAIN,
    ovn_gateway.CHAIN,
    ovs_router.CHAIN,
    metadata.CHAIN,
    ipv6.CHAIN,
    guest_path.HOSTS,
    guest_path.CHAIN,
)
# Those of an operation that has failed
OF_MOVES = (destination.WITH_AGENTS, destination.WITH_OVN)
ALL = (*CHAINS, *OF_MOVES)


def walked(record: Record, stage: str) -> tuple[Chain, ...]:
    """Return the chains of a run that failed in a stage.

    An operation that fails leaves a server in any state, and its chains are walked only if it should work. Else the
    host to which it was to move may not be able to take it.
    """
    is_of_operation = (
        stage == StageName.JOURNEY and not record.has_silent_guest
    )
    cloud = Cloud(record)
    return tuple(
        walk(chain, cloud)
        for chain in (OF_MOVES if is_of_operation else CHAINS)
        if stage in chain.stages and chain.applies(cloud)
    )
