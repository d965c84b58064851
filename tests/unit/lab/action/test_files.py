# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files a tree has, and with which mode they are written."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.lab.plugins.action.files import file_mode, tree_files


def test_tree_files_are_placed_as_in_the_tree(tmp_path):
    places = ["etc/b.conf", "etc/a/z.j2.j2", "etc/a/.hidden", "usr/bin/run.j2", "README"]
    for place in places:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "etc" / "empty").mkdir()
    expected = [
        ("README", "/README"),
        ("etc/b.conf", "/etc/b.conf"),
        ("etc/a/.hidden", "/etc/a/.hidden"),
        ("etc/a/z.j2.j2", "/etc/a/z.j2"),
        ("usr/bin/run.j2", "/usr/bin/run"),
    ]
    assert list(tree_files(tmp_path)) == [(str(tmp_path / source), path) for source, path in expected]


def test_tree_files_of_no_tree(tmp_path):
    assert list(tree_files(tmp_path / "missing")) == []


@pytest.mark.parametrize(
    ("group", "executable", "mode"),
    [("root", False, "0644"), ("root", True, "0755"), ("nova", False, "0640"), ("nova", True, "0750")],
)
def test_file_mode(group, executable, mode):
    assert file_mode(group, executable) == mode
