# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A report of sos about one host: what its commands printed, and the copies of files of the host."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ..._collect.commands import UnreadError
from .. import host_files
from ..layout import below, entries_of, is_inside

COMMANDS = "sos_commands"
MANIFEST = "sos_reports/manifest.json"
# In bytes: the flows of a large cloud's switch are some megabytes.
LONGEST = 64 << 20


class Report:
    """A report of sos. top: its folder."""

    def __init__(self, top: str) -> None:
        self.top = top
        # Tables of OVSDB by program and name: readers ask for the same one many times.
        self.tables: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def path(self, name: str) -> str:
        """Return where the copy of a file of the host lies, whose path there is absolute."""
        return os.path.join(self.top, name.lstrip("/"))

    def has(self, name: str) -> bool:
        """Return whether the report has a file or a folder of the host; what a link leads to does not count."""
        part = name.strip("/")
        if ".." in part.split("/"):
            return False
        return is_inside(self.top, part) and os.path.exists(self.path(part))

    def names_in(self, folder: str) -> list[str]:
        """Return the names in a folder of the host; none if the report does not have it."""
        folders, files = self.entries_of(folder)
        return sorted([*folders, *files])

    def entries_of(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the names of the folders and of the files in a folder of the host, without links."""
        return entries_of(self.path(folder)) if self.has(folder) else ([], [])

    def copy_of(self, name: str) -> str | None:
        """Return the text of a file of the host; None if the report does not have it."""
        path = self.path(name)
        if not self.has(name) or not os.path.isfile(path):
            return None
        try:
            with open(
                path, encoding="utf-8", errors="surrogateescape"
            ) as stream:
                return stream.read(LONGEST)
        except OSError:
            return None

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """Return what sos wrote about its own work; nothing of an old report, or of a damaged one."""
        try:
            content = json.loads(self.copy_of(MANIFEST) or "{}")
        except ValueError:
            return {}
        if not isinstance(content, dict):
            return {}
        return content

    @cached_property
    def commands(self) -> list[Mapping[str, Any]]:
        """Return what the manifest has of each command."""
        found: list[Mapping[str, Any]] = []
        for plugin in dig(
            self.manifest, "components", "report", "plugins"
        ).values():
            found += dig_list(plugin, "commands")
        return found

    @cached_property
    def failed(self) -> set[str]:
        """Return the files that have the error of a command instead of its output."""
        return {
            str(command.get("filepath"))
            for command in self.commands
            if command.get("return_code")
        }

    @cached_property
    def outputs(self) -> list[str]:
        """Return the paths of all files that have the output of a command."""
        return [
            os.path.relpath(path, self.top)
            for path in below(self.top, (COMMANDS,))
        ]

    def output(self, *patterns: str) -> str:
        """Return what a command printed. patterns: of the name of its file, where case does not count."""
        for pattern in patterns:
            for path in self.outputs:
                name = path.rpartition("/")[2]
                if fnmatch.fnmatchcase(name.lower(), pattern.lower()):
                    return self.printed(path)
        raise absent(patterns[0])

    def printed(self, path: str) -> str:
        text = self.copy_of(path)
        if text is None:
            raise absent(path)
        if path in self.failed or is_error(text):
            raise UnreadError("failed", [path], " ".join(text.split())[:300])
        return text

    @cached_property
    def begun(self) -> float | None:
        """Return when the report was begun by its manifest; None if it has none."""
        times = [command.get("start_time") for command in self.commands]
        begun = [
            float(at)
            for at in times
            if isinstance(at, (int, float)) and not isinstance(at, bool)
        ]
        return min(begun, default=None)

    @cached_property
    def now(self) -> float:
        """Return when the report was begun, as far as that is known."""
        # Without a manifest its folder is as old as the file that was written last.
        return os.stat(self.top).st_mtime if self.begun is None else self.begun

    @cached_property
    def zone_s(self) -> int:
        """Return the zone of the host, in seconds to the east; that of UTC if the report does not have it."""
        return host_files.offset_of(
            host_files.zone_of(self.top) or "UTC", self.now
        )


def absent(what: str) -> UnreadError:
    return UnreadError("absent", [what], "the report does not have it")


def is_error(text: str) -> bool:
    """Return whether a file has what a program that was not there, or could not connect, printed.

    Reports of old versions do not say with which status a command ended.
    """
    first, _newline, rest = text.partition("\n")
    if rest.strip():
        return False
    return (
        "failed to run command" in first
        or "command not found" in first
        or "database connection failed" in first
    )


def dig(tree: Any, *names: str) -> Mapping[str, Any]:
    """Return the value of nested keys; an empty mapping without one."""
    for name in names:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def dig_list(tree: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the mappings in a list of a mapping."""
    if not isinstance(tree, dict):
        return []
    entries = tree.get(name)
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]
