# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what ip and ss would of the network links, namespaces and sockets of a host."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..._collect.commands import UnreadError
from .report import Report, absent

ROUTER = "qrouter"
# The file with the addresses in the namespace of a router or a network
ADDRESSES_IN = (
    r"/ip_netns_exec_{}-(?P<id>[0-9a-f-]{{36}})_ip_(?:-\w+_)?address_show$"
)
# The beginning of a link, such as: 2: eth0@if14: <BROADCAST,UP,LOWER_UP> mtu 1500
LINK = re.compile(
    r"^\d+: (?P<name>[^:@\s]+)(?:@\S+)?: <(?P<flags>[^>]*)>.*? mtu (?P<mtu>\d+)"
)
ADDRESS = re.compile(r"^ +(?P<family>inet6?) (?P<local>[0-9a-f.:]+)")
HARDWARE = re.compile(r"^ +link/\S+ (?P<address>[0-9a-f:]+)")
COUNTED = re.compile(r"^ +(?P<direction>RX|TX): ")
# Of the counters of a direction: bytes, packets, errors, dropped
DROPPED = 3
# netstat: protocol, queues, both ends, state, user, inode, process
SOCKET = re.compile(
    r"^tcp6? +(?P<queues>\d+ +\d+) (?P<ends>\S+ +\S+) +(?P<state>[A-Z_0-9]+)"
)
# A socket of the kernel has none; the numbers of its timer stand in brackets.
PROCESS = re.compile(r"(?<=\s)(?P<pid>\d+)/(?P<program>\S+)")
# The time until a packet is sent again, and how often it was
TIMER = re.compile(r"\bon \([\d.]+/([1-9]\d*)/")


def ip(report: Report, words: Sequence[str]) -> str:
    """Return the links in JSON: of the host or of a namespace, all or one."""
    if "exec" in words:
        raise absent(" ".join(("ip", *words)))
    if "-netns" in words:
        space = words[words.index("-netns") + 1]
        return json.dumps(
            links_in(report.output(f"ip_netns_exec_{space}_ip_*address_show*"))
        )
    links = links_of(report)
    if "dev" not in words:
        return json.dumps(links)
    name = words[words.index("dev") + 1]
    own = [link for link in links if link["ifname"] == name]
    if not own:
        raise UnreadError(
            "failed", ["ip", *words], f'Device "{name}" does not exist.'
        )
    return json.dumps(own)


def namespaces(report: Report) -> str:
    """Return the names of the namespaces, as ls would list them."""
    lines = report.output("ip_netns").splitlines()
    return "\n".join(line.split()[0] for line in lines if line.strip())


def links_in_namespaces(
    report: Report, kind: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the links in the namespaces of a kind, such as qrouter, each behind the id in the namespace's name."""
    name = re.compile(ADDRESSES_IN.format(kind))
    for found in filter(None, map(name.search, report.outputs)):
        try:
            links = links_in(report.printed(found.string))
        except UnreadError:
            continue
        for link in links:
            yield found["id"], link


def links_of(report: Report) -> list[dict[str, Any]]:
    """Return the links of the host, with their counters: they stand in another file than the addresses."""
    links = links_in(report.output("ip_-d_address", "ip_address"))
    counted = links_in(report.output("ip_-s_-d_link*", "ip_-s_link"))
    counters = {link["ifname"]: link.get("stats64") for link in counted}
    for link in links:
        link["stats64"] = counters.get(link["ifname"])
    return links


def links_in(text: str) -> list[dict[str, Any]]:
    """Parse the links that ip prints, as its own JSON has them."""
    links: list[dict[str, Any]] = []
    direction = None
    for line in text.splitlines():
        begin = LINK.match(line)
        if begin:
            links.append(
                {
                    "ifname": begin["name"],
                    "mtu": int(begin["mtu"]),
                    "flags": begin["flags"].split(","),
                    "addr_info": [],
                }
            )
        elif links:
            add(links[-1], line, direction)
        counted = COUNTED.match(line)
        direction = counted["direction"].lower() if counted else None
    return links


def add(link: dict[str, Any], line: str, direction: str | None) -> None:
    """Add to a link what one of its lines says. direction: of the counters, if this is the line below their names."""
    address, hardware = ADDRESS.match(line), HARDWARE.match(line)
    if address:
        link["addr_info"].append(address.groupdict())
    elif hardware:
        link["address"] = hardware["address"]
    elif direction:
        words = line.split()
        dropped = (
            int(words[DROPPED])
            if len(words) > DROPPED and words[DROPPED].isdigit()
            else 0
        )
        link.setdefault("stats64", {})[direction] = {"dropped": dropped}


def ss(report: Report, words: Sequence[str]) -> str:
    """Return the TCP sockets of one state, as ss prints them, by the lines of netstat."""
    if "--listening" in words:
        return "\n".join(
            f"LISTEN {line}" for line in sockets_in(report, "LISTEN")
        )
    if "syn-sent" in words:
        return "\n".join(unanswered(report))
    # Where one state is asked for by its name, ss does not print it.
    if "established" in words:
        return "\n".join(sockets_in(report, "ESTABLISHED"))
    return "\n".join(
        f"ESTAB {line}" for line in sockets_in(report, "ESTABLISHED")
    )


def unanswered(report: Report) -> Iterator[str]:
    """Yield the connections that are being made, and those that were, as ss prints both with their details."""
    yield from map("SYN-SENT {}".format, sockets_in(report, "SYN_SENT"))
    yield from map("ESTAB {}".format, sockets_in(report, "ESTABLISHED"))


def sockets_in(report: Report, state: str) -> Iterator[str]:
    """Yield the queues, the ends and the process of each TCP socket in a state, and how often it has sent again."""
    for line in report.output(
        "netstat_-W_-neopa", "netstat_-neopa"
    ).splitlines():
        socket = SOCKET.match(line)
        if socket is None or socket["state"] != state:
            continue
        users = ""
        process = PROCESS.search(line, socket.end())
        if process:
            users = (
                f' users:(("{process["program"]}",pid={process["pid"]},fd=0))'
            )
        details = "".join(map(" backoff:{}".format, TIMER.findall(line)))
        yield f"{socket['queues']} {socket['ends']}{users}{details}"
