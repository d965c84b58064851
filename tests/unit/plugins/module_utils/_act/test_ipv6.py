# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IPv6 of two guests: what a real shell finds of its addresses and of the other guest, and what its lines mean."""

from __future__ import annotations

import ipaddress
import os
import subprocess

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import dataplane, ipv6
from ansible_collections.stackproof.provision.plugins.module_utils._act.dataplane import Errand
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import FIRST, SECOND

NONCE = "272b3bb0abec515ad4c8342a69d2b07f"
OWN, PEER = "fd57:ac9f:100f:0:f816:3eff:fe11:2233", "fd57:ac9f:100f:0:f816:3eff:fe44:5566"
ENDS = ipv6.Ends(ipaddress.IPv6Address(OWN), ipaddress.IPv6Address(PEER))
TOOLS = ("cat", "chmod", "grep", "head", "sed", "sleep", "sort", "tail", "tr")
LOOPBACK = "00000000000000000000000000000001 01 80 10 80       lo\n"
LINK_LOCAL = "fe80000000000000f8163efffe112233 02 40 20 80     eth0\n"
GLOBAL = "fd57ac9f100f0000f8163efffe112233 02 40 00 00     eth0\n"
ANOTHER = "fd57ac9f100f00000000000000000099 02 40 00 00     eth0\n"
ANSWERED = "echo '64 bytes from fd57::1: seq=0 ttl=64 time=1.250 ms'"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return a function that runs the script of a guest with these addresses and programs, and returns its checks."""
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(
            next(path for path in (f"/usr/bin/{tool}", f"/bin/{tool}") if os.path.exists(path))
        )
    monkeypatch.setitem(dataplane.PATIENCE, SECOND, 0)
    monkeypatch.setitem(ipv6.VALUES, "PATIENCE6", 1)
    monkeypatch.setitem(ipv6.VALUES, "ASKS_AFTER", 0)

    def run(addresses, **programs):
        table = tmp_path / "if_inet6"
        table.write_text(LOOPBACK + addresses)
        for word, text in {"ping": "exit 1", **programs}.items():
            (tmp_path / word).write_text(f"#!/bin/sh\n{text.replace('TABLE', str(table))}\n")
            (tmp_path / word).chmod(0o755)
        script = dataplane.script(SECOND, NONCE, Errand("192.0.2.1", ipv6=ENDS))
        script = script.replace("/proc/net/if_inet6", str(table)).replace("/tmp/lease6", str(tmp_path / "lease6"))
        words = ["/bin/sh", "-c", f"{script}\nwait"]
        done = subprocess.run(
            words, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True
        )
        shown = dataplane.read(done.stdout, SECOND, NONCE)
        assert shown.ended
        return {check.check: check for check in dataplane.checks_of(shown) if check.check.endswith("6")}

    return run


def test_a_guest_that_has_its_address_pings_the_other(shell):
    checks = shell(LINK_LOCAL + ANOTHER + GLOBAL, ping6=ANSWERED)
    address, ping = checks["address6"], checks["ping6"]
    assert (address.status.value, address.text) == ("ok", f"has {OWN}, which is that of its port")
    assert (address.source, address.target) == ("second", None)
    assert (ping.status.value, ping.text) == ("ok", "1 of 3 packets over IPv6 were answered")
    assert (ping.source, ping.target, ping.seconds) == ("second", "first", 0.00125)


def test_a_guest_without_ping6_asks_ping_for_the_sixth_version(shell):
    checks = shell(GLOBAL, ping=f'if [ "$1" = -6 ]; then {ANSWERED}; else exit 1; fi')
    assert checks["ping6"].status.value == "ok"


@pytest.mark.parametrize(
    ("addresses", "others"),
    [(LINK_LOCAL, "none"), (LINK_LOCAL + ANOTHER, "fd57:ac9f:100f::99"), ("", "none")],
)
def test_another_address_than_that_of_the_port_fails(shell, addresses, others):
    checks = shell(addresses, ping6=ANSWERED)
    text = f"has not got {OWN}, the address of its port; it has {others}"
    assert (checks["address6"].status.value, checks["address6"].text) == ("failed", text)
    assert "ping6" not in checks


@pytest.mark.parametrize(("addresses", "in_subnet"), [(ANOTHER, 1), (GLOBAL, 1), (LINK_LOCAL, 0)])
def test_the_addresses_in_the_subnet_of_the_port_are_counted(shell, addresses, in_subnet):
    assert shell(addresses, ping6=ANSWERED)["address6"].value == in_subnet


def test_packets_over_ipv6_that_nobody_answers_fail(shell):
    check = shell(GLOBAL, ping6="exit 1")["ping6"]
    assert (check.status.value, check.text) == ("failed", "0 of 3 packets over IPv6 were answered")


def test_a_busybox_without_an_address_asks_for_one_by_dhcp(shell):
    """Its client runs a script for the lease; the program `ip` of this test adds what the script asks for."""
    client = f'interface=$2 ipv6={OWN}; export interface ipv6; "$4" bound; echo "$@" > TABLE.asked'
    added = f'[ "$4 $6" = "{OWN}/128 eth0" ] && echo "{GLOBAL.strip()}" >> TABLE'
    checks = shell(LINK_LOCAL, ping6=ANSWERED, udhcpc6=client, ip=added)
    assert checks["address6"].status.value == checks["ping6"].status.value == "ok"


def test_what_a_guest_may_write_is_no_address():
    line = {"wanted": "zz", "has": "x" * 32}
    check = ipv6.of_address(FIRST, line)
    assert (check.status.value, check.text) == ("failed", "has not got , the address of its port; it has none")


@pytest.mark.parametrize(
    ("own", "peer"),
    [(None, None), (["192.0.2.1"], ["192.0.2.2"]), (["192.0.2.1", OWN], ["192.0.2.2"]), (None, [PEER])],
)
def test_ports_without_ipv6_ask_for_nothing(own, peer):
    assert ipv6.ends_of(own, peer) is None


def test_the_ends_are_the_ports_own():
    assert ipv6.ends_of(["192.0.2.1", OWN], [PEER, "192.0.2.2"]) == ENDS
    assert ENDS.command == f"  own6 fd57ac9f100f0000f8163efffe112233 && reach6 {PEER}"
