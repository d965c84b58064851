# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Placement."""

from __future__ import annotations

from .component import Api, Component, Port, Project

PROJECTS = (
    Project(
        "placement",
        configuration=("/etc/placement",),
        has_options=True,
        packages=("placement-*",),
        schema_version="placement-manage db version",
        components=(
            Component(
                "placement-api",
                depends_on=("database", "keystone"),
                api=Api(("placement",), url_paths=("placement",)),
                log_name="placement",
                mentioned_as=("placement", "resource provider"),
                exceptions=("PlacementAPI",),
                ports=(Port(8778),),
            ),
        ),
    ),
)
