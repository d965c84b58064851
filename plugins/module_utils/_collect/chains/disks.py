# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How fast the disks of an instance's domain answer, as QEMU counts it."""

from __future__ import annotations

import re
from collections import Counter

from ..._model.stores import DiskUse
from ..commands import Host
from ..hosts.libvirt import asked_about

# Reads, writes and flushes; their times are in nanoseconds.
FIELD = re.compile(
    r"^\s*block\.(?P<number>\d+)\.(?:(?P<kind>name)|(?:rd|wr|fl)\.(?P<count>reqs|times))=(?P<value>.*)$",
    re.MULTILINE,
)
NANO = 1e-9


def read(host: Host, uuid: str) -> tuple[DiskUse, ...] | None:
    """Return the disks of a domain; None if there is no such domain here."""
    output = asked_about(host, "domstats", "--block", uuid)
    if output is None:
        return None
    names: dict[str, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for match in FIELD.finditer(output):
        if match["kind"]:
            names[match["number"]] = match["value"]
        else:
            counts[match["number"], match["count"]] += int(match["value"])
    return tuple(
        DiskUse(name, counts[number, "reqs"], counts[number, "times"] * NANO)
        for number, name in names.items()
    )
