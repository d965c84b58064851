# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance as libvirt and the kernel of its compute host show it."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET

from ..._model.facts import (
    Disk,
    DiskLimit,
    Domain,
    DomainInterface,
    DomainProcess,
    DomainState,
)
from ..commands import Host, UnreadError, processes

VIRSH = ("virsh", "--connect", "qemu:///system", "--readonly")
NO_DOMAIN = re.compile(r"[Dd]omain not found|failed to get domain")
# Lines of virsh above those of a table
TABLE_HEADER = 2
KIB_PER_UNIT = {"KiB": 1, "MiB": 1024}
PEER = re.compile(r"^\S+\s+\d+\s+\d+\s+\S+\s+(?P<peer>\S+)\s")
BOOT_TIME = re.compile(r"^btime (\d+)$", re.MULTILINE)
# Of the fields of /proc/PID/stat behind the name of the program, that of the start
START_FIELD = 19
TICKS_PER_SECOND = 100
# Beside these stand bursts, and the name of a group of disks.
LIMIT = re.compile(r"(?:total|read|write)_(?:bytes|iops)_sec")


def read(host: Host, uuid: str) -> Domain | None:
    """Return the domain of an instance, with its process and the connections of that; None if there is no domain."""
    domain = host.attempt("the domain", domain_of, uuid)
    if domain is None:
        return None
    return dataclasses.replace(
        domain,
        state=host.attempt("the domain's state", state_of, uuid),
        secrets=host.attempt("libvirt's secrets", secrets_of),
        process=host.attempt("the process of the domain", process_of, uuid),
    )


def domain_of(host: Host, uuid: str) -> Domain | None:
    output = asked_about(host, "dumpxml", uuid)
    return None if output is None else parse_domain(output)


def asked_about(host: Host, *words: str) -> str | None:
    """Return what virsh prints about a domain; None if there is no such domain here."""
    try:
        # Some hosts let only root use virsh.
        return host.ask("libvirt", *VIRSH, *words)
    except UnreadError as exc:
        if NO_DOMAIN.search(exc.output):
            return None
        raise


def state_of(host: Host, uuid: str) -> DomainState:
    output = host.ask("libvirt", *VIRSH, "domstate", uuid, "--reason").strip()
    state, _space, reason = output.partition(" (")
    return DomainState(state, reason.rstrip(")"))


def secrets_of(host: Host) -> tuple[str, ...]:
    lines = host.ask("libvirt", *VIRSH, "secret-list").splitlines()
    return tuple(
        line.split()[0] for line in lines[TABLE_HEADER:] if line.strip()
    )


def parse_domain(text: str) -> Domain:
    root = ET.fromstring(text)
    memory = required(root, "memory")
    disks = list(map(parse_disk, root.findall("devices/disk")))
    interfaces = list(map(parse_interface, root.findall("devices/interface")))
    return Domain(
        uuid=root.findtext("uuid"),
        name=root.findtext("name"),
        vcpus=int(required(root, "vcpu").text or ""),
        memory_mib=int(memory.text or "")
        * KIB_PER_UNIT[memory.get("unit", "KiB")]
        // 1024,
        disks=tuple(disks),
        interfaces=tuple(interfaces),
    )


def required(element: ET.Element, path: str) -> ET.Element:
    child = element.find(path)
    if child is None:
        raise LookupError(f"the domain has no {path}")
    return child


def attribute(element: ET.Element, path: str, name: str) -> str | None:
    child = element.find(path)
    if child is None:
        return None
    return child.get(name)


def parse_disk(disk: ET.Element) -> Disk:
    found = disk.find("source")
    source = ET.Element("source") if found is None else found
    return Disk(
        device=disk.get("device"),
        type=disk.get("type"),
        target=attribute(disk, "target", "dev"),
        serial=disk.findtext("serial"),
        protocol=source.get("protocol"),
        source=source.get("name") or source.get("file") or source.get("dev"),
        monitors=tuple(
            f"{monitor.get('name')}:{monitor.get('port')}"
            for monitor in source.findall("host")
        ),
        user=attribute(disk, ".//auth", "username"),
        secret=attribute(disk, ".//auth/secret", "uuid"),
        # It stands beside the source, or in it.
        encryption=attribute(disk, ".//encryption", "format"),
        encryption_secret=attribute(disk, ".//encryption/secret", "uuid"),
        shareable=disk.find("shareable") is not None,
        limits=tuple(
            DiskLimit(limit.tag, int(limit.text or 0))
            for limit in disk.findall("iotune/*")
            if LIMIT.fullmatch(limit.tag)
        ),
    )


def parse_interface(interface: ET.Element) -> DomainInterface:
    mtu = attribute(interface, "mtu", "size")
    return DomainInterface(
        type=interface.get("type"),
        mac=attribute(interface, "mac", "address"),
        tap=attribute(interface, "target", "dev"),
        bridge=attribute(interface, "source", "bridge"),
        port=attribute(interface, "virtualport/parameters", "interfaceid"),
        mtu=int(mtu) if mtu else None,
    )


def process_of(host: Host, uuid: str) -> DomainProcess | None:
    """Return the emulator, with its start and its connections to monitors and OSDs."""
    emulators = [
        number
        for number, words in processes(host, "libvirt", f"uuid {uuid}")
        if "qemu" in words[0]
    ]
    if not emulators:
        return None
    number = emulators[0]
    return DomainProcess(
        pid=number,
        started=host.attempt("the start of the process", started_at, number),
        connections=host.attempt(
            "the connections of the process",
            connections_of,
            number,
            default=(),
        ),
    )


def started_at(host: Host, number: int) -> float:
    """Return seconds since the epoch, to the hundredth: the host's boot time plus the ticks since then."""
    stat = host.ask("libvirt", "cat", f"/proc/{number}/stat", root=False)
    ticks = int(stat.rpartition(")")[2].split()[START_FIELD])
    booted = BOOT_TIME.search(
        host.ask("libvirt", "cat", "/proc/stat", root=False)
    )
    if booted is None:
        raise LookupError("/proc/stat has no btime")
    return int(booted[1]) + ticks / TICKS_PER_SECOND


def connections_of(host: Host, number: int) -> tuple[str, ...]:
    output = host.ask(
        "libvirt", "ss", "--no-header", "--tcp", "--numeric", "--processes"
    )
    peers = set()
    for line in output.splitlines():
        if f"pid={number}," not in line:
            continue
        match = PEER.match(line)
        if match:
            peers.add(match.group("peer"))
    return tuple(sorted(peers))
