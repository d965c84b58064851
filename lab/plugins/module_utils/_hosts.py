# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The containers that are the hosts of a lab: their files, their mounts, and their life in podman."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from ._machine import (
    Lab,
    LabError,
    end_processes,
    keeper_of,
    read_claim,
    run,
    start,
    start_time,
    write_claim,
)

# The keeper gives the lab a cgroup2 mount of its own; on a machine that has nothing else this changes nothing.
KEEPER = """
umount -R /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 1
exec sleep infinity
"""

CONTAINERS_CONF = """
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
"""

STORAGE_CONF = """
[storage]
driver = "vfs"
graphroot = "{lab.state}/podman"
runroot = "{lab.run}/podman"
"""


MOST_FILES = 1 << 19
MOST_PROCESSES = 30000

Done = subprocess.CompletedProcess[str]


class Hosts:
    def __init__(self, lab: Lab, to_remove: bool = False) -> None:
        self.lab = lab
        self.claim = read_claim(lab, to_remove)
        self.keeper = keeper_of(self.claim)

    def directory(self, host: str, part: str) -> str:
        return os.path.join(self.lab.state, "hosts", host, part)

    def inside(self, argv: Sequence[str], check: bool = True, timeout: float = 120) -> Done:
        """Run a command in the lab's mount namespace."""
        return run(["nsenter", "--mount", "--target", str(self.keeper), "--", *argv], check=check, timeout=timeout)

    def podman(self, argv: Sequence[str], check: bool = True, timeout: float = 120) -> Done:
        lab = self.lab
        return self.inside(
            [
                "env",
                f"CONTAINERS_CONF={lab.state}/containers.conf",
                f"CONTAINERS_STORAGE_CONF={lab.state}/storage.conf",
                "podman",
                f"--tmpdir={lab.run}/libpod",
                *argv,
            ],
            check=check,
            timeout=timeout,
        )

    def made(self) -> set[str]:
        """Return the hosts that were prepared, running or not."""
        top = os.path.join(self.lab.state, "hosts")
        names = os.listdir(top) if os.path.isdir(top) else []
        return {name for name in names if os.path.exists(self.directory(name, "made"))}

    def running(self) -> set[str]:
        if not self.keeper:
            return set()
        containers = json.loads(self.podman(["ps", "--format", "json"]).stdout or "[]")
        names: set[str] = set()
        for container in containers:
            names.update(container["Names"])
        return names

    def hold(self, clone: str, rootfs: str, shared: Iterable[str]) -> None:
        """Take the lab for this clone and start its keeper."""
        lab = self.lab
        os.makedirs(lab.state, exist_ok=True)
        os.makedirs(lab.run, mode=0o700, exist_ok=True)
        for name, text in (("containers.conf", CONTAINERS_CONF), ("storage.conf", STORAGE_CONF)):
            with open(os.path.join(lab.state, name), "w", encoding="utf-8") as file:
                file.write(text.format(lab=lab))
        keeper = self.keeper or self._start_keeper()
        self.claim = {
            "clone": clone,
            "rootfs": rootfs,
            "shared": sorted(shared),
            "prefix": str(lab.prefix),
            "keeper": keeper,
            "keeper_started": start_time(keeper),
            "stopped": False,
        }
        write_claim(lab, self.claim)

    def _start_keeper(self) -> int:
        lab = self.lab
        end_processes(lab)
        process = start(["unshare", "--mount", "--propagation", "private", "sh", "-c", KEEPER])
        self.keeper = process.pid
        # Podman keeps its state of running containers there, and none can be left.
        for name in ("libpod", "podman"):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(os.path.join(lab.run, name))
        self._await_keeper(process)
        return process.pid

    def _await_keeper(self, process: subprocess.Popen[bytes]) -> None:
        for _attempt in range(100):
            if process.poll() is not None:
                raise LabError("a mount namespace with a cgroup2 file system cannot be made on this machine")
            with open(f"/proc/{self.keeper}/cmdline", "rb") as cmdline:
                if cmdline.read().startswith(b"sleep"):
                    return
            time.sleep(0.05)
        raise LabError("the process that holds the lab's mounts did not get ready")

    def mount(self, host: str, rootfs: str) -> None:
        merged = self.directory(host, "root")
        mounted = self.inside(["findmnt", "--noheadings", merged], check=False).returncode == 0
        if not mounted:
            options = (
                f"lowerdir={rootfs},upperdir={self.directory(host, 'upper')},workdir={self.directory(host, 'work')}"
            )
            self.inside(["mount", "-t", "overlay", "overlay", "-o", options, merged])

    def make(self, host: str, rootfs: str, user: str, key: str, masked: Iterable[str]) -> None:
        """Prepare a host that has never run. It can be repeated after an interruption."""
        for part in ("upper", "work", "root"):
            os.makedirs(self.directory(host, part), exist_ok=True)
        self.mount(host, rootfs)
        root = self.directory(host, "root")
        units = os.path.join(root, "etc/systemd/system")
        self.inside(["sh", "-c", 'cd "$0" && for unit; do ln -sfn /dev/null "$unit"; done', units, *masked])
        key_file = f"{root}/etc/ssh/ssh_host_ed25519_key"
        self.inside(["rm", "-f", key_file])
        self.inside(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", host, "-f", key_file])
        self.inside(
            ["sh", "-c", 'printf "%s\\n" "$2" > "$1/etc/hostname" && : > "$1/etc/machine-id"', "sh", root, host]
        )
        install = (
            'd="$1/home/$2/.ssh" && mkdir -p "$d" && printf "%s\\n" "$3" > "$d/authorized_keys"'
            ' && chroot "$1" chown -R "$2:" "/home/$2/.ssh" && chmod 0700 "$d" && chmod 0600 "$d/authorized_keys"'
        )
        self.inside(["sh", "-c", install, "sh", root, user, key])
        with open(self.directory(host, "made"), "w", encoding="utf-8"):
            pass

    def disk(self, host: str, place: str) -> str:
        """Return the folder of this machine that a host sees at a place of its own, made if it is missing."""
        folder = self.directory(host, "disks" + place.replace("/", "-"))
        os.makedirs(folder, exist_ok=True)
        return folder

    def start(self, host: str, rootfs: str, shared: Mapping[str, str], disks: Iterable[str] = ()) -> None:
        self.mount(host, rootfs)
        limits = [
            ulimit("nofile", resource.RLIMIT_NOFILE, MOST_FILES),
            ulimit("nproc", resource.RLIMIT_NPROC, MOST_PROCESSES),
        ]
        self.podman(
            ["run", "--detach", "--replace", f"--name={host}", f"--hostname={host}", "--privileged"]
            + ["--systemd=always", "--stop-signal=SIGRTMIN+3", "--log-driver=none", "--pids-limit=-1"]
            + ["--shm-size=256m", "--no-hosts", "--dns=none", f"--cgroup-parent={self.lab.cgroup}"]
            + [f"--network=ns:/run/netns/{self.lab.namespace(host)}"]
            + limits
            + [f"--volume={here}:{there}:ro" for there, here in sorted(shared.items())]
            + [f"--volume={self.disk(host, there)}:{there}" for there in disks]
            + ["--rootfs", self.directory(host, "root"), "/sbin/init"]
        )

    def going_down(self, hosts: Iterable[str]) -> set[str]:
        """Return the hosts that are being switched off at this moment."""
        states = {host: self.podman(["exec", host, "systemctl", "is-system-running"], check=False) for host in hosts}
        return {host for host, done in states.items() if done.stdout.strip() == "stopping"}

    def await_end(self, hosts: Collection[str]) -> None:
        if hosts:
            self.podman(["wait", *sorted(hosts)], timeout=180)

    def stop(self, hosts: Sequence[str]) -> None:
        """Stop in two steps: the first host has the disks of the others, so it stops last."""
        for group in (hosts[1:], hosts[:1]):
            if group:
                self.podman(["stop", "--time=60", *group], timeout=180)

    def release(self) -> None:
        """End the keeper, and with it every mount of the lab."""
        if self.keeper:
            cgroup = f"/sys/fs/cgroup{self.lab.cgroup}"
            self.inside(["find", cgroup, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], check=False)
            os.kill(self.keeper, 15)
            for _attempt in range(100):
                if start_time(self.keeper) is None:
                    break
                time.sleep(0.05)
        self.keeper = None


def ulimit(name: str, kind: int, most: int) -> str:
    """Return Podman's option for a limit of a host. Podman would raise the limit, but not every root user may."""
    _soft, hard = resource.getrlimit(kind)
    limit = most if hard == resource.RLIM_INFINITY else min(hard, most)
    return f"--ulimit={name}={limit}:{limit}"


def host_key(directory: str) -> str:
    with open(os.path.join(directory, "etc/ssh/ssh_host_ed25519_key.pub"), encoding="utf-8") as file:
        return " ".join(file.read().split()[:2])


def await_ssh(lab: Lab, hosts: Iterable[str], timeout: float) -> None:
    """Wait until each host answers on its ssh port, over the lab's own interface alone."""
    deadline = time.monotonic() + timeout
    for index, host in enumerate(hosts):
        address = str(lab.host_address(index))
        route = json.loads(run(["ip", "-j", "route", "get", address]).stdout)[0]
        if route.get("dev") != f"{lab.name}-mgmt":
            raise LabError(f"{address} is routed to {route.get('dev')}, not to the lab: nothing was sent")
        while not speaks_ssh(address):
            if time.monotonic() > deadline:
                raise LabError(f"host {host} ({address}) does not answer on its ssh port after {timeout} s")
            time.sleep(0.2)


def speaks_ssh(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False  # it may still start
