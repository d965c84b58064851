# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what programs would say about the machine, its units, processes and packages, by what others have printed."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from ..._collect.commands import UnreadError
from ..._collect.logs import line_formats
from .. import host_files
from .files import cat as cat_of_copies
from .files import paths_in
from .report import Report, absent

BOOT_TIME = re.compile(r"^btime (\d+)$", re.MULTILINE)
# hostname leaves these addresses out.
LINK_LOCAL = "fe80:"
UPTIME, MOUNTS = "/proc/uptime", "/proc/mounts"
UNIT_NAME = re.compile(r"^Id=(.+)$", re.MULTILINE)
# ps alx: flags, user, id, parent, priority, niceness, two sizes, what it waits for, state, terminal, time, command
PROCESS = re.compile(
    r"^\d+ +\S+ +(?P<pid>\d+)(?: +\S+){6} +(?P<state>\S+) +\S+ +\S+ (?P<command>.+)$"
)
# The cgroup of a process, the last column, ends in its unit, or in a part of that.
PROCESS_OF_UNIT = re.compile(
    r"^ *(?P<pid>\d+) .*/(?P<unit>[^/]+\.(?:service|scope|socket))(?:/[^/]*)*$"
)
# mount -l: device on folder type kind (options)
MOUNT = re.compile(
    r"^(?P<device>.+) on (?P<target>/.*) type (?P<kind>\S+) \((?P<options>[^)]*)\)"
)
# df -al: device, size, used and left in KiB, share, folder
BLOCKS = re.compile(
    r"^\S+ +(?P<size>\d+) +\d+ +(?P<left>\d+) +\S+ +(?P<target>/.*)$"
)
# df -aliT: device, kind, inodes, used, left, share, folder
INODES = re.compile(
    r"^\S+ +(?P<kind>\S+) +(?P<all>\d+) +\d+ +(?P<left>\d+) +\S+ +(?P<target>/.*)$"
)
KIB = 1024
# dmesg -T: [Fri Nov 27 18:13:22 2026] text
KERNEL_LINE = re.compile(
    r"^\[(?P<at>\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\] "
)
KERNEL_TIME = "%a %b %d %H:%M:%S %Y"
SINCE = "--since=@"
BY_WRITER = "SYSLOG_IDENTIFIER="
# journalctl: Nov 29 08:30:56 host writer[pid]: message
ENTRY = re.compile(
    r"^\w{3} +\d+ [\d:]{8} \S+ (?P<writer>[^\[\s]+?)(?:\[\d+\])?: (?P<message>.*)$"
)
EXPORTED = "__REALTIME_TIMESTAMP={}\nSYSLOG_IDENTIFIER={}\nMESSAGE={}\n\n"
# dpkg -l: state, name, version
PACKAGE = re.compile(r"^ii +(?P<name>[^ :]+)(?::\S+)? +(?P<version>\S+)")
# rpm -qa, with a date behind: name-version-release.architecture
RPM = re.compile(r"^(?P<name>\S+)-(?P<version>[^-\s]+-[^-\s]+)\.\w+(?:\s|$)")


def hostname(report: Report, words: Sequence[str]) -> str:
    if "--all-ip-addresses" in words:
        addresses = host_files.addresses_of(report.top)
        return " ".join(
            address
            for address in addresses
            if not address.startswith(LINK_LOCAL)
        )
    if "--fqdn" in words:
        return report.output("hostname_-f")
    return report.output("hostname")


def date(report: Report, _words: Sequence[str]) -> str:
    """Return the zone as date +%z prints it."""
    sign = "-" if report.zone_s < 0 else "+"
    hours, seconds = divmod(abs(report.zone_s), 3600)
    return f"{sign}{hours:02}{seconds // 60:02}"


def cat(report: Report, words: Sequence[str]) -> str:
    """Return copies of files. Some of the kernel's are not copied, but others say the same."""
    paths = paths_in(words)
    if paths == [UPTIME]:
        return f"{report.now - booted(report):.2f} 0.00"
    if paths == [MOUNTS]:
        return mounts(report)
    return cat_of_copies(report, words)


def booted(report: Report) -> float:
    found = BOOT_TIME.search(report.copy_of("/proc/stat") or "")
    if found is None:
        raise absent("/proc/stat")
    return int(found[1])


def mounts(report: Report) -> str:
    """Return the mounts in the form of /proc/mounts."""
    found = map(MOUNT.match, report.output("mount_-l", "mount").splitlines())
    return "\n".join(
        f"{match['device']} {match['target']} {match['kind']} {match['options']} 0 0"
        for match in filter(None, found)
    )


def df(report: Report, words: Sequence[str]) -> str:
    """Return each file system with its bytes and inodes: what was printed about both stands in two files."""
    left_out = [
        word.partition("=")[2]
        for word in words
        if word.startswith("--exclude-type=")
    ]
    inodes = inodes_in(report, left_out)
    lines = ["target size avail itotal iavail"]
    printed = report.output("df_-al_*", "df_-al")
    for row in map(BLOCKS.match, printed.splitlines()):
        if not row or row["target"] not in inodes:
            continue
        target = row["target"]
        size = int(row["size"]) * KIB
        left = int(row["left"]) * KIB
        lines.append(f"{target} {size} {left} {inodes[target]}")
    return "\n".join(lines)


def inodes_in(report: Report, left_out: Sequence[str]) -> dict[str, str]:
    """Return all inodes and those left of each file system, but for those of some types."""
    inodes = {}
    printed = report.output("df_-ali*")
    for row in map(INODES.match, printed.splitlines()):
        if row and row["kind"] not in left_out:
            inodes[row["target"]] = f"{row['all']} {row['left']}"
    return inodes


def journalctl(report: Report, words: Sequence[str]) -> str:
    """Return the kernel's lines since a time, or the entries of a writer. Services are read with the other logs."""
    since = next(
        (
            float(word[len(SINCE) :])
            for word in words
            if word.startswith(SINCE)
        ),
        0.0,
    )
    if "--dmesg" in words:
        return "\n".join(kernel_lines(report, since))
    writers = {
        word[len(BY_WRITER) :] for word in words if word.startswith(BY_WRITER)
    }
    if not writers:
        raise absent("journalctl")
    return "".join(journal_entries(report, writers, since))


def kernel_lines(report: Report, since: float) -> Iterator[str]:
    for line in report.output("dmesg_-T").splitlines():
        found = KERNEL_LINE.match(line)
        if found and seconds_of_kernel(found["at"], report.zone_s) >= since:
            yield line


def journal_entries(
    report: Report, writers: Container[str], since: float
) -> Iterator[str]:
    """Yield the entries of some writers since a time, in the export format.

    A journal that does not reach back so far, or that none of them has ever written to, proves nothing.
    """
    lines = report.output("journalctl_--no-pager").splitlines()
    entries = list(filter(None, map(ENTRY.match, lines)))
    first = next(dated(report, entries), None)
    if first is None or first[0] > since:
        raise absent("journalctl")
    # A journal is long: only the entries that are asked for have their times read.
    wanted = [entry for entry in entries if entry["writer"] in writers]
    own = list(dated(report, wanted))
    if not own:
        raise absent("journalctl")
    for at, entry in own:
        if at >= since:
            yield EXPORTED.format(
                int(at * 1e6), entry["writer"], entry["message"]
            )


def dated(
    report: Report, entries: Iterable[re.Match[str]]
) -> Iterator[tuple[float, re.Match[str]]]:
    """Yield the entries of a journal behind their times, as far as these are known."""
    for entry in entries:
        line = line_formats.parse_dated(
            entry.string, report.now, report.zone_s
        )
        if line and line.at is not None:
            yield line.at, entry


def seconds_of_kernel(text: str, zone_s: int) -> float:
    at = datetime.strptime(text, KERNEL_TIME).replace(tzinfo=timezone.utc)
    return at.timestamp() - zone_s


# Units and processes


def systemctl(report: Report, words: Sequence[str]) -> str:
    """Return the properties of the units with one of the names or patterns behind --."""
    patterns = words[words.index("--") + 1 :]
    blocks = []
    for block in report.output(
        "systemctl_show_service_--all", "systemctl_show_*--all"
    ).split("\n\n"):
        name = UNIT_NAME.search(block)
        if name and any(
            fnmatch.fnmatchcase(name[1], pattern) for pattern in patterns
        ):
            blocks.append(block.strip("\n"))
    return "\n\n".join(blocks)


@dataclass(frozen=True)
class Process:
    """A process. unit: that of systemd, or a dash."""

    pid: int
    state: str
    command: str
    unit: str


def processes_of(report: Report) -> Iterator[Process]:
    units = units_of(report)
    for line in report.output("ps_alxwww").splitlines():
        match = PROCESS.match(line)
        if match:
            pid = int(match["pid"])
            yield Process(
                pid, match["state"], match["command"], units.get(pid, "-")
            )


def units_of(report: Report) -> dict[int, str]:
    """Return the unit of each process that is of one; none of an old report."""
    try:
        text = report.output("ps_axo_pid_ppid_*cgroup")
    except UnreadError:
        return {}
    found = filter(None, map(PROCESS_OF_UNIT.match, text.splitlines()))
    return {int(match["pid"]): match["unit"] for match in found}


def ps(report: Report, _words: Sequence[str]) -> str:
    """Return the unit and the state of each process."""
    return "\n".join(
        f"{process.unit} {process.state}" for process in processes_of(report)
    )


def pgrep(report: Report, words: Sequence[str]) -> str:
    """Return the id and the command line of each process whose command line matches."""
    pattern = re.compile(words[-1])
    found = [
        process
        for process in processes_of(report)
        if pattern.search(process.command)
    ]
    if not found:
        raise UnreadError("failed", ["pgrep"], "exit status 1")
    return "\n".join(f"{process.pid} {process.command}" for process in found)


# Packages


def dpkg_query(report: Report, words: Sequence[str]) -> str:
    """Return the name and the version of each package that fits one of the patterns."""
    try:
        text = report.output("dpkg_-l")
    except UnreadError as exc:
        # As on a host that has no dpkg: its packages are others.
        raise UnreadError("missing", ["dpkg-query"], exc.output) from exc
    fits = re.compile("|".join(map(fnmatch.translate, paths_in(words))))
    found = [
        match
        for match in map(PACKAGE.match, text.splitlines())
        if match and fits.match(match["name"])
    ]
    return "\n".join(f"{match['name']} {match['version']}" for match in found)


def rpm(report: Report, _words: Sequence[str]) -> str:
    """Return the name and the version of each package."""
    text = report.copy_of("/installed-rpms") or report.output("*rpm*-qa*")
    found = filter(None, map(RPM.match, text.splitlines()))
    return "\n".join(f"{match['name']} {match['version']}" for match in found)
