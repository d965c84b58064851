# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Glance."""

from __future__ import annotations

from .component import Api, Component, Port, Project

PROJECTS = (
    Project(
        "glance",
        configuration=("/etc/glance",),
        has_options=True,
        packages=("glance-*",),
        schema_version="glance-manage db version",
        components=(
            Component(
                "glance-api",
                depends_on=(
                    "ceph-mon",
                    "ceph-osd",
                    "ceph-rgw",
                    "keystone",
                    "database",
                    "memcached",
                ),
                stages=("image", "volume"),
                api=Api(("image",), stage="image", url_paths=("image",)),
                mentioned_as=("glance", "image service"),
                libraries=("glanceclient",),
                bad_values=("Image has no associated data",),
                ports=(Port(9292),),
            ),
        ),
    ),
)
