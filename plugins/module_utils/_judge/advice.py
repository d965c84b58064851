# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next thing to do: look at the culprit, have patience, or give more access."""

from __future__ import annotations

import re
import shlex

from .wording import by_weight, is_of
from .world import RESTART

# Helps against slowness
PATIENCE = 'give the stage more time (-e \'{"stackproof_timeouts": {"boot": 900}}\'), and look at the load'
AGAIN = "run it again: it is over as soon as each service has made its connections anew"
# What shows the state of a component by its own words
OWN_WORDS = {
    "rabbitmq": "rabbitmq-diagnostics alarms; df -h /var/lib/rabbitmq",
    "database": "mysql --execute \"SHOW GLOBAL VARIABLES LIKE 'read_only'; SHOW PROCESSLIST\"",
    "ovsdb": "ovs-vsctl show",
    "data network": "ip -details link show; ovs-vsctl show",
    "ceph-mon": "ceph health detail",
    "ceph-osd": "ceph health detail; ceph df",
}
# What shows what a component lets others do
RIGHTS = {
    "database": "mysql --execute 'SELECT user, host FROM mysql.user'",
    "rabbitmq": "rabbitmqctl list_permissions",
    "keystone": "openstack user list --long; openstack role assignment list --names",
    "ceph-mon": "ceph auth ls",
    "ceph-osd": "ceph auth ls",
}
BY_COMPONENT = {
    "ceph-mon": "ceph status; ceph health detail",
    "ceph-osd": "ceph osd tree; ceph health detail",
    "data network": "ping between the hosts' addresses of the tunnels; ovs-vsctl show",
    "vm-instance": "openstack console log show, of an instance that is kept: -e stackproof_keep=on_failure",
}


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
    return command or of_units(cause, record) or BY_COMPONENT.get(cause["component"])


def by_symptom(symptom, cause, record):
    kind, host = symptom["kind"], symptom["host"]
    if kind == "reach" and symptom["only_from_here"] and is_of(symptom, cause):
        return f"on {host}: nc -v -z -w 3 {symptom['address']} {symptom['port']}"
    if kind == "failed at" and symptom["how"] == "denied":
        return rights(symptom, record)
    if kind == "words":
        return at(host, OWN_WORDS.get(symptom["component"]))
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
    command = RIGHTS.get(symptom["peer"])
    if user and symptom["peer"] == "database":
        command = f"mysql --execute \"SHOW GRANTS FOR '{user[1]}'@'%'\""
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
