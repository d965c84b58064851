# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records the messages that pass through RabbitMQ, and undoes its own changes there. A program for the broker's host.

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
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time

MARK = "stackproof-firehose-"
# A tag of the user that has switched tracing on, and the beginning of the tag with the end of its recording
RESTORES, UNTIL = "restores", "until-"
TRACE = "amq.rabbitmq.trace"
# Limits of the queue (messages) and of the file (bytes): the rest is lost, and the broker is not held up.
QUEUED, KEPT = 20000, 64 << 20
PATIENCE = 60
LONGEST = 1 << 20
MOST_IDS = 200

UUID = re.compile(r"(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])")
REQUEST = re.compile(r"^req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
MESSAGE = re.compile(r"^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
METHOD = re.compile(r"^[a-z_][a-z0-9_.]{0,79}$")
NAME = re.compile(r"^[\w.@:-]{1,255}$")


def summary(at, key, headers, body):
    """The fields that are kept of a traced message: sender, method, topic and ids. None if it is not an RPC message."""
    message = rpc_of(body)
    if message is None:
        return None
    way, _dot, queue = key.partition(".")
    delivered = way == "deliver"
    keys = headers.get("routing_keys") or [""]
    client = str(headers.get("connection") or "").partition(" ")[0].rpartition(":")[0].strip("[]")
    requests = [message.get("_context_request_id"), message.get("_context_global_request_id")]
    return {
        "at": at,
        "action": action_of(message, delivered),
        "method": fitting(METHOD, message.get("event_type", message.get("method"))),
        "message": fitting(MESSAGE, message.get("_msg_id") or message.get("_unique_id")),
        "topic": fitting(NAME, queue if delivered else keys[0] or headers.get("exchange_name")),
        "client": fitting(NAME, client),
        "requests": sorted({request for request in requests if fitting(REQUEST, request)}),
        "ids": sorted(set(UUID.findall(str(body[:LONGEST]))))[:MOST_IDS],
    }


def action_of(message, delivered):
    if "event_type" in message:
        return "taken off" if delivered else "notify"
    if "method" not in message:
        return "answered" if delivered else "reply"
    if delivered:
        return "received"
    return "call" if message.get("_msg_id") else "cast"


def fitting(pattern, text):
    """The text if it matches the pattern, else None."""
    return text if isinstance(text, str) and pattern.match(text) else None


def rpc_of(body):
    """The message of oslo.messaging in a body, or None."""
    if len(body) > LONGEST:
        return None
    try:
        envelope = json.loads(body)
        return dict(json.loads(envelope["oslo.message"])) if "oslo.message" in envelope else None
    except (ValueError, TypeError):
        return None


class Broker:
    """Asks rabbitmqctl. execute(words) runs a command and returns its output."""

    def __init__(self, execute, prefix, vhost):
        self.execute, self.prefix, self.vhost = execute, prefix, vhost

    def ask(self, *words):
        return self.execute([*self.prefix, "rabbitmqctl", "--quiet", *words])

    def is_traced(self):
        vhosts = json.loads(self.ask("list_vhosts", "name", "tracing", "--formatter", "json"))
        return any(vhost["name"] == self.vhost and vhost["tracing"] in (True, "true") for vhost in vhosts)

    def recorders(self):
        """The tags of each user that a recorder has made."""
        users = json.loads(self.ask("list_users", "--formatter", "json"))
        return {user["user"]: user["tags"] for user in users if user["user"].startswith(MARK)}

    def address(self):
        """The address and port of the broker, as its own host reaches it."""
        listeners = json.loads(self.ask("status", "--formatter", "json"))["listeners"]
        plain = [listener for listener in listeners if listener["protocol"] == "amqp"]
        if not plain:
            raise RuntimeError("the broker has no listener without TLS")
        name = plain[0]["interface"].strip("[]")
        host = {"::": "127.0.0.1", "0.0.0.0": "127.0.0.1"}.get(name, name)
        return f"[{host}]:{plain[0]['port']}" if ":" in host else f"{host}:{plain[0]['port']}"


def lives(tags, now):
    """Whether a recorder may still be at work. Its tag has the end: a broker that was lost keeps the user for ever."""
    return any(tag.startswith(UNTIL) and tag[len(UNTIL) :].isdigit() and int(tag[len(UNTIL) :]) > now for tag in tags)


def hashed(password):
    """A password as RabbitMQ keeps it: other processes can see the words of a command."""
    salt = os.urandom(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def admit(broker, name, seconds, now):
    """Make a user that may only record. Return (password, whether somebody else already traces the broker)."""
    others = broker.recorders()
    for user, tags in others.items():
        if not lives(tags, now):
            broker.ask("delete_user", user)
    foreign = broker.is_traced() and not any(RESTORES in tags for tags in others.values())
    password = secrets.token_urlsafe(32)
    broker.ask("add_user", name, hashed(password), "--pre-hashed-password")
    tags = [f"{UNTIL}{int(now + seconds + PATIENCE)}", *([] if foreign else [RESTORES])]
    broker.ask("set_user_tags", name, *tags)
    own = f"^{re.escape(name)}$"
    broker.ask("set_permissions", "-p", broker.vhost, name, own, own, f"{own}|^{re.escape(TRACE)}$")
    return password, foreign


def readmit(broker, name, now):
    """Remove a recorder's user. Tracing stays on for other recorders at work, and if it was on before."""
    users = broker.recorders()
    if name not in users:
        return
    if RESTORES in users[name] and not any(lives(tags, now) for user, tags in users.items() if user != name):
        broker.ask("trace_off", "-p", broker.vhost)
    broker.ask("delete_user", name)


def execute(words):
    # This program is not a module, and has no run_command().
    # pylint: disable-next=ansible-bad-function
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode:
        output = " ".join((done.stderr or done.stdout).split())[:300]
        raise RuntimeError(f"{' '.join(words[:4])} ended with status {done.returncode}: {output}")
    return done.stdout


def record(directory, config, kept_of=summary):
    """Write what `kept_of` keeps of each message, until systemd ends this."""
    import amqp  # noqa: PLC0415 - OpenStack's own packages bring it; restore must work without it

    broker = Broker(execute, config["prefix"], config["vhost"])
    name = config["name"]
    password, foreign = admit(broker, name, config["seconds"], time.time())
    with open(os.path.join(directory, "found.json"), "w", opener=private) as file:
        json.dump({"foreign": foreign}, file)
    with amqp.Connection(
        broker.address(), userid=name, password=password, virtual_host=config["vhost"], login_method="PLAIN"
    ) as connection, open(os.path.join(directory, "messages"), "w", opener=private, buffering=1) as file:  # fmt: skip
        channel = connection.channel()
        channel.queue_declare(name, exclusive=True, auto_delete=True, arguments={"x-max-length": QUEUED})
        for key in ("publish.#", "deliver.#"):
            channel.queue_bind(name, TRACE, key)

        def keep(message):
            line = kept_of(time.time(), message.delivery_info["routing_key"], message.headers, message.body)
            if line and file.tell() < KEPT:
                file.write(json.dumps(line) + "\n")

        channel.basic_consume(name, no_ack=True, callback=keep)
        broker.ask("trace_on", "-p", config["vhost"])
        ready()
        while True:
            connection.drain_events()


def ready():
    """Tell systemd that the service has begun."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)


def restore(directory, config, tries=3, pause=5):
    """Undo all changes and remove the directory; if that fails, the reason stays in the file left there."""
    broker = Broker(execute, config["prefix"], config["vhost"])
    for left in range(tries - 1, -1, -1):
        try:
            readmit(broker, config["name"], time.time())
            return shutil.rmtree(directory)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as exc:
            why = str(exc)
        if left:
            time.sleep(pause)
    with contextlib.suppress(OSError):
        os.remove(os.path.join(directory, "messages"))
    with open(os.path.join(directory, "left"), "w", opener=private) as file:
        file.write(why)
    raise SystemExit(why)


def private(path, flags):
    return os.open(path, flags, 0o600)


def main():
    work, directory = sys.argv[1:]
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    {"record": record, "restore": restore}[work](directory, config)


if __name__ == "__main__":
    main()
