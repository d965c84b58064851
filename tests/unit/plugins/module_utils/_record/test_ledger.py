# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger holds what was begun and made, whatever happened while it was written."""

from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import ledger as ledger_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import RECORDED

LEDGERS = sorted((RECORDED / "runs").glob("*/ledger.jsonl"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_no_file_is_an_empty_ledger(path):
    assert ledger_module.Ledger(path).entries == {}
    assert not path.exists()


def test_a_line_is_readable_by_others_at_once_and_private(path):
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.BEGUN, "network", "n")
    assert [(line["event"], line["kind"], line["name"]) for line in lines(path)] == [("begun", "network", "n")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_ledger_that_is_a_link_is_neither_read_nor_written(path, tmp_path):
    ledger = ledger_module.Ledger(path)
    (tmp_path / "other").write_text("")
    path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic link"):
        ledger.write(ledger_module.BEGUN, "network", "n")
    with pytest.raises(StageError, match="is not a regular file, so it is not a run's own"):
        ledger_module.Ledger(path)
    assert (tmp_path / "other").read_text() == ""


def test_a_ledger_that_is_no_file_is_not_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(StageError, match="is not a regular file, so it is not a run's own"):
        ledger_module.Ledger(path)


def test_a_ledger_without_measure_is_refused(path, monkeypatch):
    monkeypatch.setattr(ledger_module, "LONGEST", 1000)
    path.write_text("x" * 1000)
    assert ledger_module.Ledger(path).entries == {}
    path.write_text("x" * 1001)
    with pytest.raises(StageError, match="is longer than 1000 characters, so it is not a run's own"):
        ledger_module.Ledger(path)


def test_a_line_that_lies_too_deep_is_left_out(path):
    path.write_text("[" * 200000 + "\n")
    assert ledger_module.Ledger(path).entries == {}


def test_a_line_is_on_the_disk_when_it_is_written(path, monkeypatch):
    sure = []
    monkeypatch.setattr("os.fsync", lambda _number: sure.append(path.read_text()))
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.BEGUN, "network", "n")
    assert sure == [path.read_text()]


def test_the_last_word_counts_and_the_first_order_stays(path):
    ledger = ledger_module.Ledger(path)
    for kind in ("network", "subnet", "server"):
        ledger.write(ledger_module.BEGUN, kind, "x")
    ledger.write(ledger_module.MADE, "server", "x", id="3")
    ledger.write(ledger_module.MADE, "network", "x", id="1")
    ledger.write(ledger_module.REFUSED, "subnet", "x")
    ledger.write(ledger_module.GONE, "network", "x", id="1")
    for copy in (ledger, ledger_module.Ledger(path)):
        assert [(entry["kind"], entry["event"], entry["id"]) for entry in copy.entries.values()] == [
            ("network", "gone", "1"),
            ("subnet", "refused", None),
            ("server", "made", "3"),
        ]


def test_find_knows_a_resource_by_kind_and_name(path):
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.MADE, "network", "x", id="1")
    assert ledger.find("network", "x")["id"] == "1"
    assert ledger.find("subnet", "x") is None
    assert ledger.find("network", "y") is None


@pytest.mark.parametrize("kept", range(0, 90, 7))
def test_a_last_line_that_a_crash_cut_off_hides_nothing_else(path, kept):
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.BEGUN, "network", "n")
    ledger.write(ledger_module.MADE, "network", "n", id="1")
    whole = path.read_bytes()
    ledger.write(ledger_module.BEGUN, "server", "s")
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:kept])
    again = ledger_module.Ledger(path)
    assert [(entry["kind"], entry["id"]) for entry in again.entries.values()] == [("network", "1")]
    again.write(ledger_module.BEGUN, "volume", "v")
    again.write(ledger_module.MADE, "volume", "v", id="2")
    assert [(entry["kind"], entry["id"]) for entry in ledger_module.Ledger(path).entries.values()] == [
        ("network", "1"),
        ("volume", "2"),
    ]


def test_a_last_line_that_lacks_only_its_end_counts(path):
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.MADE, "network", "n", id="1")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    again = ledger_module.Ledger(path)
    again.write(ledger_module.BEGUN, "server", "s")
    assert [entry["kind"] for entry in ledger_module.Ledger(path).entries.values()] == ["network", "server"]


@pytest.mark.parametrize("rubbish", ["5", "null", "[]", '"begun"', "{}", '{"at": "x"}', "\0\0\0\0", "{"])
def test_rubbish_between_the_lines_is_left_out(path, rubbish):
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.MADE, "network", "n", id="1")
    with path.open("a") as stream:
        stream.write(rubbish + "\n")
    ledger.write(ledger_module.MADE, "server", "s", id="2")
    assert [entry["id"] for entry in ledger_module.Ledger(path).entries.values()] == ["1", "2"]


def test_what_is_begun_anew_is_not_known_by_its_old_id(path):
    ledger = ledger_module.Ledger(path)
    ledger.write(ledger_module.BEGUN, "server", "s")
    ledger.write(ledger_module.MADE, "server", "s", id="old")
    ledger.write(ledger_module.GONE, "server", "s", id="old")
    first = ledger.find("server", "s")["begun"]
    ledger.write(ledger_module.BEGUN, "server", "s")
    for copy in (ledger, ledger_module.Ledger(path)):
        entry = copy.find("server", "s")
        assert (entry["event"], entry["id"]) == ("begun", None)
        assert entry["begun"] > first


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.parent.name)
def test_every_resource_of_a_recorded_run_went_or_was_refused(path):
    entries = list(ledger_module.Ledger(path).entries.values())
    written = lines(path)
    assert [entry["name"] for entry in entries] == [line["name"] for line in written if line["event"] == "begun"]
    assert all(entry["id"] if entry["event"] == "gone" else entry["event"] == "refused" for entry in entries)
    assert all(
        entry["begun"] == next(line["at"] for line in written if line["name"] == entry["name"]) for entry in entries
    )
