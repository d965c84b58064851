# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check what a host's services need of it: disks, memory, a kernel without errors, and programs that can be run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..._components.tables import entry_of
from ..._model.host import Exhausted, OwnReport
from ..commands import Host

# A disk is full for a service before its last byte is used: in bytes, and as a share of its size.
LEAST_BYTES = 64 << 20
LEAST_SHARE = 0.01
LEAST_INODES = 100
# As a share of all, and in KiB
LEAST_MEMORY = 0.02
LEAST_MEMORY_KIB = 1 << 20
# These hold nothing that a service writes.
NO_DISKS = ("/snap/", "/boot", "/sys", "/proc", "/dev/pts", "/etc/")
# These are written once, and have no space left.
IMAGES = ("squashfs", "iso9660", "udf", "erofs")
FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/libexec")
KILLED = re.compile(r"Killed process \d+ \((?P<name>[\w .:/-]{1,40})\)")
# A drive for disks or CDs with nothing in it reports errors as well.
DISK_ERROR = re.compile(
    r"I/O error(?!.*\b(?:fd|sr)\d)|critical medium error|EXT4-fs error|XFS.*(?:error|shutdown)|Remounting filesystem"
)
CONNECTIONS_FULL = re.compile(r"nf_conntrack: (?:nf_conntrack: )?table full")
NEIGHBOURS_FULL = re.compile(r"neighbou?r table overflow")
CONNECTIONS = "connection tracking"
CONNTRACK = (
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "/proc/sys/net/netfilter/nf_conntrack_max",
)
# As a share of the table: new connections are dropped at its end, and the count falls again before it is read.
MOST_CONNECTIONS = 0.98
# The audit lines of AppArmor and of SELinux, with the program that was denied something
DENIED = re.compile(
    r'apparmor="DENIED" operation="(?P<operation>[a-z_]{1,30})"(?:.*? name="(?P<name>[^"]{1,200})")?'
    r'.*? comm="(?P<by_apparmor>[^"]{1,15})"'
    r'|avc: +denied +\{ (?P<rights>[a-z_ ]{1,60}) \} for .*?comm="(?P<by_selinux>[^"]{1,15})"'
)
KVM = "/dev/kvm"
# Folders whose file systems services write to
WRITTEN = ("/", "/var", "/var/lib", "/var/log")
DISK_COLUMNS = 5


@dataclass(frozen=True)
class Disk:
    """A file system. size, left: in bytes."""

    target: str
    size: int
    left: int
    inodes: int
    inodes_left: int

    @property
    def is_full(self) -> bool:
        return self.size > 0 and self.left <= min(
            LEAST_SHARE * self.size, LEAST_BYTES
        )

    @property
    def has_few_inodes(self) -> bool:
        return self.inodes > LEAST_INODES > self.inodes_left


def disks(host: Host) -> list[Exhausted]:
    images = [f"--exclude-type={kind}" for kind in IMAGES]
    words = (
        "df",
        "--local",
        "--block-size=1",
        *images,
        "--output=target,size,avail,itotal,iavail",
    )
    _header, *lines = host.ask(
        None, *words, root=False, despite="df: "
    ).splitlines() or [""]
    findings = []
    for disk in filter(None, map(parse_disk, lines)):
        if disk.is_full:
            text = f"the disk at {disk.target} has {disk.left >> 20} MiB left"
            findings.append(Exhausted("no space", disk.target, text))
        if disk.has_few_inodes:
            text = (
                f"the disk at {disk.target} has {disk.inodes_left} inodes left"
            )
            findings.append(Exhausted("no space", disk.target, text))
    return findings


def parse_disk(line: str) -> Disk | None:
    """Parse a line of df; None for a file system that services do not write to."""
    words = line.split()
    if len(words) != DISK_COLUMNS or words[0].startswith(NO_DISKS):
        return None
    size, left, inodes, inodes_left = (
        int(word) if word.isdigit() else 0 for word in words[1:]
    )
    return Disk(words[0], size, left, inodes, inodes_left)


def mounts(host: Host) -> list[Exhausted]:
    """Return file systems on a disk that the kernel has made read-only, for example after an error."""
    findings = []
    for line in host.ask(None, "cat", "/proc/mounts", root=False).splitlines():
        device, target, kind, options = line.split()[:4]
        on_disk = device.startswith("/dev/") and kind not in IMAGES
        if on_disk and "ro" in options.split(",") and target in WRITTEN:
            findings.append(
                Exhausted(
                    "read-only",
                    target,
                    f"the disk at {target} can only be read",
                )
            )
    return findings


def memory(host: Host) -> list[Exhausted]:
    kib = {}
    for line in host.ask(
        None, "cat", "/proc/meminfo", root=False
    ).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            kib[name] = value.split()[0]
    total, left = int(kib["MemTotal"]), int(kib["MemAvailable"])
    # Huge pages are those of guests, and no service has them.
    huge = int(kib.get("Hugetlb", "0"))
    if left >= min(LEAST_MEMORY * (total - huge), LEAST_MEMORY_KIB):
        return []
    return [
        Exhausted(
            "no memory",
            "memory",
            f"{left >> 10} MiB of {total >> 10} MiB of memory are left",
        )
    ]


def kernel(host: Host, since: float) -> list[Exhausted]:
    """Return the kernel's errors since a time: killed processes, disks that fail, dropped packets, and denials."""
    words = (
        "journalctl",
        "--no-pager",
        "--quiet",
        "--dmesg",
        "--output=short-unix",
        f"--since=@{int(since)}",
    )
    findings: list[Exhausted] = []
    for line in host.ask(None, *words).splitlines():
        for pattern, found in KERNEL_LINES:
            match = pattern.search(line)
            if match:
                findings.append(found(match))
    return unique(findings)


def killed(match: re.Match[str]) -> Exhausted:
    name = match["name"]
    text = f"the kernel has killed {name}: no memory was left"
    return Exhausted("killed", name, text)


def failing_disk(_match: re.Match[str]) -> Exhausted:
    text = "the kernel reports errors of a disk"
    return Exhausted("disk error", "disk", text)


def denied(match: re.Match[str]) -> Exhausted:
    """Return that a security module of the kernel keeps a program from something."""
    program = match["by_apparmor"] or match["by_selinux"]
    if match["by_selinux"]:
        return Exhausted(
            "denied", program, f"SELinux denies {program} to {match['rights']}"
        )
    what = f" of {match['name']}" if match["name"] else ""
    return Exhausted(
        "denied",
        program,
        f"AppArmor denies {program} the operation {match['operation']}{what}",
    )


def full_connections(_match: re.Match[str]) -> Exhausted:
    text = "the kernel drops packets: its table of connections is full"
    return Exhausted("full", CONNECTIONS, text)


def full_neighbours(_match: re.Match[str]) -> Exhausted:
    text = "the kernel drops packets: its table of neighbours is full"
    return Exhausted("full", "neighbours", text)


# What the kernel writes, and what each line is a report of
KERNEL_LINES: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str]], Exhausted]], ...
] = (
    (KILLED, killed),
    (DISK_ERROR, failing_disk),
    (CONNECTIONS_FULL, full_connections),
    (NEIGHBOURS_FULL, full_neighbours),
    (DENIED, denied),
)


def connection_tracking(host: Host) -> list[Exhausted]:
    """Return that the kernel's table of connections is full; then it drops the packets of new ones."""
    # A kernel without the table has no such files.
    output = host.ask(
        None,
        "cat",
        *CONNTRACK,
        root=False,
        despite="No such file or directory",
    ).split()
    if not output:
        return []
    used, most = map(int, output)
    if used < MOST_CONNECTIONS * most:
        return []
    return [
        Exhausted(
            "full",
            CONNECTIONS,
            f"the kernel's table of connections is full: {used} of {most}",
        )
    ]


def accelerator(host: Host, kinds: Iterable[str]) -> list[OwnReport]:
    """Return that nova-compute asks for KVM, which this host does not have. kinds: the values of its virt_type."""
    asked = set(kinds) or {"kvm"}
    if asked != {"kvm"}:
        return []
    words = ("find", KVM, "-maxdepth", "0", "-printf", "%y")
    if (
        host.ask(
            None, *words, root=False, despite="No such file or directory"
        ).strip()
        == "c"
    ):
        return []
    return [
        OwnReport(
            "nova-compute",
            "missing",
            f"[libvirt] virt_type is kvm, and this host has no {KVM}",
        )
    ]


def unique(findings: Iterable[Exhausted]) -> list[Exhausted]:
    return list(
        {
            (finding.kind, finding.where): finding for finding in findings
        }.values()
    )


def programs(host: Host, components: Iterable[str]) -> list[Exhausted]:
    """Return programs that a component on this host would start, and that cannot be executed."""
    names: list[str] = []
    for component in sorted(components):
        names += entry_of(component).starts
    if not names:
        return []
    words = (
        "find",
        *FOLDERS,
        "-maxdepth",
        "1",
        "(",
        *either(names),
        ")",
        "-printf",
        "%m %s %p\\n",
    )
    findings = []
    for line in host.ask(
        None, *words, root=False, despite="No such file"
    ).splitlines():
        mode, size, path = line.split(" ", 2)
        if not int(mode, 8) & 0o111 or size == "0":
            text = f"{path} cannot be executed (mode {mode})"
            findings.append(
                Exhausted("not executable", path.rpartition("/")[2], text)
            )
    return findings


def either(names: Iterable[str]) -> list[str]:
    """Return the words by which find looks for files with one of the names."""
    words: list[str] = []
    for name in names:
        words += ["-o", "-name", name]
    return words[1:]


def read(
    host: Host, components: Iterable[str], since: float
) -> list[Exhausted]:
    return [
        *host.attempt("the disks", disks, default=[]),
        *host.attempt("the mounts", mounts, default=[]),
        *host.attempt("the memory", memory, default=[]),
        *host.attempt("the kernel's errors", kernel, since, default=[]),
        *host.attempt(
            "the table of connections", connection_tracking, default=[]
        ),
        *host.attempt("the programs", programs, components, default=[]),
    ]
