# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a directory of collected logs: finds the boot that is asked for, and what each host's logs say of it.

What is kept of a line is what log_info keeps of it on a host: the same code decides.
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
from . import bundle_host, bundle_lines
from . import related as related_module
from .bundle import Services, check, links_out, places_in, stem

ROUNDS = 3
MOST_NAMED = 10
# All files are read for each request that may be the boot's.
TRIED = 4
# A client that has asked for a server asks for its state soon.
SHORTLY = 30
# The time of a file is that of its last line, if it was not changed when it was copied.
FITS = 300
# Two hosts that work on one boot and are further apart than this are not in the zones that are said.
APART = 840


class Scan(log_files.Scan):
    """What a host's scan is; but the time of a copied file may be that of the copy."""

    def zone_of(self, last, changed):
        at = self.when(last, 0)
        return 0 if at is not None and abs(at - changed) < FITS else self.zone


class Bundle:
    def __init__(self, directory, services, zone="UTC", zones=None):
        check(directory)
        self.directory, self.services = directory, Services(services)
        self.default, self.zones = zone, zones or {}
        self.first, self.last, self.unread = None, None, []
        self.places = places_in(directory)
        if not any(place.files for place in self.places):
            hint = "Give a directory with a log of each service, or with a directory of logs for each host."
            raise StageError("not_found", f"there is no log in {directory}", hint=hint)
        self.told_zones = {place: bundle_host.zone_of(place.top) for place in self.places if place.whole_host}
        self.zone_at(self.default, 0)

    @staticmethod
    def zone_at(zone, at):
        return bundle_host.offset_of(zone, at)

    def zone_of(self, place, host, at):
        """Seconds to the east: as asked for this host, as its files say, or as asked for all."""
        return self.zone_at(self.zones.get(host) or self.told_zones.get(place) or self.default, at)

    def zones_at(self, at):
        """The zone of each host, in seconds to the east."""
        return {place.name: self.zone_of(place, place.name, at) for place in self.places}

    def links(self):
        return [
            f"{path} leads out of the directory: it is a link, and is not followed"
            for path in links_out(self.directory)[:MOST_NAMED]
        ]

    def sifted(self, is_wanted):
        """(place, path below its top, what was found) of each file."""
        for place in self.places:
            for path in place.files:
                yield place, os.path.relpath(path, place.top), bundle_lines.sift(path, is_wanted)

    def whose(self, place, path, line):
        """(host, service) of a line. A file of syslog has those of several, and tells it line by line."""
        service = self.services.of_file(path)
        host, program = log_formats.writer_of(line)
        if program:
            service = self.services.of_program(program) or service or stem(program)
        host = place.name if place.named or not host else host.partition(".")[0]
        return host, service or stem(os.path.basename(path))

    def told(self, texts, near):
        """What all lines with one of the texts say of ids, and of how many files none could be read."""
        either = any_of(texts)
        found, self.first, self.last, self.unread = [], None, None, []
        for place, path, sifted in self.sifted(either.search):
            if sifted.why and not sifted.lines:
                self.unread.append(f"{os.path.join(place.name, path)}: {sifted.why}")
            about = near or sifted.changed
            self.stretch(place, sifted, about)
            for line in sifted.lines:
                host, service = self.whose(place, path, line)
                parsed = log_formats.parse(line, about, self.zone_of(place, host, about))
                if parsed and parsed["at"] is not None:
                    found.append(related_module.told(parsed, line, host, service))
        return found

    def stretch(self, place, sifted, near):
        """From when to when the logs are."""
        zone = self.zone_of(place, place.name, near)
        for lines, pick, name in zip(sifted.edges, (min, max), ("first", "last")):
            parsed = (log_formats.parse(line, near, zone) for line in lines)
            at = next((one["at"] for one in parsed if one and one["at"] is not None), None)
            if at is not None:
                setattr(self, name, at if getattr(self, name) is None else pick(getattr(self, name), at))

    def events(self, wanted):
        """(host to what log_info returns of it, service to the level at which it logs by host)"""
        keys = {text: kind for kind, texts in wanted["keys"].items() for text in texts}
        near = wanted["until"]
        reading = Reading(keys, wanted)
        is_wanted = reading.filter({self.zone_of(place, place.name, near) for place in self.places} | {0})
        for place, path, sifted in self.sifted(is_wanted):
            known = self.services.of_file(path)
            groups = {(place.name, known): []} if known else {}
            for line in sifted.lines:
                groups.setdefault(self.whose(place, path, line), []).append(line)
            for (host, service), lines in groups.items():
                reading.take(host, service, self.zone_of(place, host, near), path, sifted, lines)
        return reading.hosts, reading.levels


class Reading:
    """The scans of all hosts, and what they have found."""

    def __init__(self, keys, wanted):
        self.keys, self.wanted = keys, wanted
        self.scans, self.hosts, self.levels = {}, {}, {}

    def filter(self, zones):
        """A function that says whether a line, as bytes, is looked for: as grep does on a host."""
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
        levels = [one["level"] for one in parsed if one]
        its = self.levels.setdefault(service, {})
        its[host] = max([its.get(host, "info"), *levels], key=LEVELS.index)
        if source:
            why = sifted.why or source["why"]
            self.hosts[host]["sources"].append({**source, "whole": why is None, "why": why})


def any_of(texts):
    """One expression for all texts, as to look for each by itself takes far longer. Without any it finds nothing."""
    return re.compile("|".join(map(re.escape, sorted(texts))).encode() or b"(?!)")


def moment(at):
    return f"{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def find(bundle, request=None, server=None, since=None, until=None):
    """The boot that is asked for, with its keys and all lines that are known of it."""
    asked = server or request
    near = until or since
    lines = bundle.told([asked] if asked else [*related_module.TEXTS], near)
    boots = related_module.boots_in(lines)
    if asked:
        boots = [one for one in boots if asked in (one["server"], one["request"], one["client"])]
        # A server may be built anew later; its first boot is meant.
        boots = boots[:1] if server else boots
        if not lines:
            raise StageError("not_found", f"no line has {asked}. {where(bundle)}", hint=unread_hint(bundle))
        if not boots and server:
            boots = by_others(bundle, lines, near) or by_time(bundle, lines, server)
        boots = boots or [fallback(lines, request, server)]
    else:
        boots = [one for one in boots if (since or 0) <= one["at"] <= (until or float("inf"))]
    boot = chosen(boots, bundle, asked)
    keys = {"request": {boot["request"], boot["client"]} - {None}, "server": {boot["server"]} - {None}}
    return (boot, *related(bundle, boot, keys, near))


def related(bundle, boot, keys, near):
    """(keys, lines) of a boot: its lines are read until they name nothing that is new."""
    lines = []
    for _round in range(ROUNDS):
        before = {kind: set(texts) for kind, texts in keys.items()}
        lines = bundle.told(sorted(keys["request"] | keys["server"]), near or boot["at"])
        # Who gives one id to several requests has given it to this boot not alone.
        if len({one["request"] for one in related_module.boots_in(lines) if one["client"] == boot["client"]}) > 1:
            keys["request"] = {boot["request"]}
        keys = related_module.grown(keys, lines)
        if keys == before:
            break
    return keys, lines


def by_others(bundle, lines, near):
    """The boot in whose request another service first had to do with a server that Nova's workers do not name."""
    others = [
        line for line in sorted(lines, key=lambda one: one["at"]) if line["service"] not in related_module.WORKERS
    ]
    servers = {request: line["ids"].get("server") for line in others[::-1] for request in line["requests"]}
    for request in list(servers)[:-TRIED:-1]:
        boots = [one for one in related_module.boots_in(bundle.told([request], near)) if not one["server"]]
        if len(boots) == 1:
            return [{**boots[0], "server": (servers[request] or [None])[0]}]
    return []


def by_time(bundle, lines, server):
    """The boot that was asked for right before the server is named for the first time, if there is only one."""
    first = min(line["at"] for line in lines)
    boots = related_module.boots_in(bundle.told([related_module.ASKED], first))
    near = [one for one in boots if first - SHORTLY <= one["at"] <= first and not one["server"]]
    return [{**near[0], "server": server, "by_time": True}] if len(near) == 1 else []


def fallback(lines, request, server):
    """What is known of a boot whose own lines are not there."""
    servers = [text for line in lines for text in line["ids"].get("server", [])]
    if request and not servers and not any(related_module.own_request(line) for line in lines):
        services = ", ".join(sorted({line["service"] for line in lines}))
        hint = "Give the request that made the server, as nova-api logs it, or the server's id."
        raise StageError("invalid", f"{request} is no request for a server: it is known to {services} only", hint=hint)
    return {
        "request": request,
        "client": None,
        "server": server or (max(set(servers), key=servers.count) if servers else None),
        "at": min(line["at"] for line in lines),
        "outcome": None,
        "siblings": 0,
    }


def chosen(boots, bundle, asked):
    """The one boot that is meant, or the one that failed; else they are named."""
    if not boots:
        raise StageError("not_found", f"no boot of a server is in that time. {where(bundle)}", hint=unread_hint(bundle))
    failed = [one for one in boots if one["outcome"] == "failed"]
    if len(boots) == 1 or len(failed) == 1:
        return (failed or boots)[0]
    shown = failed or boots
    what = (
        f"{len(failed)} boots failed" if failed else f"{len(boots)} boots are there, of which none says that it failed"
    )
    names = "; ".join(
        f"{moment(one['at'])} server {one['server'] or 'not known'}, request {one['request']}"
        for one in shown[:MOST_NAMED]
    )
    more = f"; and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    hint = "Name the one that is meant: -e stackproof_server_id=... or -e stackproof_request_id=..."
    raise StageError("ambiguous", f"{what}{f' of {asked}' if asked else ''}: {names}{more}", hint=hint)


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
    """What log_info would be told to look for."""
    began, until = related_module.span(lines, keys, SETTLING)
    return {
        "keys": {kind: sorted(texts) for kind, texts in keys.items() if texts},
        **looked_for,
        "began": began,
        "since": began - TOKEN_CACHE,
        "until": until,
        "errors": True,
    }


def add_addresses(bundle, hosts, port):
    """Give each host the addresses by which the others know it."""
    tops = [place.top for place in bundle.places if place.whole_host]
    said = bundle_host.named_addresses(tops, list(hosts))
    for place in bundle.places:
        if place.name in hosts and place.whole_host:
            said[place.name] = sorted({*said[place.name], *bundle_host.addresses_of(place.top)})
    worker = compute_host(hosts)
    events = [one for read in hosts.values() for one in read["events"] if one["kind"] == "http" and one.get("client")]
    for one in events if worker in said else ():
        # Only the host that runs the instance changes its port.
        binds = one.get("method") == "PUT" and any(f"/ports/{text}" in one["path"] for text in port)
        if binds and not any(one["client"] in addresses for addresses in said.values()):
            said[worker] = [*said[worker], one["client"]]
    for host, read in hosts.items():
        read["addresses"] = said[host]


def compute_host(hosts):
    """The host whose nova-compute worked on the server last, or which was told to."""
    worked, told = {}, {}
    for host, read in hosts.items():
        for one in read["events"]:
            if is_work(one):
                worked[host] = max(one["at"], worked.get(host, 0))
            topic = (one.get("topic") or "").partition(".") if one.get("method") == "build_and_run_instance" else ()
            if topic and topic[0] == "compute" and topic[2]:
                name = topic[2].partition(".")[0]
                told[next((one for one in hosts if one.partition(".")[0] == name), topic[2])] = one["at"]
    known = worked or told
    return max(known, key=lambda host: known[host]) if known else None


def is_work(one):
    return one["service"] == "nova-compute" and {"server", "request"} & set(one["keys"])


def apart(lines, keys):
    """Hosts whose lines of the boot's own requests are so far from the others' that their zone is in doubt.

    As (host, the host that it is compared with, how many hours it is ahead of that one).
    """
    own = [line for line in lines if set(line["requests"]) & keys["request"]]
    times, own = {}, related_module.apart(own)[0] if own else []
    for line in own:
        times.setdefault(line["host"], []).append(line["at"])
    if len(times) < 2:
        return []
    compared = min(own, key=lambda line: ("asked" not in line["marks"], line["at"]))["host"]
    first, last, found = min(times[compared]), max(times[compared]), []
    for host, some in sorted(times.items()):
        if min(some) - last > APART or first - max(some) > APART:
            # Zones differ by quarters of an hour.
            found.append((host, compared, round((min(some) - first) / 900) / 4))
    return found


def doubts(boot, lines, keys):
    """What is not quite known, as sentences."""
    found = []
    if boot.get("by_time"):
        before = f"no other boot was asked for in the {SHORTLY} seconds before it is named"
        found.append(f"no line has the request of the server {boot['server']}: {boot['request']} is taken, as {before}")
    for line in related_module.apart(related_module.about(lines, keys))[1][:MOST_NAMED]:
        what = f"a line of {line['service']} on {line['host']} on this boot is of {moment(line['at'])}"
        found.append(f"{what}, more than a day from the others, and is left out: look at the clock of {line['host']}")
    for host, other, hours in apart(lines, keys):
        how = f"{abs(hours):g} hours {'later' if hours > 0 else 'earlier'} than those of {other}"
        found.append(
            f"the lines of {host} on this boot are {how}: if its zone is another, say it in stackproof_time_zones"
        )
    return found
