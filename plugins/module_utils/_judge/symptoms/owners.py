# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the components on a host that a file, a folder or a program belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..._components.tables import PROGRAMS, entry_of, project_of
from ..._model.host import ChangedFile, Host
from ..._model.service import Service, services_of

# kolla-ansible has a folder for each service: /etc/kolla/nova-api. devstack has its data below /opt/stack/data.
FOLDER = re.compile(
    r"^/(?:etc|var/lib|var/log|opt/stack/data)/(?:kolla/)?(?P<name>[a-z][a-z0-9-]*)(?:/|$)"
)
UNIT = re.compile(
    r"^/(?:etc|run)/systemd/system/(?P<unit>[\w@.-]+?\.service)(?:\.d)?(?:/|$)"
)
# Folders of web servers and of the starts of services, which hold files of many of them
SHARED = ("apache2", "httpd", "default")
WORD = re.compile(r"[^a-z0-9]+")
# Any service may write to a disk at one of these.
SHARED_DISKS = {
    "/", "/opt", "/opt/stack", "/opt/stack/data", "/run", "/tmp", "/usr", "/var", "/var/lib", "/var/log", "/var/tmp",
    "/var/lib/containers", "/var/lib/containers/storage", "/var/lib/docker", "/var/lib/docker/volumes",
    "/var/log/kolla",
}  # fmt: skip


def has_owner(path: str) -> bool:
    """Return whether a path of configuration says whose it is: by a folder, or by a unit."""
    return bool(FOLDER.match(path) or UNIT.match(path))


def owner_in(path: str) -> str | None:
    """Return the name that a path of configuration has of its owner."""
    match = UNIT.match(path) or FOLDER.match(path)
    return match[1] if match else None


def owners_of(path: str, host: Host) -> list[str]:
    """Return the components on a host whose configuration a file has; none if its path does not say it."""
    return components_of(path, host) if has_owner(path) else []


def readers_of(file: ChangedFile, host: Host) -> list[str]:
    """Return the components on a host that have a changed file of configuration in use.

    Those that started before it changed have not read it. If all did, they may have read it without a start.
    """
    owners = owners_of(file.path, host)
    started = [
        service
        for service in services_of(host)
        if service.for_s is not None and service.for_s <= file.ago_s
    ]
    readers = set(owners).intersection(names_of(started))
    return sorted(readers) or owners


def components_of(path: str, host: Host) -> list[str]:
    """Return the components on a host that a folder or a unit's configuration belongs to.

    A disk that everybody uses, and what is no path, belongs to all of them.
    """
    services = services_of(host)
    unit = UNIT.match(path)
    if unit:
        return names_of(
            [
                service
                for service in services
                if is_of_unit(service.unit, unit["unit"])
            ]
        )
    if path in SHARED_DISKS or not path.startswith("/"):
        return names_of(services)
    folder = FOLDER.match(path)
    return (
        components_of_folder(folder["name"], path, services) if folder else []
    )


def components_of_folder(
    name: str, path: str, services: Sequence[Service]
) -> list[str]:
    """Return the components of the project that a folder is of, or the one that folder and file name together."""
    file = path.rpartition("/")[-1].partition(".")[0]
    if name in SHARED:
        return named_by(file, services)
    project = name.partition("-")[0]
    ours = [
        service
        for service in services
        if project_of(service.component) == project
    ]
    # A file such as dhcp_agent.ini says by its name whose it is, and so does a folder such as nova-api.
    for text in (f"{name}-{file}", name):
        words = set(WORD.split(text)) - {""}
        named = names_of(
            [service for service in ours if words <= words_of(service)]
        )
        if words and named:
            return named
    return names_of(ours)


def named_by(file: str, services: Sequence[Service]) -> list[str]:
    """Return the components that the name of a file in a folder of all services has in it, as 10-keystone_wsgi has."""
    words = set(WORD.split(file))
    return names_of(
        [
            service
            for service in services
            if set(service.component.split("-")) <= words
        ]
    )


def names_of(services: Sequence[Service]) -> list[str]:
    return sorted({service.component for service in services})


def is_of_unit(unit: str, configured: str) -> bool:
    """Return whether a unit has the configuration of a unit, or of the template that it was made from."""
    template, at, _suffix = configured.partition("@.")
    if at:
        return unit.startswith(f"{template}@")
    return unit == configured


def words_of(service: Service) -> set[str]:
    return set(f"{service.component}-{service.program}".split("-"))


def components_that_run(
    program: str, host: Host, known_length: int | None = None
) -> list[str]:
    """Return the components whose program this is: its own, or those that start it.

    known_length: how many characters of a program's name are known, if it may be cut.
    """

    def is_it(name: str) -> bool:
        return program in (name, name[:known_length])

    known = {component for name, component in PROGRAMS.items() if is_it(name)}
    if known:
        return sorted(known)
    services = services_of(host)
    own = {service.component for service in services if is_it(service.program)}
    if own:
        return sorted(own)
    starting = {
        service.component
        for service in services
        if any(map(is_it, entry_of(service.component).starts))
    }
    if starting:
        return sorted(starting)
    return [program]
