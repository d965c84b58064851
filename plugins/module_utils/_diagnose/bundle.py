# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A directory of collected logs: the hosts in it, and the service of each file."""

from __future__ import annotations

import fnmatch
import os
import re
import tarfile
import zipfile
from dataclasses import dataclass

from .._components.catalogue import PROJECTS
from .._record.errors import StageError

# Folders that name no host: the one above them does
GENERAL = {"var", "log", "logs", "kolla", "containers", "sos_commands", "files", "hosts", "nodes"}
# Folders that name a project, and so no host
OTHERS = (
    "apache2", "barbican", "designate", "haproxy", "heat", "horizon", "httpd", "ironic", "magnum", "manila", "mariadb",
    "octavia", "ovn", "swift",
)  # fmt: skip
NAMES = (*(project.name for project in PROJECTS if project.configuration), *OTHERS)
PROJECT = re.compile(rf"^(?:{'|'.join(NAMES)})(?:$|[_.-])")
# A rotated file has a number or a date behind its name, and may be compressed.
ROTATED = re.compile(r"^(?P<name>.+?\.(?:log|txt|out))(?:[.-].*)?$|^(?P<bare>[^.]+?)(?:[.-]\d.*|\.gz)?$")
SOSREPORT = re.compile(r"^sosreport-(?P<host>.+?)-(?:\d{4}-\d\d-\d\d-\w+|\d+-\w+|\d{8,}\w*)$")
HOSTNAMES = ("sos_commands/host/hostname", "sos_commands/general/hostname", "hostname", "etc/hostname")
# Folders of a host that hold logs
LOGS = ("var/log", "sos_commands/logs", "opt/stack/logs")
DEPTH = 5


@dataclass(eq=False)
class Place:
    """The logs below one folder.

    whole_host: whether other files of the host are there, too. named: whether the name is surely the host's; where it
    is not, the logs may be of several hosts, which only their lines of syslog name.
    """

    name: str
    top: str
    files: list
    whole_host: bool
    named: bool


def check(directory):
    """Refuse a path that cannot be read as a directory of logs, with a hint."""
    if not os.path.lexists(directory):
        raise StageError("not_found", f"there is no {directory}", hint="Give the directory that has the logs.")
    if os.path.isfile(directory):
        if tarfile.is_tarfile(directory):
            unpack = f"mkdir bundle && tar -xf {directory} -C bundle"
        elif zipfile.is_zipfile(directory):
            unpack = f"mkdir bundle && unzip {directory} -d bundle"
        else:
            hint = "Give the directory that it lies in."
            raise StageError("invalid", f"{directory} is a file, and not a directory of logs", hint=hint)
        hint = f"Unpack it first, and give the directory: {unpack}"
        raise StageError("invalid", f"{directory} is an archive, and not a directory of logs", hint=hint)
    if not os.path.isdir(directory):
        raise StageError("invalid", f"{directory} is not a directory", hint="Give the directory that has the logs.")


def places_in(directory):
    """The hosts in a directory, by name."""
    places = {}
    for place in places_below(directory, directory):
        # Two reports of one host, or two folders of one name, get the names of their folders.
        name = place.name if place.name not in places else os.path.relpath(place.top, directory)
        if name not in places:
            place.name = name
            places[name] = place
    return [places[name] for name in sorted(places)]


def places_below(top, directory, depth=0):
    folders, files = entries_of(directory)
    if has_logs(directory) or "sos_commands" in folders:
        name = hostname_of(directory)
        logs, named = below(directory, LOGS), bool(name) or directory != top
        yield Place(name or folder_name(directory, top), directory, logs, True, named)
        return
    logs = [os.path.join(directory, name) for name in files]
    if any(is_of_project(directory, name) for name in folders):
        logs = below(directory, ("",))
        folders = []
    if logs:
        # Only a folder names a host: logs in the top directory itself are named by their lines, if at all.
        yield Place(folder_name(directory, top), directory, logs, False, host_folder(directory, top) != top)
    if depth < DEPTH:
        for name in folders:
            yield from places_below(top, os.path.join(directory, name), depth + 1)


def is_of_project(directory, name):
    """Whether a folder holds the logs of a project. A host may be called ceph-osd1; it has such folders itself."""
    folder = os.path.join(directory, name)
    if not PROJECT.match(name) or has_logs(folder):
        return False
    return not any(PROJECT.match(part) for part in entries_of(folder)[0])


def entries_of(directory):
    """(names of folders, names of files) in a directory, without links."""
    try:
        with os.scandir(directory) as stream:
            entries = sorted(stream, key=lambda entry: entry.name)
    except OSError:
        return [], []  # this directory cannot be read, but the others may be enough
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return folders, [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]


def has_logs(directory):
    parts = (os.path.join(directory, "var"), os.path.join(directory, "var", "log"))
    return all(os.path.isdir(part) and not os.path.islink(part) for part in parts)


def below(directory, parts):
    """The regular files under parts of a directory; no link is followed."""
    files = []
    for part in parts:
        if not is_inside(directory, part):
            continue
        for folder, folders, names in os.walk(os.path.join(directory, part)):
            folders.sort()
            paths = [os.path.join(folder, name) for name in sorted(names)]
            files += [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    return files


def is_inside(directory, part):
    """Whether neither the part nor a folder on the way to it is a link."""
    names = [name for name in part.split("/") if name]
    paths = [os.path.join(directory, *names[:count]) for count in range(1, len(names) + 1)]
    return not any(os.path.islink(path) for path in paths)


def left_out(directory):
    """Links that lead out of the directory to something that exists, and the folders that cannot be read: as texts."""
    inside, links, errors = os.path.realpath(directory), [], []
    for folder, folders, names in os.walk(directory, onerror=errors.append):
        for name in sorted([*folders, *names]):
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.path.exists(path):
                target = os.path.realpath(path)
                if os.path.commonpath([inside, target]) != inside:
                    links.append(os.path.relpath(path, directory))
    return (
        [f"{path} leads out of the directory: it is a link, and is not followed" for path in sorted(links)],
        sorted(
            f"the folder {os.path.relpath(exc.filename, directory)} cannot be read: {exc.strerror}" for exc in errors
        ),
    )


def text_of(directory, part, most=65536):
    """A small file of a host as text, or None; a link is not followed."""
    path = os.path.join(directory, part)
    if not is_inside(directory, part) or not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(most)
    except OSError:
        return None


def hostname_of(directory):
    """The host's name in a report of sos."""
    for part in HOSTNAMES:
        words = (text_of(directory, part) or "").split()
        if words and re.match(r"^[\w.-]{1,253}$", words[0]):
            return words[0]
    match = SOSREPORT.match(os.path.basename(directory))
    return match["host"] if match else None


def host_folder(directory, top):
    """The folder that names the host, without folders below it that are called the same on every host."""
    while directory != top and os.path.basename(directory).lower() in GENERAL:
        directory = os.path.dirname(directory)
    return directory


def folder_name(directory, top):
    base = os.path.basename(os.path.abspath(host_folder(directory, top)))
    match = SOSREPORT.match(base)
    return match["host"] if match else (base or "logs")


# Services


def plain_name(name):
    """The name of a log without the endings of rotation and compression."""
    match = ROTATED.match(name)
    return (match["name"] or match["bare"]) if match else name


def stem(name):
    """The name of a log without its ending, which devstack and the journal use for the service."""
    return re.sub(r"^screen-|\.(?:log|txt|out)$", "", plain_name(name))


class Services:
    """The service of a file or of a program, by the logs that a platform's profile lists."""

    def __init__(self, logs):
        self.patterns = [(pattern, log["service"]) for log in logs for pattern in log.get("files") or []]
        self.names, self.ends = {}, {}
        for pattern, service in self.patterns:
            parts = pattern.split("/")
            self.ends.setdefault("/".join(parts[-2:]), set()).add(service)
            self.names.setdefault(parts[-1], set()).add(service)
        self.programs = {log["service"]: log["service"] for log in logs}
        for log in logs:
            for name in log.get("journals") or []:
                self.programs[re.sub(r"^devstack@|\.service$", "", name)] = log["service"]
            for pattern in log.get("files") or []:
                name = stem(os.path.basename(pattern))
                # The name must be that of one service alone: two have an api.log.
                if not re.search(r"[*?\[]", name) and len(self.names[os.path.basename(pattern)]) == 1:
                    self.programs.setdefault(name, log["service"])

    def of_file(self, path):
        """The service of a file by its path below the host's root, or None: then its lines may name it."""
        folder, name = os.path.split("/" + path.lstrip("/"))
        name = plain_name(name)
        whole = os.path.join(folder, name)
        for pattern, service in self.patterns:
            if fnmatch.fnmatchcase(whole, pattern):
                return service
        for table, text in ((self.ends, f"{os.path.basename(folder)}/{name}"), (self.names, name)):
            for pattern, services in table.items():
                if len(services) == 1 and fnmatch.fnmatchcase(text, pattern):
                    return next(iter(services))
        return self.of_program(stem(name)) or self.of_ending(stem(name))

    def of_ending(self, name):
        """The service of a file whose name begins with that of a folder or host: compute1_nova-compute."""
        ends = [program for program in self.programs if re.search(rf"[-_.]{re.escape(program)}$", name)]
        return self.programs[max(ends, key=len)] if ends else None

    def of_program(self, program):
        """The service of a program as syslog, the journal or a container names it, or None."""
        name = re.sub(r"^devstack@|\.service$", "", program or "").rpartition("/")[2]
        # The name of an haproxy ends with the id of the network that it serves.
        name = re.sub(r"-[0-9a-f]{8}-[0-9a-f-]{27}$", "", name)
        return self.programs.get(name) or self.programs.get(name.replace("_", "-"))
