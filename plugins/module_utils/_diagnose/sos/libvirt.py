# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what virsh would, by the domains that a report has."""

from __future__ import annotations

import fnmatch
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from ..._collect.commands import UnreadError
from .report import Report, absent

DUMP = "*virsh_*dumpxml_*"
OF_OTHERS = (
    "*_net-dumpxml_*",
    "*_nwfilter-dumpxml_*",
    "*_nodedev-dumpxml*",
    "*_pool-dumpxml_*",
)
LIST = "*virsh_*list_--all"


def virsh(report: Report, words: Sequence[str]) -> str:
    if "dumpxml" in words:
        return domain(report, words[-1])
    if "domstate" in words:
        instance = next(word for word in words if word.count("-") == 4)
        return state(report, instance)
    raise absent("virsh")


def domain(report: Report, uuid: str) -> str:
    """Return the description of the domain with an id."""
    # On a host without libvirt this says so.
    report.output(LIST)
    for text in domains(report):
        if uuid_of(text) == uuid:
            return text
    raise UnreadError(
        "failed",
        ["virsh"],
        f"Domain not found: no domain with matching uuid '{uuid}'",
    )


def domains(report: Report) -> Iterator[str]:
    for path in report.outputs:
        if is_dump(path.rpartition("/")[2]):
            yield report.printed(path)


def is_dump(name: str) -> bool:
    if not fnmatch.fnmatchcase(name, DUMP):
        return False
    return not any(fnmatch.fnmatchcase(name, other) for other in OF_OTHERS)


def uuid_of(text: str) -> str | None:
    """Return the id of a domain; None for a description that is cut, or of something else."""
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError):
        return None
    if root.tag != "domain":
        return None
    return root.findtext("uuid")


def state(report: Report, uuid: str) -> str:
    """Return the state of a domain. The list does not have its reason, so none is known."""
    name = ET.fromstring(domain(report, uuid)).findtext("name") or ""
    row = re.compile(
        rf"^ *\S+ +{re.escape(name)} +(?P<state>\S.*)$", re.MULTILINE
    )
    found = row.search(report.output(LIST))
    if found is None:
        raise absent("virsh list")
    return found["state"].strip()
