# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a lab from being built, and what the operator is told to do about it."""

from __future__ import annotations

import ipaddress
import json
import os
from io import StringIO
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.lab.plugins.module_utils import _machine
from ansible_collections.stackproof.lab.plugins.modules import preflight as module

BOOKWORM = """\
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
HOME_URL="https://www.debian.org/"
"""
MEMINFO = """\
MemTotal:       24684092 kB
MemFree:        14887504 kB
MemAvailable:   16597604 kB
"""
LAB = ipaddress.ip_network("10.71.16.0/22")
OWN = {"lab-mgmt", "lab-data"}


def only(problems):
    (problem,) = problems
    return problem


def test_os_release():
    release = module.parse_os_release(BOOKWORM + "\nEMPTY=\n# no pair\n")
    assert (release["ID"], release["VERSION_ID"], release["EMPTY"]) == ("debian", "12", "")
    assert release["PRETTY_NAME"] == "Debian GNU/Linux 12 (bookworm)"


def test_os_release_keeps_equals_signs():
    assert module.parse_os_release('URL="https://a/?b=c"')["URL"] == "https://a/?b=c"


def test_known_system():
    assert not list(module.check_system(module.parse_os_release(BOOKWORM), "x86_64"))
    assert not list(module.check_system({"ID": "ubuntu", "VERSION_ID": "24.04"}, "x86_64"))


@pytest.mark.parametrize(
    ("os_release", "name"),
    [
        ({"ID": "debian", "VERSION_ID": "11"}, "debian 11"),
        ({"ID": "ubuntu", "VERSION_ID": "12"}, "ubuntu 12"),
        ({"ID": "fedora", "VERSION_ID": "42"}, "fedora 42"),
        ({}, "unknown unknown"),
    ],
)
def test_other_system_is_told_which_are_known(os_release, name):
    problem = only(module.check_system(os_release, "x86_64"))
    assert name in problem
    assert "debian 12, 13; ubuntu 22.04, 24.04, 26.04" in problem


def test_other_processor_is_told_which_one():
    problem = only(module.check_system({"ID": "debian", "VERSION_ID": "13"}, "aarch64"))
    assert "aarch64" in problem
    assert "x86_64" in problem


def test_available_memory():
    assert module.parse_meminfo(MEMINFO) == pytest.approx(15.83, abs=0.01)
    assert module.parse_meminfo("") == 0


def test_memory():
    assert not list(module.check_memory(10.0, 10.0))
    problem = only(module.check_memory(9.94, 10.0))
    assert "9.9 GiB" in problem
    assert "needs 10." in problem
    assert "Stop other programs, or use a machine with 16 GiB" in problem


def test_disk():
    assert not list(module.check_disk(14.0, 14.0, "/var"))
    problem = only(module.check_disk(3.21, 14.0, "/var"))
    assert "3.2 GiB are free below /var" in problem
    assert "Make room there" in problem


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path):
    there, later = module.free_gib(str(tmp_path)), module.free_gib(str(tmp_path / "a" / "b"))
    assert later > 0
    assert later == pytest.approx(there, abs=0.5)


@pytest.fixture
def routes(recorded):
    return json.loads(recorded("network.txt")["ip -4 -j route show table all"])


def test_a_lab_does_not_overlap_with_itself(routes):
    assert not list(module.check_overlap(LAB, routes, OWN))


def test_a_lab_elsewhere_does_not_overlap(routes):
    assert not list(module.check_overlap(ipaddress.ip_network("10.99.0.0/22"), routes, set()))


def test_overlap_with_another_lab_is_told_another_prefix(routes):
    problems = list(module.check_overlap(LAB, routes, {"other-mgmt", "other-data"}))
    assert "10.71.16.0/24" in problems[0]
    assert "lab-mgmt" in problems[0]
    assert all("make lab LAB_PREFIX=" in problem for problem in problems)


@pytest.mark.parametrize("dst", ["10.71.18.7", "10.71.19.0/24", "10.71.0.0/16"])
def test_overlap_with_a_part_or_a_whole(dst):
    problem = only(module.check_overlap(LAB, [{"dst": dst, "dev": "tun0"}], OWN))
    assert f"overlap with {dst}" in problem
    assert "tun0" in problem


def test_overlap_with_the_guard_of_another_prefix():
    route = {"type": "unreachable", "dst": "10.71.16.0/21", "flags": []}
    assert "another route" in only(module.check_overlap(LAB, [route], OWN))


def test_overlap_with_a_network_of_the_same_size():
    assert "tun0" in only(module.check_overlap(LAB, [{"dst": str(LAB), "dev": "tun0"}], OWN))


def test_a_lab_keeps_its_addresses():
    built = {"clone": "/mine", "prefix": "10.71.16.0/22"}
    assert not list(module.check_prefix(built, "/mine", LAB))
    assert not list(module.check_prefix(None, "/mine", LAB))
    # A dead lab of somebody else is removed before.
    assert not list(module.check_prefix(built, "/other", ipaddress.ip_network("10.99.0.0/22")))
    problem = only(module.check_prefix(built, "/mine", ipaddress.ip_network("10.99.0.0/22")))
    assert "LAB_PREFIX=10.71.16.0/22" in problem
    assert "make lab-destroy lab" in problem


def test_root_may(monkeypatch):
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "")
    assert not list(module.check_rights())


@pytest.mark.parametrize(
    ("sudo", "remedy"),
    [(None, "install sudo"), ("exit 1", "Run sudo -v first"), ('[ "$*" = "-n true" ]', None)],
    ids=["no sudo", "sudo asks", "sudo works"],
)
def test_others_need_sudo(monkeypatch, tmp_path, sudo, remedy):
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    if sudo:
        (tmp_path / "sudo").write_text(f"#!/bin/sh\n{sudo}\n")
        (tmp_path / "sudo").chmod(0o755)
    problems = list(module.check_rights())
    assert [remedy in problem for problem in problems] == ([True] if remedy else [])


@pytest.fixture
def kernel(monkeypatch):
    """Return a function that lets the check see these file systems and these paths."""

    def see(filesystems, paths):
        monkeypatch.setattr(module, "open", lambda *_args, **_more: StringIO(filesystems), raising=False)
        monkeypatch.setattr(module, "os", SimpleNamespace(path=SimpleNamespace(exists=paths.__contains__)))
        return list(module.check_kernel())

    return see


def test_kernel_with_overlay(kernel):
    assert not kernel("nodev\tproc\n\text4\nnodev\toverlay\n", ["/dev/net/tun"])


def test_kernel_that_can_load_overlay(kernel):
    driver = f"/lib/modules/{module.platform.release()}/kernel/fs/overlayfs"
    assert not kernel("nodev\tproc\n\text4\n", ["/dev/net/tun", driver])


def test_kernel_without_overlay(kernel):
    assert "no overlay file system" in only(kernel("nodev\tproc\n\text4\n", ["/dev/net/tun"]))


def test_kernel_without_tun(kernel):
    assert "Load the module tun" in only(kernel("nodev\toverlay\n", []))


def test_missing_packages(monkeypatch, tmp_path):
    keyring = tmp_path / "keyring.gpg"
    monkeypatch.setattr(module, "SEARCH", str(tmp_path))
    monkeypatch.setattr(module, "KEYRING", str(keyring))
    assert module.missing_packages() == [
        "conmon",
        "crun",
        "debian-archive-keyring",
        "ethtool",
        "iproute2",
        "iputils-ping",
        "mmdebstrap",
        "openssh-client",
        "podman",
        "util-linux",
    ]
    for program in module.PROGRAMS:
        (tmp_path / program).touch(mode=0o755)
    keyring.touch()
    assert module.missing_packages() == []
    (tmp_path / "findmnt").unlink()
    assert module.missing_packages() == ["util-linux"]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """The real machine, but for the labs that it may have."""
    monkeypatch.setattr(_machine, "STATE_ROOT", str(tmp_path))
    monkeypatch.setattr(module, "STATE_ROOT", str(tmp_path))
    # A lab of this name may run here.
    monkeypatch.setattr(_machine, "processes_of", lambda _lab: [])
    (tmp_path / "lab").mkdir()
    return SimpleNamespace(name="lab", prefix="", clone="/mine", memory_gib=1e6, disk_gib=1e6)


def examine(machine):
    problems, facts = module.examine(vars(machine))
    return [word for word in ("GiB of memory", "GiB are free") if any(word in problem for problem in problems)], facts


def claim(**more):
    lab = _machine.Lab("lab")
    base = {"prefix": str(lab.prefix), "keeper": None, "keeper_started": None, "stopped": False}
    _machine.write_claim(lab, {**base, **more})


def test_facts_of_a_new_lab(machine):
    machine.prefix = "10.99.0.0/22"
    problems, facts = examine(machine)
    assert problems == ["GiB of memory", "GiB are free"]
    assert (facts["management"], facts["external"], facts["take_over"]) == ("10.99.0.0/24", "10.99.1.0/24", "")
    assert (len(facts["addresses"]), facts["addresses"][0]) == (16, "10.99.0.11")


def test_a_lab_that_runs_needs_nothing_more(machine):
    claim(clone="/mine", keeper=os.getpid(), keeper_started=_machine.start_time(os.getpid()))
    assert examine(machine)[0] == []


def test_a_lab_that_was_stopped_needs_memory_again(machine):
    claim(clone="/mine", stopped=True)
    problems, facts = examine(machine)
    assert (problems, facts["take_over"]) == (["GiB of memory"], "")


def test_a_dead_lab_is_taken_over(machine):
    claim(clone="/theirs")
    assert examine(machine)[1]["take_over"] == "/theirs"


def test_a_lab_whose_hosts_outlived_their_keeper_is_not_taken_over(machine, monkeypatch, tmp_path):
    claim(clone=str(tmp_path))
    monkeypatch.setattr(_machine, "processes_of", lambda _lab: [4711])
    assert any("and its hosts run" in problem for problem in module.examine(vars(machine))[0])


CHECKS = sorted(name for name in vars(module) if name.startswith("check_"))


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_is_asked(machine, monkeypatch, tmp_path, check):
    (tmp_path / "ip").touch(mode=0o755)
    monkeypatch.setattr(module, "SEARCH", str(tmp_path))
    monkeypatch.setattr(module, "run_json", lambda _argv: [])
    monkeypatch.setattr(module, check, lambda *_arguments: ["found"])
    assert "found" in module.examine(vars(machine))[0]


def test_an_interface_of_the_machine_is_not_taken_for_one_of_the_lab():
    links = [
        {"ifname": "eth0"},
        {"ifname": "lab-mgmt", "linkinfo": {"info_kind": "veth"}},
        {"ifname": "lab-data", "linkinfo": {"info_kind": "bridge"}},
    ]
    (problem,) = module.check_links(links, {"lab-mgmt", "lab-data"})
    assert "has an interface lab-data of its own" in problem


def test_every_reason_is_said_at_once(call, machine):
    result = call(module, **vars(machine))
    assert result["failed"]
    assert result["msg"].startswith("The lab cannot be built here:\n- ")
    assert "GiB of memory are available and the lab needs 1e+06" in result["msg"]
    assert "GiB are free below" in result["msg"]


def test_bad_name_is_said(call, machine):
    machine.name = "My-Lab"
    assert "'My-Lab' cannot name a lab" in call(module, **vars(machine))["msg"]
