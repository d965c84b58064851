# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next thing to do: look at the culprit, allow more time, or give more access."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import chain

from .._components.tables import commands_of
from .._model.finding import Advice, Cause, Reason
from .._model.flow import FollowedFlow
from .._model.how import How
from .._model.symptom import Kind, Symptom
from .._model.words import HostStatus, Level
from .case import Case
from .evidence import by_weight

UNIT_FILE = re.compile(r"/systemd/system/([\w@.-]+?\.service)")
DATABASE_USER = re.compile(r"user '([\w-]+)'@")


def advice_for(cause: Cause | None, restart: Cause | None, suspects: Sequence[Cause], case: Case) -> Advice | None:
    """Return the next thing to do. restart: one that is over; suspects: the causes, if none is named."""
    if restart:
        return Advice(Reason.RUN_AGAIN)
    if cause:
        return command_for(cause, case)
    if case.pause_s is not None:
        return Advice(Reason.ALLOW_MORE_TIME)
    return access(case) or (command_for(suspects[0], case) if suspects else None)


def command_for(cause: Cause, case: Case) -> Advice | None:
    """Return the command that shows more, and where to run it: by what is wrong, or else the state of the service."""
    shown = by_weight(cause)
    advice = by_symptom(shown[0], cause, case) if shown else None
    return advice or of_unit(cause, case) or command(commands_of(cause.component).overview)


def command(text: str | None, host: str | None = None) -> Advice | None:
    return Advice(Reason.SHOW_STATE, text, host) if text else None


def by_symptom(symptom: Symptom, cause: Cause, case: Case) -> Advice | None:
    if symptom.link is not None:
        return command(symptom.link.command, symptom.link.reader)
    if symptom.kind == Kind.REACH and symptom.only_from_here and cause.shows(symptom):
        return command(f"nc -v -z -w 3 {symptom.address} {symptom.port}", symptom.host)
    if symptom.kind == Kind.FAILED_AT and symptom.how == How.DENIED:
        return rights(symptom, case)
    if symptom.kind == Kind.REPORT:
        return command(commands_of(symptom.component).state, symptom.host)
    return None if symptom.path is None else by_path(symptom, symptom.path)


def by_path(symptom: Symptom, path: str) -> Advice | None:
    """Return the command that shows a disk or a changed file."""
    quoted = shlex.quote(path)
    if symptom.kind == Kind.RESOURCE and path.startswith("/"):
        return command(f"df -h {quoted}; df -i {quoted}; findmnt --target {quoted}; ls -ld {quoted}", symptom.host)
    if symptom.kind == Kind.CHANGE:
        unit = UNIT_FILE.search(path)
        return command(f"systemctl cat {unit[1]}" if unit else f"ls -l {quoted}", symptom.host)
    return None


def rights(symptom: Symptom, case: Case) -> Advice | None:
    """Return the command that shows what a peer lets a component do."""
    commands = commands_of(symptom.peer)
    text = commands.rights
    user = DATABASE_USER.search(symptom.quote or "")
    if user and commands.rights_of_user:
        text = commands.rights_of_user.format(user=user[1])
    hosts = [host for host, _unit in units(symptom.peer or "", case)]
    return command(text, symptom.peer_host or next(iter(hosts), None))


def units(component: str, case: Case, host: str | None = None) -> list[tuple[str, str]]:
    """Return (host, unit) of a component, on one host or on all."""
    return [
        (place.host, service.unit)
        for place, service in case.services
        if service.component == component and host in (None, place.host)
    ]


def of_unit(cause: Cause, case: Case) -> Advice | None:
    for host, unit in units(cause.component, case, cause.host)[:1]:
        return command(f"systemctl status {unit}; journalctl --unit {unit} --since -15min", host)
    return None


def access(case: Case) -> Advice | None:
    """Return the access that would show more."""
    if not case.record.hosts:
        return Advice(Reason.GIVE_INVENTORY)
    unread = sorted(host.host for host in case.record.hosts if host.status != HostStatus.READ)
    if unread:
        return Advice(Reason.MAKE_HOSTS_READABLE, hosts=tuple(unread))
    return more_logs(case.record.flows)


def more_logs(flows: Sequence[FollowedFlow]) -> Advice | None:
    """Return the logs that services would have to write besides, by the levels of the evidence that they gave."""
    if not flows:
        return None
    steps = chain.from_iterable(flow.steps for flow in flows)
    evidence = chain.from_iterable(step.evidence for step in steps)
    levels = {item.level for item in evidence}
    if Level.MESSAGING in levels:
        return None
    return Advice(Reason.LOG_MESSAGING if Level.DEBUG in levels else Reason.LOG_DEBUG)
