# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ceph."""

from __future__ import annotations

from .component import Commands, Component, Port, Project

PROJECTS = (
    Project(
        "ceph",
        configuration=("/etc/ceph",),
        has_options=True,
        packages=("ceph*",),
        components=(
            Component(
                "ceph-rgw",
                depends_on=("ceph-mon", "ceph-osd", "keystone"),
                only_where_present=True,
                stages=("image",),
                # What the clients of Swift's API say of whoever serves it
                mentioned_as=(
                    r"\b(?:Account|Container|Object) (?:DELETE|GET|HEAD|POST|PUT) failed\b",
                ),
                libraries=("swiftclient",),
                log_name="rgw",
                ports=(Port(7480),),
                programs=("radosgw",),
                commands=Commands(
                    limits="radosgw-admin global quota get; radosgw-admin user list; ceph df",
                ),
            ),
            Component(
                "ceph-mon",
                stages=("image", "volume"),
                carries=("socket(RADOS)",),
                mentioned_as=(
                    r"\brados\b",
                    # Behind these marks stands a name that somebody has chosen for a back end.
                    r"(?<![@#])\brbd\b",
                    r"(?<![@#])\bceph\b",
                    "librados",
                ),
                exceptions=("rados.", "rbd."),
                login_options="rbd_(store_)?(user|ceph_conf)",
                ports=(Port(3300), Port(6789)),
                programs=("ceph-mon",),
                health_checks=("MON",),
                commands=Commands(
                    state="ceph health detail",
                    rights="ceph auth ls",
                    overview="ceph status; ceph health detail",
                ),
            ),
            Component(
                "ceph-osd",
                stages=("image", "volume"),
                carries=("socket(RADOS)",),
                login_options="rbd_(store_)?(user|ceph_conf)",
                programs=("ceph-osd",),
                health_checks=("OSD", "PG", "SLOW", "POOL"),
                commands=Commands(
                    state="ceph health detail; ceph df; ceph osd dump | grep ratio",
                    rights="ceph auth ls",
                    overview="ceph osd tree; ceph health detail",
                ),
            ),
        ),
    ),
)
