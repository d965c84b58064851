# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ground on which a host's services stand: disks, memory, the kernel's complaints, programs that can be run."""

from __future__ import annotations

import re

# A disk is full for a service before its last byte is used.
LEAST_BYTES, LEAST_SHARE = 64 << 20, 0.01
LEAST_INODES = 100
LEAST_MEMORY, LEAST_MEMORY_KIB = 0.02, 1 << 20
# These hold nothing that a service writes.
NO_DISKS = ("/snap/", "/boot", "/sys", "/proc", "/dev/pts", "/etc/")
# Nobody writes to these, and they have no space left.
IMAGES = ("squashfs", "iso9660", "udf", "erofs")
# Programs that a component starts, by their names
STARTS = {
    "neutron-dhcp-agent": ("dnsmasq",),
    "neutron-metadata-agent": ("haproxy",),
    "neutron-ovn-metadata-agent": ("haproxy",),
    "neutron-l2-agent": ("ovs-vsctl", "ovs-ofctl"),
    "libvirt": ("qemu-system-x86_64", "qemu-system-aarch64"),
    "nova-compute": ("qemu-img",),
}
FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/libexec")
KILLED = re.compile(r"Killed process \d+ \((?P<name>[\w .:/-]{1,40})\)")
# A drive for disks or CDs with nothing in it reports errors as well.
DISK_ERROR = re.compile(
    r"I/O error(?!.*\b(?:fd|sr)\d)|critical medium error|EXT4-fs error|XFS.*(?:error|shutdown)|Remounting filesystem"
)


def finding(kind, where, text):
    return {"kind": kind, "where": where, "text": text}


def disks(host):
    images = [f"--exclude-type={kind}" for kind in IMAGES]
    words = ("df", "--local", "--block-size=1", *images, "--output=target,size,avail,itotal,iavail")
    findings = []
    for line in host.ask(None, *words, root=False, despite="df: ").splitlines()[1:]:
        words = line.split()
        if len(words) != 5 or words[0].startswith(NO_DISKS):
            continue
        size, left, inodes, inodes_left = (int(word) if word.isdigit() else 0 for word in words[1:])
        if size and left <= min(LEAST_SHARE * size, LEAST_BYTES):
            findings.append(finding("no space", words[0], f"the disk at {words[0]} has {left >> 20} MiB left"))
        if inodes > LEAST_INODES and inodes_left < LEAST_INODES:
            findings.append(finding("no space", words[0], f"the disk at {words[0]} has {inodes_left} inodes left"))
    return findings


def mounts(host):
    """File systems on a disk that the kernel lets nobody write to, for example after an error."""
    findings = []
    for line in host.ask(None, "cat", "/proc/mounts", root=False).splitlines():
        device, target, kind, options = line.split()[:4]
        on_disk = device.startswith("/dev/") and kind not in IMAGES
        if on_disk and "ro" in options.split(",") and target in ("/", "/var", "/var/lib", "/var/log"):
            findings.append(finding("read-only", target, f"the disk at {target} can only be read"))
    return findings


def memory(host):
    lines = host.ask(None, "cat", "/proc/meminfo", root=False).splitlines()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    total, left = (int(values[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    # Huge pages are those of guests, and no service has them.
    huge = int(values.get("Hugetlb", "0").split()[0])
    if left >= min(LEAST_MEMORY * (total - huge), LEAST_MEMORY_KIB):
        return []
    return [finding("no memory", "memory", f"{left >> 10} MiB of {total >> 10} MiB of memory are left")]


def kernel(host, since):
    """The kernel's errors since a time: processes that it has killed, and disks that fail."""
    words = ("journalctl", "--no-pager", "--quiet", "--dmesg", "--output=short-unix", f"--since=@{int(since)}")
    findings = []
    for line in host.ask(None, *words).splitlines():
        killed = KILLED.search(line)
        if killed:
            text = f"the kernel has killed {killed['name']}: no memory was left"
            findings.append(finding("killed", killed["name"], text))
        elif DISK_ERROR.search(line):
            findings.append(finding("disk error", "disk", "the kernel reports errors of a disk"))
    return unique(findings)


def unique(findings):
    return list({(entry["kind"], entry["where"]): entry for entry in findings}.values())


def programs(host, components):
    """Programs that a component on this host would start, and that nobody may execute."""
    names = [name for component in sorted(components) for name in STARTS.get(component, ())]
    if not names:
        return []
    either = [word for name in names for word in ("-o", "-name", name)][1:]
    words = ("find", *FOLDERS, "-maxdepth", "1", "(", *either, ")", "-printf", "%m %s %p\\n")
    findings = []
    for line in host.ask(None, *words, root=False, despite="No such file").splitlines():
        mode, size, path = line.split(" ", 2)
        if not int(mode, 8) & 0o111 or size == "0":
            text = f"{path} cannot be executed (mode {mode})"
            findings.append(finding("not executable", path.rpartition("/")[2], text))
    return findings


def read(host, components, since):
    findings = []
    for what, reader, *arguments in (
        ("the disks", disks),
        ("the mounts", mounts),
        ("the memory", memory),
        ("the kernel's errors", kernel, since),
        ("the programs", programs, components),
    ):
        findings += host.attempt(what, reader, *arguments, default=[])
    return findings
