# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service of a collected log, by its name."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

# A rotated file has a number or a date behind its name, and may be compressed.
ROTATED = re.compile(
    r"^(?P<name>.+?\.(?:log|txt|out))(?:[.-].*)?$|^(?P<bare>[^.]+?)(?:[.-]\d.*|\.gz)?$"
)


def plain_name(name: str) -> str:
    """Return the name of a log without the endings of rotation and compression."""
    match = ROTATED.match(name)
    if not match:
        return name
    return match["name"] or match["bare"]


def stem(name: str) -> str:
    """Return the name of a log without its ending, which devstack and the journal use for the service."""
    return re.sub(r"^screen-|\.(?:log|txt|out)$", "", plain_name(name))


def unit_name(name: str) -> str:
    """Return the name of a unit without what devstack and systemd add."""
    return re.sub(r"^devstack@|\.service$", "", name)


class Services:
    """The service of a file or of a program, by the logs that a platform's profile lists."""

    def __init__(self, logs: Iterable[Mapping[str, Any]]) -> None:
        logs = list(logs)
        self.patterns: list[tuple[str, str]] = []
        for log in logs:
            self.patterns += [
                (pattern, log["service"]) for pattern in log.get("files") or []
            ]
        self.names: dict[str, set[str]] = {}
        self.ends: dict[str, set[str]] = {}
        for pattern, service in self.patterns:
            parts = pattern.split("/")
            self.ends.setdefault("/".join(parts[-2:]), set()).add(service)
            self.names.setdefault(parts[-1], set()).add(service)
        self.programs: dict[str, str] = {
            log["service"]: log["service"] for log in logs
        }
        for log in logs:
            self._add_programs(log)

    def _add_programs(self, log: Mapping[str, Any]) -> None:
        """Learn by which names the journal and the files of a service call it."""
        service = log["service"]
        for unit in log.get("journals") or []:
            program = unit_name(unit)
            self.programs[program] = service
        for pattern in log.get("files") or []:
            base = os.path.basename(pattern)
            name = stem(base)
            if re.search(r"[*?\[]", name):
                continue
            # The name must be that of one service alone: two have an api.log.
            if len(self.names[base]) == 1:
                self.programs.setdefault(name, service)

    def of_file(self, path: str) -> str | None:
        """Return the service of a file by its path below the host's root, or None: then its lines may name it."""
        folder, name = os.path.split("/" + path.lstrip("/"))
        name = plain_name(name)
        whole = os.path.join(folder, name)
        for pattern, service in self.patterns:
            if fnmatch.fnmatchcase(whole, pattern):
                return service
        by_end = only_service(self.ends, f"{os.path.basename(folder)}/{name}")
        by_name = by_end or only_service(self.names, name)
        return (
            by_name
            or self.of_program(stem(name))
            or self.of_ending(stem(name))
        )

    def of_ending(self, name: str) -> str | None:
        """Return the service of a file whose name begins with that of a folder or host: compute1_nova-compute."""
        ends = [
            program
            for program in self.programs
            if re.search(rf"[-_.]{re.escape(program)}$", name)
        ]
        return self.programs[max(ends, key=len)] if ends else None

    def of_program(self, program: str | None) -> str | None:
        """Return the service of a program as syslog, the journal or a container names it."""
        name = unit_name(program or "").rpartition("/")[2]
        # The name of an haproxy ends with the id of the network that it serves.
        name = re.sub(r"-[0-9a-f]{8}-[0-9a-f-]{27}$", "", name)
        return self.programs.get(name) or self.programs.get(
            name.replace("_", "-")
        )


def only_service(table: Mapping[str, set[str]], text: str) -> str | None:
    """Return the service of the first pattern that is of one service alone and fits."""
    for pattern, services in table.items():
        if len(services) == 1 and fnmatch.fnmatchcase(text, pattern):
            return next(iter(services))
    return None
