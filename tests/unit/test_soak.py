# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make soak in parts: what is left, what is run again, and what is told."""

from __future__ import annotations

from datetime import date

import pytest
import soak

GOOD, BAD = ["true"], ["false"]


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "soak.md"
    path.write_text(f"Before.\n\n{soak.TABLE}\nAfter.\n")
    return path


@pytest.fixture
def run(monkeypatch, page, capsys):
    """Return a function that runs parts on a commit, and gives the status and what was printed."""

    def act(commands, head="abc1234", names=()):
        monkeypatch.setattr(soak, "parts", lambda: commands)
        monkeypatch.setattr(soak, "commit", lambda: head)
        status = soak.main([str(page), *names])
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


def test_the_page_keeps_the_table_and_all_else(run, page):
    run({"b": BAD, "a": GOOD})
    run({"b": GOOD}, head="def5678")
    rows = [
        f"| `a` | passed | 0 min | abc1234 | {date.today()} |",
        f"| `b` | passed | 0 min | def5678 | {date.today()} |",
    ]
    assert page.read_text() == f"Before.\n\n{soak.TABLE}" + "\n".join(rows) + "\n\nAfter.\n"


def test_a_page_without_the_table_is_refused_before_anything_runs(run, page, capsys):
    page.write_text("Before.\n")
    with pytest.raises(SystemExit, match="has no table"):
        run({"a": GOOD})
    assert "==" not in capsys.readouterr().out


def test_figures_are_no_change_of_what_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(soak, "ROOT", tmp_path)
    for words in (["init", "-q"], ["config", "user.email", "a@example.org"], ["config", "user.name", "A"]):
        soak.git(*words)

    def write(name, text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def commit():
        soak.git("add", "--all")
        soak.git("commit", "--quiet", "--message=A change")

    write("code.py", "1")
    write("measurements/soak.md", "1")
    commit()
    first = soak.commit()
    write("measurements/soak.md", "2")
    assert soak.commit() == first
    commit()
    assert soak.commit() == first
    write("code.py", "2")
    assert soak.commit() is None
    commit()
    assert soak.commit() not in (None, first)


def test_another_commit_and_changes_run_everything(run):
    for head in ("abc1234", "def5678", None, None):
        assert ran(run({"a": GOOD}, head)[1]) == ["a"]
    assert "| `a` | passed | 0 min | changed |" in run({"a": GOOD}, None)[1]


def test_it_goes_on_where_it_was_broken_off(run, monkeypatch):
    def broken(name, *_more):
        if name == "b":
            raise KeyboardInterrupt
        return soak.Row(name, "passed", 2, "abc1234", "2026-11-24")

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
