# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keystone, and the directory in which it may look up its users."""

from __future__ import annotations

from .component import Api, Commands, Component, Log, Port, Project, UrlScheme

PROJECTS = (
    Project(
        "keystone",
        configuration=("/etc/keystone",),
        has_options=True,
        packages=("keystone*",),
        schema_version="keystone-manage db_version",
        components=(
            Component(
                "keystone",
                depends_on=("ldap", "database", "memcached"),
                stages=("auth", "image", "network", "volume", "boot"),
                sections=("keystone_authtoken", "service_user"),
                api=Api(("identity",), stage="auth", url_paths=("identity",)),
                # The HTTP client of all services begins with that word, and says so of any peer that it does not reach.
                mentioned_as=(
                    r"keystone(?!auth1\.exceptions\.connection)",
                    "identity (?:service|server)",
                ),
                libraries=("keystoneclient",),
                ports=(Port(5000),),
                url_options=("auth_url", "www_authenticate_uri", "auth_uri"),
                commands=Commands(
                    rights="openstack user list --long; openstack role assignment list --names"
                ),
            ),
        ),
    ),
    Project(
        "ldap",
        components=(
            Component(
                "ldap",
                stages=("auth",),
                log_name="slapd",
                mentioned_as=(r"\bldap\b",),
                libraries=("ldap",),
                exceptions=("ldap.", "SERVER_DOWN"),
                ports=(Port(389), Port(636)),
                url_schemes=(
                    UrlScheme("ldap", 389, "tcp"),
                    UrlScheme("ldaps", 636, "tcp"),
                ),
                programs=("slapd",),
                # No platform deploys it with the cloud.
                units=("slapd.service", "dirsrv@*.service"),
                log=Log(journals=("slapd",)),
            ),
        ),
    ),
)
