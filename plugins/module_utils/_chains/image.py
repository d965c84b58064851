# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether Ceph has the image that the instance's disk is cloned from."""

from __future__ import annotations

from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    given,
    nowhere,
    read,
)

GLANCE = "glance-api"


def stored(cloud: Cloud) -> Found:
    found = given(cloud.origin)
    return (
        HOLDS
        if read(found.exists)
        else broken(subject=f"{found.pool}/{found.name}")
    )


def has_snapshot(cloud: Cloud) -> Found:
    found = given(cloud.origin)
    applies_if(found.exists)
    return (
        HOLDS
        if read(found.snapshots)
        else broken(subject=f"{found.pool}/{found.name}")
    )


def ceph_host(cloud: Cloud) -> str | None:
    return cloud.ceph_host


CHAIN = ChainDefinition(
    name="image",
    stages=(StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.origin is not None,
    links=(
        LinkDefinition(
            "image_stored",
            GLANCE,
            stored,
            nowhere,
            "rbd info {subject}",
            ceph_host,
        ),
        LinkDefinition(
            "image_snapshot",
            GLANCE,
            has_snapshot,
            nowhere,
            "rbd snap ls {subject}",
            ceph_host,
        ),
    ),
    subject=lambda cloud: cloud.names.get("image"),
)
