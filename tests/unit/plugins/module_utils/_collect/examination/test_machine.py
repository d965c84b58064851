# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks, memory, the kernel and programs: fit on recorded hosts, and what is found where they are not."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import machine
from recorded_hosts import printed

HOSTS = ["examined-controller1", "examined-compute1"]
COMPONENTS = {"nova-compute", "libvirt", "neutron-l2-agent", "ovsdb"}
# Before the kernel's messages that were recorded
SINCE = 1795446300.5
DISKS = printed("examined-compute1", "df --local")
MOUNTS = printed("examined-compute1", "cat /proc/mounts")
MEMORY = printed("examined-compute1", "cat /proc/meminfo")
PROGRAMS = printed("examined-compute1", "/usr/bin /usr/sbin")
KERNEL = printed("examined-compute1", "--dmesg")
GIB = 1 << 30


@pytest.fixture
def read(replay):
    """Return a function that reads the ground of a recorded host on which commands print something else."""

    def of(instead=None, components=(), name="examined-compute1"):
        host = replay(name, instead)
        findings = machine.read(host, set(components), SINCE)
        return [(found.kind, found.where, found.text) for found in findings], host.unread

    return of


@pytest.mark.parametrize("name", HOSTS)
def test_a_recorded_host_stands_on_firm_ground(replay, name):
    host = replay(name)
    assert (machine.read(host, COMPONENTS if "compute" in name else {"nova-api"}, SINCE), host.unread) == ([], [])
    assert len(host.execute.asked) == (7 if "compute" in name else 6)


def disk(target, size, left, inodes=1000, inodes_left=900):
    """The recorded disks, and one more."""
    return {"df": f"{DISKS}{target} {size} {left} {inodes} {inodes_left}\n"}


@pytest.mark.parametrize(
    ("size", "left", "is_full"),
    [
        (100 * GIB, 0, True),
        (100 * GIB, 64 << 20, True),
        (100 * GIB, (64 << 20) + 1, False),
        # Of a small disk a hundredth is enough.
        (GIB, 10 << 20, True),
        (GIB, 11 << 20, False),
        (1 << 20, 0, True),
        # Something without a size is no disk.
        (0, 0, False),
    ],
)
def test_a_disk_is_full_before_its_last_byte(read, size, left, is_full):
    found = [("no space", "/var/log", f"the disk at /var/log has {left >> 20} MiB left")] if is_full else []
    assert read(disk("/var/log", size, left)) == (found, [])


def test_a_disk_without_inodes_is_full(read):
    text = "the disk at /var/lib/mysql has 99 inodes left"
    assert read(disk("/var/lib/mysql", GIB, GIB, 65536, 99))[0] == [("no space", "/var/lib/mysql", text)]
    assert read(disk("/var/lib/mysql", GIB, GIB, 65536, 100))[0] == []
    # Some kinds of file systems count none.
    assert read(disk("/var/lib/mysql", GIB, GIB, "-", "-"))[0] == []
    assert read(disk("/var/lib/mysql", GIB, GIB, 0, 0))[0] == []


@pytest.mark.parametrize("target", ["/snap/core/1", "/boot/efi", "/etc/hosts", "/sys/firmware/efi/efivars"])
def test_a_disk_that_no_service_writes_to_may_be_full(read, target):
    assert read(disk(target, GIB, 0)) == ([], [])


@pytest.mark.parametrize("kind", ["squashfs", "iso9660", "udf", "erofs"])
def test_a_disk_that_is_full_by_its_nature_is_not_asked_for(replay, kind):
    host = replay("examined-compute1")
    machine.disks(host)
    assert f"--exclude-type={kind}" in host.execute.asked[-1]


def test_a_disk_that_cannot_be_looked_at_does_not_hide_the_others(read):
    errors = "df: /run/user/1000/doc: Operation not permitted\n"
    answer = (1, disk("/var/log", GIB, 0)["df"], errors)
    assert [found[1] for found in read({"df": answer})[0]] == ["/var/log"]


def mounted(line):
    return {"/proc/mounts": f"{MOUNTS}{line} 0 0\n"}


@pytest.mark.parametrize("target", ["/", "/var", "/var/lib", "/var/log"])
def test_a_disk_that_can_only_be_read_is_told(read, target):
    text = f"the disk at {target} can only be read"
    assert read(mounted(f"/dev/vda1 {target} ext4 ro,relatime,errors=remount-ro")) == (
        [("read-only", target, text)],
        [],
    )


@pytest.mark.parametrize(
    "line",
    [
        "/dev/vda1 / ext4 rw,relatime,errors=remount-ro",
        "/dev/vda1 / ext4 rw,ro_x",
        "/dev/loop0 / squashfs ro",
        "/dev/sr0 /var ISO9660 rw",
        "/dev/vda1 /mnt ext4 ro",
        "tmpfs /var/log tmpfs ro",
    ],
)
def test_a_disk_that_is_written_or_that_nobody_writes_is_none(read, line):
    assert read(mounted(line)) == ([], [])


def test_a_host_without_memory_is_told(read):
    total = 24683672
    answer = MEMORY.replace("MemAvailable:   ", "MemAvailable:   400000 kB\nOther: ", 1)
    text = f"{400000 >> 10} MiB of {total >> 10} MiB of memory are left"
    assert read({"/proc/meminfo": answer}) == ([("no memory", "memory", text)], [])
    enough = MEMORY.replace("MemAvailable:   ", "MemAvailable:   500000 kB\nOther: ", 1)
    assert read({"/proc/meminfo": enough}) == ([], [])


@pytest.mark.parametrize(
    ("total", "left", "huge", "is_told"),
    [
        (1500, 20, 0, False),  # 1.3 %, and enough for all services
        (384, 5, 360, False),  # the rest are pages of guests
        (384, 0.3, 360, True),
        (1500, 0.9, 0, True),
    ],
)
def test_a_large_host_needs_no_more_memory_for_its_services(read, total, left, huge, is_told):
    lines = {"MemTotal": total, "MemAvailable": left, "Hugetlb": huge}
    answer = "".join(f"{name}: {int(gib * (1 << 20))} kB\n" for name, gib in lines.items())
    assert bool(read({"/proc/meminfo": answer})[0]) is is_told


def said(*messages):
    """The kernel's messages with some more, as journalctl prints them."""
    return {"--dmesg": KERNEL + "".join(f"1795447300.123456 compute1 kernel: {message}\n" for message in messages)}


# As kernels of several years write them
KILLED = [
    ("Out of memory: Killed process 960 (nova-compute) total-vm:1234567kB, anon-rss:123456kB", "nova-compute"),
    ("Memory cgroup out of memory: Killed process 31 (mariadbd) total-vm:1kB, UID:101 pgtables:4kB", "mariadbd"),
    ("Killed process 29957 (beam.smp) total-vm:2000000kB, anon-rss:1000000kB, file-rss:0kB", "beam.smp"),
    ("Out of memory: Killed process 7 (CPU 0/KVM) total-vm:1kB", "CPU 0/KVM"),
]


@pytest.mark.parametrize(("message", "name"), KILLED)
def test_a_process_that_the_kernel_has_killed_is_told(read, message, name):
    text = f"the kernel has killed {name}: no memory was left"
    assert read(said(message, message)) == ([("killed", name, text)], [])


DENIALS = [
    (
        'audit: type=1400 audit(1795447300.1:45): apparmor="DENIED" operation="open" class="file" '
        'profile="libvirt-8585247f-547f-46d6-8c03-334064b2be45" name="/etc/ceph/ceph.client.cinder.keyring" pid=3310 '
        'comm="qemu-system-x86" requested_mask="r" denied_mask="r" fsuid=64055 ouid=0',
        "qemu-system-x86",
        "AppArmor denies qemu-system-x86 the operation open of /etc/ceph/ceph.client.cinder.keyring",
    ),
    (
        'audit: type=1400 audit(1795447300.1:46): apparmor="DENIED" operation="ptrace" profile="libvirtd" pid=7 '
        'comm="libvirtd" requested_mask="read" denied_mask="read" peer="unconfined"',
        "libvirtd",
        "AppArmor denies libvirtd the operation ptrace",
    ),
    (
        'audit: type=1400 audit(1795447300.1:47): avc:  denied  { name_connect } for  pid=9 comm="haproxy" dest=8774 '
        "scontext=system_u:system_r:haproxy_t:s0 tcontext=system_u:object_r:unreserved_port_t:s0 tclass=tcp_socket",
        "haproxy",
        "SELinux denies haproxy to name_connect",
    ),
]


@pytest.mark.parametrize(("message", "program", "text"), DENIALS)
def test_what_the_kernel_denies_a_program_is_reported_once(read, message, program, text):
    assert read(said(message, message)) == ([("denied", program, text)], [])


def test_what_apparmor_permits_is_nothing(read):
    allowed = DENIALS[0][0].replace("DENIED", "ALLOWED")
    assert read(said(allowed, 'apparmor="STATUS" operation="profile_load" name="x" comm="apparmor_parser"')) == ([], [])


@pytest.mark.parametrize(
    "message", ["nf_conntrack: table full, dropping packet", "nf_conntrack: nf_conntrack: table full"]
)
def test_packets_that_the_kernel_drops_for_its_full_table_are_reported(read, message):
    text = "the kernel drops packets: its table of connections is full"
    assert read(said(message)) == ([("full", "connection tracking", text)], [])


def test_packets_that_the_kernel_drops_for_want_of_room_for_neighbours_are_reported(read):
    text = "the kernel drops packets: its table of neighbours is full"
    assert read(said("neighbour: arp_cache: neighbor table overflow!")) == ([("full", "neighbours", text)], [])


@pytest.mark.parametrize(
    ("printed_numbers", "text"),
    [
        ("262144\n262144\n", "the kernel's table of connections is full: 262144 of 262144"),
        ("257000\n262144\n", "the kernel's table of connections is full: 257000 of 262144"),
        ("256000\n262144\n", None),
        ("0\n262144\n", None),
    ],
)
def test_table_of_connections_is_full_before_its_last_entry(read, printed_numbers, text):
    found = [("full", "connection tracking", text)] if text else []
    assert read({"nf_conntrack": printed_numbers}) == (found, [])


@pytest.mark.parametrize(
    ("kinds", "kind_of_device", "is_missing"),
    [([], "", True), (["kvm"], "", True), (["kvm"], "c", False), (["qemu"], "", False), (["kvm", "qemu"], "", False)],
)
def test_host_without_kvm_is_reported_if_its_settings_ask_for_it(replay, kinds, kind_of_device, is_missing):
    answer = kind_of_device or (1, "", "find: '/dev/kvm': No such file or directory\n")
    host = replay("examined-compute1", {"find": answer})
    found = [(report.component, report.kind) for report in machine.accelerator(host, kinds)]
    assert found == ([("nova-compute", "missing")] if is_missing else [])


DISK_ERRORS = [
    "blk_update_request: I/O error, dev vda, sector 12345 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 0",
    "Buffer I/O error on dev vda1, logical block 77, lost async page write",
    "EXT4-fs error (device vda1): ext4_find_entry:1455: inode #2: comm nova-compute: reading directory lblock 0",
    "EXT4-fs (vda1): Remounting filesystem read-only",
    "XFS (sdb): log I/O error -5",
    "XFS (sdb): Filesystem has been shut down due to log error (0x2).",
    "critical medium error, dev sda, sector 99 op 0x0:(READ)",
]


@pytest.mark.parametrize("message", DISK_ERRORS)
def test_a_disk_that_fails_is_told_once(read, message):
    assert read(said(message, *DISK_ERRORS)) == (
        [("disk error", "disk", "the kernel reports errors of a disk")],
        [],
    )


@pytest.mark.parametrize(
    "message",
    [
        "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        "Buffer I/O error on dev sr0, logical block 0, async page read",
        "EXT4-fs (vda1): re-mounted. Quota mode: none.",
        "XFS (sdb): Mounting V5 Filesystem",
        "oom_reaper: reaped process 960 (nova-compute), now anon-rss:0kB",
        "nova-compute invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "Killed process (x)",
    ],
)
def test_other_messages_of_the_kernel_are_no_findings(read, message):
    assert read(said(message)) == ([], [])


def test_the_kernel_is_asked_since_the_run_began(replay):
    host = replay("examined-compute1")
    machine.kernel(host, SINCE)
    assert host.execute.asked[-1].endswith("--since=@1795446300")


@pytest.mark.parametrize("name", ["qemu-img", "ovs-vsctl"])
@pytest.mark.parametrize(("mode", "size"), [("644", "2534080"), ("755", "0"), ("0", "1")])
def test_a_program_that_nobody_may_execute_is_told(read, name, mode, size):
    lines = [line for line in PROGRAMS.splitlines() if not line.endswith(f"/{name}")]
    output = "".join(f"{line}\n" for line in [*lines, f"{mode} {size} /usr/bin/{name}"])
    text = f"/usr/bin/{name} cannot be executed (mode {mode})"
    assert read({"/usr/bin /usr/sbin": output}, COMPONENTS) == ([("not executable", name, text)], [])


@pytest.mark.parametrize("mode", ["755", "4755", "700", "511", "777"])
def test_a_program_that_somebody_may_execute_is_fine(read, mode):
    assert read({"/usr/bin /usr/sbin": f"{mode} 7 /usr/bin/qemu-img\n"}, COMPONENTS) == ([], [])


def test_only_the_programs_of_this_host_are_looked_for(replay):
    host = replay("network1", {"find": ""})
    assert machine.programs(host, {"neutron-dhcp-agent", "neutron-metadata-agent", "x"}) == []
    assert "( -name dnsmasq -o -name haproxy )" in host.execute.asked[-1]
    assert machine.programs(host, {"nova-api"}) == []
    assert len(host.execute.asked) == 1


def test_a_folder_for_programs_that_is_not_there_is_no_failure(read):
    answer = (1, PROGRAMS, "find: '/usr/libexec': No such file or directory\n")
    assert read({"/usr/bin /usr/sbin": answer}, COMPONENTS) == ([], [])


STRANGE = {
    "/proc/mounts": ["x\n", "a b c\n"],
    "/proc/meminfo": ["", "MemTotal: 7 kB\n", "MemTotal: x kB\nMemAvailable: 7 kB\n", "MemTotal:\nMemAvailable:\n"],
    "/usr/bin /usr/sbin": ["x\n", "rwx 7 /usr/bin/qemu-img\n"],
}
NAMES = {"/proc/mounts": "the mounts", "/proc/meminfo": "the memory", "/usr/bin /usr/sbin": "the programs",
         "df": "the disks", "--dmesg": "the kernel's errors"}  # fmt: skip


@pytest.mark.parametrize(
    ("part", "output"), [(part, output) for part, outputs in STRANGE.items() for output in outputs]
)
def test_something_else_that_a_command_prints_is_an_entry(read, part, output):
    findings, unread = read({part: output}, COMPONENTS)
    assert findings == []
    assert [(entry.what, entry.kind) for entry in unread] == [(NAMES[part], "strange")]


@pytest.mark.parametrize("output", ["", "x", "a b c d e\n1 2 3 4 5 6\n/x y z\n", "\n\n/var/log a b c d\n"])
def test_lines_of_other_forms_are_no_disks(read, output):
    assert read({"df": output}) == ([], [])


@pytest.mark.parametrize("part", NAMES)
def test_a_command_that_fails_does_not_hide_the_others(read, part):
    full = disk("/var/log", GIB, 0)
    other = {**full, **said(KILLED[0][0])} if part not in full else said(KILLED[0][0])
    findings, unread = read({**other, part: (1, "", "sudo: a password is required")}, COMPONENTS)
    assert [(entry.what, entry.kind) for entry in unread] == [(NAMES[part], "refused")]
    assert [found[0] for found in findings] == [
        kind for kind, of in (("no space", "df"), ("killed", "--dmesg")) if of != part
    ]
