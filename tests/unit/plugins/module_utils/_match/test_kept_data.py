# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was parsed of a text is kept, and whatever happens to its file does no harm."""

from __future__ import annotations

import datetime

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import kept_data

DATA = {"steps": [{"id": "boot", "within": [None, 1.5]}], "schema": "stackproof.flow/2", "judged": True}


class Parser:
    """A parser that counts its calls."""

    def __init__(self, data=None):
        self.data = data or DATA
        self.calls = 0

    def __call__(self, _text):
        self.calls += 1
        return self.data


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_data, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    return tmp_path


def test_a_text_is_parsed_once():
    parser = Parser()
    assert [kept_data.parsed("text", parser) for _turn in range(3)] == [DATA] * 3
    assert parser.calls == 1


def test_another_text_is_parsed():
    parser = Parser()
    kept_data.parsed("text", parser)
    kept_data.parsed("another text", parser)
    assert parser.calls == 2


@pytest.mark.parametrize("content", [b"", b"no data", b"\xdb", b"{"])
def test_a_damaged_file_is_replaced(content):
    kept_data.path_of("text").write_bytes(content)
    parser = Parser()
    assert [kept_data.parsed("text", parser) for _turn in range(2)] == [DATA] * 2
    assert parser.calls == 1


def test_values_that_cannot_be_kept_are_parsed_each_time(folder):
    parser = Parser({"since": datetime.date(2026, 11, 28)})
    assert [kept_data.parsed("text", parser) for _turn in range(2)] == [parser.data] * 2
    assert parser.calls == 2
    assert not list(folder.iterdir())


def test_nothing_is_kept_where_python_keeps_no_compiled_code(folder, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    assert kept_data.parsed("text", Parser()) == DATA
    assert not list(folder.iterdir())


def test_a_missing_folder_does_no_harm(folder, monkeypatch):
    monkeypatch.setattr(kept_data, "FOLDER", folder / "missing")
    assert kept_data.parsed("text", Parser()) == DATA


def test_a_full_disk_does_no_harm(monkeypatch, folder):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    assert kept_data.parsed("text", Parser()) == DATA
    assert not list(folder.iterdir())
