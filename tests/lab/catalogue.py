# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A catalogue of faults as data: kind x component x host x moment. A seed puts it in order, and halves it for ever.

One half may be looked at while the judge is built. The other half is run to see how right the judge is about faults
that nobody had told it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from breaking import REPORTING, cut_off, frozen, recovered, stopped, undone, unplugged
from catalogue_parts import (
    APIS,
    COMPUTE,
    CONTROLLER,
    DATABASE,
    IDENTITY,
    NETWORK_HOST,
    NOVA,
    PARTS,
    QUEUE,
    STORAGE,
    WORKERS,
    Part,
    Peer,
)
from lab_under_test import DIRECTORY, NETWORK
from truths import with_other_names

# The text in a run's progress once the cloud has answered the request for the server
ASKED = '"stage": "boot", "text": "waiting for the server'
BEFORE, DURING = "before", "during"
# The half to build with, and the half that is not looked at
OPEN, KEPT = 0, 1
# The services of a project share their account and their rights.
PROJECTS = ("nova-", "neutron-", "cinder-", "glance-", "placement-", "keystone")
# Parts without a service of their own that a limit of files would keep from starting
NO_LIMITS = ("libvirt", "ovsdb", "ceph-mon", "ceph-osd")
# The database's own limit on the lab
CONNECTIONS = 1000


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

    @property
    def half(self):
        return hashlib.sha256(f"stackproof {self.name}".encode()).digest()[0] % 2

    @property
    def during(self):
        return ASKED if self.moment == DURING else ""


# Ways to break a part


def drop_in(unit, text):
    """(command, command that undoes it) for settings of a unit, which is not started anew by either."""
    folder = f"/run/systemd/system/{unit}.service.d"
    make = f"mkdir -p {folder} && printf '[Service]\\n{text}\\n' > {folder}/zz.conf && systemctl daemon-reload"
    return (
        make,
        f"rm {folder}/zz.conf; systemctl daemon-reload; systemctl reset-failed {unit}; systemctl restart {unit}",
    )


@contextlib.contextmanager
def with_clients_anew(lab, part, fault):
    """A fault after which the clients of a part are started anew: they would fail once each, in later runs."""
    with recovered(lab, part.host):
        with fault(lab):
            yield
        if part.clients:
            lab.run(part.host, f"systemctl restart {' '.join(part.clients)}")


@contextlib.contextmanager
def crashing(lab, part):
    """Every start of it fails, and it is killed once."""
    unit = part.units[-1]
    make, back = drop_in(unit, "ExecStartPre=\\nExecStart=\\nExecStart=/bin/false")
    make += f" && systemctl kill --signal=KILL {unit}"
    back += "".join(f"; systemctl start {other}" for other in part.ended_with)
    with recovered(lab, part.host, part.units), undone(lab, part.host, make, back):
        yield


@contextlib.contextmanager
def few_files(lab, part):
    """The limit of open files lets it start, and do little more."""
    unit = part.units[-1]
    make, back = drop_in(unit, "LimitNOFILE=40")
    make += f"; systemctl restart {unit} || true"
    with recovered(lab, part.host, part.units), undone(lab, part.host, make, back):
        yield


@contextlib.contextmanager
def turned_away(lab, part, peer):
    """Each new connection to the peer's port is answered by a reset."""
    rule = f"OUTPUT --protocol tcp --dport {peer.port} --jump REJECT --reject-with tcp-reset"
    make, back = (f"iptables --wait {verb} {rule}" for verb in ("--insert", "--delete"))
    with recovered(lab, part.host, reporting(part)), undone(lab, part.host, make, back):
        yield


def cut(lab, part, peer):
    return cut_off(lab, part.host, peer.port, reporting(part))


def reporting(part):
    return [unit for unit in part.services if unit in REPORTING]


@contextlib.contextmanager
def changed_settings(lab, part, edit):
    """Its settings are changed, and it is started anew, whether it comes up or not."""
    path, names = part.settings, " ".join(part.services)
    kept = f"/root/kept-{path.strip('/').replace('/', '-')}"
    with recovered(lab, part.host, part.services):
        lab.run(part.host, f"cp --preserve=all {path} {kept}")
        try:
            lab.run(part.host, f"{edit}; systemctl restart {names} || true; sleep 3")
            yield
        finally:
            back = f"cat {kept} > {path}; rm {kept}; systemctl reset-failed {names}; systemctl restart {names}"
            lab.run(part.host, back)


def malformed(lab, part):
    """No parser takes the first line of its settings."""
    return changed_settings(lab, part, f"sed -i '1i [broken' {part.settings}")


def at_wrong_port(lab, part, peer):
    """Its settings name a port of the peer's host at which nobody listens."""
    return changed_settings(lab, part, f"sed -i -E 's/:{peer.port}\\b/:{peer.port + 20000}/g' {part.settings}")


@contextlib.contextmanager
def without_database_rights(lab, part):
    shown = f"mysql --batch --skip-column-names --execute \"SHOW GRANTS FOR {part.user}@'%'\""
    grants = [grant for grant in lab.run(CONTROLLER, shown).splitlines() if "USAGE" not in grant]
    revoke = f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {part.user}@'%'; FLUSH PRIVILEGES; KILL USER {part.user}"
    # Services would meet their broken connections one by one, in later runs.
    anew = f"systemctl restart {' '.join([*APIS, *WORKERS])}"
    back = f"mysql <<'END'\n{'; '.join(grants)}; FLUSH PRIVILEGES;\nEND\n{anew}"
    with recovered(lab, CONTROLLER), undone(lab, CONTROLLER, f'mysql --execute "{revoke}"', back):
        yield


@contextlib.contextmanager
def without_account(lab, part):
    """Keystone lets the service's user in no more."""
    identity = lab.admin.identity
    user = identity.find_user(part.user)
    with recovered(lab, CONTROLLER):
        identity.update_user(user, is_enabled=False)
        try:
            lab.run(CONTROLLER, "systemctl restart memcached")
            yield
        finally:
            identity.update_user(user, is_enabled=True)
            # Services keep the tokens of an account that was disabled, which nobody takes any more.
            lab.run(CONTROLLER, f"systemctl restart {' '.join(APIS)}")


@contextlib.contextmanager
def unexecutable(lab, part, program):
    with recovered(lab, part.host), undone(lab, part.host, f"chmod a-x {program}", f"chmod a+x {program}"):
        yield


# Faults of shared services, each with its own way


@contextlib.contextmanager
def commanded(lab, host, make, back):
    with recovered(lab, host), undone(lab, host, make, back):
        yield


@contextlib.contextmanager
def full_disk(lab, host, folder, owner):
    """A small disk without space in the place of a folder."""
    mount = f"mount -t tmpfs -o size=128k,mode=0755 tmpfs {folder} && chown {owner} {folder}"
    fill = f"dd if=/dev/zero of={folder}/filler bs=1k count=128 2>/dev/null"
    with recovered(lab, host), undone(lab, host, f"{mount} && {fill}; true", f"umount --lazy {folder}"):
        yield


def sql(statement):
    return f"mysql --execute '{statement}'"


DATA_NETWORK = "data-network ovsdb neutron-l2-agent ovn-controller"
FEW_CONNECTIONS = (
    sql("SET GLOBAL max_connections=10") + " && systemctl restart nova-api placement-api neutron-api keystone"
)
CEPH_USER = (
    "ceph auth get client.cinder -o /root/cinder.key"
    " && ceph auth caps client.cinder mon 'profile rbd' osd 'profile rbd-read-only pool=images'"
)
# Name: host, command, command that undoes it, components and hosts of which any may be named
COMMANDED = {
    "rabbitmq-memory-alarm": (CONTROLLER, "rabbitmqctl set_vm_memory_high_watermark absolute 1MB",
                              "rabbitmqctl set_vm_memory_high_watermark 0.6", "rabbitmq", CONTROLLER),
    "rabbitmq-disk-alarm": (CONTROLLER, "rabbitmqctl set_disk_free_limit 9000GB",
                            "rabbitmqctl set_disk_free_limit 50MB", "rabbitmq", CONTROLLER),
    "rabbitmq-no-permissions": (CONTROLLER, "rabbitmqctl clear_permissions openstack",
                                "rabbitmqctl set_permissions openstack '.*' '.*' '.*'", "rabbitmq", CONTROLLER),
    "database-read-only": (CONTROLLER, sql("SET GLOBAL read_only=1"), sql("SET GLOBAL read_only=0"), "database",
                           CONTROLLER),
    "database-few-connections": (CONTROLLER, FEW_CONNECTIONS, sql(f"SET GLOBAL max_connections={CONNECTIONS}"),
                                 "database", CONTROLLER),
    "ceph-full": (STORAGE, "ceph osd set-full-ratio 0.00001 && sleep 6", "ceph osd set-full-ratio 0.95",
                  "ceph-osd ceph-mon", STORAGE),
    "ceph-paused": (STORAGE, "ceph osd set pause", "ceph osd unset pause", "ceph-osd ceph-mon", STORAGE),
    "ceph-pool-read-only-key": (STORAGE, CEPH_USER, "ceph auth import -i /root/cinder.key",
                                "ceph-osd ceph-mon nova-compute cinder-volume", f"{STORAGE} {COMPUTE} {CONTROLLER}"),
}  # fmt: skip


def shared():
    """(name, make, components, hosts) of faults that only one component can have."""
    for name, (host, make, back, components, hosts) in COMMANDED.items():
        yield name, partial(commanded, host=host, make=make, back=back), components, hosts
    for name, host in (("compute", COMPUTE), ("network", NETWORK_HOST)):
        yield f"data-link-down-{name}", partial(unplugged, host=host, device="eth1"), DATA_NETWORK, host
    instances = partial(full_disk, host=COMPUTE, folder="/var/lib/nova/instances", owner="nova:nova")
    yield "instances-disk-full", instances, "nova-compute libvirt", COMPUTE
    if NETWORK == "ovs":
        dhcp = partial(full_disk, host=NETWORK_HOST, folder="/var/lib/neutron/dhcp", owner="neutron:neutron")
        yield "dhcp-disk-full", dhcp, "neutron-dhcp-agent dnsmasq", NETWORK_HOST


# The catalogue


def of_part(part):
    """(name, make, the ends of the way that is broken, moments) of all that a part allows."""
    both = (BEFORE, DURING)
    away = {
        "stopped": lambda lab: stopped(lab, part.host, *part.units, *part.ended_with),
        "frozen": lambda lab: frozen(lab, part.host, *part.services),
        "crashing": partial(crashing, part=part),
    }
    for kind, fault in away.items():
        yield kind, partial(with_clients_anew, part=part, fault=fault), [part], both
    if part.settings:
        yield "settings-malformed", partial(malformed, part=part), [part], (BEFORE,)
    if part.user:
        yield "no-database-rights", partial(without_database_rights, part=part), [part, DATABASE], both
        if part.user != IDENTITY.component:
            yield "account-disabled", partial(without_account, part=part), [part, IDENTITY], (BEFORE,)
    for peer in part.peers:
        if peer.host != part.host:
            yield f"cut-from-{peer.component}", partial(cut, part=part, peer=peer), [part, peer], both
            yield f"turned-away-from-{peer.component}", partial(turned_away, part=part, peer=peer), [part, peer], both
        if part.settings == NOVA and peer in (QUEUE, IDENTITY):
            wrong = partial(at_wrong_port, part=part, peer=peer)
            yield f"wrong-port-of-{peer.component}", wrong, [part, peer], (BEFORE,)
    for path in part.programs:
        program = path.rpartition("/")[2]
        make = partial(unexecutable, part=part, program=path)
        yield f"cannot-execute-{program}", make, [part, Peer(program, part.host)], (BEFORE,)
    if part.host != CONTROLLER and part.component not in NO_LIMITS:
        yield "few-files", partial(few_files, part=part), [part], (BEFORE,)


def truth_of(ends, is_of_project):
    """(components, hosts) of which a verdict may name any: both ends of a way, and all who share an account."""
    components, hosts = {end.component for end in ends}, {end.host for end in ends}
    if is_of_project:
        projects = {name.partition("-")[0] for name in components if name.startswith(PROJECTS)}
        sharing = [part for part in PARTS if part.component.partition("-")[0] in projects]
        components |= {part.component for part in sharing}
        hosts |= {part.host for part in sharing}
    return frozenset(components), frozenset(hosts)


def variables_of(components):
    """A run that meets the fault: on the host where it is, with a volume or a new image if it is about these."""
    variables = {"cloud": "lab-admin", "host": COMPUTE, "volume": "none"}
    if {"cinder-volume", "cinder-api", "cinder-scheduler"} & components:
        del variables["volume"]
    if {"ceph-rgw", "glance-api"} & components:
        variables |= {"image_file": str(DIRECTORY / "probe.raw"), "image_store": "rgw"}
    return variables


def catalogue():
    """All faults by their names."""
    faults = [
        (f"{part.name}-{kind}", make, *truth_of(ends, kind in ("no-database-rights", "account-disabled")), moments,
         variables_of({end.component for end in ends if isinstance(end, Part)}))
        for part in PARTS
        for kind, make, ends, moments in of_part(part)
    ]  # fmt: skip
    faults += [
        (name, make, frozenset(components.split()), frozenset(hosts.split()), (BEFORE, DURING),
         variables_of(set(components.split())))
        for name, make, components, hosts in shared()
    ]  # fmt: skip
    table = {}
    for name, make, components, hosts, moments, variables in faults:
        for moment in moments:
            key = name if moment == BEFORE else f"{name}-{moment}"
            table[key] = CatalogueFault(key, make, with_other_names(components), hosts, moment, variables)
    return table


def drawn(seed, half):
    """The faults of a half in the order of a seed."""
    faults = [fault for fault in catalogue().values() if fault.half == half]
    return sorted(faults, key=lambda fault: hashlib.sha256(f"{seed} {fault.name}".encode()).digest())
