# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records what passes through RabbitMQ, and undoes all that this took. A program of its own, for the broker's host.

firehose.py record DIRECTORY, and afterwards, however that ended: firehose.py restore DIRECTORY

systemd runs the first as a service and the second as its ExecStopPost: so nothing that may happen to the recorder, to
who started it or to the connection between them leaves the broker traced. Of a message only what is named in told() is
kept: the rest holds tokens and passwords.
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
# A tag of the user that has switched tracing on, and the beginning of the one that says until when it may live
RESTORES, UNTIL = "restores", "until-"
TRACE = "amq.rabbitmq.trace"
# So many messages wait in the queue, and so much of them is kept; the rest is lost, and the broker is not held up.
QUEUED, KEPT = 20000, 64 << 20
PATIENCE = 60
LONGEST = 1 << 20
MOST_IDS = 200

UUID = re.compile(r"(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])")
REQUEST = re.compile(r"^req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
MESSAGE = re.compile(r"^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
METHOD = re.compile(r"^[a-z_][a-z0-9_.]{0,79}$")
NAME = re.compile(r"^[\w.@:-]{1,255}$")


def told(at, key, headers, body):
    """The little that is kept of a traced message: who sent which message where, and ids. None of what is no RPC."""
    message = rpc_of(body)
    if message is None:
        return None
    way, _dot, queue = key.partition(".")
    answer = "method" not in message
    identity = message.get("_msg_id") or message.get("_unique_id")
    if "event_type" in message:
        action, method = "notify", message["event_type"]
    elif way == "deliver":
        action, method = "answered" if answer else "received", message.get("method")
    else:
        action, method = "reply" if answer else "call" if message.get("_msg_id") else "cast", message.get("method")
    keys = headers.get("routing_keys") or [""]
    requests = [message.get("_context_request_id"), message.get("_context_global_request_id")]
    return {
        "at": at,
        "action": "taken off" if way == "deliver" and action == "notify" else action,
        "method": fitting(METHOD, method),
        "message": fitting(MESSAGE, identity),
        "topic": fitting(NAME, queue if way == "deliver" else keys[0] or headers.get("exchange_name")),
        "client": fitting(NAME, str(headers.get("connection") or "").partition(" ")[0].rpartition(":")[0].strip("[]")),
        "requests": sorted({one for one in requests if fitting(REQUEST, one)}),
        "ids": sorted(set(UUID.findall(str(body[:LONGEST]))))[:MOST_IDS],
    }


def fitting(pattern, text):
    """A text if it has the form of what it should be."""
    return text if isinstance(text, str) and pattern.match(text) else None


def rpc_of(body):
    """The message of oslo.messaging in a body."""
    if len(body) > LONGEST:
        return None
    try:
        envelope = json.loads(body)
        return dict(json.loads(envelope["oslo.message"])) if "oslo.message" in envelope else None
    except (ValueError, TypeError):
        return None


class Broker:
    """What is asked of rabbitmqctl. execute(words) runs a command and returns what it prints."""

    def __init__(self, execute, prefix, vhost):
        self.execute, self.prefix, self.vhost = execute, prefix, vhost

    def ask(self, *words):
        return self.execute([*self.prefix, "rabbitmqctl", "--quiet", *words])

    def is_traced(self):
        vhosts = json.loads(self.ask("list_vhosts", "name", "tracing", "--formatter", "json"))
        return any(one["name"] == self.vhost and one["tracing"] in (True, "true") for one in vhosts)

    def recorders(self):
        """Users of recorders, with their tags."""
        users = json.loads(self.ask("list_users", "--formatter", "json"))
        return {one["user"]: one["tags"] for one in users if one["user"].startswith(MARK)}

    def address(self):
        """Where it listens, from its own host."""
        listeners = json.loads(self.ask("status", "--formatter", "json"))["listeners"]
        plain = [one for one in listeners if one["protocol"] == "amqp"]
        if not plain:
            raise RuntimeError("the broker has no listener without TLS")
        name = plain[0]["interface"].strip("[]")
        host = {"::": "127.0.0.1", "0.0.0.0": "127.0.0.1"}.get(name, name)
        return f"[{host}]:{plain[0]['port']}" if ":" in host else f"{host}:{plain[0]['port']}"


def lives(tags, now):
    """Whether a recorder may still be at work: it says until when, and a broker that was lost keeps its user."""
    return any(tag.startswith(UNTIL) and tag[len(UNTIL) :].isdigit() and int(tag[len(UNTIL) :]) > now for tag in tags)


def hashed(password):
    """As RabbitMQ keeps it: what another process can see in a command is not the password."""
    salt = os.urandom(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def admit(broker, name, seconds, now):
    """Make the user that may do no more than record. Returns (password, whether somebody else traces already)."""
    others = broker.recorders()
    for one, tags in others.items():
        if not lives(tags, now):
            broker.ask("delete_user", one)
    foreign = broker.is_traced() and not any(RESTORES in tags for tags in others.values())
    password = secrets.token_urlsafe(32)
    broker.ask("add_user", name, hashed(password), "--pre-hashed-password")
    tags = [f"{UNTIL}{int(now + seconds + PATIENCE)}", *([] if foreign else [RESTORES])]
    broker.ask("set_user_tags", name, *tags)
    own = f"^{re.escape(name)}$"
    broker.ask("set_permissions", "-p", broker.vhost, name, own, own, f"{own}|^{re.escape(TRACE)}$")
    return password, foreign


def readmit(broker, name, now):
    """Undo what was done for a recorder; tracing stays on for others who still record, or who had it on before."""
    users = broker.recorders()
    if name not in users:
        return
    if RESTORES in users[name] and not any(lives(tags, now) for one, tags in users.items() if one != name):
        broker.ask("trace_off", "-p", broker.vhost)
    broker.ask("delete_user", name)


def execute(words):
    # A program of its own has no module to run commands for it.
    # pylint: disable-next=ansible-bad-function
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[:300]
        raise RuntimeError(f"{' '.join(words[:4])} ended with status {done.returncode}: {said}")
    return done.stdout


def record(directory, config):
    import amqp  # noqa: PLC0415 - OpenStack's own packages bring it; what undoes all must do without

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
            line = told(time.time(), message.delivery_info["routing_key"], message.headers, message.body)
            if line and file.tell() < KEPT:
                file.write(json.dumps(line) + "\n")

        channel.basic_consume(name, no_ack=True, callback=keep)
        broker.ask("trace_on", "-p", config["vhost"])
        ready()
        while True:
            connection.drain_events()


def ready():
    """Say to systemd that the service has begun."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)


def restore(directory, config, tries=3, pause=5):
    """Undo all. What cannot be undone is said in the directory, which otherwise goes."""
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
