# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the boot that is asked for in a directory of collected logs, and what belongs to it."""

from __future__ import annotations

from .._collect.api.instance import SETTLING
from .._match.matcher import TOKEN_CACHE
from .._record.errors import StageError
from .._record.words import listed
from . import bundle_host, related
from .bundle_read import MOST_NAMED, moment, unread_hint, where

# The files are read so many times at most, as long as they name new ids.
ROUNDS = 3
# So many requests are tried, as all files are read for each of them.
TRIED = 4
# A client that has asked for a server asks for its state within so many seconds.
SHORTLY = 30
# If the lines of two hosts on one boot are further apart than so many seconds, the zone of one is wrong.
APART = 840


def with_server(bundle, server, near):
    """(boot, keys, lines) of a server's boot. A server may be built anew later; its first boot is meant."""
    lines = named_lines(bundle, server, near)
    boots = [boot for boot in related.boots_in(lines) if boot["server"] == server][:1]
    boots = boots or by_others(bundle, lines, near) or by_time(bundle, lines, server) or [by_ids(lines, None, server)]
    return whole(bundle, boots[0], near)


def with_request(bundle, request, near):
    """(boot, keys, lines) of the boot that a request asked for; None if it asked for something else."""
    lines = named_lines(bundle, request, near)
    boots = [boot for boot in related.boots_in(lines) if request in (boot["request"], boot["client"])]
    if not boots and not is_of_boot(lines, request):
        return None
    return whole(bundle, chosen(boots, request) if boots else by_ids(lines, request, None), near)


def whole(bundle, boot, near=None):
    """(boot, keys, lines): with all ids that belong to a boot."""
    keys = {"request": {boot["request"], boot["client"]} - {None}, "server": {boot["server"]} - {None}}
    return (boot, *keys_and_lines(bundle, boot, keys, near))


def named_lines(bundle, text, near):
    lines = bundle.lines_with([text], near)
    if not lines:
        raise StageError("not_found", f"no line has {text}. {where(bundle)}", hint=unread_hint(bundle))
    return lines


def is_of_boot(lines, request):
    """Whether a request without a line of its own at nova-api may be that of a boot: Nova worked on a server for it."""
    own = [line for line in lines if line["requests"][-1:] == [request]]
    return not any(line["http"] for line in own) and any(line["ids"].get("server") for line in lines)


def keys_and_lines(bundle, boot, keys, near):
    """The keys and lines of a boot: its lines are read until they name no new id."""
    lines = []
    for _round in range(ROUNDS):
        before = {kind: set(texts) for kind, texts in keys.items()}
        lines = bundle.lines_with(sorted(keys["request"] | keys["server"]), near or boot["at"])
        # A client may give one id to several requests: then the id is not that of this boot alone.
        if len({other["request"] for other in related.boots_in(lines) if other["client"] == boot["client"]}) > 1:
            keys["request"] = {boot["request"]}
        keys = related.grown(keys, lines)
        if keys == before:
            break
    if not lines:
        raise StageError("not_found", f"no line has the boot any more. {where(bundle)}", hint=unread_hint(bundle))
    return keys, lines


def by_others(bundle, lines, near):
    """The boot of a server that Nova's workers do not name: by the requests of other services that name it first."""
    others = [line for line in lines if line["service"] not in related.WORKERS]
    others.sort(key=lambda line: line["at"])
    servers = {request: line["ids"].get("server") for line in others[::-1] for request in line["requests"]}
    for request in list(servers)[:-TRIED:-1]:
        boots = [boot for boot in related.boots_in(bundle.lines_with([request], near)) if not boot["server"]]
        if len(boots) == 1:
            return [{**boots[0], "server": (servers[request] or [None])[0]}]
    return []


def by_time(bundle, lines, server):
    """The boot that was asked for right before the first line of the server, if there is only one."""
    first = min(line["at"] for line in lines)
    boots = related.boots_in(bundle.lines_with(related.ASKED, first))
    near = [boot for boot in boots if first - SHORTLY <= boot["at"] <= first and not boot["server"]]
    return [{**near[0], "server": server, "by_time": True}] if len(near) == 1 else []


def by_ids(lines, request, server):
    """A boot by the ids alone, where its own lines are missing."""
    servers = [text for line in lines for text in line["ids"].get("server", [])]
    if not server and servers:
        server = max(set(servers), key=servers.count)
    return {
        "request": request,
        "client": None,
        "server": server,
        "at": min(line["at"] for line in lines),
        "outcome": None,
        "siblings": 0,
    }


def chosen(boots, request=None):
    """The only boot, or the only one that failed; without such a boot the user must choose."""
    failed = [boot for boot in boots if boot["outcome"] == "failed"]
    shown = failed or boots
    if len(boots) == 1 or len(failed) == 1:
        return shown[0]
    count = f"{len(boots)} boots are there, of which none says that it failed"
    if failed:
        count = f"{len(failed)} boots failed"
    if request:
        count += f" of {request}"
    named = [
        f"{moment(boot['at'])} server {boot['server'] or 'not known'}, request {boot['request']}" for boot in shown
    ]
    hint = "Name the one that is meant: -e stackproof_server_id=... or -e stackproof_request_id=..."
    raise StageError("ambiguous", f"{count}: {listed(named, MOST_NAMED, '; ')}", hint=hint)


def wanted(keys, lines, looked_for):
    """The option of log_info that says which lines to look for."""
    began, until = related.interval(lines, keys, SETTLING)
    return {
        "keys": {kind: sorted(texts) for kind, texts in keys.items() if texts},
        **looked_for,
        "began": began,
        "since": began - TOKEN_CACHE,
        "until": until,
        "errors": True,
    }


def silence(bundle, hosts):
    """For how many seconds the logs go on after the last event of the boot. To ask for its state is none."""
    events = [event for read in hosts.values() for event in read["events"] if event.get("method") != "GET"]
    signs = [event["at"] for event in events if {"request", "server"} & set(event["keys"])]
    if not signs:
        return 0.0
    last = max(signs)
    for end in sorted(bundle.ends):
        # A file that ends more than a day after all others has a line of a wrong clock, and proves nothing.
        last = max(last, end) if end - last <= related.FAR else last
    return last - max(signs)


def add_addresses(bundle, hosts, port):
    """Give each host the addresses by which the others know it."""
    tops = [place.top for place in bundle.places if place.whole_host]
    addresses = bundle_host.named_addresses(tops, list(hosts))
    for place in bundle.places:
        if place.name in hosts and place.whole_host:
            addresses[place.name] = sorted({*addresses[place.name], *bundle_host.addresses_of(place.top)})
    worker = compute_host(hosts)
    if worker in addresses:
        for client in binding_clients(hosts, port):
            if not any(client in texts for texts in addresses.values()):
                addresses[worker] = [*addresses[worker], client]
    for host, read in hosts.items():
        read["addresses"] = addresses[host]


def binding_clients(hosts, port):
    """The addresses from which the server's port was changed: only the host that runs the instance does so."""
    events = [event for read in hosts.values() for event in read["events"] if event["kind"] == "http"]
    return [
        event["client"]
        for event in events
        if event.get("client")
        and event.get("method") == "PUT"
        and any(f"/ports/{text}" in event["path"] for text in port)
    ]


def compute_host(hosts):
    """The host whose nova-compute worked on the server last, or else that was asked last to build it."""
    worked, asked = {}, {}
    for host, read in hosts.items():
        for event in read["events"]:
            if is_work(event):
                worked[host] = max(event["at"], worked.get(host, 0))
            name = host_asked(event, hosts)
            if name:
                asked[name] = event["at"]
    times = worked or asked
    return max(times, key=times.get, default=None)


def is_work(event):
    return event["service"] == "nova-compute" and {"server", "request"} & set(event["keys"])


def host_asked(event, hosts):
    """The host that a message asks to build the server, by the name that it has here; else None."""
    if event.get("method") != "build_and_run_instance":
        return None
    service, _dot, name = (event.get("topic") or "").partition(".")
    if service != "compute" or not name:
        return None
    short = name.partition(".")[0]
    return next((host for host in hosts if host.partition(".")[0] == short), name)


def hosts_apart(lines, keys):
    """Hosts whose lines of the boot's own requests are so far from those of others that their zone is in doubt.

    As (host, the host that it is compared with, how many hours it is ahead of that).
    """
    own = [line for line in lines if set(line["requests"]) & keys["request"]]
    if not own:
        return []
    own, _far = related.near_and_far(own)
    times = {}
    for line in own:
        times.setdefault(line["host"], []).append(line["at"])
    compared = min(own, key=lambda line: ("asked" not in line["marks"], line["at"]))["host"]
    first, last = min(times[compared]), max(times[compared])
    # Zones differ by quarters of an hour.
    return [
        (host, compared, round((min(own_times) - first) / 900) / 4)
        for host, own_times in sorted(times.items())
        if min(own_times) - last > APART or first - max(own_times) > APART
    ]


def doubts(boot, lines, keys):
    """The doubts about the boot, as sentences."""
    sentences = []
    if boot.get("by_time"):
        why = f"no other boot was asked for in the {SHORTLY} seconds before it is named"
        sentences.append(
            f"no line has the request of the server {boot['server']}: {boot['request']} is taken, as {why}"
        )
    _near, far = related.near_and_far(related.lines_of_boot(lines, keys))
    for line in far[:MOST_NAMED]:
        time = f"a line of {line['service']} on {line['host']} on this boot is of {moment(line['at'])}"
        hint = f"look at the clock of {line['host']}"
        sentences.append(f"{time}, more than a day from the others, and is left out: {hint}")
    for host, other, hours in hosts_apart(lines, keys):
        difference = f"{abs(hours):g} hours {'later' if hours > 0 else 'earlier'} than those of {other}"
        hint = "if its zone is another, say it in stackproof_time_zones"
        sentences.append(f"the lines of {host} on this boot are {difference}: {hint}")
    return sentences
