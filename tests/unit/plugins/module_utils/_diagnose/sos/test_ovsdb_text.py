# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows as the programs of OVSDB print them mean the same as those that they print in JSON."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.sos import ovsdb_text

UUID = "7253fdbd-c66f-4851-bc25-286f6d5a7f08"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("br-int", "br-int"),
        ('"tcp:127.0.0.1:6640"', "tcp:127.0.0.1:6640"),
        ('"a \\"quoted\\" word"', 'a "quoted" word'),
        ('"5"', "5"),
        ("5", 5),
        ("-1", -1),
        ("0.5", 0.5),
        ("true", True),
        (UUID, ["uuid", UUID]),
        ("[]", ["set", []]),
        ("{}", ["map", []]),
        (f"[{UUID}, {UUID}]", ["set", [["uuid", UUID], ["uuid", UUID]]]),
        ('["fa:16:3e:2f:b3:12 192.168.222.32"]', ["set", ["fa:16:3e:2f:b3:12 192.168.222.32"]]),
        ('{mtu="1500", router="192.168.222.1"}', ["map", [["mtu", "1500"], ["router", "192.168.222.1"]]]),
        ('{"a,b"="{c=d}"}', ["map", [["a,b", "{c=d}"]]]),
        ("two words", "two words"),
        ("", ""),
    ],
)
def test_a_value_has_the_form_of_the_protocol(text, value):
    assert ovsdb_text.value_of(text) == value


def test_an_empty_line_separates_rows():
    rows = ovsdb_text.rows_in(f"_uuid               : {UUID}\nname                : eth1\n\nname : br-ex\n")
    assert rows == [{"_uuid": ["uuid", UUID], "name": "eth1"}, {"name": "br-ex"}]


def record(content):
    return f"OVSDB JSON 1 0\n{json.dumps(content)}\n"


def test_the_records_of_a_file_change_rows_one_after_the_other():
    schema = {"name": "Open_vSwitch", "tables": {"Port": {}}}
    changes = [
        {"Port": {"a": {"name": "one", "tag": 1}, "b": {"name": "two"}}, "_date": 1},
        {"Port": {"a": {"tag": 2}, "b": None}},
    ]
    tables = ovsdb_text.tables_of_file("".join(map(record, [schema, *changes])))
    assert tables == {"Port": {"a": {"_uuid": ["uuid", "a"], "name": "one", "tag": 2}}}


def test_a_file_that_was_copied_while_it_was_written_has_the_records_before():
    whole = record({"Port": {"a": {"name": "one"}}})
    assert ovsdb_text.tables_of_file(f'{whole}OVSDB JSON 9 0\n{{"Port": {{"b"')["Port"].keys() == {"a"}
