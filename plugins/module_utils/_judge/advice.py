# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next thing to do: look at the culprit, have patience, or give more access."""

from __future__ import annotations

import re
import shlex

from .._components.tables import commands_of
from .wording import by_weight, is_of
from .world import RESTART

# Helps against slowness
PATIENCE = 'give the stage more time (-e \'{"stackproof_timeouts": {"boot": 900}}\'), and look at the load'
AGAIN = "run it again: it is over as soon as each service has made its connections anew"


def next_of(cause, suspects, record, pause):
    """The next thing to do. cause: the one that is named, or a restart that is over; suspects: the others."""
    if cause and cause["kind"] == RESTART:
        return AGAIN
    if cause:
        return command_for(cause, record)
    if pause is not None:
        return PATIENCE
    return access(record) or (command_for(suspects[0], record) if suspects else None)


def command_for(cause, record):
    """The command that shows more, and where to run it: by what is wrong, or else the state of the service."""
    main = (by_weight(cause) or [None])[0]
    command = main and by_symptom(main, cause, record)
    return command or of_units(cause, record) or commands_of(cause["component"]).overview


def by_symptom(symptom, cause, record):
    kind, host = symptom["kind"], symptom["host"]
    if kind == "reach" and symptom["only_from_here"] and is_of(symptom, cause):
        return f"on {host}: nc -v -z -w 3 {symptom['address']} {symptom['port']}"
    if kind == "failed at" and symptom["how"] == "denied":
        return rights(symptom, record)
    if kind == "words":
        return at(host, commands_of(symptom["component"]).state)
    path = symptom.get("path")
    if kind == "ground" and path and path.startswith("/"):
        place = shlex.quote(path)
        return at(host, f"df -h {place}; df -i {place}; findmnt --target {place}; ls -ld {place}")
    if kind == "change":
        unit = re.search(r"/systemd/system/([\w@.-]+?\.service)", path)
        return at(host, f"systemctl cat {unit[1]}" if unit else f"ls -l {shlex.quote(path)}")
    return None


def rights(symptom, record):
    """The command that shows what a peer lets a component do."""
    user = re.search(r"user '([\w-]+)'@", symptom["quote"] or "")
    commands = commands_of(symptom["peer"])
    command = commands.rights
    if user and commands.rights_of_user:
        command = commands.rights_of_user.format(user=user[1])
    return at(symptom["peer_host"] or next((host for host, _unit in units(symptom["peer"], record)), None), command)


def at(host, command):
    return f"on {host}: {command}" if host and command else command


def units(component, record, host=None):
    """(host, unit) of a component, on one host or on all."""
    return [
        (place["host"], service["unit"])
        for place in record["hosts"]
        for service in place["facts"].get("services") or []
        if service["component"] == component and host in (None, place["host"])
    ]


def of_units(cause, record):
    for host, unit in units(cause["component"], record, cause["host"])[:1]:
        return f"on {host}: systemctl status {unit}; journalctl --unit {unit} --since -15min"
    return None


def access(record):
    """The access that would tell more."""
    if not record["hosts"]:
        return "give an inventory of the cloud's hosts (-i), so that their services and logs can be read"
    unread = sorted(host["host"] for host in record["hosts"] if host["status"] != "read")
    if unread:
        return f"make {', '.join(unread)} readable"
    return more_logs(record["flows"]) if record["flows"] else None


def more_logs(flows):
    """The logs that services would have to write besides, by the levels of the evidence that they gave."""
    levels = {item["level"] for flow in flows for step in flow["steps"] for item in step["evidence"]}
    if "messaging" in levels:
        return None
    if "debug" in levels:
        return "let the services log oslo.messaging at DEBUG, or record the queue (stackproof_firehose)"
    return "let the services log with debug = true, and oslo.messaging at DEBUG"
