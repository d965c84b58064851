#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Checks whether a lab can be built here, before anything is built
version_added: 0.1.0
description:
  - Checks the machine, and the directory that holds the lab. It changes nothing, and fails with all reasons together,
    each with the remedy.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
extends_documentation_fragment: [stackproof.lab._lab.name, stackproof.lab._lab.reads]
options:
  clone:
    description: The directory that is to hold the lab.
    type: path
    required: true
  memory_gib:
    description: Memory that must be available if the lab does not run yet.
    type: float
    default: 10
  disk_gib:
    description: Space that must be free if the lab was not built yet.
    type: float
    default: 14
"""

EXAMPLES = r"""
- name: Check whether a lab can be built
  stackproof.lab.preflight:
    name: lab
    clone: "{{ playbook_dir }}"
"""

RETURN = r"""
packages:
  description: Packages that must be installed on the machine first.
  returned: success
  type: list
  elements: str
take_over:
  description: The directory of a dead lab of this name, which must be removed first; else empty.
  returned: success
  type: str
management:
  description: The network of the hosts.
  returned: success
  type: str
external:
  description: The external network of the cloud.
  returned: success
  type: str
addresses:
  description: The first addresses for hosts, in order.
  returned: success
  type: list
  elements: str
"""

import os
import platform
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.lab.plugins.module_utils._machine import (
    STATE_ROOT,
    Claim,
    Lab,
    LabError,
    check_claim,
    is_running,
    read_claim,
    run,
    run_json,
)

SYSTEMS = {"debian": ("12", "13"), "ubuntu": ("22.04", "24.04", "26.04")}

# The programs that the lab runs on the machine, and their packages
PROGRAMS = {
    "mmdebstrap": "mmdebstrap",
    "podman": "podman",
    "crun": "crun",
    "conmon": "conmon",
    "ip": "iproute2",
    "ethtool": "ethtool",
    # checks whether a floating IP answers
    "ping": "iputils-ping",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "findmnt": "util-linux",
}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

HOSTS = 16

PRIVATE = ("10.96.0.0/11", "172.16.0.0/12", "192.168.0.0/16")


def parse_os_release(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key: value.strip('"') for key, _equals, value in pairs}


def parse_meminfo(text: str) -> float:
    """Return the available memory in GiB."""
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 2**20
    return 0.0


def check_system(os_release: Mapping[str, str], machine: str) -> Iterator[str]:
    system = os_release.get("ID", "unknown")
    version = os_release.get("VERSION_ID", "unknown")
    if version not in SYSTEMS.get(system, ()):
        supported = "; ".join(f"{name} {', '.join(versions)}" for name, versions in SYSTEMS.items())
        yield f"This machine runs {system} {version}. The lab is made for {supported}."
    if machine != "x86_64":
        yield f"This machine is a {machine}. The lab's guest and packages are for x86_64."


def check_memory(available: float, needed: float) -> Iterator[str]:
    if available < needed:
        yield (
            f"{available:.1f} GiB of memory are available and the lab needs {needed:g}. Stop other programs, "
            "or use a machine with 16 GiB."
        )


def check_disk(free: float, needed: float, path: str) -> Iterator[str]:
    if free < needed:
        yield f"{free:.1f} GiB are free below {path} and the lab needs {needed:g}. Make room there."


def foreign_networks(
    prefix: IPv4Network, routes: Iterable[dict[str, Any]], own: Collection[str]
) -> dict[IPv4Network, str]:
    """Return the networks that this machine reaches by other routes than the lab's and default routes, and where."""
    networks: dict[IPv4Network, str] = {}
    for route in routes:
        if route.get("dst", "default") == "default" or route.get("dev", "") in own:
            continue
        network = IPv4Network(route["dst"], strict=False)
        if network.prefixlen > 1 and not (route.get("type") == "unreachable" and network == prefix):
            networks[network] = route.get("dev", "another route")
    return networks


def check_overlap(prefix: IPv4Network, routes: Iterable[dict[str, Any]], own: Collection[str]) -> Iterator[str]:
    """Check that no other network of the machine uses an address of the lab."""
    networks = foreign_networks(prefix, routes, own)
    candidates = (subnet for block in PRIVATE for subnet in IPv4Network(block).subnets(new_prefix=22))
    for network, path in networks.items():
        if prefix.overlaps(network):
            unused = (subnet for subnet in candidates if not any(map(subnet.overlaps, networks)))
            free = next(unused, "an IPv4 /22 of yours")
            yield (
                f"The lab's addresses {prefix} overlap with {network}, which this machine reaches through {path}. "
                f"Choose others, for example: make lab LAB_PREFIX={free}"
            )
            return


def check_links(links: Iterable[dict[str, Any]], own: Collection[str]) -> Iterator[str]:
    """Check that no interface has a name of the lab's that no lab has made: it would be deleted."""
    for link in links:
        if link["ifname"] in own and link.get("linkinfo", {}).get("info_kind") != "veth":
            yield (
                f"This machine has an interface {link['ifname']} of its own, and the lab would need that name. "
                "Choose another name, for example: make lab LAB_NAME=other"
            )


def check_prefix(claim: Claim | None, clone: str, prefix: IPv4Network) -> Iterator[str]:
    """Check that a lab keeps the addresses that it was built with."""
    if claim and claim["clone"] == clone and claim["prefix"] != str(prefix):
        yield (
            f"The lab was built with the addresses {claim['prefix']}, not with {prefix}. Keep them with "
            f"LAB_PREFIX={claim['prefix']}, or make it anew: make lab-destroy lab"
        )


def check_rights() -> Iterator[str]:
    if os.geteuid() == 0:
        return
    if not shutil.which("sudo"):
        yield "You are not root and there is no sudo. Run this as root, or install sudo and configure it for your user."
    elif run(["sudo", "-n", "true"], check=False).returncode != 0:
        yield "You are not root and sudo asks for a password. Run sudo -v first, then this again."


def check_kernel() -> Iterator[str]:
    with open("/proc/filesystems", encoding="utf-8") as file:
        overlay = "overlay" in file.read()
    if not overlay and not os.path.exists(f"/lib/modules/{platform.release()}/kernel/fs/overlayfs"):
        yield (
            "This kernel has no overlay file system, but the hosts of the lab need it to share their packages. "
            "Load the module overlay."
        )
    if not os.path.exists("/dev/net/tun"):
        yield "There is no /dev/net/tun, but every guest of the lab needs it. Load the module tun."


def missing_packages() -> list[str]:
    missing = {package for program, package in PROGRAMS.items() if not shutil.which(program, path=SEARCH)}
    if not os.path.exists(KEYRING):
        missing.add("debian-archive-keyring")
    return sorted(missing)


def free_gib(path: str) -> float:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return shutil.disk_usage(path).free / 2**30


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def examine(params: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the problems of the machine, and what the lab will be made of."""
    lab = Lab(params["name"], params["prefix"])
    claim = read_claim(lab)
    running = is_running(lab, claim)
    problems = list(check_rights()) + list(check_system(parse_os_release(read("/etc/os-release")), platform.machine()))
    problems += check_kernel()
    problems += check_claim(claim, params["clone"], lab.name, running)
    problems += check_prefix(claim, params["clone"], lab.prefix)
    if not running:
        problems += check_memory(parse_meminfo(read("/proc/meminfo")), params["memory_gib"])
    if not claim:
        problems += check_disk(free_gib(STATE_ROOT), params["disk_gib"], STATE_ROOT)
    if shutil.which("ip", path=SEARCH):
        own = {f"{lab.name}-mgmt", f"{lab.name}-data"}
        problems += check_overlap(lab.prefix, run_json(["ip", "-4", "-j", "route", "show", "table", "all"]), own)
        problems += check_links(run_json(["ip", "-d", "-j", "link", "show"]), own)
    # One of another clone that runs is a problem already.
    dead = claim["clone"] if claim and claim["clone"] != params["clone"] else ""
    return problems, {
        "packages": missing_packages(),
        "take_over": dead,
        "management": str(lab.management),
        "external": str(lab.external),
        "addresses": [str(lab.host_address(index)) for index in range(HOSTS)],
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "prefix": {"type": "str", "default": ""},
            "clone": {"type": "path", "required": True},
            "memory_gib": {"type": "float", "default": 10},
            "disk_gib": {"type": "float", "default": 14},
        },
        supports_check_mode=True,
    )
    try:
        problems, facts = examine(module.params)
    except (LabError, OSError, ValueError) as exc:
        module.fail_json(msg=f"This machine cannot be examined: {exc}")
    if problems:
        module.fail_json(msg="The lab cannot be built here:\n" + "\n".join(f"- {problem}" for problem in problems))
    module.exit_json(changed=False, **facts)


if __name__ == "__main__":
    main()
