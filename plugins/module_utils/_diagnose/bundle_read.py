# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a directory of collected logs: finds the boot that is asked for, and its events on each host.

A line becomes an event by the same code as in log_info, which reads the logs on a host.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone

from .._collect import log_files, log_formats
from .._collect.instance import SETTLING
from .._match.flow import TOKEN_CACHE
from .._record.errors import StageError
from .._record.levels import LEVELS
from . import bundle_host, bundle_lines, related
from .bundle import Services, check, links_out, places_in, stem

ROUNDS = 3
MOST_NAMED = 10
# So many requests are tried, as all files are read for each of them.
TRIED = 4
# A client that has asked for a server asks for its state within so many seconds.
SHORTLY = 30
# The time of a file fits its last line to so many seconds, if the copy has kept it.
FITS = 300
# If the lines of two hosts on one boot are further apart than so many seconds, the zone of one is wrong.
APART = 840


class Scan(log_files.Scan):
    """The scan of log_info, for copied files: the time of a file may be that of the copy."""

    def zone_of(self, last, changed):
        at = self.when(last, 0)
        return 0 if at is not None and abs(at - changed) < FITS else self.zone


class Bundle:
    def __init__(self, directory, services, zone="UTC", zones=None):
        check(directory)
        self.directory = directory
        self.services = Services(services)
        self.default, self.zones = zone, zones or {}
        self.first = self.last = None
        self.ends, self.unread = [], []
        self.places = places_in(directory)
        if not any(place.files for place in self.places):
            hint = "Give a directory with a log of each service, or with a directory of logs for each host."
            raise StageError("not_found", f"there is no log in {directory}", hint=hint)
        self.own_zones = {place: bundle_host.zone_of(place.top) for place in self.places if place.whole_host}
        bundle_host.offset_of(self.default, 0)  # refuses a zone that is not known

    def zone_of(self, place, host, at):
        """Seconds to the east: by the option for this host, by its files, or by the option for all."""
        return bundle_host.offset_of(self.zones.get(host) or self.own_zones.get(place) or self.default, at)

    def zones_at(self, at):
        """The zone of each host, in seconds to the east."""
        return {place.name: self.zone_of(place, place.name, at) for place in self.places}

    def links(self):
        return [
            f"{path} leads out of the directory: it is a link, and is not followed"
            for path in links_out(self.directory)[:MOST_NAMED]
        ]

    def sifted(self, is_wanted):
        """(place, path below its top, Sifted) of each file."""
        for place in self.places:
            for path in place.files:
                yield place, os.path.relpath(path, place.top), bundle_lines.sift(path, is_wanted)

    def host_and_service(self, place, path, line):
        """The host and the service of a line. In a file of syslog each line names them."""
        service = self.services.of_file(path)
        host, program = log_formats.writer_of(line)
        if program:
            service = self.services.of_program(program) or service or stem(program)
        host = place.name if place.named or not host else host.partition(".")[0]
        return host, service or stem(os.path.basename(path))

    def lines_with(self, texts, near):
        """All lines with one of the texts, as related has them. Notes the times of all logs, and files without any."""
        either = any_of(texts)
        self.first = self.last = None
        lines, self.ends, self.unread = [], [], []
        for place, path, sifted in self.sifted(either.search):
            if sifted.why and not sifted.lines:
                self.unread.append(f"{os.path.join(place.name, path)}: {sifted.why}")
            at = near or sifted.changed
            self.note_times(place, sifted, at)
            for text in sifted.lines:
                host, service = self.host_and_service(place, path, text)
                parsed = log_formats.parse(text, at, self.zone_of(place, host, at))
                if parsed and parsed["at"] is not None:
                    lines.append(related.line_of(parsed, text, host, service))
        return lines

    def note_times(self, place, sifted, near):
        """Widen the interval of all logs to that of a file, and keep when it ends."""
        zone = self.zone_of(place, place.name, near)
        first, last = (first_time(lines, near, zone) for lines in sifted.edges)
        if first is not None:
            self.first = first if self.first is None else min(self.first, first)
        if last is not None:
            self.last = last if self.last is None else max(self.last, last)
            self.ends.append(last)

    def events(self, wanted):
        """(host to what log_info would return of it, service to host to the level at which it logs)"""
        keys = {text: kind for kind, texts in wanted["keys"].items() for text in texts}
        near = wanted["until"]
        reading = Reading(keys, wanted)
        is_wanted = reading.filter({self.zone_of(place, place.name, near) for place in self.places} | {0})
        for place, path, sifted in self.sifted(is_wanted):
            of_file = self.services.of_file(path)
            groups = {(place.name, of_file): []} if of_file else {}
            for line in sifted.lines:
                groups.setdefault(self.host_and_service(place, path, line), []).append(line)
            for (host, service), lines in groups.items():
                reading.take(host, service, self.zone_of(place, host, near), path, sifted, lines)
        return reading.hosts, reading.levels


class Reading:
    """The scans of all hosts, their events and their levels."""

    def __init__(self, keys, wanted):
        self.keys, self.wanted = keys, wanted
        self.scans, self.hosts, self.levels = {}, {}, {}

    def filter(self, zones):
        """A function that says whether a line, as bytes, is wanted: as grep does on a host."""
        scan = Scan(self.keys, self.wanted, 0)
        keys, texts = any_of(self.keys), any_of(scan.window_texts())
        moments = any_of({text for zone in zones for text in log_files.moments(self.wanted, zone)})

        def is_wanted(line):
            return keys.search(line) or (texts.search(line) and moments.search(line))

        return is_wanted

    def take(self, host, service, zone, path, sifted, lines):
        if host not in self.scans:
            self.scans[host] = Scan(self.keys, self.wanted, zone)
            self.hosts[host] = {"events": self.scans[host].events, "sources": [], "addresses": [], "unread": []}
        source = self.scans[host].file(service, path, sifted.changed, lines, sifted.edges)
        parsed = [log_formats.parse(line, self.wanted["until"], zone) for lines in sifted.edges for line in lines]
        levels = [line["level"] for line in parsed if line]
        by_host = self.levels.setdefault(service, {})
        by_host[host] = max([by_host.get(host, "info"), *levels], key=LEVELS.index)
        if source:
            why = sifted.why or source["why"]
            self.hosts[host]["sources"].append({**source, "whole": why is None, "why": why})


def first_time(lines, near, zone):
    """The time of the first line that has one, or None."""
    parsed = (log_formats.parse(line, near, zone) for line in lines)
    return next((line["at"] for line in parsed if line and line["at"] is not None), None)


def any_of(texts):
    """One expression for all texts, as a search for each of them takes far longer. Without texts it finds nothing."""
    return re.compile("|".join(map(re.escape, sorted(texts))).encode() or b"(?!)")


def moment(at):
    return f"{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def find(bundle, request=None, server=None, since=None, until=None):
    """(boot, keys, lines) of the boot that is asked for."""
    asked, near = server or request, until or since
    if asked:
        boots = boots_with(bundle, request, server, near)
    else:
        boots = related.boots_in(bundle.lines_with(related.TEXTS, near))
        boots = [boot for boot in boots if (since or 0) <= boot["at"] <= (until or float("inf"))]
    boot = chosen(boots, bundle, asked)
    keys = {"request": {boot["request"], boot["client"]} - {None}, "server": {boot["server"]} - {None}}
    return (boot, *keys_and_lines(bundle, boot, keys, near))


def boots_with(bundle, request, server, near):
    """The boots that have the id of a request or of a server."""
    asked = server or request
    lines = bundle.lines_with([asked], near)
    if not lines:
        raise StageError("not_found", f"no line has {asked}. {where(bundle)}", hint=unread_hint(bundle))
    boots = [boot for boot in related.boots_in(lines) if asked in (boot["server"], boot["request"], boot["client"])]
    if server:
        # A server may be built anew later; its first boot is meant.
        boots = boots[:1] or by_others(bundle, lines, near) or by_time(bundle, lines, server)
    return boots or [fallback(lines, request, server)]


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


def fallback(lines, request, server):
    """A boot by the ids alone, where its own lines are missing."""
    servers = [text for line in lines for text in line["ids"].get("server", [])]
    if request and not servers and not any(related.own_request(line) for line in lines):
        services = ", ".join(sorted({line["service"] for line in lines}))
        hint = "Give the request that made the server, as nova-api logs it, or the server's id."
        message = f"{request} is not a request for a server: it is known to {services} only"
        raise StageError("invalid", message, hint=hint)
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


def chosen(boots, bundle, asked):
    """The only boot, or the only one that failed; without such a boot the user must choose."""
    if not boots:
        raise StageError("not_found", f"no boot of a server is in that time. {where(bundle)}", hint=unread_hint(bundle))
    failed = [boot for boot in boots if boot["outcome"] == "failed"]
    shown = failed or boots
    if len(boots) == 1 or len(failed) == 1:
        return shown[0]
    count = f"{len(boots)} boots are there, of which none says that it failed"
    if failed:
        count = f"{len(failed)} boots failed"
    if asked:
        count += f" of {asked}"
    names = "; ".join(
        f"{moment(boot['at'])} server {boot['server'] or 'not known'}, request {boot['request']}"
        for boot in shown[:MOST_NAMED]
    )
    more = f"; and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    hint = "Name the one that is meant: -e stackproof_server_id=... or -e stackproof_request_id=..."
    raise StageError("ambiguous", f"{count}: {names}{more}", hint=hint)


def where(bundle):
    files = sum(len(place.files) for place in bundle.places)
    hosts = ", ".join(place.name for place in bundle.places)
    if bundle.first is None:
        return f"There are {files} files of {hosts}, and no line in them has a time that is understood"
    return f"The {files} files of {hosts} go from {moment(bundle.first)} to {moment(bundle.last)}"


def unread_hint(bundle):
    if not bundle.unread:
        return "Look whether the logs of that time are there, rotated ones too."
    more = f", and {len(bundle.unread) - 3} more" if len(bundle.unread) > 3 else ""
    return f"Not read: {'; '.join(bundle.unread[:3])}{more}."


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
