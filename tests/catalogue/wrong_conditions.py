# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong conditions: lossy paths, starved services, frozen workers, rights on files, and two faults at once."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

from breaking import recovered, stopped, undone
from catalogue_parts import BEFORE, DURING, Kind, Wrong
from ways_to_set_wrong import both, by, dropping, starved, with_restarts, workers_frozen

# Ports whose answers a host loses: the peer, its host as a field of Site, its port
PEERS = {
    "rabbitmq": ("controller", "5672"), "keystone": ("controller", "5000"), "placement-api": ("controller", "8778"),
    "neutron-server": ("controller", "9696"), "ceph-mon": ("storage", "3300"), "ceph-osd": ("storage", "6800:6899"),
    "ovn-sb-db": ("controller", "6642"), "nova-api-metadata": ("controller", "8775"),
}  # fmt: skip
# How they are lost: name, match of iptables, peers of the compute host, peers of the network host
LOSSES = (
    ("long-packets-lost", "--match length --length 700:65535", ("rabbitmq", "neutron-server", "ceph-osd", "ovn-sb-db"),
     ("rabbitmq",)),
    ("most-packets-lost", "--match statistic --mode random --probability 0.75",
     ("rabbitmq", "ceph-mon", "keystone", "ovn-sb-db"), ("rabbitmq", "nova-api-metadata")),
)  # fmt: skip
# Who on a host speaks to a peer
ASKING = {
    "rabbitmq": "nova-compute neutron-l2-agent neutron-dhcp-agent neutron-metadata-agent neutron-l3-agent",
    "ovn-sb-db": "ovn-controller neutron-ovn-metadata-agent",
    "nova-api-metadata": "neutron-metadata-agent neutron-ovn-metadata-agent",
}
STARVED = (
    "nova-conductor", "nova-scheduler", "nova-compute", "neutron-server", "database", "rabbitmq", "keystone",
    "placement-api", "libvirt", "neutron-l2-agent", "neutron-dhcp-agent", "ovn-controller", "ovn-northd", "ovn-sb-db",
)  # fmt: skip
# APIs with several workers, and what a run needs
WORKERS = (
    ("keystone", ""), ("glance-api", ""), ("placement-api", ""), ("nova-api", ""), ("nova-api-metadata", ""),
    ("neutron-server", ""), ("cinder-api", "volume"),
)  # fmt: skip
# What a component may not read any more: name, component, host as a field of Site, path, needs, whether it restarts
PATHS = (
    ("keyring", "nova-compute", "compute", "/etc/ceph/ceph.client.cinder.keyring", "", False),
    ("keyring", "cinder-volume", "controller", "/etc/ceph/ceph.client.cinder.keyring", "volume", True),
    ("keyring", "glance-api", "controller", "/etc/ceph/ceph.client.glance.keyring", "ceph-image", False),
    ("ceph-configuration", "nova-compute", "compute", "/etc/ceph/ceph.conf", "", False),
    ("instances", "nova-compute", "compute", "/var/lib/nova/instances", "", False),
    ("libvirt-socket", "nova-compute", "compute", "/run/libvirt/libvirt-sock", "", True),
    ("leases", "neutron-dhcp-agent", "network", "/var/lib/neutron/dhcp", "", False),
    ("fernet-keys", "keystone", "controller", "/etc/keystone/fernet-keys", "", True),
    ("sudo-rules", "nova-compute", "compute", "/etc/sudoers.d/nova-common", "", True),
    ("sudo-rules", "neutron-l2-agent", "compute", "/etc/sudoers.d/neutron_sudoers", "", True),
    ("sudo-rules", "neutron-dhcp-agent", "network", "/etc/sudoers.d/neutron_sudoers", "", True),
    ("sudo-rules", "neutron-ovn-metadata-agent", "compute", "/etc/sudoers.d/neutron_sudoers", "", True),
)
# Pairs of a fault that a run meets, and of something that does not run and that it does not need
OVS_PAIRS = (
    ("ovs-compute1-patch-port-gone", "cinder-volume"),
    ("nova-compute-wrong-neutron-override", "ceph-rgw"),
    ("neutron-metadata-agent-wrong-nova-metadata-port", "neutron-l3-agent"),
    ("neutron-l2-agent-network1-wrong-bridge-mappings", "other-nova-compute"),
    ("libvirt-secret-wrong", "cinder-scheduler"),
    ("database-lock-on-ports", "ceph-rgw"),
    ("neutron-server-wrong-auth-url-of-nova", "other-nova-compute"),
    ("neutron-server-wrong-region-of-nova", "neutron-metadata-agent-wrong-shared-secret"),
    ("nova-compute-wrong-rbd-pool", "neutron-dhcp-agent-wrong-queue-password"),
)
OVN_PAIRS = (
    ("chassis-remote-port", "cinder-volume"),
    ("ovn-northd-paused", "other-neutron-ovn-metadata-agent"),
    ("neutron-ovn-metadata-agent-wrong-nova-metadata-port", "ceph-rgw"),
    ("nova-compute-wrong-password-of-neutron", "other-ovn-controller"),
    ("rabbitmq-compute-cannot-read", "cinder-scheduler"),
    ("neutron-server-wrong-region-of-nova", "neutron-ovn-metadata-agent-wrong-shared-secret"),
)
# The second of a pair: its host as a field of Site, and its unit
BESIDE = {
    "cinder-volume": ("controller", "cinder-volume"), "cinder-scheduler": ("controller", "cinder-scheduler"),
    "ceph-rgw": ("storage", "ceph-radosgw@rgw.a"), "neutron-l3-agent": ("network", "neutron-l3-agent"),
    "other-nova-compute": ("other", "nova-compute"), "other-ovn-controller": ("other", "ovn-controller"),
    "other-neutron-ovn-metadata-agent": ("other", "neutron-ovn-metadata-agent"),
}  # fmt: skip


def conditions(site):
    yield from slow(site)
    yield from partial_faults(site)
    if site.storage:
        yield from paths(site)
        yield from rights(site)


def pairs(site, faults):
    """Pairs of the faults of a site. faults: those by their names."""
    if not site.storage:
        return
    for first, second in OVN_PAIRS if site.is_ovn else OVS_PAIRS:
        met = faults[first]
        if second in BESIDE:
            field, unit = BESIDE[second]
            beside = partial(stopped_at, host=getattr(site, field), unit=unit)
        else:
            beside = faults[second].make
        make = partial(both, first=met.make, second=beside)
        yield replace(met, name=f"{first}-and-{second}", kind=Kind.TWO, make=make)


def stopped_at(lab, host, unit):
    return stopped(lab, host, unit)


# Paths


def paths(site):
    switched = "data-network ovsdb " + ("ovn-controller" if site.is_ovn else "neutron-l2-agent")
    for host in (site.compute, site.network):
        needs = "floating" if site.is_ovn and host == site.network else ""
        mtu = partial(other_mtu, host=host, device="eth1", mtu=900)
        yield Wrong(f"mtu-{host}", Kind.PATH, mtu, switched, host, needs=needs)
        for name, off, on in (("inbound", "no-receive", "receive"), ("outbound", "no-forward", "forward")):
            make = by(host, f"ovs-ofctl mod-port br-ex eth1 {off}", f"ovs-ofctl mod-port br-ex eth1 {on}")
            yield Wrong(f"data-link-{host}-without-{name}", Kind.PATH, make, switched, host, needs=needs)
    for name, match, of_compute, of_network in LOSSES:
        yield from lost(site, name, match, site.compute, of_compute)
        yield from lost(site, name, match, site.network, of_network)
    yield from closed(site)
    controller, storage = site.addresses[site.controller], site.addresses[site.storage]
    around = f"via {site.addresses[site.other]}"
    here = "nova-compute neutron-l2-agent ovn-controller neutron-ovn-metadata-agent"
    for name, address in (("controller", controller), ("storage", storage)):
        make = by(site.compute, f"ip route add {address}/32 {around}", f"ip route del {address}/32")
        yield Wrong(f"route-to-{name}-wrong", Kind.NAMES, make, here, site.compute)
        wrong = f"ip neigh replace {address} lladdr 02:00:00:00:00:99 dev eth0 nud permanent"
        make = by(site.compute, wrong, f"ip neigh del {address} dev eth0")
        yield Wrong(f"neighbour-{name}-wrong", Kind.NAMES, make, here, site.compute)


def closed(site):
    """A firewall beside a service that turns one host's packets away."""
    asking = site.compute if site.is_ovn else site.network
    sources = (("placement-api", site.compute), ("neutron-server", site.compute), ("keystone", site.compute),
               ("nova-api-metadata", asking))  # fmt: skip
    for peer, source in sources:
        field, port = PEERS[peer]
        rule = f"INPUT --protocol tcp --source {site.addresses[source]} --dport {port} --jump DROP"
        make = dropping(getattr(site, field), rule)
        components, hosts = f"{ASKING.get(peer, 'nova-compute')} {peer}", f"{source} {getattr(site, field)}"
        yield Wrong(f"firewall-of-{peer}-against-{source}", Kind.PATH, make, components, hosts)


def lost(site, name, match, host, peers):
    for peer in peers:
        if (peer == "ovn-sb-db" and not site.is_ovn) or (host == site.network and site.is_ovn):
            continue
        field, port = PEERS[peer]
        asking = ASKING.get(peer, "nova-compute")
        make = dropping(host, f"INPUT --protocol tcp --sport {port} {match} --jump DROP")
        hosts = f"{host} {getattr(site, field)}"
        for moment in (BEFORE, DURING) if peer in ("rabbitmq", "ceph-osd") else (BEFORE,):
            components = f"{asking} {peer}"
            yield Wrong(f"{host}-{name}-from-{peer}", Kind.PATH, make, components, hosts, moment=moment)


@contextlib.contextmanager
def other_mtu(lab, host, device, mtu):
    before = lab.run(host, f"cat /sys/class/net/{device}/mtu").strip()
    change = f"ip link set {device} mtu {{}}"
    with recovered(lab, host), undone(lab, host, change.format(mtu), change.format(before)):
        yield


# Slow, and partial


def slow(site):
    for component in STARVED:
        for part in site.parts_of(component):
            needs = "anywhere" if component == "nova-scheduler" else ""
            name = f"{site.name_of(part)}-starved"
            yield Wrong(name, Kind.SLOW, starved(part, 1), component, part.host, needs=needs)


def partial_faults(site):
    for component, needs in WORKERS:
        for part in site.parts_of(component) if site.storage or not needs else []:
            make = partial(workers_frozen, part=part)
            for moment in (BEFORE, DURING) if component in ("keystone", "neutron-server") else (BEFORE,):
                name = f"{component}-one-worker-frozen"
                yield Wrong(name, Kind.PARTIAL, make, component, part.host, needs=needs, moment=moment)


# Rights


@contextlib.contextmanager
def without_access(lab, host, path, restarted):
    """Only root may read a file or enter a folder. restarted: parts that meet it when they start."""
    owner, mode = lab.run(host, f"stat --format='%u:%g %a' {path}").split()
    make = f"chown root:root {path} && chmod 700 {path}"
    back = f"chown {owner} {path} && chmod {mode} {path}"
    yield from while_changed(lab, host, make, back, restarted)


def while_changed(lab, host, make, back, restarted):
    restart = with_restarts(restarted)
    with recovered(lab, host):
        try:
            with undone(lab, host, make, back):
                restart(lab)
                yield
        finally:
            restart(lab)


def rights(site):
    for name, component, field, path, needs, restarts in PATHS:
        host = getattr(site, field)
        for part in site.parts_of(component):
            if part.host != host:
                continue
            make = partial(without_access, host=host, path=path, restarted=[part] if restarts else [])
            if name == "sudo-rules":
                make = partial(without_file, host=host, path=path, restarted=[part])
            yield Wrong(f"{site.name_of(part)}-without-{name}", Kind.PERMISSIONS, make, component, host, needs=needs)


@contextlib.contextmanager
def without_file(lab, host, path, restarted):
    kept = f"/root/kept-{path.strip('/').replace('/', '-')}"
    yield from while_changed(lab, host, f"mv {path} {kept}", f"mv {kept} {path}", restarted)
