# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the database who waits for whom: locks, open transactions, and users that have used up their connections.

Only states, counts, durations and numbers of connections are asked for, and never a statement.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Optional

from ..._model.host import OwnReport
from ..commands import Host, UnreadError

# In seconds: locks of a healthy database are held for less, as those of a request are released with its answer.
LONGEST_WAIT = 3
# A dump or a purge takes long as well, but on one connection or two.
MANY = 3
# MariaDB and MySQL both have these tables. The first word of each row says what it is.
QUERY = (
    "SELECT 'waiting', STATE, COUNT(*), MAX(TIME) FROM information_schema.PROCESSLIST "
    "WHERE STATE LIKE 'Waiting for %lock%' GROUP BY STATE; "
    "SELECT 'slow', COUNT(*), MAX(TIME) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Query' "
    f"AND TIME >= {LONGEST_WAIT} AND STATE NOT LIKE 'Waiting for %lock%' AND ID <> CONNECTION_ID(); "
    "SELECT 'transaction', trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, NOW()), "
    "TIMESTAMPDIFF(SECOND, trx_wait_started, NOW()) FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT 50; "
    "SELECT 'user', User, max_user_connections, "
    "(SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE PROCESSLIST.USER = user.User) "
    "FROM mysql.user WHERE max_user_connections > 0; "
    "SELECT 'user', USER, @@max_user_connections, COUNT(*) FROM information_schema.PROCESSLIST "
    "WHERE @@max_user_connections > 0 GROUP BY USER; "
    "SHOW GLOBAL STATUS LIKE 'Ssl_server_not_after'"
)
CERTIFICATE = "Ssl_server_not_after"
# The states of connections that wait for a lock on all tables, as MySQL and MariaDB call them
GLOBAL = re.compile(r"global read lock|backup lock|commit lock")
# The user of a health check may not see what others do.
LACKS_RIGHTS = re.compile(r"ERROR (1227|1142) .*denied")
# What the server itself answers has a number from 1000 to 1999, or a higher one than those of the client. Left out are
# those about the user that asks, and about tables and columns that another release may not have.
OF_QUESTION = "1044|1045|1054|1064|1109|1142|1146|1193|1227|1698"
REFUSED = re.compile(
    rf"ERROR (?!{OF_QUESTION})[13-9]\d{{3}} \(\w+\)(?: at line \d+)?: (?P<text>.*)"
)
STATE = re.compile(r"Waiting for (?P<lock>[A-Za-z -]{1,60})")


@dataclass(frozen=True)
class Transaction:
    """A transaction that is open. waits_s: how long it has waited for a row; None for one that does not."""

    connection: int
    open_s: int
    waits_s: int | None


def read(host: Host) -> list[OwnReport]:
    """Return who waits for whom; nothing to a user that may not see it."""
    try:
        output = host.ask(
            "database",
            "mysql",
            "--batch",
            "--skip-column-names",
            f"--execute={QUERY}",
        )
    except UnreadError as exc:
        if LACKS_RIGHTS.search(exc.output):
            return []
        return [refused(exc)]
    transactions: list[Transaction] = []
    reports: list[OwnReport | None] = []
    for line in output.splitlines():
        row = line.split("\t")
        if row[0] == "transaction":
            transactions.append(transaction_of(row))
        elif line.strip():
            reports.append(READERS[row[0]](row))
    found = list(filter(None, (*reports, blocked(transactions))))
    return list(dict.fromkeys(found))


def refused(error: UnreadError) -> OwnReport:
    """Return that the database refuses what any healthy one answers, with its reason. Any other error is raised."""
    match = REFUSED.search(error.output)
    if match is None:
        raise error
    return OwnReport(
        "database", "alarm", f"refuses to answer: {match['text'].strip()}"
    )


def certificate(row: Sequence[str]) -> OwnReport | None:
    """Return that the certificate of the database has expired. Without TLS the row has no time."""
    end = row[-1].strip()
    if len(row) == 1 or not end or ssl.cert_time_to_seconds(end) > time.time():
        return None
    return OwnReport(
        "database", "alarm", f"its TLS certificate expired on {end}"
    )


def waiting(row: Sequence[str]) -> OwnReport | None:
    """Return that connections wait for a lock on tables or on all of them."""
    _kind, state, count, seconds = row
    match = STATE.match(state)
    if match is None or int(seconds) < LONGEST_WAIT:
        return None
    lock = match["lock"].strip()
    if GLOBAL.search(lock):
        text = f"writes blocked by a global lock for {int(seconds)} s; {count_of(int(count))} for the {lock}"
    else:
        text = f"{count_of(int(count))} for the {lock}, for up to {int(seconds)} s"
    return OwnReport("database", "alarm", text)


def slow(row: Sequence[str]) -> OwnReport | None:
    """Return that the statements of several connections take long, and wait for no lock."""
    _kind, count, seconds = row
    if int(count) < MANY:
        return None
    text = f"{int(count)} connections execute statements for up to {int(seconds)} s"
    return OwnReport("database", "alarm", text)


def count_of(connections: int) -> str:
    return (
        "1 connection waits"
        if connections == 1
        else f"{connections} connections wait"
    )


def transaction_of(row: Sequence[str]) -> Transaction:
    _kind, connection, open_s, waits_s = row
    return Transaction(
        int(connection),
        int(open_s),
        None if waits_s == "NULL" else int(waits_s),
    )


def blocked(transactions: Sequence[Transaction]) -> OwnReport | None:
    """Return that transactions wait for rows, and which one has been open for longest: it may hold them."""
    waits: list[int] = []
    holders: list[Transaction] = []
    for one in transactions:
        if one.waits_s is None:
            holders.append(one)
        else:
            waits.append(one.waits_s)
    if not waits:
        return None
    longest = max(waits)
    if longest < LONGEST_WAIT:
        return None
    text = f"transactions wait for row locks for up to {longest} s; waiting: {len(waits)}"
    if holders:
        oldest = max(holders, key=lambda one: one.open_s)
        text += f", connection {oldest.connection} has had one open for {oldest.open_s} s"
    return OwnReport("database", "alarm", text)


def used_up(row: Sequence[str]) -> OwnReport | None:
    """Return that a user has no connection left of those that it may have."""
    _kind, user, most, used = row
    if int(used) < int(most):
        return None
    return OwnReport(
        "database",
        "full",
        f"user {user} has used all of its {int(most)} connections",
    )


# By the first word of a row
READERS: dict[str, Callable[[Sequence[str]], Optional[OwnReport]]] = {
    "waiting": waiting,
    "slow": slow,
    "user": used_up,
    CERTIFICATE: certificate,
}
