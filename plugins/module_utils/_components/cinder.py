# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cinder."""

from __future__ import annotations

from .component import Api, Component, Port, Project

PROJECTS = (
    Project(
        "cinder",
        configuration=("/etc/cinder",),
        has_options=True,
        packages=("cinder-*",),
        schema_version="cinder-manage db version",
        enabling="openstack volume service set --enable <host> {component}",
        components=(
            Component(
                "cinder-api",
                depends_on=(
                    "cinder-volume",
                    "database",
                    "rabbitmq",
                    "keystone",
                    "memcached",
                ),
                stages=("volume",),
                api=Api(
                    ("volume", "block-storage", "block-store", "volumev3"),
                    stage="volume",
                    url_paths=("volume",),
                ),
                mentioned_as=("cinder", "volume (?:service|api)"),
                libraries=("cinderclient",),
                ports=(Port(8776),),
            ),
            Component(
                "cinder-scheduler",
                depends_on=("cinder-volume", "database", "rabbitmq"),
                stages=("volume",),
                topics=("cinder-scheduler",),
                exceptions=("VolumeNotCreated",),
            ),
            Component(
                "cinder-volume",
                depends_on=("ceph-mon", "ceph-osd", "database", "rabbitmq"),
                stages=("volume",),
                answers_calls=True,
                sends_back=("from last vol-service: ",),
                topics=("cinder-volume",),
                exceptions=("VolumeNotCreated",),
            ),
        ),
    ),
)
