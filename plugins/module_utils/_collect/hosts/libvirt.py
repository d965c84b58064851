# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance as libvirt and the kernel of its compute host show it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from ..commands import UnreadError, processes

VIRSH = ("virsh", "--connect", "qemu:///system", "--readonly")
PEER = re.compile(r"^\S+\s+\d+\s+\d+\s+(\S+)\s+(\S+)\s")


def read(host, uuid):
    """The domain of an instance, with its process and the connections of that; None if there is no domain."""
    domain = host.attempt("the domain", domain_of, uuid)
    if domain is not None:
        domain["state"] = host.attempt("the domain's state", state_of, uuid)
        domain["secrets"] = host.attempt("libvirt's secrets", secrets_of)
        domain["process"] = host.attempt("the process of the domain", process_of, uuid)
    return {"domain": domain}


def domain_of(host, uuid):
    try:
        # Some hosts let only root use virsh.
        return parse_domain(host.ask("libvirt", *VIRSH, "dumpxml", uuid))
    except UnreadError as exc:
        if re.search(r"[Dd]omain not found|failed to get domain", exc.output):
            return None
        raise


def state_of(host, uuid):
    """The name and the reason of the state, such as running and booted."""
    output = host.ask("libvirt", *VIRSH, "domstate", uuid, "--reason").strip()
    state, _space, reason = output.partition(" (")
    return {"name": state, "reason": reason.rstrip(")")}


def secrets_of(host):
    lines = host.ask("libvirt", *VIRSH, "secret-list").splitlines()
    return [line.split()[0] for line in lines[2:] if line.strip()]


def parse_domain(text):
    root = ET.fromstring(text)
    memory = root.find("memory")
    return {
        "uuid": root.findtext("uuid"),
        "name": root.findtext("name"),
        "vcpus": int(root.findtext("vcpu")),
        "memory_mib": int(memory.text) * {"KiB": 1, "MiB": 1024}[memory.get("unit", "KiB")] // 1024,
        "disks": [parse_disk(disk) for disk in root.findall("devices/disk")],
        "interfaces": [parse_interface(interface) for interface in root.findall("devices/interface")],
    }


def attribute(element, path, name):
    child = element.find(path)
    return None if child is None else child.get(name)


def parse_disk(disk):
    source = disk.find("source")
    source = ET.Element("source") if source is None else source
    return {
        "device": disk.get("device"),
        "type": disk.get("type"),
        "target": attribute(disk, "target", "dev"),
        "serial": disk.findtext("serial"),
        "protocol": source.get("protocol"),
        "source": source.get("name") or source.get("file") or source.get("dev"),
        "monitors": [f"{monitor.get('name')}:{monitor.get('port')}" for monitor in source.findall("host")],
        "user": attribute(disk, ".//auth", "username"),
        "secret": attribute(disk, ".//auth/secret", "uuid"),
    }


def parse_interface(interface):
    mtu = attribute(interface, "mtu", "size")
    return {
        "type": interface.get("type"),
        "mac": attribute(interface, "mac", "address"),
        "tap": attribute(interface, "target", "dev"),
        "bridge": attribute(interface, "source", "bridge"),
        "port": attribute(interface, "virtualport/parameters", "interfaceid"),
        "mtu": int(mtu) if mtu else None,
    }


def process_of(host, uuid):
    """The emulator: its number, when it started, and its connections to monitors and OSDs."""
    numbers = [number for number, words in processes(host, "libvirt", f"uuid {uuid}") if "qemu" in words[0]]
    if not numbers:
        return None
    number = numbers[0]
    return {
        "pid": number,
        "started": host.attempt("the start of the process", started_at, number),
        "connections": host.attempt("the connections of the process", connections_of, number, default=[]),
    }


def started_at(host, number):
    """Seconds since the epoch, to the hundredth: the host's boot time plus the ticks since then."""
    stat = host.ask("libvirt", "cat", f"/proc/{number}/stat", root=False)
    booted = re.search(r"^btime (\d+)$", host.ask("libvirt", "cat", "/proc/stat", root=False), re.MULTILINE).group(1)
    return int(booted) + int(stat.rpartition(")")[2].split()[19]) / 100


def connections_of(host, number):
    lines = host.ask("libvirt", "ss", "--no-header", "--tcp", "--numeric", "--processes").splitlines()
    peers = (PEER.match(line) for line in lines if f"pid={number}," in line)
    return sorted({match.group(2) for match in peers if match})
