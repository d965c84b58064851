# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths between two guests: what a guest is asked to try, by a real shell, and what consoles of the lab show."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from ipaddress import IPv6Address

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import dataplane as module
from ansible_collections.stackproof.provision.plugins.module_utils._act.dataplane import Doors, Errand
from ansible_collections.stackproof.provision.plugins.module_utils._act.ipv6 import Ends
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import FIRST, SECOND
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import CheckStatus
from tree import RECORDED

CONSOLES = {name: (RECORDED / f"consoles/paths-{name}.txt").read_text() for name in (FIRST, SECOND)}
NONCE = "272b3bb0abec515ad4c8342a69d2b07f"


def shown(name=FIRST, console=None):
    return module.read(CONSOLES[name] if console is None else console, name, NONCE)


def states(found):
    return {check.check: check.status.value for check in module.checks_of(found)}


# What a guest runs


@pytest.fixture
def listening():
    """A TCP port of this machine that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def refusing():
    """A TCP port of this machine on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def run(text, **environment):
    """Run the script as a guest's user data would be, until its background part has ended."""
    words, variables = ["sh", "-c", f"{text}\nwait"], {**os.environ, **environment}
    return subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60, check=True).stdout


# The unit tests may run in a container without ping; every host of a lab has it.
needs_ping = pytest.mark.skipif(shutil.which("ping") is None, reason="this machine has no ping")


@needs_ping
def test_a_shell_finds_what_answers(listening, refusing):
    """Nothing keeps packets from the loopback, so the port that should be shut answers as well: by a refusal."""
    output = run(module.script(SECOND, NONCE, Errand("127.0.0.1", Doors(listening, refusing))))
    found = shown(SECOND, output)
    assert found.ended
    assert states(found) == {"ping": "ok", "size": "ok", "open": "ok", "shut": "failed"}


@needs_ping
def test_guests_with_ipv6_alone_use_it_for_all_paths(monkeypatch):
    """The address of the loopback is of no port."""
    monkeypatch.setitem(module.ipv6.VALUES, "PATIENCE6", 0)
    loopback = IPv6Address("::1")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        errand = Errand("::1", Doors(server.getsockname()[1], None), ipv6=Ends(loopback, loopback))
        found = shown(SECOND, run(module.script(SECOND, NONCE, errand)))
    assert states(found) == {"address6": "failed", "ping": "ok", "size": "ok", "open": "ok"}


def test_a_peer_that_does_not_answer_is_lost_and_not_measured(monkeypatch, tmp_path):
    monkeypatch.setitem(module.PATIENCE, SECOND, 1)
    silent = tmp_path / "ping"
    silent.write_text("#!/bin/sh\nexit 1\n")
    silent.chmod(0o755)
    output = run(module.script(SECOND, NONCE, Errand("127.0.0.1")), PATH=f"{tmp_path}:{os.environ['PATH']}")
    found = shown(SECOND, output)
    assert found.ended
    assert states(found) == {"ping": "failed"}


@pytest.mark.parametrize("guest", [FIRST, SECOND])
@pytest.mark.parametrize("doors", [None, Doors(None, None), Doors(22, None), Doors(22, 4022)])
def test_a_script_has_all_its_values(guest, doors):
    text = module.script(guest, NONCE, Errand("192.0.2.7", doors))
    assert re.findall(r"@[A-Z_]+@", text) == []
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    assert ("knock 22 open" in text) == bool(doors and doors.open)
    assert ("knock 4022 shut" in text) == bool(doors and doors.shut)


def rule(**fields):
    usual = {"direction": "ingress", "ether_type": "IPv4", "protocol": "tcp"}
    return {**usual, "port_range_min": None, "port_range_max": None, **fields}


@pytest.mark.parametrize(
    ("rules", "doors"),
    [
        ([], Doors(None, 4022)),
        ([rule(port_range_min=22, port_range_max=22)], Doors(22, 4022)),
        ([rule(protocol="6", port_range_min=80, port_range_max=90)], Doors(80, 4022)),
        ([rule(port_range_min=4000, port_range_max=4023)], Doors(4000, 4024)),
        ([rule()], Doors(1, None)),
        ([rule(protocol=None)], Doors(1, None)),
        ([rule(protocol="icmp")], Doors(None, 4022)),
        ([rule(direction="egress")], Doors(None, 4022)),
        ([rule(ether_type="IPv6")], Doors(None, 4022)),
    ],
)
def test_doors_follow_the_rules_of_the_security_group(rules, doors):
    assert module.doors_of(rules) == doors


def test_doors_follow_the_rules_of_the_version_that_guests_have():
    assert module.doors_of([rule(ether_type="IPv6"), rule()], "IPv6") == Doors(1, None)
    assert module.doors_of([rule()], "IPv6") == Doors(None, 4022)


# What consoles show


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_the_console_of_a_guest_shows_all_its_checks(name):
    found = shown(name)
    assert (found.ended, found.failed) == (True, False)
    named = {"name": "ok"} if name == SECOND else {}
    assert states(found) == {"ping": "ok", "size": "ok", "open": "ok", "shut": "ok", **named}
    assert {(check.source, check.target) for check in module.checks_of(found)} == {(name, module.other(name))}


def test_only_lines_of_this_guest_and_this_run_count():
    assert shown(FIRST, CONSOLES[SECOND]).lines == {}
    assert module.read(CONSOLES[FIRST], FIRST, "another").lines == {}


OPENED = "TCP port 22, which the security group opens"
NOT_OPENED = "TCP port 4022, which the security group does not open"
TOO_NARROW = "packets over 1400 bytes are lost; its interface sends 1500"
NO_TIME = "the guest does not say how long it took"


@pytest.mark.parametrize(
    ("line", "status", "text"),
    [
        ('"ping", "answers": 0, "ms": null', "failed", "0 of 3 packets were answered"),
        ('"ping", "answers": 1, "ms": 2.5', "ok", "1 of 3 packets were answered"),
        ('"ping", "answers": "x", "ms": []', "failed", "0 of 3 packets were answered"),
        (
            '"size", "mtu": 1500, "largest": 1400',
            "failed",
            "packets over 1400 bytes are lost; its interface sends 1500",
        ),
        ('"size", "largest": 1400', "unreadable", "the guest does not know its MTU"),
        ('"open", "port": 22, "from": 1.0, "to": 6.1, "joined": 0.0', "failed", f"{OPENED}, does not answer"),
        ('"open", "port": 22, "from": 1.0, "to": 6.1, "joined": 0.002', "ok", f"{OPENED}, answers"),
        ('"open", "port": 22, "from": "x"', "unreadable", NO_TIME),
        ('"shut", "port": 4022, "from": 1.0, "to": 1.1', "failed", f"{NOT_OPENED}, answers"),
        ('"shut", "port": 4022, "from": 1.0, "to": 6.1, "joined": 0.002', "failed", f"{NOT_OPENED}, answers"),
        ('"shut", "port": 4022', "unreadable", NO_TIME),
    ],
)
def test_what_a_guest_found_is_judged(line, status, text):
    console = f'stackproof-path: {{"nonce": "{NONCE}", "guest": "first", "check": {line}}}'
    (check,) = module.checks_of(shown(FIRST, console))
    assert (check.status, check.text) == (CheckStatus(status), text)


HOSTILE = ("{}", "{broken}", "[1]", '{"nonce": 5, "guest": []}', '{"check": {}}', "{" * 5000 + "}")


@pytest.mark.parametrize("line", HOSTILE)
def test_a_console_may_hold_anything(line):
    assert shown(FIRST, f"stackproof-path: {line}").lines == {}


# What both mean


FAILED = f'stackproof-path: {{"nonce": "{NONCE}", "guest": "first", "check": "ping", "answers": 0}}\n'
END = f'stackproof-path: {{"nonce": "{NONCE}", "guest": "first", "check": "end"}}\n'


@pytest.mark.parametrize(
    ("first", "second", "decided"),
    [
        ("", "", False),
        (None, "", False),
        ("", None, False),
        (None, None, True),
        (FAILED, None, False),
        (FAILED + END, "", True),
    ],
)
def test_one_guest_that_failed_decides(first, second, decided):
    both = {FIRST: shown(FIRST, first), SECOND: shown(SECOND, second)}
    assert module.is_decided(both) is decided


def test_the_first_failed_check_names_the_failure():
    failed = [check for check in module.checks_of(shown(FIRST, FAILED)) if check.status == CheckStatus.FAILED]
    error = module.failure_of(failed)
    assert error.failure.kind == "path_lost"
    assert error.failure.message == "from the first guest to the second: 0 of 3 packets were answered"
