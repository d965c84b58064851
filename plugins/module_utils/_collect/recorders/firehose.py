# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Record the messages that pass through RabbitMQ, and undo its own changes there. A program for the broker's host.

firehose.py record DIRECTORY, and afterwards, however it ended: firehose.py restore DIRECTORY

systemd runs the first as a service and the second as its ExecStopPost: so the broker does not stay traced if the
recorder, the module that started it, or the connection between them fails. Only the fields that summary() names are
kept of a message: the rest may hold tokens and passwords.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import queue
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional

MARK = "stackproof-firehose-"
# Beginnings of the tags of a recorder's user: a virtual host whose tracing it has switched on, the end of its recording
RESTORES, UNTIL = "restores:", "until-"
TRACE = "amq.rabbitmq.trace"
# Limits of the queue (messages) and of the file (bytes): the rest is lost, and the broker is not held up.
QUEUED, KEPT = 20000, 64 << 20
# In seconds
PATIENCE = 60
# In bytes of a message
LONGEST = 1 << 20
MOST_IDS = 200

UUID = re.compile(
    r"(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])"
)
REQUEST = re.compile(r"^req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
MESSAGE = re.compile(
    r"^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
)
METHOD = re.compile(r"^[a-z_][a-z0-9_.]{0,79}$")
NAME = re.compile(r"^[\w.@:-]{1,255}$")


# The fields that are kept of a message
Summary = dict[str, Any]
# Makes a summary of the time, the routing key, the headers and the body of a traced message
Keep = Callable[[float, str, Mapping[str, Any], Any], Optional[Summary]]
# Runs a command and returns its output
Execute = Callable[[Sequence[str]], str]


def summary(
    at: float, key: str, headers: Mapping[str, Any], body: Any
) -> Summary | None:
    """Return the fields that are kept of a traced message: sender, method, topic and ids. None if it is not an RPC."""
    message = rpc_of(body)
    if message is None:
        return None
    direction, _dot, queue_name = key.partition(".")
    delivered = direction == "deliver"
    topic = queue_name if delivered else topic_in(headers)
    requests = [
        message.get("_context_request_id"),
        message.get("_context_global_request_id"),
    ]
    own_requests = {
        request for request in requests if fitting(REQUEST, request)
    }
    ids = set(UUID.findall(str(body[:LONGEST])))
    return {
        "at": at,
        "action": action_of(message, delivered),
        "method": fitting(
            METHOD, message.get("event_type", message.get("method"))
        ),
        "message": fitting(
            MESSAGE, message.get("_msg_id") or message.get("_unique_id")
        ),
        "topic": fitting(NAME, topic),
        "client": fitting(NAME, client_in(headers)),
        "requests": sorted(own_requests),
        "ids": sorted(ids)[:MOST_IDS],
    }


def topic_in(headers: Mapping[str, Any]) -> Any:
    """Return the topic to which a message was sent."""
    keys = headers.get("routing_keys") or [""]
    return keys[0] or headers.get("exchange_name")


def client_in(headers: Mapping[str, Any]) -> str:
    """Return the address of the client in the name of a connection, such as [fd00::1]:40000 -> [fd00::2]:5672."""
    connection = str(headers.get("connection") or "")
    client, _arrow, _broker = connection.partition(" ")
    address, _colon, _port = client.rpartition(":")
    return address.strip("[]")


def action_of(message: Mapping[str, Any], delivered: bool) -> str:
    if "event_type" in message:
        if delivered:
            return "taken off"
        return "notify"
    if "method" not in message:
        if delivered:
            return "answered"
        return "reply"
    if delivered:
        return "received"
    if message.get("_msg_id"):
        return "call"
    return "cast"


def fitting(pattern: re.Pattern[str], text: Any) -> str | None:
    """Return the text if it matches the pattern, else None."""
    return text if isinstance(text, str) and pattern.match(text) else None


def rpc_of(body: Any) -> dict[str, Any] | None:
    """Return the message of oslo.messaging in a body."""
    if len(body) > LONGEST:
        return None
    try:
        envelope = json.loads(body)
        return (
            dict(json.loads(envelope["oslo.message"]))
            if "oslo.message" in envelope
            else None
        )
    except (ValueError, TypeError):
        return None


class Broker:
    """Asks rabbitmqctl."""

    def __init__(self, execute: Execute, prefix: Sequence[str]) -> None:
        self.execute = execute
        self.prefix = prefix

    def ask(self, *words: str) -> str:
        return self.execute([*self.prefix, "rabbitmqctl", "--quiet", *words])

    def vhosts(self) -> dict[str, bool]:
        """Return whether each virtual host is traced."""
        vhosts = json.loads(
            self.ask("list_vhosts", "name", "tracing", "--formatter", "json")
        )
        return {
            vhost["name"]: vhost["tracing"] in (True, "true")
            for vhost in vhosts
        }

    def recorders(self) -> dict[str, list[str]]:
        """Return the tags of each user that a recorder has made."""
        users = json.loads(self.ask("list_users", "--formatter", "json"))
        return {
            user["user"]: user["tags"]
            for user in users
            if user["user"].startswith(MARK)
        }

    def address(self) -> str:
        """Return the address and port of the broker, as its own host reaches it."""
        listeners = json.loads(self.ask("status", "--formatter", "json"))[
            "listeners"
        ]
        plain = [
            listener
            for listener in listeners
            if listener["protocol"] == "amqp"
        ]
        if not plain:
            raise RuntimeError("the broker has no listener without TLS")
        name, port = plain[0]["interface"].strip("[]"), plain[0]["port"]
        host = {"::": "127.0.0.1", "0.0.0.0": "127.0.0.1"}.get(name, name)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def lives(tags: Iterable[str], now: float) -> bool:
    """Return whether a recorder may still be at work.

    Its tag has the end: a broker that was lost keeps the user for ever.
    """
    ends = [tag[len(UNTIL) :] for tag in tags if tag.startswith(UNTIL)]
    return any(end.isdigit() and int(end) > now for end in ends)


def hashed(password: str) -> str:
    """Return a password as RabbitMQ keeps it: other processes can see the words of a command."""
    salt = os.urandom(4)
    return base64.b64encode(
        salt + hashlib.sha256(salt + password.encode()).digest()
    ).decode()


def recorded(vhosts: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Return the virtual hosts to record: those that are wanted and exist."""
    existing = [vhost for vhost in wanted if vhost in vhosts]
    if not existing:
        raise RuntimeError(
            f"the broker has no virtual host {' or '.join(wanted)}, but {', '.join(sorted(vhosts))}"
        )
    return existing


def remove_dead(broker: Broker, now: float) -> set[str]:
    """Remove the users of recorders that are not at work any more, and return the tags of all."""
    tags_of_all: set[str] = set()
    for user, tags in broker.recorders().items():
        tags_of_all.update(tags)
        if not lives(tags, now):
            broker.ask("delete_user", user)
    return tags_of_all


def admit(
    broker: Broker,
    name: str,
    vhosts: Sequence[str],
    seconds: float,
    now: float,
) -> tuple[str, list[str]]:
    """Create a user that may only record. Return (password, the virtual hosts that others already trace)."""
    ours = remove_dead(broker, now)
    traced = [
        vhost for vhost, is_traced in broker.vhosts().items() if is_traced
    ]
    foreign = [vhost for vhost in traced if RESTORES + vhost not in ours]
    password = secrets.token_urlsafe(32)
    broker.ask("add_user", name, hashed(password), "--pre-hashed-password")
    restored = [RESTORES + vhost for vhost in vhosts if vhost not in foreign]
    broker.ask(
        "set_user_tags",
        name,
        f"{UNTIL}{int(now + seconds + PATIENCE)}",
        *restored,
    )
    own = f"^{re.escape(name)}$"
    for vhost in vhosts:
        broker.ask(
            "set_permissions",
            "-p",
            vhost,
            name,
            own,
            own,
            f"{own}|^{re.escape(TRACE)}$",
        )
    return password, [vhost for vhost in vhosts if vhost in foreign]


def readmit(broker: Broker, name: str, now: float) -> None:
    """Remove a recorder's user. Tracing stays on for other recorders at work, and if it was on before."""
    users = broker.recorders()
    if name not in users:
        return
    needed: set[str] = set()
    for user, tags in users.items():
        if user == name:
            continue
        if lives(tags, now):
            needed.update(tags)
    for tag in users[name]:
        if not tag.startswith(RESTORES) or tag in needed:
            continue
        virtual_host = tag[len(RESTORES) :]
        broker.ask("trace_off", "-p", virtual_host)
    broker.ask("delete_user", name)


def execute(words: Sequence[str]) -> str:
    # This program is not a module, and has no run_command().
    # pylint: disable-next=ansible-bad-function
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        output = " ".join((done.stderr or done.stdout).split())[:300]
        raise RuntimeError(
            f"{' '.join(words[:4])} ended with status {done.returncode}: {output}"
        )
    return done.stdout


def record(
    directory: str, config: Mapping[str, Any], kept_of: Keep = summary
) -> None:
    """Write what `kept_of` keeps of each message, until systemd ends this."""
    import amqp  # noqa: PLC0415 - OpenStack's own packages bring it; restore must work without it

    broker = Broker(execute, config["prefix"])
    name, vhosts = config["name"], recorded(broker.vhosts(), config["vhosts"])
    password, foreign = admit(
        broker, name, vhosts, config["seconds"], time.time()
    )
    with open(
        os.path.join(directory, "found.json"), "w", opener=private
    ) as file:
        json.dump({"foreign": bool(foreign)}, file)
    address, writing = broker.address(), threading.Lock()
    ended: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    with open(
        os.path.join(directory, "messages"), "w", opener=private, buffering=1
    ) as file:

        def keep(message: Any) -> None:
            line = kept_of(
                time.time(),
                message.delivery_info["routing_key"],
                message.headers,
                message.body,
            )
            with writing:
                if line and file.tell() < KEPT:
                    file.write(json.dumps(line) + "\n")

        for vhost in vhosts:
            connection = amqp.Connection(
                address,
                userid=name,
                password=password,
                virtual_host=vhost,
                login_method="PLAIN",
            )
            connection.connect()
            consume(connection.channel(), name, keep)
            threading.Thread(
                target=drain, args=(connection, ended.put), daemon=True
            ).start()
            broker.ask("trace_on", "-p", vhost)
        ready()
        raise ended.get()


def consume(channel: Any, name: str, keep: Callable[[Any], None]) -> None:
    """Have every message of a virtual host copied to a queue of our own."""
    channel.queue_declare(
        name,
        exclusive=True,
        auto_delete=True,
        arguments={"x-max-length": QUEUED},
    )
    for key in ("publish.#", "deliver.#"):
        channel.queue_bind(name, TRACE, key)
    channel.basic_consume(name, no_ack=True, callback=keep)


def drain(connection: Any, report: Callable[[BaseException], None]) -> None:
    """Take what comes over a connection, and report how that ended."""
    try:
        while True:
            connection.drain_events()
    except Exception as exc:
        report(exc)


def ready() -> None:
    """Notify systemd that the service has begun."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(
                b"READY=1",
                "\0" + address[1:] if address.startswith("@") else address,
            )


def restore(
    directory: str, config: Mapping[str, Any], tries: int = 3, pause: float = 5
) -> None:
    """Undo all changes and remove the directory; if that fails, the reason stays in the file left there."""
    broker = Broker(execute, config["prefix"])
    for left in range(tries - 1, -1, -1):
        try:
            readmit(broker, config["name"], time.time())
            shutil.rmtree(directory)
            return
        except (
            RuntimeError,
            OSError,
            ValueError,
            subprocess.SubprocessError,
        ) as exc:
            reason = str(exc)
        if left:
            time.sleep(pause)
    with contextlib.suppress(OSError):
        os.remove(os.path.join(directory, "messages"))
    with open(os.path.join(directory, "left"), "w", opener=private) as file:
        file.write(reason)
    raise SystemExit(reason)


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main() -> None:
    work, directory = sys.argv[1:]
    with open(
        os.path.join(directory, "config.json"), encoding="utf-8"
    ) as file:
        config = json.load(file)
    if work == "record":
        record(directory, config)
    else:
        restore(directory, config)


if __name__ == "__main__":
    main()
