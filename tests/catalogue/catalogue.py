# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A catalogue of faults as data: kind x component x host x moment. A seed puts it in order, and halves it for ever.

One half may be looked at while the judge is built. The other half is run to see how right the judge is about faults
that it was not made with. A fault is of the class dead, where something does not run or cannot be reached, or wrong,
where everything runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from breaking import frozen, stopped
from catalogue_parts import BEFORE, DURING, LATER, TEXTS, FaultClass, Part, Peer
from lab_under_test import NETWORK
from truths import with_other_names
from ways_to_break import (
    at_wrong_port,
    crashing,
    cut,
    few_files,
    malformed,
    turned_away,
    unexecutable,
    with_clients_restarted,
    without_account,
    without_database_rights,
)

# A devstack has no file that says its back end.
if NETWORK:
    from lab_parts import CLOUD
else:
    from devstack_parts import CLOUD

# What a server needs that gets a volume and a floating IP, and the variables of such a run
CONNECTING = {
    "rabbitmq", "database", "keystone", "nova-api", "nova-compute", "libvirt", "cinder-api", "cinder-volume",
    "ceph-mon", "ceph-osd", "neutron-server", "neutron-l3-agent", "ovsdb", "ovn-nb-db", "ovn-sb-db", "ovn-controller",
}  # fmt: skip
CONNECTED = {"attach": "after", "floating_ip": "true", "tcp_port": "80", "boot_timeout": "60", "metadata_timeout": "60"}
# What a run needs to meet a wrong fault, by the words of its needs, as variables
GUEST = {"tcp_port": "80", "metadata_timeout": "60"}
NEEDS = {
    "floating": {"floating_ip": "true", **GUEST},
    "router": {"router": "always", "metadata_timeout": "60"},
    "connected": CONNECTED,
    "image-volume": {"volume": "image"},
    "default-type": {"volume_type": ""},
}
VOLUME_NEEDS = {"volume", "default-type", "connected"}
# The half to build with, and the half that is not looked at. When that one has been run, the word that draws the halves
# of its class changes.
OPEN, KEPT = 0, 1
# The halves of faults that are drawn into neither, by their names in lab_parts.py and devstack_parts.py
UNSEEN = {
    "fresh": 2, "second": 3, "third": 4, "fourth": 5, "fifth": 6, "sixth": 7, "seventh": 8, "eighth": 9,
    "ninth": 10, "tenth": 11,
}  # fmt: skip
DRAWN_BY = {FaultClass.DEAD: "third", FaultClass.WRONG: "lantern"}
# Faults whose verdicts have been looked at while the judge was built: they are of the open half, whatever is drawn.
LOOKED_AT = {
    name
    for file in ("looked_at.txt", "looked_at_wrong.txt")
    for name in Path(__file__).with_name(file).read_text().split()
}
# The services of a project share their account and their rights.
PROJECTS = ("nova-", "neutron-", "cinder-", "glance-", "placement-", "keystone")
IDENTITY, DATABASE, QUEUE = "keystone", "database", "rabbitmq"
# Workers that a limit of files lets start. Others do not start with it, or have too little to do.
LIMITED = (
    "nova-compute", "neutron-l2-agent", "neutron-dhcp-agent", "neutron-metadata-agent", "neutron-ovn-metadata-agent",
    "ovn-controller", "ceph-rgw",
)  # fmt: skip
# Components that a run meets only if it makes a volume, or brings its own image
VOLUMES = {"cinder-volume", "cinder-api", "cinder-scheduler"}
IMAGES = {"ceph-rgw", "glance-api"}


@dataclass(frozen=True)
class CatalogueFault:
    """One fault: how it is made, when, and the components and hosts of which a verdict may name any."""

    name: str
    make: Callable
    components: frozenset
    hosts: frozenset
    moment: str
    variables: dict = field(default_factory=dict)
    # The stage for which fault_runs has a short limit
    stage: str = "boot"
    fault_class: FaultClass = FaultClass.DEAD
    kind: str | None = None
    # What the headline must match, all of it, where no component is named; without components none may be named.
    reason: tuple = ()
    # The half of a fault that is not drawn
    set_apart: int | None = None

    @property
    def half(self):
        if self.set_apart is not None:
            return self.set_apart
        word = DRAWN_BY[self.fault_class]
        return OPEN if self.name in LOOKED_AT else hashlib.sha256(f"{word} {self.name}".encode()).digest()[0] % 2

    @property
    def truth(self):
        """What a record is filed with."""
        return {
            "class": self.fault_class.value,
            "kind": self.kind,
            "components": sorted(self.components),
            "hosts": sorted(self.hosts),
            "reason": list(self.reason),
            "moment": self.moment,
        }

    @property
    def during(self):
        return TEXTS[self.moment]


def of_part(part):
    """(kind, how it is made, the ends of the way that is broken, moments) of all that a part allows."""
    both = (BEFORE, DURING)
    away = {
        "stopped": lambda lab: stopped(lab, part.host, *part.units, *part.ended_with),
        "frozen": lambda lab: frozen(lab, part.host, *part.services),
        "crashing": partial(crashing, part=part),
    }
    for kind, fault in away.items():
        yield kind, partial(with_clients_restarted, part=part, fault=fault), [part], both
    if part.settings:
        yield "settings-malformed", partial(malformed, part=part), [part], (BEFORE,)
    if part.rights:
        broken = partial(without_database_rights, part=part, restarted=(*CLOUD.apis, *CLOUD.workers))
        yield "no-database-rights", broken, [part, Peer(DATABASE, CLOUD.controller)], both
    if part.account and part.account != IDENTITY:
        broken = partial(without_account, part=part, restarted=CLOUD.apis)
        yield "account-disabled", broken, [part, Peer(IDENTITY, CLOUD.controller)], (BEFORE,)
    for peer in part.peers:
        if peer.host != part.host:
            ends = [*parts_that_ask(part.host, peer), peer]
            yield f"cut-from-{peer.component}", partial(cut, part=part, peer=peer), ends, both
            yield f"turned-away-from-{peer.component}", partial(turned_away, part=part, peer=peer), ends, both
        if part.component == "nova-compute" and peer.component in (QUEUE, IDENTITY):
            wrong = partial(at_wrong_port, part=part, peer=peer)
            yield f"wrong-port-of-{peer.component}", wrong, [part, peer], (BEFORE,)
    for path in part.programs:
        program = path.rpartition("/")[2]
        make = partial(unexecutable, part=part, program=path)
        yield f"cannot-execute-{program}", make, [part, Peer(program, part.host)], (BEFORE,)
    if part.component in LIMITED:
        yield "few-files", partial(few_files, part=part), [part], (BEFORE,)


def parts_that_ask(host, peer):
    """The parts of a host that a cut between it and the port of a peer hits."""
    return [part for part in CLOUD.parts if part.host == host and peer in part.peers]


def truth_of(ends, is_of_project):
    """(components, hosts) of which a verdict may name any: both ends of a way, and all who share an account."""
    components, hosts = {end.component for end in ends}, {end.host for end in ends}
    if is_of_project:
        projects = {name.partition("-")[0] for name in components if name.startswith(PROJECTS)}
        sharing = [part for part in CLOUD.parts if part.component.partition("-")[0] in projects]
        components |= {part.component for part in sharing}
        hosts |= {part.host for part in sharing}
    return frozenset(components), frozenset(hosts)


def variables_of(components, moment):
    """A run that meets the fault: on the host where it is, with a volume or a new image if it is about these."""
    variables = dict(CLOUD.variables)
    if VOLUMES & components or moment == LATER:
        del variables["volume"]
    if moment == LATER:
        variables.update(CONNECTED)
    return {**variables, **CLOUD.images} if IMAGES & components else variables


def wrong_variables(fault):
    """A run that meets a wrong fault: what it needs is in words, on a devstack as far as that has it."""
    needs = set(fault.needs.split())
    variables = dict(CLOUD.variables)
    if "anywhere" in needs:
        variables = {name: value for name, value in variables.items() if name not in ("cloud", "host")}
    if needs & VOLUME_NEEDS or fault.moment == LATER:
        variables.pop("volume", None)
    for need, more in NEEDS.items():
        if need in needs:
            variables.update(more)
    if needs & {"image", "ceph-image"}:
        variables.update(CLOUD.images)
    if "ceph-image" in needs:
        variables["image_store"] = "ceph"
    if fault.moment == LATER:
        variables.update(CONNECTED)
    return {**variables, **fault.variables}


def wrong_faults():
    """The faults where everything runs, by their names."""
    return by_names(CLOUD.wrong)


def unseen_faults():
    """The faults that are drawn into no half, of both classes, by their names."""
    table = {}
    for half, faults in CLOUD.unseen.items():
        table.update(by_names(faults, set_apart=UNSEEN[half]))
    return table


def by_names(faults, **more):
    """Faults of a table as those of the catalogue, by their names."""
    table = {}
    for fault in faults:
        key = fault.name if fault.moment == BEFORE else f"{fault.name}-{fault.moment}"
        assert key not in table, f"two faults are called {key}"
        components, hosts = frozenset(fault.components.split()), frozenset(fault.hosts.split())
        table[key] = CatalogueFault(
            key,
            fault.make,
            with_other_names(components),
            hosts,
            fault.moment,
            wrong_variables(fault),
            fault_class=FaultClass.WRONG if fault.kind else FaultClass.DEAD,
            kind=fault.kind.value if fault.kind else None,
            reason=tuple(fault.reason),
            **more,
        )
    return table


def catalogue():
    """All faults of the halves open and kept by their names."""
    return {**dead_faults(), **wrong_faults()}


def faults_of(half):
    """The faults of a half by their names."""
    faults = unseen_faults() if half in UNSEEN.values() else catalogue()
    return {name: fault for name, fault in faults.items() if fault.half == half}


def dead_faults():
    """The faults where something does not run or cannot be reached, by their names."""
    faults = [
        (f"{CLOUD.name_of(part)}-{kind}", make, *truth_of(ends, kind in ("no-database-rights", "account-disabled")),
         moments, {end.component for end in ends if isinstance(end, Part) or end.component in VOLUMES})
        for part in CLOUD.parts
        for kind, make, ends, moments in of_part(part)
    ]  # fmt: skip
    faults += [
        (name, special.make, frozenset(special.components.split()), frozenset(special.hosts.split()), (BEFORE, DURING),
         set(special.components.split()))
        for name, special in CLOUD.specials.items()
    ]  # fmt: skip
    table = {}
    for name, make, components, hosts, moments, broken in faults:
        later = {LATER} if DURING in moments and broken & CONNECTING else set()
        for moment in (*moments, *later):
            key = name if moment == BEFORE else f"{name}-{moment}"
            variables = variables_of(broken, moment)
            table[key] = CatalogueFault(key, make, with_other_names(components), hosts, moment, variables)
    return table


def drawn(seed, half, fault_class=None):
    """The faults of a half in the order of a seed; only those of a class, if one is named."""
    faults = [fault for fault in faults_of(half).values() if fault_class in (None, fault.fault_class)]
    return sorted(faults, key=lambda fault: hashlib.sha256(f"{seed} {fault.name}".encode()).digest())
