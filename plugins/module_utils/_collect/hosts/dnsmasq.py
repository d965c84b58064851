# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port in the files, the processes and the log of the DHCP agent and its dnsmasq."""

from __future__ import annotations

import re

from ..commands import UnreadError, processes
from ..logs import matching_lines

STATES = ["/var/lib/neutron/dhcp", "/opt/stack/data/neutron/dhcp"]
SOURCES = {"journals": ["dnsmasq-dhcp"], "files": ["/var/log/neutron/dnsmasq.log"]}
TALK = re.compile(r"\bDHCP(?P<kind>[A-Z]+)\(\S+\)(?: (?P<address>[0-9a-f.:]+))? (?P<mac>[0-9a-f:]{17})")


def read(host, network, mac, since, states=None, sources=None):
    """The lines of a MAC in the agent's files for a network, the dnsmasq processes, and their messages to the MAC."""
    running = host.attempt("the processes of dnsmasq", dnsmasqs_of, network, default=[])
    directory = host.attempt("the state of the DHCP agent", directory_of, network, states or STATES)
    facts = {"directory": directory, "processes": running, "hosts": None, "options": None, "leases": None, "log": None}
    if directory is None:
        return facts
    for key, file, parse in FILES:
        facts[key] = host.attempt(f"the file {file} of dnsmasq", content_of, f"{directory}/{file}", parse)
    for key in ("hosts", "leases"):
        facts[key] = facts[key] and [line for line in facts[key] if line["mac"] == mac]
    lines = host.attempt("the log of dnsmasq", log_of, sources or SOURCES, mac, since)
    facts["log"] = None if lines is None else parse_talk(lines, mac)
    return facts


def directory_of(host, network, states):
    """The agent's directory for a network; None if this host has none."""
    for state in states:
        try:
            host.ask("dhcp", "ls", f"{state}/{network}")
            return f"{state}/{network}"
        except UnreadError as exc:
            if exc.kind != "failed" or "No such file or directory" not in exc.output:
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


def log_of(host, sources, mac, since):
    return matching_lines.read(host, "dhcp", sources, mac, since)


def parse_hosts(text):
    """Each line has the MAC, then tags, a name and the address; an IPv6 address is in brackets."""
    hosts = []
    for line in text.splitlines():
        words = line.split(",")
        addresses = [word.strip("[]") for word in words[1:] if re.fullmatch(r"\[[0-9a-f:]+\]|\d+(\.\d+){3}", word)]
        hosts.append({"mac": words[0], "address": addresses[0] if addresses else None})
    return hosts


def parse_leases(text):
    """Each line has the expiry, MAC, address, name and client id."""
    lines = [line.split() for line in text.splitlines()]
    whole = [words for words in lines if len(words) == 5]
    return [{"expires": int(words[0]), "mac": words[1], "address": words[2].strip("[]")} for words in whole]


def parse_talk(lines, mac):
    matches = [(TALK.search(line["text"]), line) for line in lines]
    return [
        {**match.groupdict(), "at": line["at"], "resolution_s": line["resolution_s"]}
        for match, line in matches
        if match and match["mac"] == mac
    ]


# The key of a fact, the agent's file, and the parser of the file
FILES = (("hosts", "host", parse_hosts), ("options", "opts", str.splitlines), ("leases", "leases", parse_leases))
