# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that answers out of its report: the programs that it answers for, and what answers for each."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._collect.commands import NO_COMMAND, Host, Take, UnreadError
from . import broker, ceph, files, libvirt, machine, network, openvswitch
from .report import Report, absent

NAMESPACES = "/run/netns"
# Returns what a program would print, by its arguments
Answer = Callable[[Report, Sequence[str]], str]


def ls(report: Report, words: Sequence[str]) -> str:
    """Return the names in a folder: those of the namespaces are links of no file, which no report copies."""
    if words[0] == NAMESPACES:
        return network.namespaces(report)
    return ceph.ls(report, words)


PROGRAMS: Mapping[str, Answer] = {
    "cat": machine.cat,
    "ceph": ceph.ceph,
    "date": machine.date,
    "df": machine.df,
    "dpkg-query": machine.dpkg_query,
    "find": files.find,
    "grep": files.grep,
    "hostname": machine.hostname,
    "ip": network.ip,
    "journalctl": machine.journalctl,
    "ls": ls,
    "ovn-appctl": openvswitch.ovn_appctl,
    "ovn-nbctl": openvswitch.of_northbound,
    "ovn-sbctl": openvswitch.of_southbound,
    "ovs-appctl": openvswitch.ovs_appctl,
    "ovs-ofctl": openvswitch.ovs_ofctl,
    "ovs-vsctl": openvswitch.of_switch,
    "pgrep": machine.pgrep,
    "ps": machine.ps,
    "rabbitmq-diagnostics": broker.rabbitmq_diagnostics,
    "rabbitmqctl": broker.rabbitmqctl,
    "rpm": machine.rpm,
    "ss": network.ss,
    "systemctl": machine.systemctl,
    "tail": files.tail,
    "test": files.test,
    "virsh": libvirt.virsh,
}
# The readers put these before each command.
TIMEOUT = 2


def host_of(report: Report) -> Host:
    """Return the host of a report. A report is made by root, so that no command needs sudo."""

    def execute(command: list[str], take: Take | None) -> tuple[int, Any, str]:
        program, *words = command[TIMEOUT:]
        if program not in PROGRAMS:
            raise absent(program)
        try:
            text = PROGRAMS[program](report, words)
        except UnreadError as exc:
            if exc.kind == "absent":
                raise
            return NO_COMMAND if exc.kind == "missing" else 1, "", exc.output
        if take is None:
            return 0, text, ""
        stream = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        return 0, take(stream), ""

    return Host(execute, sudo=(), clock=lambda: report.now)
