# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checks of the hosts in the record of a run."""

from __future__ import annotations

from .._record import shapes


def unreadable(check, reason):
    """A check that could not be made, and is not about a single host: to leave it out would look like success."""
    return {"host": None, **shapes.check(check, "unreadable", reason)}


def file_checks(run, checks):
    """Put each check to its host; a check that is not about a single host goes to the control node."""
    hosts = {host["host"]: host for host in run.record["hosts"]}
    for check in checks:
        name = check["host"] or shapes.CONTROL_NODE
        if name not in hosts:
            hosts[name] = shapes.host(name)
            run.record["hosts"].append(hosts[name])
        hosts[name]["checks"].append(shapes.check(check["check"], check["status"], check["reason"], check["seconds"]))
    run.save()
