# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port of an instance, as far as a report can show one."""

from __future__ import annotations

from ..._model.instance import Port


def port_seen(
    identity: str, mac: str, addresses: tuple[str, ...], network: str = ""
) -> Port:
    """Return a port without what only Neutron knows of it. network: empty where the source does not have it."""
    return Port(
        id=identity,
        mac=mac,
        addresses=addresses,
        network=network,
        host=None,
        kind=None,
        status="",
        created=None,
        updated=None,
        revision=None,
    )
