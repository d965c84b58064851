# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A directory of logs that somebody has collected: which hosts are in it, and which file is which service's."""

from __future__ import annotations

import fnmatch
import os
import re
import tarfile
import zipfile

from .._record.errors import StageError

# Folders that name no host: the one above them does
GENERAL = {"var", "log", "logs", "kolla", "containers", "sos_commands", "files", "hosts", "nodes"}
# Folders that name a project, and so no host
PROJECTS = (
    "apache2", "barbican", "ceph", "cinder", "designate", "glance", "haproxy", "heat", "horizon", "httpd", "ironic",
    "keystone", "libvirt", "magnum", "manila", "mariadb", "mysql", "neutron", "nova", "octavia", "openvswitch", "ovn",
    "placement", "rabbitmq", "swift",
)  # fmt: skip
PROJECT = re.compile(rf"^(?:{'|'.join(PROJECTS)})(?:$|[_.-])")
# A rotated file has a number or a date behind its name, and may be compressed.
ROTATED = re.compile(r"^(?P<name>.+?\.(?:log|txt|out))(?:[.-].*)?$|^(?P<bare>[^.]+?)(?:[.-]\d.*|\.gz)?$")
SOSREPORT = re.compile(r"^sosreport-(?P<host>.+?)-(?:\d{4}-\d\d-\d\d-\w+|\d+-\w+|\d{8,}\w*)$")
HOSTNAMES = ("sos_commands/host/hostname", "sos_commands/general/hostname", "hostname", "etc/hostname")
# What of a host's files holds logs
LOGS = ("var/log", "sos_commands/logs", "opt/stack/logs")
DEPTH = 5


class Place:
    """The logs of one host. Where they may be of several, a line of syslog says of which."""

    def __init__(self, name, top, files, whole_host, named):
        self.name, self.top, self.files = name, top, files
        # Whether more of the host than its logs is there, and whether the name is known to be the host's.
        self.whole_host, self.named = whole_host, named


def check(directory):
    """Say what is wrong with a directory before it is looked at."""
    if not os.path.lexists(directory):
        raise StageError("not_found", f"there is no {directory}", hint="Give the directory that has the logs.")
    if os.path.isfile(directory):
        if tarfile.is_tarfile(directory):
            unpack = f"mkdir bundle && tar -xf {directory} -C bundle"
        elif zipfile.is_zipfile(directory):
            unpack = f"mkdir bundle && unzip {directory} -d bundle"
        else:
            hint = "Give the directory that it lies in."
            raise StageError("invalid", f"{directory} is a file, and no directory of logs", hint=hint)
        hint = f"Unpack it first, and give the directory: {unpack}"
        raise StageError("invalid", f"{directory} is an archive, and no directory of logs", hint=hint)
    if not os.path.isdir(directory):
        raise StageError("invalid", f"{directory} is no directory", hint="Give the directory that has the logs.")


def places_in(directory):
    """The hosts in a directory, by name."""
    found = []
    look(directory, directory, found, 0)
    names = {}
    for place in found:
        # Two reports of one host, or two folders of one name, are told apart by where they lie.
        name = place.name if place.name not in names else os.path.relpath(place.top, directory)
        names.setdefault(name, place).name = name
    return [names[name] for name in sorted(names)]


def look(top, directory, found, depth):
    folders, files = entries_of(directory)
    names = set(folders)
    if has_logs(directory) or "sos_commands" in names:
        name = hostname_of(directory)
        found.append(
            Place(
                name or folder_name(directory, top),
                directory,
                below(directory, LOGS),
                True,
                bool(name) or directory != top,
            )
        )
        return
    logs = [os.path.join(directory, name) for name in files]
    if any(PROJECT.match(name) for name in names):
        logs = below(directory, ("",))
        folders = []
    if logs:
        # Only a folder of its own names a host: what lies in the directory itself is named by its lines, if at all.
        found.append(Place(folder_name(directory, top), directory, logs, False, host_folder(directory, top) != top))
    for name in folders if depth < DEPTH else ():
        look(top, os.path.join(directory, name), found, depth + 1)


def entries_of(directory):
    """(names of folders, names of files) in a directory, without what is only a link."""
    try:
        with os.scandir(directory) as stream:
            entries = sorted(stream, key=lambda entry: entry.name)
    except OSError:
        return [], []  # what is in it is not known, and the rest may do
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return folders, [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]


def has_logs(directory):
    parts = (os.path.join(directory, "var"), os.path.join(directory, "var", "log"))
    return all(os.path.isdir(part) and not os.path.islink(part) for part in parts)


def below(directory, parts):
    """The regular files under parts of a directory; no link is followed."""
    found = []
    for part in parts:
        if not is_inside(directory, part):
            continue
        for folder, folders, names in os.walk(os.path.join(directory, part)):
            folders.sort()
            paths = [os.path.join(folder, name) for name in sorted(names)]
            found += [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    return found


def is_inside(directory, part):
    """Whether no step of the way is a link."""
    steps = [step for step in part.split("/") if step]
    ways = [os.path.join(directory, *steps[:count]) for count in range(1, len(steps) + 1)]
    return not any(os.path.islink(way) for way in ways)


def links_out(directory):
    """Links that lead out of the directory to something that is there."""
    inside, found = os.path.realpath(directory), []
    for folder, folders, names in os.walk(directory):
        for name in sorted([*folders, *names]):
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.path.exists(path):
                target = os.path.realpath(path)
                if os.path.commonpath([inside, target]) != inside:
                    found.append(os.path.relpath(path, directory))
    return sorted(found)


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
    """The host's name as a report of sos has it."""
    for part in HOSTNAMES:
        words = (text_of(directory, part) or "").split()
        if words and re.match(r"^[\w.-]{1,253}$", words[0]):
            return words[0]
    match = SOSREPORT.match(os.path.basename(directory))
    return match["host"] if match else None


def host_folder(directory, top):
    """The folder that names the host: not one that is called as the logs of every host are."""
    while directory != top and os.path.basename(directory).lower() in GENERAL:
        directory = os.path.dirname(directory)
    return directory


def folder_name(directory, top):
    base = os.path.basename(os.path.abspath(host_folder(directory, top)))
    match = SOSREPORT.match(base)
    return match["host"] if match else base or "logs"


# Services


def plain_name(name):
    """The name of a log without what rotation and compression put behind it."""
    match = ROTATED.match(name)
    return (match["name"] or match["bare"]) if match else name


def stem(name):
    """The name of a log without its ending, as devstack and the journal name a service."""
    return re.sub(r"^screen-|\.(?:log|txt|out)$", "", plain_name(name))


class Services:
    """Which service's a file or a program is, by what the platforms say of their logs."""

    def __init__(self, services):
        self.patterns = [(pattern, one["service"]) for one in services for pattern in one.get("files") or []]
        self.names, self.ends = {}, {}
        for pattern, service in self.patterns:
            parts = pattern.split("/")
            self.ends.setdefault("/".join(parts[-2:]), set()).add(service)
            self.names.setdefault(parts[-1], set()).add(service)
        self.programs = {one["service"]: one["service"] for one in services}
        for one in services:
            for name in one.get("journals") or []:
                self.programs[re.sub(r"^devstack@|\.service$", "", name)] = one["service"]
            for pattern in one.get("files") or []:
                name = stem(os.path.basename(pattern))
                # One service alone may be called so: two have an api.log.
                if not re.search(r"[*?\[]", name) and len(self.names[os.path.basename(pattern)]) == 1:
                    self.programs.setdefault(name, one["service"])

    def of_file(self, path):
        """The service of a file by its path below the host's root, or None: then the lines may tell."""
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
        """The service of a file that has its folder's or its host's name before its own: compute1_nova-compute."""
        ends = [program for program in self.programs if re.search(rf"[-_.]{re.escape(program)}$", name)]
        return self.programs[max(ends, key=len)] if ends else None

    def of_program(self, program):
        """The service of a program as syslog, the journal or a container's name tells it, or None."""
        name = re.sub(r"^devstack@|\.service$", "", program or "").rpartition("/")[2]
        # haproxy names itself by the network that it is for.
        name = re.sub(r"-[0-9a-f]{8}-[0-9a-f-]{27}$", "", name)
        return self.programs.get(name) or self.programs.get(name.replace("_", "-"))
