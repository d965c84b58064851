# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names, paths and commands, for the lab's modules that work on the machine."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import subprocess
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, Any, Protocol

# Interface names hold 15 characters, and "-mgmt" takes five of them.
NAME = re.compile(r"[a-z][a-z0-9]{0,9}\Z")

STATE_ROOT = "/var/lib/stackproof"
RUN_ROOT = "/run/stackproof"


# What claim.json has of the clone that holds a lab
Claim = dict[str, Any]


class LabError(Exception):
    """A problem that the operator must know, in one or two sentences."""


def run(
    argv: Sequence[str], check: bool = True, stdin: str | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command and return its result; a failure names the command and its output."""
    try:
        # run_command knows no time limit.
        # pylint: disable-next=ansible-bad-function
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    except FileNotFoundError as exc:
        raise LabError(f"the program {argv[0]} is not installed") from exc
    except OSError as exc:
        raise LabError(f"the program {argv[0]} cannot be run: {exc}") from exc
    except subprocess.TimeoutExpired as exc:
        raise LabError(f"{' '.join(argv)}: no end after {timeout} s") from exc
    if check and done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip() or "nothing")[-1500:]
        raise LabError(f"{' '.join(argv)}: exit status {done.returncode}, it said: {output}")
    return done


# A program that was started. The sanity tests take its own name in a module for a call.
Process = subprocess.Popen[bytes]


def start(argv: Sequence[str], output: int | IO[Any] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own. The caller awaits it later, or not at all."""
    # run_command would wait for its end.
    # pylint: disable-next=ansible-bad-function
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd="/", start_new_session=True
    )


def run_json(argv: Sequence[str]) -> Any:
    return json.loads(run(argv).stdout or "[]")


def default_prefix(name: str) -> str:
    """Return a /22 in 10.64.0.0/10 that follows from the lab's name."""
    slot = zlib.crc32(name.encode()) % (1 << 12)
    return str(ipaddress.ip_network((int(ipaddress.ip_address("10.64.0.0")) + (slot << 10), 22)))


def network_of(prefix: str, name: str) -> ipaddress.IPv4Network:
    """Return the network of a lab, which is an IPv4 /22."""
    try:
        network = ipaddress.ip_network(prefix)
    except ValueError as exc:
        raise LabError(f"{exc}: a lab takes an IPv4 /22, for example {default_prefix(name)}") from exc
    if not isinstance(network, ipaddress.IPv4Network) or network.prefixlen != 22:
        raise LabError(f"{prefix} is not an IPv4 /22: a lab takes 1,024 addresses, for example {default_prefix(name)}")
    return network


class Named(Protocol):
    """A lab of which at least the folder is known."""

    name: str
    state: str


class Lab:
    """The names and places that follow from a lab's name."""

    def __init__(self, name: str, prefix: str = "") -> None:
        if not NAME.match(name):
            raise LabError(
                f"{name!r} cannot name a lab: use a lower-case letter and up to nine more letters and digits"
            )
        self.name = name
        self.prefix = network_of(prefix or default_prefix(name), name)
        self.management, self.external = list(self.prefix.subnets(new_prefix=24))[:2]
        self.state = os.path.join(STATE_ROOT, name)
        self.run = os.path.join(RUN_ROOT, name)
        self.switch = f"{name}-switch"
        self.cgroup = f"/stackproof-{name}"

    def namespace(self, host: str) -> str:
        return f"{self.name}-{host}"

    def host_address(self, index: int) -> ipaddress.IPv4Address:
        return self.management[11 + index]

    # The machine's own address in both networks is above those of hosts and floating IPs.
    @property
    def machine_management(self) -> ipaddress.IPv4Address:
        return self.management[254]

    @property
    def machine_external(self) -> ipaddress.IPv4Address:
        return self.external[254]


def namespaces() -> set[str]:
    return {entry["name"] for entry in run_json(["ip", "-j", "netns", "list"])}


def start_time(pid: int) -> int | None:
    """Return when a process started, in the kernel's ticks: two processes with one id differ by that.

    Without a process it is None, and so it is for a zombie, which holds nothing any more.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def read_claim(lab: Named, to_remove: bool = False) -> Claim | None:
    """Return the claim of the clone that holds the lab, or None.

    It has clone, rootfs, shared, prefix, keeper, keeper_started and stopped.
    to_remove: whether the lab is to go, so that a damaged claim is none.
    """
    try:
        with open(os.path.join(lab.state, "claim.json"), encoding="utf-8") as claim:
            content: Claim = json.load(claim)
            return content
    except FileNotFoundError:
        return None
    except ValueError as exc:
        if to_remove:
            return None
        raise LabError(f"{lab.state}/claim.json cannot be read ({exc}): remove the lab with make lab-destroy") from exc


def write_claim(lab: Named, claim: Claim) -> None:
    path = os.path.join(lab.state, "claim.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(claim, file)
        file.flush()
        # A loss of power must not leave an empty one.
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def keeper_of(claim: Claim | None) -> int | None:
    """Return the process id of the lab's keeper, if it still lives."""
    if not claim:
        return None
    pid: int | None = claim.get("keeper")
    if pid and start_time(pid) == claim.get("keeper_started"):
        return pid
    return None


def processes_of(lab: Lab) -> list[int]:
    """Return the process ids of the lab's hosts, by their cgroup. They outlive the keeper if that alone is ended."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_of_host(pid, lab)]


def is_of_host(pid: str | int, lab: Lab) -> bool:
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            return any(line.startswith(f"0::{lab.cgroup}/") for line in file)
    except OSError:
        return False  # it has ended meanwhile


def end_processes(lab: Lab) -> None:
    """End hosts that outlived their keeper, as a loss of power would: two of one host would ruin its files."""
    for _attempt in range(100):
        pids = processes_of(lab)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        time.sleep(0.1)
    raise LabError(f"processes of the hosts do not end: {', '.join(map(str, pids))}")


def is_running(lab: Lab, claim: Claim | None) -> bool:
    return keeper_of(claim) is not None or bool(processes_of(lab))


def check_claim(claim: Claim | None, clone: str, name: str, running: bool) -> Iterator[str]:
    """Yield why this clone may not use the lab. A lab of another clone may be taken over only if its hosts died."""
    if not claim or claim["clone"] == clone or not os.path.isdir(claim["clone"]):
        return
    if running:
        yield (
            f"The lab {name!r} is held by {claim['clone']}, and its hosts run. Build another lab with "
            f"make lab LAB_NAME=other, or remove this one with make lab-destroy in {claim['clone']}."
        )
    elif claim.get("stopped"):
        yield (
            f"The lab {name!r} is held by {claim['clone']}, where it was stopped and can be started again. Build "
            f"another lab with make lab LAB_NAME=other, or remove this one with make lab-destroy in {claim['clone']}."
        )
