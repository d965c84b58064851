# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs of a host as Ansible reads them, in files on this machine."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import info_module
from ansible_collections.stackproof.provision.plugins.modules import evidence_info
from ansible_collections.stackproof.provision.plugins.modules import log_info as module

SERVER, BEGAN = "593bff83-ecde-4bff-b038-2774dcc49b76", 1795272180.0  # 2026-11-21 14:43 UTC
FIRST = "2026-11-21 14:30:00.000 1 INFO nova [-] started"
STARTING = f"2026-11-21 14:43:10.250 1 DEBUG nova.compute.manager [-] [instance: {SERVER}] Starting instance..."


@pytest.fixture
def read(call, monkeypatch, tmp_path, warned):
    """Return a function that runs the module on a folder with a log of nova-compute."""
    asked, instead = [], {"id": "0\n", "date": "+0000\n", "hostname": "10.71.16.15 fd00::15 \n"}

    def execute(words, take):
        words = words[2:] if words[0] == "timeout" else words
        asked.append(words)
        if words[0] in instead:
            answer = instead[words[0]]
            return (0, answer, "") if isinstance(answer, str) else answer
        return real(words, take)

    real = info_module.execute
    monkeypatch.setattr(info_module, "execute", execute)

    def run(*lines, answers=None, check=False, whole=False, **options):
        instead.update(answers or {})
        path = tmp_path / "nova-compute.log"
        path.write_text("\n".join(lines) + "\n", errors="surrogateescape")
        os.utime(path, (BEGAN + 60,) * 2)
        wanted = {
            "keys": {"server": [SERVER]},
            "phrases": [{"service": "nova-compute", "pattern": "Starting instance"}],
            "windows": [],
            "began": BEGAN,
            "since": BEGAN - 300,
            "until": BEGAN + 90,
        }
        services = [{"service": "nova-compute", "files": [str(path)]}]
        if whole:
            platform = {"groups": {}, "logs": services}
            options.update(parts=[], platform=platform)
            return {**call(evidence_info, check=check, wanted=wanted, **options), "warned": warned}
        result = call(module, check=check, services=services, wanted=wanted, **options)
        return {**result, "events": json.loads(result["events"]), "asked": asked, "warned": warned}

    return run


@pytest.mark.parametrize("check", [False, True])
def test_events_sources_and_addresses_are_returned(read, tmp_path, check):
    result = read(FIRST, STARTING, check=check)
    assert (result["changed"], result.get("failed"), result["unread"], result["warned"]) == (False, None, [], [])
    (event,) = result["events"]
    assert (event["at"], event["service"], event["keys"]) == (BEGAN + 10.25, "nova-compute", {"server": [SERVER]})
    (source,) = result["sources"]
    assert (source["complete"], source["path"]) == (True, str(tmp_path / "nova-compute.log"))
    assert result["addresses"] == ["10.71.16.15", "fd00::15"]


def test_nothing_is_written_on_the_host(read, tmp_path):
    read(FIRST, STARTING, check=True)
    before = {path: path.stat().st_mtime for path in tmp_path.iterdir()}
    result = read(FIRST, STARTING)
    assert {path: path.stat().st_mtime for path in tmp_path.iterdir()} == before
    assert {words[0] for words in result["asked"]} == {"date", "id", "find", "head", "tail", "grep", "hostname"}


def test_times_are_looked_for_by_the_hosts_own_clock_and_returned_by_it(read):
    result = read(FIRST, STARTING.replace("14:43:10.250", "14:46:10.250"), offset_s=180.0)
    assert [event["at"] for event in result["events"]] == [BEGAN + 190.25]
    assert read(FIRST, STARTING.replace("14:43:10.250", "14:46:10.250"))["events"] == []


def test_bytes_that_are_no_text_can_be_returned(read):
    line = STARTING.replace("Starting", "\udcff Starting")
    assert len(read(FIRST, line)["events"]) == 1


def test_what_could_not_be_read_is_returned_and_warned_of(read):
    result = read(FIRST, STARTING, answers={"find": (1, "", "sudo: a password is required")})
    assert (result["events"], result["sources"], result["addresses"]) == ([], [], ["10.71.16.15", "fd00::15"])
    (unread,) = result["unread"]
    assert (unread["what"], unread["kind"]) == ("the list of logs", "refused")
    assert result["warned"] == [f"the list of logs: {unread['reason']}"]


def test_commands_are_run_in_the_container_that_has_the_logs(read, tmp_path):
    script = tmp_path / "inside"
    script.write_text('#!/bin/sh\nexec "$@"\n')
    script.chmod(0o755)
    result = read(FIRST, STARTING, prefixes={"logs": [str(script)]})
    assert len(result["events"]) == 1
    assert {words[0] for words in result["asked"]} == {"date", "id", "hostname", str(script)}


def test_who_reads_all_of_a_host_reads_its_logs_too(read):
    alone, result = read(FIRST, STARTING, offset_s=0.5), read(FIRST, STARTING, whole=True, offset_s=0.5)
    assert json.loads(result["logs"]["events"]) == alone["events"] != []
    assert result["logs"]["sources"] == alone["sources"]
    assert (result["unread"], result["logs"]["unread"]) == ([], [])
    assert result["facts"]["addresses"] == alone["addresses"]


def test_of_logs_that_cannot_be_read_all_else_says_nothing(read):
    result = read(FIRST, STARTING, whole=True, answers={"find": (1, "", "sudo: a password is required")})
    assert result["unread"] == []
    (unread,) = result["logs"]["unread"]
    assert (unread["what"], unread["kind"]) == ("the list of logs", "refused")
    assert result["warned"] == [f"the list of logs: {unread['reason']}"]


def test_a_log_is_waited_for_longer_than_a_command(read):
    hangs = {"find": (124, "", ""), "hostname": (124, "", "")}
    result = read(FIRST, STARTING, whole=True, answers=hangs, patience=4)
    assert {entry["reason"].rpartition(": ")[2] for entry in result["unread"]} == {"no answer after 4 s"}
    assert {entry["reason"].rpartition(": ")[2] for entry in result["logs"]["unread"]} == {"no answer after 60 s"}


def test_services_and_what_is_wanted_are_needed(call):
    result = call(module)
    assert result["failed"]
    assert "missing required arguments: services, wanted" in result["msg"]
