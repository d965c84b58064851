# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What differs between hosts that should be alike, and what has changed since the last run that passed. Pure."""

from __future__ import annotations

from collections import Counter

# Without an earlier run that passed, a change in the last hour is worth telling.
RECENT = 3600
# More of them are another kind of host, or a change of the whole cloud.
MOST = 20


def examined(hosts, groups, offsets, passed, now):
    """Host to the findings of its examination that the record keeps: no digest is among them.

    hosts: host to what examine returned there; groups: host to its groups in the inventory; offsets: host to the
    seconds by which its clock is ahead; passed: when the last run that passed ended, or None; now: when the hosts were
    read, both by the control node's clock.
    """
    return {
        name: {
            "reach": found["reach"],
            "hanging": found["hanging"],
            "words": found["words"],
            "ground": found["ground"],
            "differs": [
                *unlike(name, hosts, groups, "digests", "option"),
                *unlike(name, hosts, groups, "packages", "package"),
                *unlike_modes(name, hosts, groups),
            ][:MOST],
            "changed": changed(found["files"], offsets[name], passed, now)[:MOST],
        }
        for name, found in hosts.items()
    }


def peers_of(name, hosts, groups):
    """The hosts that should be like this one: those with the same groups."""
    return [other for other in hosts if other != name and set(groups[other]) == set(groups[name])]


def unlike(name, hosts, groups, table, kind):
    """What this host has otherwise than the others of its kind: of more than two, than most of them."""
    # A table that could not be read differs from nothing.
    others = [hosts[other][table] for other in peers_of(name, hosts, groups) if hosts[other][table]]
    here, differences = hosts[name][table], []
    for what in sorted(set(here).union(*others)) if here and others else ():
        values = Counter(str(other.get(what)) for other in others)
        value, number = values.most_common(1)[0]
        if str(here.get(what)) != value and number > len(others) / 2:
            differences.append({"kind": kind, "what": what})
    return differences


def unlike_modes(name, hosts, groups):
    modes = {
        host: {"modes": {path: file["mode"] for path, file in found["files"].items()}} for host, found in hosts.items()
    }
    return unlike(name, modes, groups, "modes", "mode")


def changed(files, offset, passed, now):
    """The files that were changed since the last run that passed, the latest first."""
    since = now - RECENT if passed is None else passed
    times = [(file["changed"] - offset, path) for path, file in files.items()]
    late = sorted(((at, path) for at, path in times if since < at <= now), reverse=True)
    return [{"path": path, "ago_s": round(now - at, 1)} for at, path in late]
