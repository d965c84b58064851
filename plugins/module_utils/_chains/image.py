# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether Ceph has the image that the instance's disk is cloned from."""

from __future__ import annotations

from .._model.facts import OriginImage
from .._model.words import StageName
from .cloud import Cloud
from .definitions import HOLDS, ChainDefinition, Found, LinkDefinition, broken, given, holds_if, read

GLANCE = "glance-api"


def origin(cloud: Cloud) -> OriginImage:
    return given(given(cloud.ceph).origin)


def stored(cloud: Cloud) -> Found:
    found = origin(cloud)
    return HOLDS if read(found.exists) else broken(subject=f"{found.pool}/{found.name}")


def protected(cloud: Cloud) -> Found:
    """Check whether the image has the snapshot that a disk is cloned from."""
    found = origin(cloud)
    given(found.exists or None)
    return holds_if(bool(read(found.snapshots)))


CHAIN = ChainDefinition(
    name="image",
    stages=(StageName.VOLUME, StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.ceph is not None and cloud.ceph.origin is not None,
    links=(
        LinkDefinition("image_stored", GLANCE, stored, lambda _cloud: None, "openstack image show {image}"),
        LinkDefinition("image_snapshot", GLANCE, protected, lambda _cloud: None, "openstack image show {image}"),
    ),
    subject=lambda cloud: cloud.names.get("image"),
)
