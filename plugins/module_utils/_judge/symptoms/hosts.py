# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms that hosts show: services that do not run, own words, the ground, ways that are cut, and what is new."""

from __future__ import annotations

import re

from ..._collect.hosts.units import WELL
from ..._components.catalogue import COMPONENTS
from ..._components.tables import PROGRAMS, depends_on, entry_of, project_of
from ..._match.places import host_of
from ..._record.clock import iso_of, seconds_of
from ..._record.ids import addresses_of
from ..._record.shapes import symptom

STATES = {
    "stopped": "has been stopped{for_s}",
    "failed": "has failed, and has not run{for_s}",
    "frozen": "is frozen by a signal",
    "activating": "has been starting{for_s}",
    "deactivating": "has been stopping{for_s}",
}
# A word of a check of Ceph that says that nothing can be written
SEVERE = re.compile(r"FULL|DOWN|INACTIVE|UNAVAILABLE|PAUSE|OSDMAP_FLAGS|SLOW_OPS")
# kolla-ansible has a folder for each service: /etc/kolla/nova-api.
FOLDER = re.compile(r"^/(?:etc|var/lib|var/log)/(?:kolla/)?(?P<name>[a-z][a-z0-9-]*)(?:/|$)")
UNIT = re.compile(r"^/(?:etc|run)/systemd/system/(?P<unit>[\w@.-]+?\.service)(?:\.d)?(?:/|$)")
# Any service may write to a disk at one of these.
SHARED_DISKS = {
    "/", "/opt", "/opt/stack", "/opt/stack/data", "/run", "/tmp", "/usr", "/var", "/var/lib", "/var/log", "/var/tmp",
    "/var/lib/containers", "/var/lib/containers/storage", "/var/lib/docker", "/var/lib/docker/volumes",
    "/var/log/kolla",
}  # fmt: skip
# The kernel tells so many characters of a program's name.
TOLD_OF_NAME = 15
# A change so many seconds ago counts half of one of this moment.
FRESH = 300
# Clients keep a connection so many seconds at most, by the usual settings of their pools: until then it may be one that
# a restart has ended.
REMEMBERED = 3600
# How a peer that was probed did not answer, as symptoms have it
HOW = {"silent": "silent", "mute": "silent", "refused": "refused", "closed": "broken off"}


def services_of(host):
    return host["facts"].get("services") or []


def states(record, stage):
    """Services that should run and do not, and those that were started anew."""
    symptoms = []
    for host in record["hosts"]:
        for service in services_of(host):
            symptoms += started_anew(record, stage, host, service)
            if service["state"] in STATES:
                for_s = f" for {service['for_s']:.0f} s" if service["for_s"] else ""
                text = f"{STATES[service['state']].format(for_s=for_s)} ({service['unit']})"
                symptoms.append(symptom("state", service["component"], text, host=host["host"], how=service["state"]))
    return symptoms


def started_anew(record, stage, host, service):
    """That a service was started anew: by systemd while the run was under way, or by anybody before it."""
    since, finished = service.get("since"), stage.get("finished")
    if service["state"] != WELL or since is None or finished is None:
        return []
    at = since - (host.get("clock_offset_s") or 0)
    before, ago = seconds_of(record["started"]) - at, seconds_of(finished) - at
    if before > REMEMBERED:
        return []
    if before > (host.get("clock_error_s") or 0):
        text = f"was started anew {ago:.0f} s before the stage failed ({service['unit']})"
        return [symptom("restart", service["component"], text, host=host["host"], ago_s=ago)]
    text = f"has ended, and was started again at {iso_of(at)[11:19]} UTC ({service['unit']})"
    about = {"host": host["host"], "how": "restarted"}
    return [symptom("state", service["component"], text, **about)] if service["restarts"] else []


def words(record, _stage):
    """The words of shared services about themselves, without what is usual or far from the instance.

    A replica of a database may be read-only where another one is not, and the wires of other compute hosts carry
    nothing of this instance.
    """
    writable, home = any(is_writable(host) for host in record["hosts"]), host_of(record)
    return [
        symptom("words", word["component"], word["text"], host=host["host"], how=word["kind"])
        for host in record["hosts"]
        for word in examination_of(host).get("words") or []
        if not (writable and word["kind"] == "read-only")
        and not (word["kind"] == "link" and home not in (None, host["host"]) and is_compute_host(host))
    ]


def is_compute_host(host):
    return any(service["component"] == "nova-compute" for service in services_of(host))


def is_writable(host):
    """Whether the database on a host was asked, and can be written to."""
    examination = examination_of(host)
    runs = any((service["component"], service["state"]) == ("database", WELL) for service in services_of(host))
    asked = examination and not any(entry["what"] == "the state of database" for entry in host["unread"])
    return bool(runs and asked) and not any(word["kind"] == "read-only" for word in examination.get("words") or [])


def examination_of(host):
    return host.get("examination") or {}


def ceph(record, _stage):
    """Ceph's own health, as far as it was better before the run, and its silence."""
    symptoms = []
    for host in record["hosts"]:
        facts = host["facts"].get("ceph") or {}
        down = sorted(number for number, is_up in (facts.get("osds") or {}).items() if not is_up)
        if down:
            symptoms.append(symptom("words", "ceph-osd", f"{', '.join(down)} is down, as Ceph says", how="down"))
        checks = (facts.get("health") or {}).get("checks") or {}
        before = (host.get("health_before") or {}).get("checks") or {}
        for component in COMPONENTS:
            about = [name for name in checks if name.startswith(component.health_checks)]
            names = sorted(name for name in about if name not in before or SEVERE.search(name))
            if names:
                told = "; ".join(checks[name] for name in names)
                how = "alarm" if SEVERE.search(" ".join(names)) else "warning"
                symptoms.append(symptom("words", component.name, f"is not well, as Ceph says: {told}", how=how))
        for unread in host["unread"]:
            # The command may begin with sudo, and with the way into a container.
            if unread["kind"] == "hung" and {"ceph", "rbd"} & set(unread["command"].split()):
                text = f"does not answer: {unread['command']} hangs"
                symptoms += [symptom("words", name, text, how="silent") for name in ("ceph-mon", "ceph-osd")]
    # Each host that can ask says the same of the one cluster.
    return [entry for number, entry in enumerate(symptoms) if entry not in symptoms[:number]]


def components_of(path, host):
    """The components on a host that a folder or a unit's settings belong to; all of them for what everybody uses."""
    services = services_of(host)
    unit = UNIT.match(path)
    if unit:
        return sorted({service["component"] for service in services if is_of_unit(service["unit"], unit["unit"])})
    folder = None if path in SHARED_DISKS else FOLDER.match(path)
    if path.startswith("/") and folder is None and path not in SHARED_DISKS:
        return []
    name = folder["name"] if folder else ""
    project = name.partition("-")[0]
    mine = [service for service in services if folder is None or project_of(service["component"]) == project]
    # A file such as dhcp_agent.ini says by its name whose it is, and so does a folder such as nova-api.
    for told in (f"{name}-{path.rpartition('/')[2].partition('.')[0]}", name):
        words = set(re.split(r"[^a-z0-9]+", told)) - {""}
        named = {service["component"] for service in mine if words <= words_of(service)}
        if words and named:
            return sorted(named)
    return sorted({service["component"] for service in mine})


def is_of_unit(unit, settings):
    """Whether a unit has the settings of a unit, or of the template that it was made of."""
    template, at, _suffix = settings.partition("@.")
    return unit.startswith(f"{template}@") if at else unit == settings


def words_of(service):
    return set(f"{service['component']}-{service['unit'].partition('.')[0]}".split("-"))


def ground(record, _stage):
    """What a host lacks: each service there that may need it."""
    symptoms = []
    for host in record["hosts"]:
        for found in examination_of(host).get("ground") or []:
            about = {"host": host["host"], "how": found["kind"]}
            if found["kind"] in ("not executable", "killed"):
                symptoms += [
                    symptom("ground", name, found["text"], **about) for name in components_that_run(found, host)
                ]
                continue
            about["path"] = found["where"]
            text = f": {found['text']}"
            symptoms += [symptom("ground", name, text, **about) for name in components_of(found["where"], host)]
    return symptoms


def components_that_run(found, host):
    """The components whose program was killed or cannot be executed: its own, or those that start it."""

    def is_it(name):
        return name == found["where"] or (name[:TOLD_OF_NAME] == found["where"] and found["kind"] == "killed")

    known = {component for program, component in PROGRAMS.items() if is_it(program)}
    own = {s["component"] for s in services_of(host) if is_it(s["unit"].partition(".")[0])}
    starting = {s["component"] for s in services_of(host) if any(map(is_it, entry_of(s["component"]).starts))}
    return sorted(known or own or starting) or [found["where"]]


def askers(host, component, named_by):
    """The components of a host that need a peer, and by whose settings it is known there."""
    here = {service["component"] for service in services_of(host)}
    needing = sorted(name for name in here if component in depends_on(name))
    # The settings of the peer itself, such as Ceph's, are those of all its clients.
    if {"catalogue", project_of(component)} & set(named_by):
        return needing
    return [name for name in needing if project_of(name) in named_by]


def is_reached_elsewhere(record, here, entry):
    """Whether a peer answers other hosts at this address, and fails none of them at this port.

    Only this host may ask for it at this port.
    """
    others = [
        other
        for host in record["hosts"]
        if host is not here
        for other in examination_of(host).get("reach") or []
        if (other["component"], other["address"]) == (entry["component"], entry["address"])
    ]
    answers = [other["how"] == "open" for other in others if other["port"] == entry["port"]]
    return any(answers or [other["how"] == "open" for other in others])


def reach(record, _stage):
    """Peers that do not answer a host as they should. The peer is to blame if nobody reaches it, else the way."""
    symptoms = []
    for host in record["hosts"]:
        for entry in examination_of(host).get("reach") or []:
            if entry["how"] != "open":
                names = askers(host, entry["component"], entry["named_by"]) or [None]
                how = HOW.get(entry["how"], "error")
                symptoms += of_way(record, host, entry, names, how, said_of(entry["how"]))
    return symptoms


def of_way(record, host, entry, names, how, said):
    """The symptoms of components of a host that fail at a peer: at its address, and there alone or everywhere."""
    component, address, port = entry["component"], entry["address"], entry["port"]
    about = {
        "host": host["host"],
        "peer": component,
        "peer_host": addresses_of(record).get(address),
        "how": how,
        "address": address,
        "port": port,
        "only_from_here": is_reached_elsewhere(record, host, entry),
    }
    return [symptom("reach", name, f"{said} {component} at {address}:{port}", **about) for name in names]


def said_of(how):
    return {
        "silent": "cannot connect to",
        "mute": "connects and gets no reply from",
        "refused": "is refused by",
        "closed": "is turned away by",
    }.get(how, f"gets {how} from")


def hanging(record, _stage):
    """Connections that nobody has answered when the host was examined."""
    symptoms = []
    for host in record["hosts"]:
        for entry in examination_of(host).get("hanging") or []:
            if entry["component"] is not None:
                names = askers(host, entry["component"], ["catalogue"])
                symptoms += of_way(record, host, entry, names, "silent", "waits for a connection to")
    return symptoms


def changes(record, _stage):
    """Settings that have changed since the last run that passed.

    A deployment writes those of many services within minutes, and so many changes at one time accuse none of them.
    """
    found = [
        (host, change, owners)
        for host in record["hosts"]
        for change in examination_of(host).get("changed") or []
        if (owners := owners_of(change["path"], host))
    ]
    symptoms = []
    for host, change, owners in found:
        path, ago = change["path"], change["ago_s"]
        together = {owner_in(other["path"]) for _host, other, _owners in found if abs(other["ago_s"] - ago) <= FRESH}
        about = {"host": host["host"], "share": 1 / (1 + ago / FRESH) / len(together), "path": path}
        text = f"has other settings: {path} was changed {ago:.0f} s ago"
        symptoms += [symptom("change", component, text, **about) for component in owners]
    return symptoms


def owner_in(path):
    """The name that a path of settings has of its owner: a folder, or a unit."""
    match = UNIT.match(path) or FOLDER.match(path)
    return match[1]


def owners_of(path, host):
    """The components on a host whose settings a file has; none if its path does not say it."""
    return components_of(path, host) if FOLDER.match(path) or UNIT.match(path) else []


def differences(record, _stage):
    """What a host has otherwise than the others of its kind."""
    symptoms = []
    for host in record["hosts"]:
        for difference in examination_of(host).get("differs") or []:
            path = difference["what"].partition(" ")[0]
            text = f"differs from the other hosts of its kind in {difference['what']}"
            about = {"host": host["host"], "how": difference["kind"]}
            symptoms += [symptom("difference", name, text, **about) for name in owners_of(path, host)]
    return symptoms
