# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check which unit tests make quick chooses for a change."""

from __future__ import annotations

import tomllib

import pytest
import quick
from tree import ROOT

PREFIX = "ansible_collections.stackproof.provision.plugins.module_utils"
UTILS = "plugins/module_utils"
SOURCES = {
    f"{UTILS}/_record/clock.py": "import time",
    f"{UTILS}/_judge/culprit.py": f"from {PREFIX}._record.clock import now",
    f"{UTILS}/_report/page.py": "from .._judge import culprit",
    "lab/plugins/module_utils/_machine.py": "",
    "tests/helper.py": "",
    "tests/unit/conftest.py": f"from {PREFIX}._record import clock",
    "tests/unit/plugins/module_utils/_record/test_clock.py": "",
    "tests/unit/plugins/module_utils/_record/test_run.py": f"def late():\n    import {PREFIX}._record.clock",
    "tests/unit/plugins/module_utils/_judge/test_culprit.py": "",
    "tests/unit/plugins/module_utils/_judge/test_culprit_names.py": f"from {PREFIX}._judge import culprit",
    "tests/unit/plugins/module_utils/_report/test_page.py": f"import helper\nfrom {PREFIX}._report import page",
    "tests/unit/plugins/module_utils/test_report.py": "",
    "tests/unit/lab/module_utils/test_machine.py": "",
    "tests/unit/test_pages.py": '"README.md"\nsorted(FLOWS)\n"roles/evidence/vars/platforms/kolla.yml"',
}


def chosen(*changed):
    choice = quick.choose(set(changed), SOURCES)
    return [path.rpartition("/")[2] for path in choice.tests]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (f"{UTILS}/_record/clock.py", ["test_culprit_names.py", "test_clock.py", "test_run.py", "test_page.py"]),
        (f"{UTILS}/_judge/culprit.py", ["test_culprit.py", "test_culprit_names.py", "test_page.py"]),
        # The test at the place of its folder, too
        (f"{UTILS}/_report/page.py", ["test_page.py", "test_report.py"]),
        ("lab/plugins/module_utils/_machine.py", ["test_machine.py"]),
        ("tests/helper.py", ["test_page.py"]),
        ("tests/unit/plugins/module_utils/_record/test_run.py", ["test_run.py"]),
        ("tests/unit/lab/conftest.py", ["test_machine.py"]),
        ("README.md", ["test_pages.py"]),
        # A folder by its constant in tests/tree.py, and by its path
        ("roles/flow/files/flows/modern.yml", ["test_pages.py"]),
        ("roles/evidence/vars/platforms/packages.yml", ["test_pages.py"]),
        (".gitignore", []),
    ],
)
def test_a_change_chooses_the_tests_at_its_place_that_import_it_or_name_it(changed, expected):
    assert chosen(changed) == expected


def test_a_removed_module_still_chooses_its_importers(monkeypatch):
    removed = f"{UTILS}/_judge/culprit.py"
    before = chosen(removed)
    monkeypatch.delitem(SOURCES, removed)
    assert chosen(removed) == before


def test_a_removed_test_is_not_chosen():
    assert chosen("tests/unit/test_gone.py") == []


def test_distant_tests_are_left_out_when_they_are_many(monkeypatch):
    monkeypatch.setattr(quick, "MANY", 2)
    choice = quick.choose({f"{UTILS}/_record/clock.py"}, SOURCES)
    assert [path.rpartition("/")[2] for path in choice.tests] == ["test_clock.py", "test_run.py"]
    assert choice.left_out == 2


def test_changes_are_those_since_the_branch_left_main_and_new_files(monkeypatch, tmp_path):
    monkeypatch.setattr(quick, "ROOT", tmp_path)

    def commit(name):
        (tmp_path / name).write_text(name)
        quick.git("add", name)
        quick.git("commit", "--quiet", "--message=A change")

    quick.git("init", "--quiet")
    quick.git("config", "user.email", "a@example.org")
    quick.git("config", "user.name", "A")
    commit("old.py")
    assert quick.changed_files() == set()
    quick.git("update-ref", "refs/remotes/origin/main", "HEAD")
    commit("committed.py")
    (tmp_path / "old.py").unlink()
    (tmp_path / "new.py").touch()
    assert quick.changed_files() == {"committed.py", "old.py", "new.py"}


@pytest.fixture
def started(monkeypatch):
    """Return the command lines that were started instead of pytest."""
    commands = []

    class Done:
        returncode = 3

    def run(command, **_options):
        commands.append(command[1:])
        return Done

    monkeypatch.setattr(quick, "code_files", set)
    monkeypatch.setattr(quick.subprocess, "run", run)
    return commands


def test_pytest_runs_the_chosen_tests_and_decides(monkeypatch, started, capsys):
    monkeypatch.setattr(quick, "changed_files", lambda: {"a.py"})
    monkeypatch.setattr(quick, "choose", lambda _changed, _sources: quick.Choice(["tests/unit/test_a.py"], 5))
    assert quick.main(["-x"]) == 3
    assert started == [["-m", "pytest", "-x", "tests/unit/test_a.py"]]
    assert capsys.readouterr().out.splitlines() == [
        "changed files: 1; test files to run: 1",
        "left out, as they import these from further away: 5; make unit runs them",
    ]


def test_nothing_runs_without_a_touched_test(monkeypatch, started):
    monkeypatch.setattr(quick, "changed_files", set)
    assert quick.main([]) == 0
    assert started == []


def test_modules_are_looked_for_where_pytest_looks():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert [*quick.ON_PATH, ".venv/collections"] == settings["pythonpath"]
