# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that are made on the lab, each with what a verdict on it has to say to be right."""

from __future__ import annotations

import contextlib
import json

from breaking import changed, cut_off, frozen, killed, recovered, stopped, undone, unplugged
from lab_under_test import DIRECTORY, GROUPS
from truths import fault_of

CONTROLLER, NETWORK, STORAGE = (GROUPS[name][0] for name in ("controller", "network", "storage"))
COMPUTE, OTHER = GROUPS["compute"][0], GROUPS["compute"][-1]
# Only an administrator may say which host takes the instance.
HERE = {"cloud": "lab-admin", "host": COMPUTE}
# A boot that the cloud ends itself is waited for, however slow the machine is.
ENDS_ITSELF = {"boot_timeout": 90}
FRESH = {"image_file": str(DIRECTORY / "probe.raw"), "image_store": "rgw"}
NO_VOLUME = {"volume": "none"}
# What a run says of itself when the cloud has answered the request for the server, and later.
ASKED = '"stage": "boot", "text": "waiting for the server'
SPAWNING = "BUILD, spawning"


FAULTS = {}


def fault(name, *truth, **more):
    FAULTS[name] = fault_of(name, *truth, **more)


def both(name, place, units, /, *truth, **more):
    """The same service stopped, and frozen."""
    units = units.split()
    services = [unit for unit in units if not unit.endswith(".socket")]
    fault(f"{name}-stopped", lambda lab: stopped(lab, place, *units), *truth, **more)
    fault(f"{name}-frozen", lambda lab: frozen(lab, place, *services), *truth, **more)


# Services that are away before the run, or from its request on. The first stage looks at every API that the catalogue
# names, and finds those that are away. A fresh network has no DHCP agent yet when its first port is made, so Neutron
# waits for none: the instance starts without, and it is the guest that finds out.

both("conductor", CONTROLLER, "nova-conductor", "boot", "nova-conductor", CONTROLLER, "8 N5 N6 9", **NO_VOLUME)
both("scheduler", CONTROLLER, "nova-scheduler", "boot", "nova-scheduler", CONTROLLER, "8 9 N5", **NO_VOLUME)
both("nova-compute", COMPUTE, "nova-compute", "boot", "nova-compute", COMPUTE, "13", **NO_VOLUME, **HERE)
both("dhcp-agent", NETWORK, "neutron-dhcp-agent", "metadata", "neutron-dhcp-agent", NETWORK, "29 30 31", **NO_VOLUME)
both(
    "l2-agent", COMPUTE, "neutron-openvswitch-agent", "boot", "neutron-l2-agent", COMPUTE, "34 35", **NO_VOLUME, **HERE
)
both(
    "metadata-agent",
    NETWORK,
    "neutron-metadata-agent",
    "metadata",
    "neutron-metadata-agent",
    NETWORK,
    "52 53 N17",
    **NO_VOLUME,
)
both("metadata-api", CONTROLLER, "nova-api-metadata", "metadata", "nova-metadata", CONTROLLER, "53 53a", **NO_VOLUME)
both("glance-api", CONTROLLER, "glance-api", "auth", "glance-api", CONTROLLER)
both("cinder-volume", CONTROLLER, "cinder-volume", "volume", "cinder-volume", CONTROLLER)
# Without libvirt nova-compute takes its host out of service, and there is none to be chosen; with one that hangs it
# waits while it claims what the instance needs, before it asks anybody else for anything.
both(
    "libvirtd",
    COMPUTE,
    "libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd",
    "boot",
    "libvirt",
    COMPUTE,
    "9 11 13 19 26 43",
    **NO_VOLUME,
    **HERE,
)
both(
    "neutron-rpc-server",
    CONTROLLER,
    "neutron-rpc-server",
    "boot",
    "neutron-server",
    CONTROLLER,
    "29 30 32 33 34 36",
    **NO_VOLUME,
)
both("slapd", CONTROLLER, "slapd", "auth", "slapd", CONTROLLER, cloud="lab-ldap")
both("memcached", CONTROLLER, "memcached", None, "memcached", CONTROLLER, **NO_VOLUME)
both("placement", CONTROLLER, "placement-api", "boot", "placement", CONTROLLER, "9 N6 11", **NO_VOLUME)
both("keystone", CONTROLLER, "keystone", "auth", "keystone", CONTROLLER)
both("nova-api", CONTROLLER, "nova-api", "auth", "nova-api", CONTROLLER)
both("neutron-api", CONTROLLER, "neutron-api", "auth", "neutron-server", CONTROLLER)
both("cinder-api", CONTROLLER, "cinder-api", "auth", "cinder-api", CONTROLLER)
both("vswitchd", COMPUTE, "ovs-vswitchd", "boot", "openvswitch", COMPUTE, "34 35 44 N12", **NO_VOLUME, **HERE)
both("rgw", STORAGE, "ceph-radosgw@rgw.a", "image", "rgw", STORAGE, **FRESH)
both(
    "glance-api-late",
    CONTROLLER,
    "glance-api",
    "boot",
    "glance-api",
    CONTROLLER,
    "19 20",
    during=ASKED,
    **NO_VOLUME,
    **FRESH,
)
both("cinder-volume-late", CONTROLLER, "cinder-volume", "boot", "cinder-volume", CONTROLLER, "39 42 N14", during=ASKED)
both(
    "rgw-late", STORAGE, "ceph-radosgw@rgw.a", "boot", "rgw", STORAGE, "23 25 19 20", during=ASKED, **FRESH, **NO_VOLUME
)
# What it has begun it still does when it is told to stop, and the first to miss it may be nova-compute, before 26.
both(
    "conductor-late",
    CONTROLLER,
    "nova-conductor",
    "boot",
    "nova-conductor",
    CONTROLLER,
    "8 N5 12 N7 15 26",
    during=ASKED,
)
both(
    "nova-compute-late",
    COMPUTE,
    "nova-compute",
    "boot",
    "nova-compute",
    COMPUTE,
    "43 19 21 24 39",
    during=SPAWNING,
    **NO_VOLUME,
    **HERE,
)
fault(
    "nova-compute-killed",
    lambda lab: killed(lab, COMPUTE, "nova-compute"),
    "boot",
    "nova-compute",
    COMPUTE,
    "43 19 21 24 26 34 38",
    during=SPAWNING,
    **NO_VOLUME,
    **HERE,
)


# Ceph


@contextlib.contextmanager
def dead_osd(lab):
    with stopped(lab, STORAGE, "ceph-osd@0"):
        lab.run(STORAGE, "ceph osd down 0")
        yield


@contextlib.contextmanager
def poor_key(lab):
    """The key of the computes and of cinder may read images, and write nothing."""
    caps = json.loads(lab.run(STORAGE, "ceph auth get client.cinder --format json"))[0]["caps"]
    before = " ".join(f"{kind} '{text}'" for kind, text in caps.items())
    poor = f"ceph auth caps client.cinder mon '{caps['mon']}' osd 'profile rbd-read-only pool=images'"
    with recovered(lab, STORAGE), undone(lab, STORAGE, poor, f"ceph auth caps client.cinder {before}"):
        yield


def wrong_key(lab):
    path = "/etc/ceph/ceph.client.cinder.keyring"
    return changed(lab, COMPUTE, path, f"sed -i 's/key = .*/key = AQAAAAAAAAAAABAAu7u7u7u7u7u7u7u7u7u7uw==/' {path}")


# A nova-compute that waits for Ceph does nothing else: it does not even take Neutron's answer any more.
fault("osd-stopped", dead_osd, "boot", "ceph-osd ceph", STORAGE, "19 24 21 26c", **NO_VOLUME, **HERE)
fault(
    "osd-frozen",
    lambda lab: frozen(lab, STORAGE, "ceph-osd@0"),
    "boot",
    "ceph-osd ceph",
    STORAGE,
    "19 24 21 26c",
    **NO_VOLUME,
    **HERE,
)
both("mon", STORAGE, "ceph-mon@a", "boot", "ceph-mon ceph", STORAGE, "13 19 21 22 26c", **NO_VOLUME, **HERE)
# Nova looks whether the disk is there before it asks for the image. The monitors keep what a key may do.
fault(
    "rbd-key-poor",
    poor_key,
    "boot",
    "ceph ceph-mon ceph-osd nova-compute",
    f"{STORAGE} {COMPUTE}",
    "19 24 43",
    **NO_VOLUME,
    **HERE,
    **ENDS_ITSELF,
)
fault("rbd-key-wrong", wrong_key, "boot", "ceph ceph-mon nova-compute", COMPUTE, "19 21 22 24", **NO_VOLUME, **HERE)


# The message queue


fault(
    "rabbitmq-cut-compute",
    lambda lab: cut_off(lab, COMPUTE, 5672, ["nova-compute", "neutron-openvswitch-agent"]),
    "boot",
    "rabbitmq nova-compute",
    f"{COMPUTE} {CONTROLLER}",
    "13 14",
    **NO_VOLUME,
    **HERE,
)
fault(
    "rabbitmq-cut-network",
    lambda lab: cut_off(lab, NETWORK, 5672, ["neutron-dhcp-agent", "neutron-openvswitch-agent", "neutron-l3-agent"]),
    "metadata",
    "rabbitmq neutron-dhcp-agent",
    f"{NETWORK} {CONTROLLER}",
    "29 30 31",
    **NO_VOLUME,
)


# The network


def silent_neutron(lab):
    path = "/etc/neutron/neutron.conf"
    edit = f"sed -i 's/^\\(notify_nova_on_port_status_changes\\) = .*/\\1 = false/' {path}"
    return changed(lab, CONTROLLER, path, edit, ["neutron-api", "neutron-rpc-server"])


def broken_dnsmasq(lab):
    path = "/etc/neutron/dnsmasq-neutron.conf"
    return changed(lab, NETWORK, path, f"echo no-such-option >> {path}")


def wrong_secret(lab):
    path = "/etc/neutron/metadata_agent.ini"
    edit = f"sed -i 's/^\\(metadata_proxy_shared_secret\\) = .*/\\1 = wrong/' {path}"
    return changed(lab, NETWORK, path, edit, ["neutron-metadata-agent"])


fault("vif-plugged-lost", silent_neutron, "boot", "neutron-server", CONTROLLER, "38 N9", **NO_VOLUME)
fault("dnsmasq-broken", broken_dnsmasq, "metadata", "dnsmasq neutron-dhcp-agent", NETWORK, "30 31", **NO_VOLUME)
fault(
    "metadata-secret-wrong",
    wrong_secret,
    "metadata",
    "neutron-metadata-agent nova-metadata",
    f"{NETWORK} {CONTROLLER}",
    "53 53a 54 N18",
    **NO_VOLUME,
)
fault(
    "data-network-unplugged",
    lambda lab: unplugged(lab, COMPUTE, "eth1"),
    "metadata",
    "data-network openvswitch neutron-l2-agent",
    COMPUTE,
    "N16 52 31",
    **NO_VOLUME,
    **HERE,
)


# What the cloud may not or cannot do


@contextlib.contextmanager
def full_quota(lab, project="lab", **quotas):
    """A project may have no more than these quotas: by default no server at all."""
    identity = lab.admin.identity.find_project(project).id
    lab.admin.set_compute_quotas(identity, **(quotas or {"instances": 0}))
    try:
        yield
    finally:
        lab.admin.delete_compute_quotas(identity)


# Since this version of its API placement takes it that all of something is reserved.
ALL_RESERVED_SINCE = "1.26"


@contextlib.contextmanager
def full_placement(lab):
    """Every host has given away all its memory, as far as placement knows."""
    placement = lab.admin.placement
    paths = [
        f"/resource_providers/{provider['uuid']}/inventories/MEMORY_MB"
        for provider in placement.get("/resource_providers").json()["resource_providers"]
    ]
    before = {path: placement.get(path).json() for path in paths}
    try:
        for path, inventory in before.items():
            full = inventory | {"reserved": inventory["total"]}
            placement.put(path, json=full, microversion=ALL_RESERVED_SINCE).raise_for_status()
        yield
    finally:
        for path, inventory in before.items():
            generation = placement.get(path).json()["resource_provider_generation"]
            placement.put(path, json=inventory | {"resource_provider_generation": generation})


@contextlib.contextmanager
def no_secret(lab):
    secret = lab.run(COMPUTE, "virsh secret-list").split()[3]
    with undone(lab, COMPUTE, f"virsh secret-undefine {secret}", ". /etc/stackproof-lab/ceph-secret.sh"):
        yield


# Nothing is broken here, and the cloud says itself what is lacking.
fault("quota-full", full_quota, "boot", "", "", **NO_VOLUME)
fault(
    "placement-full",
    full_placement,
    "boot",
    "placement nova-scheduler",
    f"{CONTROLLER} {COMPUTE} {OTHER}",
    "9 10 11 N6",
    **NO_VOLUME,
)
fault("libvirt-secret-missing", no_secret, "boot", "libvirt", COMPUTE, "43", **NO_VOLUME, **HERE, **ENDS_ITSELF)


# The guest

NOTHING = DIRECTORY / "nothing.raw"


@contextlib.contextmanager
def empty_image(_lab):
    NOTHING.write_bytes(bytes(1 << 20))
    try:
        yield
    finally:
        NOTHING.unlink()


fault(
    "image-empty",
    empty_image,
    "metadata",
    "guest",
    f"{COMPUTE} {OTHER}",
    "N16 52",
    image_file=str(NOTHING),
    **NO_VOLUME,
)
