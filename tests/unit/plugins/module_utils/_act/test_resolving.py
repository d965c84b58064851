# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name that a guest resolves: what a real shell asks, and what its line means."""

from __future__ import annotations

import os
import subprocess

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import dataplane, resolving
from ansible_collections.stackproof.provision.plugins.module_utils._act.dataplane import Errand
from ansible_collections.stackproof.provision.plugins.module_utils._act.resolving import Name
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import SECOND

NONCE = "272b3bb0abec515ad4c8342a69d2b07f"
HOST, ADDRESS = "host-192-0-2-7.openstacklocal", "192.0.2.7"
NAME = Name(HOST, ADDRESS)
TOOLS = ("cat", "grep", "head", "sed", "sleep", "sort", "tail", "tr")

# As each program prints it: busybox since 1.29, busybox before, and BIND
NEW_BUSYBOX = f"Server:\\t\\t$2\\nAddress:\\t$2:53\\n\\nName:\\t{HOST}\\nAddress: {ADDRESS}\\n\\n"
OLD_BUSYBOX = f"Server:    $2\\nAddress 1: $2 dns\\n\\nName:      {HOST}\\nAddress 1: {ADDRESS} {HOST}\\n"
BIND = f"Server:\\t\\t$2\\nAddress:\\t$2#53\\n\\nName:\\t{HOST}\\nAddress: {ADDRESS}\\nAddress: 2001:db8::7\\n"
REFUSED = "Server:\\t\\t$2\\nAddress:\\t$2:53\\n\\n** server can't find it: NXDOMAIN\\n"


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs the script of a guest with these programs and resolvers, and returns its check."""
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(
            next(path for path in (f"/usr/bin/{tool}", f"/bin/{tool}") if os.path.exists(path))
        )
    program(tmp_path, "ping", "exit 1")

    def run(resolvers, name=NAME, **programs):
        (tmp_path / "resolv.conf").write_text(
            "search openstacklocal\n" + "".join(f"nameserver {r}\n" for r in resolvers)
        )
        for word, text in programs.items():
            program(tmp_path, word, text)
        script = dataplane.script(SECOND, NONCE, Errand("192.0.2.1", name=name))
        script = script.replace("/run/systemd/resolve/resolv.conf", "/nowhere")
        script = script.replace("/etc/resolv.conf", str(tmp_path / "resolv.conf"))
        words = ["/bin/sh", "-c", f"{script}\nwait"]
        done = subprocess.run(
            words, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True
        )
        shown = dataplane.read(done.stdout, SECOND, NONCE)
        assert shown.ended
        return next((check for check in dataplane.checks_of(shown) if check.check == resolving.CHECK), None)

    return run


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setitem(dataplane.PATIENCE, SECOND, 0)


def program(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("output", [NEW_BUSYBOX, OLD_BUSYBOX, BIND])
def test_the_answer_of_each_nslookup_is_read(shell, output):
    check = shell(["192.0.2.2"], nslookup=f'printf "{output}"')
    assert (check.status.value, check.text) == ("ok", f"{HOST} resolves to {ADDRESS} by 192.0.2.2")
    assert (check.source, check.target) == ("second", "first")
    assert check.seconds is not None


def test_the_first_resolver_that_answers_counts(shell):
    check = shell(["192.0.2.2", "192.0.2.3"], nslookup=f'if [ $2 = 192.0.2.3 ]; then printf "{BIND}"; else exit 1; fi')
    assert (check.status.value, check.text) == ("ok", f"{HOST} resolves to {ADDRESS} by 192.0.2.3")


def test_no_answer_fails_with_all_resolvers(shell):
    check = shell(["192.0.2.2", "192.0.2.3"], nslookup=f'printf "{REFUSED}"; exit 1')
    assert check.status.value == "failed"
    assert check.text == f"{HOST} does not resolve by 192.0.2.2 and 192.0.2.3"


def test_another_address_than_that_of_the_guest_fails(shell):
    check = shell(["192.0.2.2"], Name(HOST, "192.0.2.9"), nslookup=f'printf "{BIND}"')
    assert (check.status.value, check.text) == (
        "failed",
        f"{HOST} resolves to {ADDRESS} by 192.0.2.2, and not to 192.0.2.9",
    )


def test_the_name_of_the_user_may_lead_anywhere(shell):
    check = shell(["192.0.2.2"], Name("example.org"), nslookup=f'printf "{BIND}"')
    assert (check.status.value, check.target, check.resolvers) == ("ok", None, ("192.0.2.2",))


def test_getent_is_asked_where_there_is_no_nslookup(shell):
    check = shell(["192.0.2.2", "192.0.2.3"], getent=f'printf "{ADDRESS}      STREAM {HOST}\\n{ADDRESS}      DGRAM\\n"')
    assert (check.status.value, check.text) == ("ok", f"{HOST} resolves to {ADDRESS} by 192.0.2.2 and 192.0.2.3")


def test_a_guest_without_a_resolver_cannot_ask(shell):
    check = shell([], nslookup=f'printf "{BIND}"')
    assert check.status.value == "not_applicable"
    assert check.text == "no name was resolved: DHCP gave the guest no resolver"


def test_a_guest_without_a_program_cannot_ask(shell):
    check = shell(["192.0.2.2"])
    assert check.status.value == "not_applicable"
    assert check.text == "no name was resolved: the guest has neither nslookup nor getent"


def test_a_guest_without_a_name_does_not_ask(shell):
    assert shell(["192.0.2.2"], None, nslookup="exit 1") is None


@pytest.mark.parametrize("value", [None, 5, [], {}])
def test_a_line_may_hold_anything(value):
    fields = dict.fromkeys(("name", "wanted", "asker", "resolvers", "by", "found", "from", "to"), value)
    assert resolving.check_of(SECOND, fields).status.value == "not_applicable"
