# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port in the files, the processes and the log of the DHCP agent and its dnsmasq."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..._model.facts import (
    Dhcp,
    DhcpMessage,
    DhcpReservation,
    DnsmasqProcess,
    Lease,
)
from ..commands import Host, UnreadError, processes
from ..logs import matching_lines
from ..logs.matching_lines import LogSources, MatchingLine

T = TypeVar("T")
E = TypeVar("E", DhcpReservation, Lease)

STATES = ["/var/lib/neutron/dhcp", "/opt/stack/data/neutron/dhcp"]
SOURCES = {
    "journals": ["dnsmasq-dhcp"],
    "files": ["/var/log/neutron/dnsmasq.log"],
}
TALK = re.compile(
    r"\bDHCP(?P<kind>[A-Z]+)\(\S+\)(?: (?P<address>[0-9a-f.:]+))? (?P<mac>[0-9a-f:]{17})(?: (?P<rest>.+))?"
)
REFUSAL = "NAK"
ADDRESS = re.compile(r"\[[0-9a-f:]+\]|\d+(\.\d+){3}")
# The expiry, MAC, address, name and client id
LEASE_FIELDS = 5


def read(
    host: Host,
    network: str,
    mac: str,
    since: float,
    states: Sequence[str] | None = None,
    sources: LogSources | None = None,
) -> Dhcp:
    """Return the lines of a MAC in the agent's files for a network, the dnsmasq processes, and their messages to it."""
    running = host.attempt(
        "the processes of dnsmasq", dnsmasqs_of, network, default=()
    )
    directory = host.attempt(
        "the state of the DHCP agent", directory_of, network, states or STATES
    )
    if directory is None:
        return Dhcp(directory, running)
    reservations = host.attempt(
        "the file host of dnsmasq",
        content_of,
        f"{directory}/host",
        parse_hosts,
    )
    options = host.attempt(
        "the file opts of dnsmasq",
        content_of,
        f"{directory}/opts",
        str.splitlines,
    )
    leases = host.attempt(
        "the file leases of dnsmasq",
        content_of,
        f"{directory}/leases",
        parse_leases,
    )
    lines = host.attempt(
        "the log of dnsmasq", log_of, sources or SOURCES, mac, since
    )
    return Dhcp(
        directory,
        running,
        hosts=of_mac(reservations, mac),
        options=None if options is None else tuple(options),
        leases=of_mac(leases, mac),
        log=None if lines is None else parse_talk(lines, mac),
    )


def of_mac(entries: list[E] | None, mac: str) -> tuple[E, ...] | None:
    """Return the lines of a file that have a MAC; None for a file that could not be read."""
    if entries is None:
        return None
    return tuple(entry for entry in entries if entry.mac == mac)


def directory_of(
    host: Host, network: str, states: Sequence[str]
) -> str | None:
    """Return the agent's directory for a network; None if this host has none."""
    for state in states:
        try:
            host.ask("dhcp", "ls", f"{state}/{network}")
        except UnreadError as exc:
            if not exc.is_of_absent_file:
                raise
        else:
            return f"{state}/{network}"
    return None


def dnsmasqs_of(host: Host, network: str) -> tuple[DnsmasqProcess, ...]:
    running = []
    for pid, words in processes(host, "dhcp", f"/{network}/"):
        if words[0].rpartition("/")[2] == "dnsmasq":
            options = tuple(word for word in words if "mtu" in word)
            running.append(DnsmasqProcess(pid, options))
    return tuple(running)


def content_of(
    host: Host, path: str, parse: Callable[[str], list[T]]
) -> list[T]:
    return parse(host.ask("dhcp", "cat", path))


def log_of(
    host: Host, sources: LogSources, mac: str, since: float
) -> list[MatchingLine] | None:
    return matching_lines.read(host, "dhcp", sources, mac, since)


def parse_hosts(text: str) -> list[DhcpReservation]:
    """Parse lines of a MAC, tags, a name and the address; an IPv6 address is in brackets."""
    hosts = []
    for line in text.splitlines():
        mac, *words = line.split(",")
        addresses = [
            word.strip("[]") for word in words if ADDRESS.fullmatch(word)
        ]
        first = addresses[0] if addresses else None
        hosts.append(DhcpReservation(mac, first))
    return hosts


def parse_leases(text: str) -> list[Lease]:
    lines = map(str.split, text.splitlines())
    return [
        Lease(int(words[0]), words[1], words[2].strip("[]"))
        for words in lines
        if len(words) == LEASE_FIELDS
    ]


def parse_talk(lines: list[MatchingLine], mac: str) -> tuple[DhcpMessage, ...]:
    messages = []
    for line in lines:
        match = TALK.search(line.text)
        if match and match["mac"] == mac:
            messages.append(
                DhcpMessage(
                    match["kind"],
                    match["address"],
                    mac,
                    at=line.at,
                    resolution_s=line.resolution_s,
                    # After other messages the name of the guest follows.
                    why=match["rest"] if match["kind"] == REFUSAL else None,
                )
            )
    return tuple(messages)
