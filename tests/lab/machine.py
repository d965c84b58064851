# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a lab could leave on the machine that runs it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path

from lab_under_test import DIRECTORY, NAME
from tree import ROOT

# Kernel's own trees, what the lab may keep, what anybody may write to at any moment, where Ansible leaves what it was
# killed with, what the SDK's libraries remember for themselves, and the lab under test
ELSEWHERE = {"/proc", "/sys", "/dev", "/tmp", "/var/log", "/var/cache", str(ROOT)}
ELSEWHERE |= {str(Path.home() / ".ansible"), str(Path.home() / ".cache"), f"/var/lib/stackproof/{NAME}", str(DIRECTORY)}
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "--preserve-env"]


def said(*words):
    return subprocess.run([*AS_ROOT, *words], capture_output=True, text=True, check=True).stdout


def traces(name):
    """Kind to all that there is of it on the machine; of processes those that speak of a lab of this name."""
    links, routes = (json.loads(said("ip", "-j", *what)) for what in (["link"], ["route", "show", "table", "all"]))
    return {
        "containers": set(said("podman", "ps", "--all", "--format", "{{.Names}}").split()),
        "images": set(said("podman", "images", "--quiet").split()),
        "network namespaces": set(said("ip", "netns", "list").split()),
        "links": {link["ifname"] for link in links},
        "routes": {f"{route['dst']} {route.get('dev', route.get('type'))}" for route in routes},
        "rules": set(said("ip", "rule").splitlines()),
        "mounts": {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        "cgroups": {str(path) for path in Path("/sys/fs/cgroup").rglob(f"*{name}*")},
        "namespaces of processes": set(namespaces()),
        "processes": {f"{pid}: {words}" for pid, words in processes() if name in words},
        "files": set(said("find", "/", *pruned(), "-print").splitlines()),
    }


def namespaces():
    """Those of all processes but the ones of the lab under test, whose services begin and end as they like."""
    each = 'for one in /proc/[0-9]*; do grep --quiet "/stackproof-$1/" "$one/cgroup" || readlink "$one"/ns/*; done'
    # One process or another ends while it is asked, so neither words nor status say anything.
    asked = subprocess.run([*AS_ROOT, "sh", "-c", each, "sh", NAME], capture_output=True, text=True, check=False)
    links = asked.stdout.split()
    assert links, "no process told its namespaces"
    return links


def processes():
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield path.name, (path / "cmdline").read_text().replace("\0", " ")


def pruned():
    """For find: without what is elsewhere, what Python compiles, and what goes away while find looks."""
    names = [word for path in sorted(ELSEWHERE) for word in ("-path", path, "-o")]
    return ["-ignore_readdir_race", "(", *names, "-name", "__pycache__", ")", "-prune", "-o"]


def more(before, after):
    """Kind to what there is now and was not before."""
    new = {kind: sorted(things - before[kind]) for kind, things in after.items()}
    return {kind: things[:20] for kind, things in new.items() if things}
