# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checks of the hosts in the record of a run."""

from __future__ import annotations


def unreadable(check, reason):
    """A check that could not be made, of no single host: silence would look like success."""
    return {"host": None, "check": check, "status": "unreadable", "reason": reason, "seconds": 0}


def file_checks(run, checks):
    """Put the checks to their hosts; one that is about no single host is put to the control node."""
    hosts = {one["host"]: one for one in run.record["hosts"]}
    for check in checks:
        name = check["host"] or "localhost"
        if name not in hosts:
            hosts[name] = {"host": name, "groups": [], "parts": [], "status": "read", "reason": None, "checks": []}
            hosts[name].update(clock_offset_s=None, clock_error_s=None, health_before=None, facts={}, unread=[])
            run.record["hosts"].append(hosts[name])
        hosts[name]["checks"].append({key: check[key] for key in ("check", "status", "reason", "seconds")})
    run.save()
