# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The layout of a directory of collected logs: the hosts in it, and the logs of each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .._components.catalogue import PROJECTS
from .._record.errors import StageError

# Folders that name no host: the one above them does
GENERAL = {
    "var",
    "log",
    "logs",
    "kolla",
    "containers",
    "sos_commands",
    "files",
    "hosts",
    "nodes",
}
# Folders that name a project, and so no host
OTHERS = (
    "apache2", "barbican", "designate", "haproxy", "heat", "horizon", "httpd", "ironic", "magnum", "manila", "mariadb",
    "octavia", "ovn", "swift",
)  # fmt: skip
NAMES = (
    *(project.name for project in PROJECTS if project.configuration),
    *OTHERS,
)
PROJECT = re.compile(rf"^(?:{'|'.join(NAMES)})(?:$|[_.-])")
SOSREPORT = re.compile(
    r"^sosreport-(?P<host>.+?)-(?:\d{4}-\d\d-\d\d-\w+|\d+-\w+|\d{8,}\w*)$"
)
HOSTNAMES = (
    "sos_commands/host/hostname",
    "sos_commands/general/hostname",
    "hostname",
    "etc/hostname",
)
HOSTNAME = re.compile(r"\s*(?P<name>[\w.-]{1,253})(?!\S)")
# Folders of a host that hold logs
LOGS = ("var/log", "sos_commands/logs", "opt/stack/logs")
# A bundle has its hosts a few folders below its top.
DEPTH = 5
# In characters: files of a host that say its name, its zone or its addresses are small.
LONGEST_FILE = 65536


@dataclass(frozen=True, eq=False)
class Place:
    """The logs below one folder.

    whole_host: whether other files of the host are there, too. named: whether the name is surely the host's; where it
    is not, the logs may be of several hosts, which only their lines of syslog name.
    """

    name: str
    top: str
    files: list[str]
    whole_host: bool
    named: bool


def check(directory: str) -> None:
    """Refuse a path that cannot be read as a directory of logs, with a hint."""
    if not os.path.lexists(directory):
        raise StageError(
            "not_found",
            f"{directory} does not exist",
            hint="Give the directory that has the logs.",
        )
    if os.path.isfile(directory):
        raise refused_file(directory)
    if not os.path.isdir(directory):
        raise StageError(
            "invalid",
            f"{directory} is not a directory",
            hint="Give the directory that has the logs.",
        )


def refused_file(path: str) -> StageError:
    """Return the error for a file where a directory or an archive is needed."""
    hint = "Give the directory that contains it, or an archive that is named like one: .tar, .tar.gz, .tar.xz or .zip."
    return StageError(
        "invalid", f"{path} is a file, not a directory of logs", hint=hint
    )


def places_in(directory: str) -> list[Place]:
    """Return the hosts in a directory, by name."""
    places: dict[str, Place] = {}
    for place in places_below(directory, directory):
        # Two reports of one host, or two folders of one name, get the names of their folders.
        name = (
            place.name
            if place.name not in places
            else os.path.relpath(place.top, directory)
        )
        places.setdefault(name, replace(place, name=name))
    return [places[name] for name in sorted(places)]


def places_below(top: str, directory: str, depth: int = 0) -> Iterator[Place]:
    folders, files = entries_of(directory)
    if has_logs(directory) or "sos_commands" in folders:
        yield place_of_host(top, directory)
        return
    logs = [os.path.join(directory, name) for name in files]
    if any(is_of_project(directory, name) for name in folders):
        logs = below(directory, ("",))
        folders = []
    if logs:
        # Only a folder names a host: logs in the top directory itself are named by their lines, if at all.
        is_named = host_folder(directory, top) != top
        yield Place(
            folder_name(directory, top),
            directory,
            logs,
            whole_host=False,
            named=is_named,
        )
    if depth < DEPTH:
        for name in folders:
            yield from places_below(
                top, os.path.join(directory, name), depth + 1
            )


def place_of_host(top: str, directory: str) -> Place:
    """Return the logs of a folder that has the files of a host as the host has them."""
    name = hostname_of(directory)
    is_named = bool(name) or directory != top
    logs = below(directory, LOGS)
    return Place(
        name or folder_name(directory, top),
        directory,
        logs,
        whole_host=True,
        named=is_named,
    )


def is_of_project(directory: str, name: str) -> bool:
    """Return whether a folder holds the logs of a project.

    A host may be called ceph-osd1; it has such folders itself.
    """
    folder = os.path.join(directory, name)
    if not PROJECT.match(name) or has_logs(folder):
        return False
    return not any(PROJECT.match(part) for part in entries_of(folder)[0])


def entries_of(directory: str) -> tuple[list[str], list[str]]:
    """Return the names of the folders and of the files in a directory, without links."""
    try:
        with os.scandir(directory) as stream:
            entries = sorted(stream, key=lambda entry: entry.name)
    except OSError:
        # This directory cannot be read, but the others may be enough
        return [], []
    folders = [
        entry.name for entry in entries if entry.is_dir(follow_symlinks=False)
    ]
    files = [
        entry.name for entry in entries if entry.is_file(follow_symlinks=False)
    ]
    return folders, files


def has_logs(directory: str) -> bool:
    parts = (
        os.path.join(directory, "var"),
        os.path.join(directory, "var", "log"),
    )
    return all(
        os.path.isdir(part) and not os.path.islink(part) for part in parts
    )


def below(directory: str, parts: Iterable[str]) -> list[str]:
    """Return the regular files under parts of a directory; no link is followed."""
    files: list[str] = []
    for part in parts:
        if not is_inside(directory, part):
            continue
        for folder, folders, names in os.walk(os.path.join(directory, part)):
            folders.sort()
            paths = [os.path.join(folder, name) for name in sorted(names)]
            files += [
                path
                for path in paths
                if os.path.isfile(path) and not os.path.islink(path)
            ]
    return files


def is_inside(directory: str, part: str) -> bool:
    """Return whether neither the part nor a folder on the path to it is a link."""
    names = list(filter(None, part.split("/")))
    paths = [
        os.path.join(directory, *names[:count])
        for count in range(1, len(names) + 1)
    ]
    return not any(map(os.path.islink, paths))


@dataclass(frozen=True)
class LeftOut:
    """What of a directory is not read, as texts: links that lead out of it, and folders that cannot be read."""

    links: list[str]
    closed: list[str]


def left_out(directory: str) -> LeftOut:
    links: list[str] = []
    errors: list[OSError] = []
    for folder, folders, names in os.walk(directory, onerror=errors.append):
        for name in sorted([*folders, *names]):
            path = os.path.join(folder, name)
            if leads_out(path, directory):
                links.append(os.path.relpath(path, directory))
    closed = [
        f"the folder {os.path.relpath(exc.filename, directory)} cannot be read: {exc.strerror}"
        for exc in errors
    ]
    followed = [
        f"{path} is a link out of the directory and is not followed"
        for path in sorted(links)
    ]
    return LeftOut(followed, sorted(closed))


def leads_out(path: str, directory: str) -> bool:
    """Return whether a path is a link to something outside of the directory that exists."""
    if not os.path.islink(path) or not os.path.exists(path):
        return False
    inside = os.path.realpath(directory)
    return os.path.commonpath([inside, os.path.realpath(path)]) != inside


def text_of(directory: str, part: str) -> str | None:
    """Return a small file of a host as text; a link is not followed."""
    path = os.path.join(directory, part)
    if not is_inside(directory, part) or not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(LONGEST_FILE)
    except OSError:
        return None


def hostname_of(directory: str) -> str | None:
    """Return the host's name in a report of sos."""
    for part in HOSTNAMES:
        first_word = HOSTNAME.match(text_of(directory, part) or "")
        if first_word:
            return first_word["name"]
    match = SOSREPORT.match(os.path.basename(directory))
    return match["host"] if match else None


def host_folder(directory: str, top: str) -> str:
    """Return the folder that names the host, without folders below it that are called the same on every host."""
    while directory != top and os.path.basename(directory).lower() in GENERAL:
        directory = os.path.dirname(directory)
    return directory


def folder_name(directory: str, top: str) -> str:
    base = os.path.basename(os.path.abspath(host_folder(directory, top)))
    match = SOSREPORT.match(base)
    return match["host"] if match else (base or "logs")
