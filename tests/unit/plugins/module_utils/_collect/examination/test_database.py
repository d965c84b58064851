# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks, transactions and limits of users, as MariaDB 11.8 printed them for the faults in question."""

from __future__ import annotations

import re

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import UnreadError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import database

HEALTHY = "user\tn\t2\t0\nSsl_server_not_after\tNov 23 18:40:03 2036 GMT\n"
ROWS = "transaction\t6\t5\tNULL\ntransaction\t7\t4\t4\n"


@pytest.fixture
def read(replay):
    """Return a function that reads what the database prints."""

    def of(output):
        return [(report.kind, report.text) for report in database.read(replay(None, {"id -u": "0", "mysql": output}))]

    return of


def test_recorded_database_is_healthy(replay):
    assert database.read(replay("examined-controller1")) == []


def test_statements_of_others_are_not_asked_for():
    columns = {"info", "trx_query", "authentication_string", "password"}
    assert not columns & set(re.findall(r"\w+", database.QUERY.lower()))
    assert " * " not in database.QUERY


@pytest.mark.parametrize("output", ["", HEALTHY, "Ssl_server_not_after\t\n", "transaction\t6\t900\tNULL\n"])
def test_healthy_database_has_nothing_to_report(read, output):
    assert read(output) == []


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            "waiting\tWaiting for backup lock\t2\t4",
            "writes blocked by a global lock for 4 s; 2 connections wait for the backup lock",
        ),
        (
            "waiting\tWaiting for global read lock\t1\t190",
            "writes blocked by a global lock for 190 s; 1 connection waits for the global read lock",
        ),
        (
            "waiting\tWaiting for table metadata lock\t3\t17",
            "3 connections wait for the table metadata lock, for up to 17 s",
        ),
        ("waiting\tWaiting for table metadata lock\t3\t2", None),
    ],
)
def test_locks_that_others_wait_for_are_reported(read, row, text):
    assert read(f"{row}\n{HEALTHY}") == ([("alarm", text)] if text else [])


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("slow\t0\tNULL", None),
        # A dump and its checksum
        ("slow\t2\t900", None),
        ("slow\t3\t20", "3 connections execute statements for up to 20 s"),
    ],
)
def test_statements_that_take_long_on_several_connections_are_reported(read, row, text):
    assert read(f"{row}\n{HEALTHY}") == ([("alarm", text)] if text else [])


def test_transactions_that_wait_are_reported_with_the_one_that_is_open_for_longest(read):
    text = "transactions wait for row locks for up to 4 s; waiting: 1, connection 6 has had one open for 5 s"
    assert read(ROWS + HEALTHY) == [("alarm", text)]
    assert read(ROWS.replace("\t4\t4", "\t4\t2")) == []
    assert read("transaction\t7\t4\t4\n") == [("alarm", "transactions wait for row locks for up to 4 s; waiting: 1")]


@pytest.mark.parametrize(("used", "is_full"), [(1, False), (2, True), (3, True)])
def test_user_without_a_connection_left_is_reported_once(read, used, is_full):
    row = f"user\tnova\t2\t{used}\n"
    assert read(row + row) == ([("full", "user nova has used all of its 2 connections")] if is_full else [])


def test_certificate_that_has_expired_is_reported(read):
    end = "Feb  1 00:00:00 2020 GMT"
    assert read(f"Ssl_server_not_after\t{end}\n") == [("alarm", f"its TLS certificate expired on {end}")]


@pytest.mark.parametrize("output", ["x\n", "waiting\tx\n", "user\tn\tmany\t0\n", "transaction\ta\tb\tc\n", "\0\n"])
def test_something_else_that_it_prints_is_unread(replay, output):
    host = replay(None, {"id -u": "0", "mysql": output})
    assert host.attempt("the locks", database.read, default=[]) == []
    assert [entry.kind for entry in host.unread] == ["strange"]


def test_a_user_that_may_not_see_others_sees_nothing(replay):
    """MariaDB 11.8 to the user of kolla's health check."""
    denied = "ERROR 1227 (42000) at line 1: Access denied; you need (at least one of) the PROCESS privilege(s)"
    host = replay(None, {"id -u": "0", "mysql": (1, "", denied)})
    assert database.read(host) == []


def test_a_limit_of_the_database_that_refuses_any_query_is_reported(replay):
    text = "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1"
    failed = (1, "", f"--------------\nSELECT 'waiting'\n--------------\n\nERROR 1104 (42000) at line 1: {text}\n")
    (report,) = database.read(replay(None, {"id -u": "0", "mysql": failed}))
    assert (report.kind, report.text) == ("alarm", f"refuses to answer: {text}")


@pytest.mark.parametrize(
    "error",
    [
        "ERROR 1146 (42S02) at line 1: Table 'information_schema.INNODB_TRX' doesn't exist",
        "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: NO)",
        "ERROR 2002 (HY000): Can't connect to local server through socket '/run/mysqld/mysqld.sock' (2)",
    ],
)
def test_what_the_question_itself_lacks_is_not_of_the_database(replay, error):
    with pytest.raises(UnreadError):
        database.read(replay(None, {"id -u": "0", "mysql": (1, "", error)}))
