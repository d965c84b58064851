# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make soak in parts: what is left, what is run again, and what is told."""

from __future__ import annotations

import pytest
import soak

GOOD, BAD = ["true"], ["false"]


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return a function that runs parts on a commit, and gives the status and what was printed."""

    def act(commands, head="abc1234", names=()):
        monkeypatch.setattr(soak, "parts", lambda: commands)
        monkeypatch.setattr(soak, "commit", lambda: head)
        status = soak.main([str(tmp_path / "state.json"), *names])
        return status, capsys.readouterr().out

    return act


def ran(output):
    return [line.split()[1].rstrip(":") for line in output.splitlines() if line.startswith("== ")]


def test_what_passed_on_a_commit_is_not_run_again_and_what_failed_is(run):
    status, output = run({"a": GOOD, "b": BAD, "c": GOOD})
    assert (status, ran(output)) == (1, ["a", "b", "c"])
    status, output = run({"a": GOOD, "b": GOOD, "c": GOOD})
    assert (status, ran(output)) == (0, ["b"])
    assert "2 of 3 parts have passed on this commit." in output
    status, output = run({"a": GOOD, "b": GOOD, "c": GOOD})
    assert (status, ran(output)) == (0, [])
    assert output.count("| passed |") == 3


def test_another_commit_and_changes_run_everything(run):
    for head in ("abc1234", "def5678", None, None):
        assert ran(run({"a": GOOD}, head)[1]) == ["a"]
    assert "| `a` | passed | 0 min | changed |" in run({"a": GOOD}, None)[1]


def test_it_goes_on_where_it_was_broken_off(run, monkeypatch):
    def broken(name, *_more):
        if name == "b":
            raise KeyboardInterrupt
        return {"result": "passed", "seconds": 120, "commit": "abc1234", "at": "2026-11-24"}

    with monkeypatch.context() as patch:
        patch.setattr(soak, "run", broken)
        with pytest.raises(KeyboardInterrupt):
            run({"a": GOOD, "b": GOOD})
    status, output = run({"a": GOOD, "b": GOOD})
    assert (status, ran(output)) == (0, ["b"])
    assert "To run: b. That takes about 0 min, and 1 that were never timed: b." in output
    assert "To run: a, b. That takes about 2 min." in run({"a": GOOD, "b": GOOD}, "def5678")[1]


def test_parts_can_be_named_and_must_exist(run):
    assert ran(run({"a": GOOD, "b": GOOD}, names=["b"])[1]) == ["b"]
    assert run({"a": GOOD}, names=["x"])[0] == 2


def test_each_file_of_the_lab_with_tests_of_soak_is_a_part():
    parts = soak.parts()
    assert parts["test_lab_life"] == ["make", "soak-part", "PART=test_lab_life.py"]
    assert {"faults", "bench", "fuzz", "ovn"} <= parts.keys()
    assert not any("ovn" in name for name in parts if name.startswith("test_"))
