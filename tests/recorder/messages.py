# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of the broker: which of a new recording are like those of the old one, and what is taken out of them."""

from __future__ import annotations

import contextlib
import json

from recorder.names import blank

SECRET = ("_context_auth_token", "_context_service_catalog", "user_data", "admin_password", "KeyPairList", "KeyPair",
          "auth_username", "secret_type", "secret_uuid", "os_hash_algo", "os_hash_value", "network_info")  # fmt: skip


def message_of(frame):
    """What is in the envelope, where it is one of OpenStack's."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return json.loads(json.loads(frame["body"])["oslo.message"])
    return {}


def identity(message):
    return message.get("_msg_id") or message.get("_unique_id")


def ids_of(record):
    instance = record["instance"]
    boot = next(stage["details"]["request_id"] for stage in record["stages"] if stage["stage"] == "boot")
    return {instance["server"]["id"], boot, *(port["id"] for port in instance["ports"])}


def bodies_of(frames):
    """All that belongs to a message, by its number: the replies name what the question does not."""
    bodies = {}
    for frame in frames:
        number = identity(message_of(frame))
        bodies[number] = bodies.get(number, "") + frame["body"]
    return bodies


def form(frame, ids, bodies):
    """By what a message is the same in two recordings."""
    message = message_of(frame)
    about = bodies.get(identity(message), "")
    return blank(frame["key"]), message.get("method"), sum(text in about for text in ids)


def like(before, frames, ids_before, ids):
    """Of each call and cast of the old recording one of today, with what belongs to it, in the order of time."""
    frames = sorted(frames, key=lambda frame: frame["at"])
    taken, bodies, bodies_before = set(), bodies_of(frames), bodies_of(before)
    for was in before:
        wanted = form(was, ids_before, bodies_before)
        if not wanted[0].startswith("publish") or not wanted[1]:
            continue
        for frame in frames:
            number = identity(message_of(frame))
            if number and number not in taken and form(frame, ids, bodies) == wanted:
                taken.add(number)
                break
    return [frame for frame in frames if identity(message_of(frame)) in taken]


def planted(frame):
    message = message_of(frame)
    text = json.dumps(hidden(message)) if message else ""
    return {**frame, "body": json.dumps({**json.loads(frame["body"]), "oslo.message": text})}


def hidden(data):
    if isinstance(data, dict):
        return {name: f"planted-{name}" if name in SECRET and value else hidden(value) for name, value in data.items()}
    return [hidden(item) for item in data] if isinstance(data, list) else data
