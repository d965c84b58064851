# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of the lab that the catalogue of faults breaks: where each runs, what it needs and what it starts."""

from __future__ import annotations

from dataclasses import dataclass

from lab_under_test import GROUPS, NETWORK

CONTROLLER, NETWORK_HOST, STORAGE = (GROUPS[name][0] for name in ("controller", "network", "storage"))
COMPUTE = GROUPS["compute"][0]


@dataclass(frozen=True)
class Peer:
    """A component that a part speaks to, and the port at which it does."""

    component: str
    host: str
    port: int | None = None


@dataclass(frozen=True)
class Part:
    """A component on a host of the lab, and how it can be broken."""

    component: str
    host: str
    units: tuple
    # The user of the database and of Keystone
    user: str | None = None
    peers: tuple = ()
    settings: str | None = None
    programs: tuple = ()
    # Units that systemd ends together with it, and does not start again
    ended_with: tuple = ()
    # Units that keep connections to it, which are void after it was away
    clients: tuple = ()

    @property
    def services(self):
        """Its units but for sockets, which have no process."""
        return [unit for unit in self.units if not unit.endswith(".socket")]

    @property
    def name(self):
        """Its component, with the host where there are several of it."""
        several = sum(self.component == other.component for other in PARTS) > 1
        return f"{self.component}-{self.host}" if several and self.host != CONTROLLER else self.component


DATABASE = Peer("database", CONTROLLER, 3306)
QUEUE = Peer("rabbitmq", CONTROLLER, 5672)
IDENTITY = Peer("keystone", CONTROLLER, 5000)
IMAGES = Peer("glance-api", CONTROLLER, 9292)
PLACEMENT = Peer("placement-api", CONTROLLER, 8778)
NETWORKING = Peer("neutron-server", CONTROLLER, 9696)
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
    Part("keystone", CONTROLLER, ("keystone",), "keystone", settings="/etc/keystone/keystone.conf"),
    Part("glance-api", CONTROLLER, ("glance-api",), "glance", (MONITOR,), "/etc/glance/glance-api.conf"),
    Part("placement-api", CONTROLLER, ("placement-api",), "placement", settings="/etc/placement/placement.conf"),
    Part("nova-api", CONTROLLER, ("nova-api",), "nova"),
    Part("nova-api-metadata", CONTROLLER, ("nova-api-metadata",)),
    Part("nova-conductor", CONTROLLER, ("nova-conductor",)),
    Part("nova-scheduler", CONTROLLER, ("nova-scheduler",)),
    Part("neutron-server", CONTROLLER, ("neutron-api", "neutron-rpc-server"), "neutron", settings=NEUTRON),
    Part("cinder-api", CONTROLLER, ("cinder-api",), "cinder"),
    Part("cinder-scheduler", CONTROLLER, ("cinder-scheduler",)),
    Part("cinder-volume", CONTROLLER, ("cinder-volume",), None, (MONITOR,), "/etc/cinder/cinder.conf"),
    Part("nova-compute", COMPUTE, ("nova-compute",), None,
         (QUEUE, IDENTITY, PLACEMENT, NETWORKING, IMAGES, MONITOR), NOVA),
    Part("libvirt", COMPUTE, LIBVIRT, programs=("/usr/bin/qemu-system-x86_64",)),
    Part("ovsdb", COMPUTE, ("ovs-vswitchd",), ended_with=("openvswitch-switch",)),
    Part("ceph-mon", STORAGE, ("ceph-mon@a",)),
    Part("ceph-osd", STORAGE, ("ceph-osd@0",)),
    Part("ceph-rgw", STORAGE, ("ceph-radosgw@rgw.a",)),
]  # fmt: skip
OVN = [
    Part("ovn-controller", COMPUTE, ("ovn-controller",), None, (SOUTHBOUND,)),
    Part("ovn-nb-db", CONTROLLER, ("ovn-ovsdb-server-nb",)),
    Part("ovn-sb-db", CONTROLLER, ("ovn-ovsdb-server-sb",)),
    Part("neutron-ovn-metadata-agent", COMPUTE, ("neutron-ovn-metadata-agent",), None, (SOUTHBOUND, METADATA),
         "/etc/neutron/neutron_ovn_metadata_agent.ini", ("/usr/sbin/haproxy",)),
]  # fmt: skip
AGENTS = [
    Part("neutron-l2-agent", COMPUTE, ("neutron-openvswitch-agent",), None, (QUEUE,), L2_AGENT,
         ("/usr/bin/ovs-vsctl",)),
    Part("neutron-l2-agent", NETWORK_HOST, ("neutron-openvswitch-agent",), None, (QUEUE,), L2_AGENT,
         ("/usr/bin/ovs-vsctl",)),
    Part("neutron-dhcp-agent", NETWORK_HOST, ("neutron-dhcp-agent",), None, (QUEUE,),
         "/etc/neutron/dhcp_agent.ini", ("/usr/sbin/dnsmasq",)),
    Part("neutron-metadata-agent", NETWORK_HOST, ("neutron-metadata-agent",), None, (METADATA, QUEUE),
         "/etc/neutron/metadata_agent.ini"),
    Part("ovsdb", NETWORK_HOST, ("ovs-vswitchd",), ended_with=("openvswitch-switch",)),
]  # fmt: skip
PARTS += OVN if NETWORK == "ovn" else AGENTS
