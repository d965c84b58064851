# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the broker about its cluster, its limits, the permissions of its users, and queues that no service empties.

And about queues that get no messages: a cluster that was parted may have lost what binds them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from ..._components.tables import consumer_of
from ..._model.broker import Queue
from ..._model.codec import from_json
from ..._model.host import OwnReport
from ..commands import Host, UnreadError
from .configuration import Option

ASK = ("rabbitmqctl", "--quiet", "--formatter", "json")
URL = re.compile(
    r"^(?:rabbit|amqp)(?:\+\w+)?://(?P<user>[^:@/]+):.*@[^@/]+(?:/(?P<vhost>[^?]*))?(?:\?.*)?$"
)
# The rules for sudo have the same pattern.
VHOST = re.compile(r"/|/?[A-Za-z0-9_][A-Za-z0-9_.-]*")
DEFAULT_VHOST = "/"
PARTS_AT_ONCE = 2
LIMITED = ("user", "vhost")
LOGS = ("/var/log/rabbitmq", "/var/log/kolla/rabbitmq")
# The rules for sudo have the same pattern.
LOG = re.compile(
    r"/var/log/(?:kolla/)?rabbitmq/[A-Za-z0-9_-][A-Za-z0-9_.@-]*\.log"
)
MOST_LOGS = 5
# Of each log, and in bytes of all of them
LINES = 300
LONGEST_LOG = 4 << 20
REFUSED = re.compile(
    rb"refused for user|login refused|vhost \S+ not found|ACCESS_REFUSED|NOT_ALLOWED",
    re.IGNORECASE,
)
# A cloud has one virtual host, or one for each of its services.
MOST_VHOSTS = 3
# The number of messages that a service works on in parallel (executor_thread_pool_size of oslo.messaging)
MOST_AT_WORK = 64
MOST_QUEUES = 50
# Patterns that grant nothing
NOTHING = ("", "^$")
RIGHTS = ("configure", "write", "read")
NO_VHOST = "does not exist"
MAX_CONNECTIONS = "max-connections"


class Account(NamedTuple):
    """A user of the broker that a service logs in as, and the virtual host that it uses."""

    user: str
    vhost: str


@dataclass(frozen=True)
class Permission:
    """What a user may do in a virtual host: patterns of names."""

    user: str
    configure: str
    write: str
    read: str


@dataclass(frozen=True)
class Answer:
    """What the broker reports, and the queues that are not emptied."""

    reports: tuple[OwnReport, ...] = ()
    queues: tuple[Queue, ...] = ()


def accounts_in(options: Iterable[Option]) -> set[Account]:
    """Return the accounts that the settings of services name."""
    accounts = set()
    for option in options:
        if option.name != "transport_url":
            continue
        match = URL.match(option.value)
        if match:
            user = unquote(match["user"])
            vhost = unquote(match["vhost"] or "") or DEFAULT_VHOST
            accounts.add(Account(user, vhost))
    return accounts


def read(host: Host, accounts: set[Account]) -> Answer:
    """Return the broker's answers: about permissions and limits only if it has refused somebody.

    Each of its commands starts an Erlang of its own, which takes a second of two cores.
    """
    named = {
        account.vhost for account in accounts if VHOST.fullmatch(account.vhost)
    }
    vhosts = sorted(named or {DEFAULT_VHOST})[:MOST_VHOSTS]
    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        members = pool.submit(
            host.attempt, "the cluster of rabbitmq", cluster, default=()
        )
        listed = [
            pool.submit(host.attempt, "the queues", queues, vhost, default=())
            for vhost in vhosts
        ]
        asked = [members]
        asked += [
            pool.submit(
                host.attempt,
                "the bindings of rabbitmq",
                bindings,
                vhost,
                default=(),
            )
            for vhost in vhosts
        ]
        if host.attempt("the log of rabbitmq", has_refused, default=True):
            asked += about_refusals(pool, host, vhosts, accounts)
    reports = chain.from_iterable(answer.result() for answer in asked)
    found = chain.from_iterable(answer.result() for answer in listed)
    return Answer(tuple(reports), tuple(islice(found, MOST_QUEUES)))


def about_refusals(
    pool: ThreadPoolExecutor,
    host: Host,
    vhosts: Iterable[str],
    accounts: set[Account],
) -> list[Any]:
    """Ask for what may be why the broker has refused somebody, and return the answers to come."""
    asked = [
        pool.submit(
            host.attempt, "the limits of rabbitmq", limits, kind, default=()
        )
        for kind in LIMITED
    ]
    asked += [
        pool.submit(
            host.attempt,
            "the permissions of rabbitmq",
            permissions,
            vhost,
            accounts,
            default=(),
        )
        for vhost in vhosts
    ]
    return asked


def has_refused(host: Host) -> bool:
    """Return whether the broker's log has a refusal of late, or is not here, so that nothing is known."""
    only = (
        "-maxdepth",
        "1",
        "-type",
        "f",
        "-name",
        "*.log",
        "-printf",
        "%p\\n",
    )
    found = host.ask(
        "queue", "find", *LOGS, *only, despite="No such file or directory"
    ).splitlines()
    paths = sorted(filter(LOG.fullmatch, found))
    if not paths:
        return True
    return host.ask(
        "queue",
        "tail",
        "--quiet",
        f"--lines={LINES}",
        "--",
        *paths[:MOST_LOGS],
        take=mentions_refusal,
    )


def mentions_refusal(stream: IO[bytes]) -> bool:
    return REFUSED.search(stream.read(LONGEST_LOG)) is not None


def cluster(host: Host) -> list[OwnReport]:
    """Return nodes that do not see each other, and nodes that do not run."""
    status = json.loads(
        host.ask(
            "queue",
            "rabbitmq-diagnostics",
            "cluster_status",
            "--formatter",
            "json",
        )
    )
    reports = []
    for node, others in sorted((status.get("partitions") or {}).items()):
        text = f"network partition: {node} does not see {', '.join(map(str, others))}"
        reports.append(OwnReport("rabbitmq", "alarm", text))
    members = [*status["disk_nodes"], *(status.get("ram_nodes") or [])]
    missing = sorted(set(members) - set(status["running_nodes"]))
    reports += [
        OwnReport(
            "rabbitmq", "down", f"node {node} of the cluster does not run"
        )
        for node in missing
    ]
    return reports


def limits(host: Host, kind: str) -> list[OwnReport]:
    """Return users or virtual hosts that have used all of their connections. kind: user or vhost."""
    most: dict[str, int] = {}
    for row in json.loads(
        host.ask("queue", *ASK, f"list_{kind}_limits", "--global")
    ):
        limit = json.loads(row["limits"]).get(MAX_CONNECTIONS, -1)
        if limit >= 0:
            most[row[kind]] = limit
    # Few brokers have any, and to list all connections takes longest.
    used = connections(host, kind) if most else Counter()
    name = "user" if kind == "user" else "virtual host"
    return [
        OwnReport(
            "rabbitmq",
            "full",
            f"{name} {owner} has used all of its {limit} connections",
        )
        for owner, limit in sorted(most.items())
        if used[owner] >= limit
    ]


def connections(host: Host, kind: str) -> Counter[str]:
    rows = json.loads(
        host.ask("queue", *ASK, "list_connections", "user", "vhost", "state")
    )
    return Counter(str(row[kind]) for row in rows)


def permissions(
    host: Host, vhost: str, accounts: Iterable[Account]
) -> list[OwnReport]:
    """Return the users of services that may not use their virtual host."""
    users = sorted(
        {account.user for account in accounts if account.vhost == vhost}
    )
    if not users:
        return []
    try:
        rows = json.loads(
            host.ask("queue", *ASK, "list_permissions", "--vhost", vhost)
        )
    except UnreadError as exc:
        if NO_VHOST not in exc.output:
            raise
        return missing(vhost, users, accounts)
    granted = {row["user"]: from_json(Permission, row) for row in rows}
    found = (denied(user, vhost, granted.get(user)) for user in users)
    return list(filter(None, found))


def missing(
    vhost: str, users: Container[str], accounts: Iterable[Account]
) -> list[OwnReport]:
    """Return the report on a virtual host that is not there; none if its users are at home in another one.

    Then it is the setting of one service that names the wrong place, and the broker lacks nothing.
    """
    homes = {account.vhost for account in accounts if account.user in users}
    if homes - {vhost}:
        return []
    return [
        OwnReport("rabbitmq", "missing", f"there is no virtual host {vhost}")
    ]


def denied(
    user: str, vhost: str, permission: Permission | None
) -> OwnReport | None:
    """Return the report on what a user may not do."""
    rights = rights_missing(permission)
    if not rights:
        return None
    text = f"user {user} may not {rights} in the virtual host {vhost}"
    return OwnReport("rabbitmq", "denied", text)


def rights_missing(permission: Permission | None) -> str:
    """Return the rights that a user does not have at all."""
    lacking = [
        right
        for right in RIGHTS
        if permission is None or getattr(permission, right) in NOTHING
    ]
    return ", ".join(lacking)


def bindings(host: Host, vhost: str) -> list[OwnReport]:
    """Return the report on queues of services that no exchange sends anything to, other than the one for all queues."""
    columns = ("source_name", "destination_name", "destination_kind")
    rows = json.loads(
        host.ask("queue", *ASK, "list_bindings", "--vhost", vhost, *columns)
    )
    of_services = {
        str(row["destination_name"])
        for row in rows
        if row["destination_kind"] == "queue"
        and consumer_of(str(row["destination_name"]))
    }
    bound = {
        str(row["destination_name"]) for row in rows if row["source_name"]
    }
    unbound = sorted(of_services - bound)
    if not unbound:
        return []
    text = f"no exchange is bound to the queue {unbound[0]}"
    if len(unbound) > 1:
        text = f"{text} and {len(unbound) - 1} more"
    return [OwnReport("rabbitmq", "missing", text)]


def queues(host: Host, vhost: str) -> list[Queue]:
    """Return the queues of services that no service consumes, or in which messages wait."""
    columns = (
        "name",
        "messages_ready",
        "messages_unacknowledged",
        "consumers",
    )
    rows = json.loads(
        host.ask("queue", *ASK, "list_queues", "--vhost", vhost, *columns)
    )
    found = list(map(queue_of, rows))
    return [
        queue for queue in found if consumer_of(queue.name) and is_stuck(queue)
    ]


def queue_of(row: Mapping[str, Any]) -> Queue:
    # A queue whose leader is down has empty columns.
    ready, unacknowledged, consumers = (
        int(row[name] or 0)
        for name in ("messages_ready", "messages_unacknowledged", "consumers")
    )
    return Queue(str(row["name"]), ready, unacknowledged, consumers)


def is_stuck(queue: Queue) -> bool:
    return (
        queue.consumers == 0
        or queue.ready + queue.unacknowledged > MOST_AT_WORK
    )
