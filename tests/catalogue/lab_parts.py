# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of the lab, with either back end of Neutron, and the faults that only one of them can have."""

from __future__ import annotations

from functools import partial

from breaking import unplugged
from catalogue_parts import Cloud, Part, Peer, Special
from eighth_fresh import eighth_fresh_of
from fifth_fresh import fifth_fresh_of
from fourth_fresh import fourth_fresh_of
from fresh import fresh_of
from lab_under_test import DIRECTORY, GROUPS, HOSTS, NETWORK
from ninth_fresh import ninth_fresh_of
from second_fresh import second_fresh_of
from seventh_fresh import seventh_fresh_of
from sites import of_lab
from sixth_fresh import sixth_fresh_of
from tenth_fresh import tenth_fresh_of
from third_fresh import third_fresh_of
from ways_to_break import commanded, few_connections, full_disk, sql
from wrong import wrong_of

CONTROLLER, NETWORK_HOST, STORAGE = (GROUPS[name][0] for name in ("controller", "network", "storage"))
COMPUTE = GROUPS["compute"][0]

DATABASE = Peer("database", CONTROLLER, 3306)
QUEUE = Peer("rabbitmq", CONTROLLER, 5672)
IDENTITY = Peer("keystone", CONTROLLER, 5000)
IMAGES = Peer("glance-api", CONTROLLER, 9292)
PLACEMENT = Peer("placement-api", CONTROLLER, 8778)
NETWORKING = Peer("neutron-server", CONTROLLER, 9696)
VOLUMES = Peer("cinder-api", CONTROLLER, 8776)
METADATA = Peer("nova-api-metadata", CONTROLLER, 8775)
MONITOR = Peer("ceph-mon", STORAGE, 3300)
SOUTHBOUND = Peer("ovn-sb-db", CONTROLLER, 6642)

NOVA, NEUTRON = "/etc/nova/nova.conf", "/etc/neutron/neutron.conf"
L2_AGENT = "/etc/neutron/plugins/ml2/openvswitch_agent.ini"
LIBVIRT = ("libvirtd.socket", "libvirtd-ro.socket", "libvirtd-admin.socket", "libvirtd")

# What hangs on the accounts and the databases, and keeps tokens and connections that are void
APIS = ("nova-api", "nova-api-metadata", "neutron-api", "cinder-api", "glance-api", "placement-api")
WORKERS = ("keystone", "nova-conductor", "nova-scheduler", "neutron-rpc-server", "cinder-scheduler", "cinder-volume")

PARTS = [
    Part("database", CONTROLLER, ("mariadb",), clients=(*APIS, *WORKERS)),
    Part("rabbitmq", CONTROLLER, ("rabbitmq-server",)),
    Part("memcached", CONTROLLER, ("memcached",)),
    Part("keystone", CONTROLLER, ("keystone",), "keystone", "keystone", settings="/etc/keystone/keystone.conf"),
    Part("glance-api", CONTROLLER, ("glance-api",), "glance", "glance", (MONITOR,), "/etc/glance/glance-api.conf"),
    Part("placement-api", CONTROLLER, ("placement-api",), "placement", "placement",
         settings="/etc/placement/placement.conf"),
    Part("nova-api", CONTROLLER, ("nova-api",), "nova", "nova"),
    Part("nova-api-metadata", CONTROLLER, ("nova-api-metadata",)),
    Part("nova-conductor", CONTROLLER, ("nova-conductor",)),
    Part("nova-scheduler", CONTROLLER, ("nova-scheduler",)),
    Part("neutron-server", CONTROLLER, ("neutron-api", "neutron-rpc-server"), "neutron", "neutron", settings=NEUTRON),
    Part("cinder-api", CONTROLLER, ("cinder-api",), "cinder", "cinder"),
    Part("cinder-scheduler", CONTROLLER, ("cinder-scheduler",)),
    Part("cinder-volume", CONTROLLER, ("cinder-volume",), None, None, (MONITOR,), "/etc/cinder/cinder.conf"),
    Part("nova-compute", COMPUTE, ("nova-compute",), None, None,
         (QUEUE, IDENTITY, PLACEMENT, NETWORKING, IMAGES, VOLUMES, MONITOR), NOVA),
    Part("libvirt", COMPUTE, LIBVIRT, programs=("/usr/bin/qemu-system-x86_64",)),
    Part("ovsdb", COMPUTE, ("ovs-vswitchd",), ended_with=("openvswitch-switch",)),
    Part("ceph-mon", STORAGE, ("ceph-mon@a",)),
    Part("ceph-osd", STORAGE, ("ceph-osd@0",)),
    Part("ceph-rgw", STORAGE, ("ceph-radosgw@rgw.a",)),
]  # fmt: skip
OVN = [
    Part("ovn-controller", COMPUTE, ("ovn-controller",), None, None, (SOUTHBOUND,)),
    Part("ovn-nb-db", CONTROLLER, ("ovn-ovsdb-server-nb",)),
    Part("ovn-sb-db", CONTROLLER, ("ovn-ovsdb-server-sb",)),
    Part("neutron-ovn-metadata-agent", COMPUTE, ("neutron-ovn-metadata-agent",), None, None, (SOUTHBOUND, METADATA),
         "/etc/neutron/neutron_ovn_metadata_agent.ini", ("/usr/sbin/haproxy",)),
]  # fmt: skip
AGENTS = [
    Part("neutron-l2-agent", COMPUTE, ("neutron-openvswitch-agent",), None, None, (QUEUE,), L2_AGENT,
         ("/usr/bin/ovs-vsctl",)),
    Part("neutron-l2-agent", NETWORK_HOST, ("neutron-openvswitch-agent",), None, None, (QUEUE,), L2_AGENT,
         ("/usr/bin/ovs-vsctl",)),
    Part("neutron-dhcp-agent", NETWORK_HOST, ("neutron-dhcp-agent",), None, None, (QUEUE,),
         "/etc/neutron/dhcp_agent.ini", ("/usr/sbin/dnsmasq",)),
    Part("neutron-l3-agent", NETWORK_HOST, ("neutron-l3-agent",), None, None, (QUEUE,), "/etc/neutron/l3_agent.ini"),
    Part("neutron-metadata-agent", NETWORK_HOST, ("neutron-metadata-agent",), None, None, (METADATA, QUEUE),
         "/etc/neutron/metadata_agent.ini"),
    Part("ovsdb", NETWORK_HOST, ("ovs-vswitchd",), ended_with=("openvswitch-switch",)),
]  # fmt: skip
PARTS += OVN if NETWORK == "ovn" else AGENTS

DATA_NETWORK = "data-network ovsdb neutron-l2-agent ovn-controller"
KEY = (
    "ceph auth get client.cinder -o /root/cinder.key"
    " && ceph auth caps client.cinder mon 'profile rbd' osd 'profile rbd-read-only pool=images'"
)


def by(host, make, back):
    return partial(commanded, host=host, make=make, back=back)


def alarm(make, back):
    return Special(by(CONTROLLER, f"rabbitmqctl {make}", f"rabbitmqctl {back}"), "rabbitmq", CONTROLLER)


def ceph(make, back):
    return Special(by(STORAGE, make, back), "ceph-osd ceph-mon", STORAGE)


CONNECTIONS = partial(few_connections, host=CONTROLLER, units=("nova-api", "placement-api", "neutron-api", "keystone"))
READ_ONLY_KEY = Special(
    by(STORAGE, KEY, "ceph auth import -i /root/cinder.key && rm /root/cinder.key"),
    "ceph-osd ceph-mon nova-compute cinder-volume",
    f"{STORAGE} {COMPUTE} {CONTROLLER}",
)
INSTANCES = partial(full_disk, host=COMPUTE, folder="/var/lib/nova/instances", owner="nova:nova")
LEASES = partial(full_disk, host=NETWORK_HOST, folder="/var/lib/neutron/dhcp", owner="neutron:neutron")
SPECIALS = {
    "rabbitmq-memory-alarm": alarm("set_vm_memory_high_watermark absolute 1MB", "set_vm_memory_high_watermark 0.6"),
    "rabbitmq-disk-alarm": alarm("set_disk_free_limit 9000GB", "set_disk_free_limit 50MB"),
    "rabbitmq-no-permissions": alarm("clear_permissions openstack", "set_permissions openstack '.*' '.*' '.*'"),
    "database-read-only": Special(
        by(CONTROLLER, sql("SET GLOBAL read_only=1"), sql("SET GLOBAL read_only=0")), "database", CONTROLLER
    ),
    "database-few-connections": Special(CONNECTIONS, "database", CONTROLLER),
    "ceph-full": ceph("ceph osd set-full-ratio 0.00001 && sleep 6", "ceph osd set-full-ratio 0.95"),
    "ceph-paused": ceph("ceph osd set pause", "ceph osd unset pause"),
    "ceph-pool-read-only-key": READ_ONLY_KEY,
    "data-link-down-compute": Special(partial(unplugged, host=COMPUTE, device="eth1"), DATA_NETWORK, COMPUTE),
    "data-link-down-network": Special(partial(unplugged, host=NETWORK_HOST, device="eth1"), DATA_NETWORK, NETWORK_HOST),
    "instances-disk-full": Special(INSTANCES, "nova-compute libvirt", COMPUTE),
}
if NETWORK == "ovs":
    SPECIALS["dhcp-disk-full"] = Special(LEASES, "neutron-dhcp-agent dnsmasq", NETWORK_HOST)

SITE = of_lab(GROUPS, HOSTS, NETWORK)
CLOUD = Cloud(
    parts=PARTS,
    specials=SPECIALS,
    controller=CONTROLLER,
    apis=APIS,
    workers=WORKERS,
    variables={"cloud": "lab-admin", "host": COMPUTE, "volume": "none"},
    images={"image_file": str(DIRECTORY / "probe.raw"), "image_store": "rgw"},
    wrong=wrong_of(SITE),
    unseen={
        "fresh": tuple(fresh_of(SITE)),
        "second": tuple(second_fresh_of(SITE)),
        "third": tuple(third_fresh_of(SITE)),
        "fourth": tuple(fourth_fresh_of(SITE)),
        "fifth": tuple(fifth_fresh_of(SITE)),
        "sixth": tuple(sixth_fresh_of(SITE)),
        "seventh": tuple(seventh_fresh_of(SITE)),
        "eighth": tuple(eighth_fresh_of(SITE)),
        "ninth": tuple(ninth_fresh_of(SITE)),
        "tenth": tuple(tenth_fresh_of(SITE)),
    },
)
