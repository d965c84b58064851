# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of a host's services: when each file changed, and a digest of each value by which hosts are compared.

A value never leaves its host. Its digest is keyed with a word that is regenerated in each run and kept nowhere.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO

from ..._components.catalogue import PROJECTS
from ..._components.tables import dependents_of, project_of
from ..commands import NO_MATCH, Host, UnreadError

# Web servers and balancers stand in front of several projects, and the others hold files of all of them.
SHARED_FOLDERS = (
    "/etc/apache2", "/etc/httpd", "/etc/haproxy", "/etc/default", "/etc/systemd/system", "/run/systemd/system",
    "/etc/kolla",
)  # fmt: skip
# With these a compute host logs in at another one, to which it moves a server.
OF_LOGIN = "/var/lib/nova/.ssh"
# The rules for sudo have the same folders in the same order.
FOLDERS = (
    *chain.from_iterable(project.configuration for project in PROJECTS),
    *SHARED_FOLDERS,
    OF_LOGIN,
)
# Databases, keys and such that services write by themselves
WRITTEN_BY_SERVICES = re.compile(
    r"/etc/openvswitch/|/etc/libvirt/(?:qemu|secrets|nwfilter)/|\.lock$|~$|/fernet-keys/|/credential-keys/|/known_hosts"
)
# kolla-ansible has a folder for each service: /etc/kolla/nova-api. The rules for sudo have the same pattern.
WITH_OPTIONS = "|".join(
    project.name for project in PROJECTS if project.has_options
)
SETTINGS = re.compile(
    rf"/etc/(?:kolla/)?(?P<project>{WITH_OPTIONS})(?:-[a-z-]+)?/"
    r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/){0,3}[A-Za-z0-9_-][A-Za-z0-9_.-]*\.(?:conf|ini)"
)
# Examples and settings of other programs, which are long and name no peer
NO_SETTINGS = re.compile(
    r"api-paste|uwsgi|rootwrap|property-protections|glance-(?:cache|manage|scrubber|image)"
)
MOST_FILES = 200
LONGEST_DIGEST = 12
# Those that components of several projects use
SHARED_PACKAGES = ("python3-oslo*", "dnsmasq*", "haproxy")
PACKAGES = (
    *chain.from_iterable(project.packages for project in PROJECTS),
    *SHARED_PACKAGES,
)
BY_DPKG = (
    "dpkg-query",
    "--show",
    "--showformat=${Package} ${Version}\\n",
    *PACKAGES,
)
BY_RPM = (
    "rpm",
    "--query",
    "--all",
    "--queryformat=%{NAME} %{VERSION}-%{RELEASE}\\n",
)
HEADER = re.compile(r"^\[([^\]]+)\]")


@dataclass(frozen=True)
class SettingsFile:
    """A file below the folders of settings. changed: seconds since the epoch. mode: its mode and its owner."""

    changed: float
    mode: str
    empty: bool


@dataclass(frozen=True)
class Option:
    """An option in a file of settings. It stays on its host."""

    project: str
    path: str
    section: str
    name: str
    value: str


def files(host: Host) -> dict[str, SettingsFile]:
    """Return the files below the folders of settings by their paths."""
    words = (
        "find",
        *FOLDERS,
        "-maxdepth",
        "4",
        "-type",
        "f",
        "-printf",
        "%T@ %m %u:%g %s %p\\n",
    )
    listed = {}
    for line in host.ask(
        None, *words, despite="No such file or directory"
    ).splitlines():
        changed, mode, owner, size, path = line.split(" ", 4)
        if not WRITTEN_BY_SERVICES.search(path):
            listed[path] = SettingsFile(
                float(changed), f"{mode} {owner}", size == "0"
            )
    return listed


def projects_of(components: Iterable[str]) -> set[str]:
    """Return the projects whose settings count on a host: packages leave those of others there as well."""
    projects = {component.partition("-")[0] for component in components}
    clients = set(map(project_of, dependents_of("ceph-mon")))
    return projects | ({"ceph"} if projects & clients else set())


def settings(
    host: Host, paths: Iterable[str], projects: set[str]
) -> list[Option]:
    """Return each option in files of settings."""
    chosen = [path for path in sorted(paths) if is_setting_of(path, projects)][
        :MOST_FILES
    ]
    if not chosen:
        return []
    words = (
        "grep",
        "--text",
        "--with-filename",
        "--regexp=^[^#;]",
        "--",
        *chosen,
    )
    try:
        # The reason why a command failed may be the output that others see, but not of one whose output is taken.
        return host.ask(
            None, *words, despite="No such file or directory", take=options_of
        )
    except UnreadError as exc:
        if exc.output == NO_MATCH:
            return []
        raise


def is_setting_of(path: str, projects: set[str]) -> bool:
    match = SETTINGS.fullmatch(path)
    return (
        match is not None
        and match.group("project") in projects
        and not NO_SETTINGS.search(path)
    )


def options_of(stream: IO[bytes]) -> list[Option]:
    return list(options_in(stream.read().decode("utf-8", "surrogateescape")))


def options_in(output: str) -> Iterator[Option]:
    """Yield the options in lines of grep, which begin with the path of their file."""
    section, path = "", ""
    for line in output.split("\n"):
        own_path, _colon, rest = line.partition(":")
        if own_path != path:
            section, path = "", own_path
        text = rest.strip()
        header = HEADER.match(text)
        if header:
            section = header[1]
            continue
        file = SETTINGS.fullmatch(path)
        if file and "=" in text and text[:1] not in "#;":
            name, _equals, value = text.partition("=")
            yield Option(
                file.group("project"),
                path,
                section,
                name.strip(),
                value.strip(),
            )


def digests(
    options: Iterable[Option], salt: str, own: Iterable[str]
) -> dict[str, str]:
    """Return the digest of each option's value. own: names and addresses of this host, which rightly differ."""
    mine = pattern_of(own)
    table: dict[str, str] = {}
    for option in options:
        alike = mine.sub("*", option.value).encode("utf-8", "surrogateescape")
        digest = hmac.new(salt.encode(), alike, hashlib.sha256).hexdigest()
        # An option may be given several times.
        name = f"{option.path} [{option.section}] {option.name}"
        table[name] = table.get(name, "") + digest[:LONGEST_DIGEST]
    return table


def pattern_of(own: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of names, but not as a part of another: compute1 is another host than compute10."""
    longest_first = sorted(filter(None, own), key=len, reverse=True)
    names = "|".join(map(re.escape, longest_first)) or "(?!)"
    return re.compile(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])")


def packages(host: Host) -> dict[str, str]:
    """Return the version of each package, by the program that this distribution has."""
    try:
        output = host.ask(
            None, *BY_DPKG, root=False, despite="no packages found"
        )
    except UnreadError as exc:
        if exc.kind != "missing":
            raise
        output = host.ask(None, *BY_RPM, root=False)
    versions = {}
    for line in output.splitlines():
        package, _space, version = line.partition(" ")
        if " " in line.strip():
            versions[package] = version
    return versions
