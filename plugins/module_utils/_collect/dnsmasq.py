# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the DHCP agent and its dnsmasq have of a port."""

from __future__ import annotations

import re

from . import log_lines
from .host import UnreadError, processes

STATES = ["/var/lib/neutron/dhcp", "/opt/stack/data/neutron/dhcp"]
SOURCES = {"journals": ["dnsmasq-dhcp"], "files": ["/var/log/neutron/dnsmasq.log"]}
TALK = re.compile(r"\bDHCP(?P<kind>[A-Z]+)\(\S+\)(?: (?P<address>[0-9a-f.:]+))? (?P<mac>[0-9a-f:]{17})")


def read(host, network, mac, since, states=None, sources=None):
    """The agent's files for a network, the lines of a MAC in them, the dnsmasq processes, and what they said to it."""
    running = host.attempt("the processes of dnsmasq", dnsmasqs_of, network, default=[])
    directory = host.attempt("the state of the DHCP agent", directory_of, network, states or STATES)
    found = {"directory": directory, "processes": running, "hosts": None, "options": None, "leases": None, "log": None}
    if directory is None:
        return found
    for name, parse in (("host", parse_hosts), ("opts", str.splitlines), ("leases", parse_leases)):
        lines = host.attempt(f"the file {name} of dnsmasq", content_of, f"{directory}/{name}", parse)
        found[{"host": "hosts", "opts": "options"}.get(name, name)] = lines
    for name in ("hosts", "leases"):
        found[name] = found[name] and [one for one in found[name] if one["mac"] == mac]
    lines = host.attempt("the log of dnsmasq", said_of, sources or SOURCES, mac, since)
    found["log"] = None if lines is None else parse_talk(lines, mac)
    return found


def directory_of(host, network, states):
    """The agent's directory for a network; None where this host has none."""
    for state in states:
        try:
            host.ask("dhcp", "ls", f"{state}/{network}")
            return f"{state}/{network}"
        except UnreadError as exc:
            if exc.kind != "failed" or "No such file or directory" not in exc.said:
                raise
    return None


def dnsmasqs_of(host, network):
    return [
        {"pid": pid, "options": [word for word in words if "mtu" in word]}
        for pid, words in processes(host, "dhcp", f"/{network}/")
        if words[0].rpartition("/")[2] == "dnsmasq"
    ]


def content_of(host, path, parse):
    return parse(host.ask("dhcp", "cat", path))


def said_of(host, sources, mac, since):
    return log_lines.read(host, "dhcp", sources, mac, since)


def parse_hosts(text):
    """Lines of MAC, then tags, a name and the address, which stands in brackets where it is IPv6."""
    found = []
    for line in text.splitlines():
        words = line.split(",")
        addresses = [word.strip("[]") for word in words[1:] if re.fullmatch(r"\[[0-9a-f:]+\]|\d+(\.\d+){3}", word)]
        found.append({"mac": words[0], "address": addresses[0] if addresses else None})
    return found


def parse_leases(text):
    """Lines of expiry, MAC, address, name and client id."""
    lines = [line.split() for line in text.splitlines()]
    whole = [words for words in lines if len(words) == 5]
    return [{"expires": int(words[0]), "mac": words[1], "address": words[2].strip("[]")} for words in whole]


def parse_talk(lines, mac):
    found = [(TALK.search(line["text"]), line) for line in lines]
    return [
        {**match.groupdict(), "at": line["at"], "resolution_s": line["resolution_s"]}
        for match, line in found
        if match and match["mac"] == mac
    ]
