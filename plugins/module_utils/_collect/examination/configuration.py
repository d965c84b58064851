# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of a host's services: when each file changed, and a digest of each value by which hosts are compared.

A value never leaves its host. Its digest is keyed with a word that is made anew in each run and kept nowhere.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from ..commands import UnreadError

FOLDERS = (
    "/etc/nova", "/etc/neutron", "/etc/cinder", "/etc/glance", "/etc/keystone", "/etc/placement", "/etc/ceph",
    "/etc/libvirt", "/etc/openvswitch", "/etc/rabbitmq", "/etc/mysql", "/etc/apache2", "/etc/httpd", "/etc/haproxy",
    "/etc/default", "/etc/systemd/system", "/run/systemd/system", "/etc/kolla",
)  # fmt: skip
# Databases, keys and such that services write by themselves
WRITTEN_BY_SERVICES = re.compile(
    r"/etc/openvswitch/|/etc/libvirt/(?:qemu|secrets|nwfilter)/|\.lock$|~$|/fernet-keys/|/credential-keys/"
)
# kolla-ansible has a folder for each service: /etc/kolla/nova-api. The rules for sudo have the same pattern.
SETTINGS = re.compile(
    r"/etc/(?:kolla/)?(?P<project>nova|neutron|cinder|glance|keystone|placement|ceph)(?:-[a-z-]+)?/"
    r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/){0,3}[A-Za-z0-9_-][A-Za-z0-9_.-]*\.(?:conf|ini)"
)
# Examples and settings of other programs, which are long and name nobody
NO_SETTINGS = re.compile(r"api-paste|uwsgi|rootwrap|property-protections|glance-(?:cache|manage|scrubber|image)")
MOST_FILES = 200
LONGEST_DIGEST = 12
PACKAGES = ("nova-*", "neutron-*", "cinder-*", "glance-*", "keystone*", "placement-*", "ceph*", "libvirt-daemon*",
            "openvswitch-*", "ovn-*", "qemu-system-*", "rabbitmq-server", "mariadb-server", "python3-oslo*",
            "dnsmasq*", "haproxy")  # fmt: skip
BY_DPKG = ("dpkg-query", "--show", "--showformat=${Package} ${Version}\\n", *PACKAGES)
BY_RPM = ("rpm", "--query", "--all", "--queryformat=%{NAME} %{VERSION}-%{RELEASE}\\n")


def files(host):
    """{path: (time of its last change, mode and owner)} of the files below the folders of settings."""
    words = ("find", *FOLDERS, "-maxdepth", "4", "-type", "f", "-printf", "%T@ %m %u:%g %s %p\\n")
    listed = {}
    for line in host.ask(None, *words, despite="No such file or directory").splitlines():
        changed, mode, owner, size, path = line.split(" ", 4)
        if not WRITTEN_BY_SERVICES.search(path):
            listed[path] = {"changed": float(changed), "mode": f"{mode} {owner}", "empty": size == "0"}
    return listed


def projects_of(components):
    """The projects whose settings count on a host: packages leave those of others there as well."""
    projects = {component.partition("-")[0] for component in components}
    return projects | ({"ceph"} if projects & {"nova", "cinder", "glance", "libvirt"} else set())


def settings(host, paths, projects):
    """(project, path, section, option, value) of each option in files of settings. It stays on the host."""
    chosen = [path for path in sorted(paths) if is_setting_of(path, projects)][:MOST_FILES]
    if not chosen:
        return []
    words = ("grep", "--text", "--with-filename", "--regexp=^[^#;]", "--", *chosen)
    try:
        # The reason why a command failed may be the output that others see, but not of one whose output is taken.
        return host.ask(None, *words, despite="No such file or directory", take=lambda out: list(options_in(out)))
    except UnreadError as exc:
        if exc.output == "exit status 1":
            return []
        raise


def is_setting_of(path, projects):
    match = SETTINGS.fullmatch(path)
    return bool(match) and match["project"] in projects and not NO_SETTINGS.search(path)


def options_in(stream):
    section, before = "", None
    for line in stream.read().decode("utf-8", "surrogateescape").split("\n"):
        path, _colon, text = line.partition(":")
        section, before = ("", path) if path != before else (section, path)
        text, file = text.strip(), SETTINGS.fullmatch(path)
        header = re.match(r"^\[([^\]]+)\]", text)
        if header:
            section = header[1]
        elif file and "=" in text and text[:1] not in "#;":
            option, _equals, value = text.partition("=")
            yield file["project"], path, section, option.strip(), value.strip()


def digests(options, salt, own):
    """{path section/option: digest of its value}. own: names and addresses of this host, which differ by right."""
    names = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True) if name) or "(?!)"
    # Not as a part of another one: compute1 and 10.0.0.1 are other hosts than compute10 and 10.0.0.12.
    mine = re.compile(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])")
    table = {}
    for _project, path, section, option, value in options:
        alike = mine.sub("*", value).encode("utf-8", "surrogateescape")
        digest = hmac.new(salt.encode(), alike, hashlib.sha256).hexdigest()
        # An option may be given several times.
        name = f"{path} [{section}] {option}"
        table[name] = table.get(name, "") + digest[:LONGEST_DIGEST]
    return table


def packages(host):
    """{package: version}, by the program that this distribution has."""
    try:
        output = host.ask(None, *BY_DPKG, root=False, despite="no packages found")
    except UnreadError as exc:
        if exc.kind != "missing":
            raise
        output = host.ask(None, *BY_RPM, root=False)
    return dict(line.split(" ", 1) for line in output.splitlines() if " " in line.strip())
