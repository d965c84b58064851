# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance by its domain, into which Nova writes what it made the instance of."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

from ..._collect.commands import UnreadError
from ..._collect.hosts.libvirt import parse_domain
from ..._model.facts import Domain
from ..._model.instance import Port
from . import libvirt
from .port import port_seen
from .report import Report

NOVA = "{http://openstack.org/xmlns/libvirt/nova/1.1}"
VOLUME = re.compile(r"volume-([0-9a-f-]{36})")
# How the file or the image of a config drive ends
CONFIG_DRIVE = "disk.config"
# Nova names the device of a port tap and the first eleven characters of its id.
TAP, KNOWN = "tap", 11


@dataclass(frozen=True)
class DomainOfInstance:
    """What a domain shows of an instance. Its ports have no networks: libvirt does not know them."""

    name: str
    project: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    image: str | None
    ports: tuple[Port, ...]
    volumes: tuple[str, ...]
    config_drive: bool = False


def read(report: Report, server: str) -> DomainOfInstance | None:
    """Return the domain of an instance; None if it is not on this host."""
    try:
        return domain_in(libvirt.domain(report, server), server)
    # One that is damaged is named where the facts of its host are read.
    except (UnreadError, ValueError, LookupError):
        return None


def domain_in(text: str, server: str) -> DomainOfInstance:
    domain, written = parse_domain(text), ET.fromstring(text)
    return DomainOfInstance(
        name=written.findtext(f".//{NOVA}name") or server,
        project=attribute(written, "project", "uuid") or "",
        vcpus=domain.vcpus,
        memory_mib=domain.memory_mib,
        disk_gib=int(written.findtext(f".//{NOVA}disk") or 0),
        image=attribute(written, "root", "uuid"),
        ports=tuple(ports_in(written, domain)),
        config_drive=any(
            str(disk.source).endswith(CONFIG_DRIVE) for disk in domain.disks
        ),
        volumes=tuple(volumes_of(domain)),
    )


def attribute(written: ET.Element, tag: str, name: str) -> str | None:
    element = written.find(f".//{NOVA}{tag}")
    return None if element is None else element.get(name)


def volumes_of(domain: Domain) -> Iterator[str]:
    for disk in domain.disks:
        found = VOLUME.search(disk.source or "")
        if found:
            yield found[1]


def ports_in(written: ET.Element, domain: Domain) -> Iterator[Port]:
    """Yield the ports that Nova has written into a domain, with the MACs of its interfaces."""
    macs = {interface.tap: interface.mac for interface in domain.interfaces}
    for port in written.iterfind(f".//{NOVA}port"):
        identity = port.get("uuid") or ""
        tap = f"{TAP}{identity[:KNOWN]}"
        mac = macs.get(tap) or ""
        addresses: list[str] = []
        for written_address in port.iterfind(f"{NOVA}ip"):
            address = written_address.get("address") or ""
            addresses.append(address)
        yield port_seen(identity, mac, tuple(addresses))
