# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of a devstack with OVN, and the faults that only one of them can have. No way is cut: it is one host."""

from __future__ import annotations

from functools import partial

from catalogue_parts import Cloud, Part, Peer, Special
from devstack_faults import COMPUTE, CONDUCTOR, LIBVIRT, METADATA, MYSQL, OVN_AGENT, SCHEDULER
from devstack_under_test import HOST
from eighth_fresh import eighth_fresh_of
from fifth_fresh import fifth_fresh_of
from lab_under_test import DIRECTORY, HOSTS
from ninth_fresh import ninth_fresh_of
from seventh_fresh import seventh_fresh_of
from sites import of_devstack
from sixth_fresh import sixth_fresh_of
from tenth_fresh import tenth_fresh_of
from ways_to_break import commanded, few_connections, full_disk
from wrong import wrong_of

QUEUE = Peer("rabbitmq", HOST, 5672)
APIS = tuple(f"devstack@{name}" for name in ("n-api", "n-api-meta", "neutron-api", "g-api", "placement-api"))
WORKERS = ("devstack@keystone", CONDUCTOR, "devstack@n-super-cond", SCHEDULER, "devstack@neutron-rpc-server")

PARTS = [
    Part("database", HOST, ("mariadb",), clients=(*APIS, *WORKERS)),
    Part("rabbitmq", HOST, ("rabbitmq-server",)),
    Part("memcached", HOST, ("memcached",)),
    Part("keystone", HOST, ("devstack@keystone",), settings="/etc/keystone/keystone.conf"),
    Part("glance-api", HOST, ("devstack@g-api",), "glance", settings="/etc/glance/glance-api.conf"),
    Part("placement-api", HOST, ("devstack@placement-api",), "placement", settings="/etc/placement/placement.conf"),
    Part("nova-api", HOST, ("devstack@n-api",), "nova"),
    Part("nova-api-metadata", HOST, ("devstack@n-api-meta",)),
    Part("nova-conductor", HOST, (CONDUCTOR,), settings="/etc/nova/nova_cell1.conf"),
    Part("nova-scheduler", HOST, (SCHEDULER,)),
    Part("neutron-server", HOST, ("devstack@neutron-api", "devstack@neutron-rpc-server"), "neutron",
         settings="/etc/neutron/neutron.conf"),
    Part("nova-compute", HOST, (COMPUTE,), None, None, (QUEUE,), "/etc/nova/nova-cpu.conf"),
    Part("libvirt", HOST, LIBVIRT, programs=("/usr/bin/qemu-system-x86_64",)),
    Part("ovsdb", HOST, ("ovs-vswitchd",), ended_with=("openvswitch-switch",)),
    Part("ovn-controller", HOST, ("ovn-controller",)),
    Part("ovn-northd", HOST, ("ovn-northd",)),
    Part("ovn-nb-db", HOST, ("ovn-ovsdb-server-nb",)),
    Part("ovn-sb-db", HOST, ("ovn-ovsdb-server-sb",)),
    Part(METADATA, HOST, (OVN_AGENT,), settings="/etc/neutron/plugins/ml2/ovn_agent.ini",
         programs=("/usr/sbin/haproxy",)),
]  # fmt: skip


def alarm(make, back):
    return Special(
        partial(commanded, host=HOST, make=f"rabbitmqctl {make}", back=f"rabbitmqctl {back}"), "rabbitmq", HOST
    )


CONNECTIONS = partial(few_connections, host=HOST, units=APIS, client=MYSQL)
INSTANCES = partial(full_disk, host=HOST, folder="/opt/stack/data/nova/instances", owner="stack:root")
SPECIALS = {
    "rabbitmq-memory-alarm": alarm("set_vm_memory_high_watermark absolute 1MB", "set_vm_memory_high_watermark 0.6"),
    "rabbitmq-disk-alarm": alarm("set_disk_free_limit 9000GB", "set_disk_free_limit 50MB"),
    "database-few-connections": Special(CONNECTIONS, "database", HOST),
    "instances-disk-full": Special(INSTANCES, "nova-compute libvirt", HOST),
}

SITE = of_devstack(HOSTS, MYSQL)
CLOUD = Cloud(
    parts=PARTS,
    specials=SPECIALS,
    controller=HOST,
    apis=APIS,
    workers=WORKERS,
    variables={"volume": "none"},
    images={"image_file": str(DIRECTORY / "probe.raw")},
    wrong=wrong_of(SITE),
    # The halves before them are of the lab alone.
    unseen={
        "fifth": tuple(fifth_fresh_of(SITE)),
        "sixth": tuple(sixth_fresh_of(SITE)),
        "seventh": tuple(seventh_fresh_of(SITE)),
        "eighth": tuple(eighth_fresh_of(SITE)),
        "ninth": tuple(ninth_fresh_of(SITE)),
        "tenth": tuple(tenth_fresh_of(SITE)),
    },
)
