# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sites of the wrong faults: the lab with either back end of Neutron, and the devstack."""

from __future__ import annotations

from catalogue_parts import Part, Site

NOVA, NEUTRON, CINDER = "/etc/nova/nova.conf", "/etc/neutron/neutron.conf", "/etc/cinder/cinder.conf"
GLANCE, KEYSTONE = "/etc/glance/glance-api.conf", "/etc/keystone/keystone.conf"
PLACEMENT = "/etc/placement/placement.conf"
# Files that only some parts read besides
ML2 = "/etc/neutron/plugins/ml2/ml2_conf.ini"
OVN_AGENT = "/etc/neutron/neutron_ovn_metadata_agent.ini"
L2_AGENT = "/etc/neutron/plugins/ml2/openvswitch_agent.ini"
DHCP_AGENT, L3_AGENT = "/etc/neutron/dhcp_agent.ini", "/etc/neutron/l3_agent.ini"
DNSMASQ = "/etc/neutron/dnsmasq-neutron.conf"
METADATA_AGENT = "/etc/neutron/metadata_agent.ini"
LIBVIRT = ("libvirtd",)
DEVSTACK_AGENT = "/etc/neutron/plugins/ml2/ovn_agent.ini"


def of_lab(groups, hosts, network):
    """The site of a lab. groups, hosts: those of its inventory. network: ovs or ovn."""
    controller, network_host, storage = (groups[name][0] for name in ("controller", "network", "storage"))
    compute, other = groups["compute"][0], groups["compute"][-1]
    parts = [
        Part("keystone", controller, ("keystone",), settings=KEYSTONE, port=5000),
        Part("glance-api", controller, ("glance-api",), settings=GLANCE, port=9292),
        Part("placement-api", controller, ("placement-api",), settings=PLACEMENT, port=8778),
        Part("nova-api", controller, ("nova-api",), settings=NOVA, port=8774),
        Part("nova-api-metadata", controller, ("nova-api-metadata",), settings=NOVA, port=8775),
        Part("nova-conductor", controller, ("nova-conductor",), settings=NOVA),
        Part("nova-scheduler", controller, ("nova-scheduler",), settings=NOVA),
        Part("neutron-server", controller, ("neutron-api", "neutron-rpc-server"), settings=NEUTRON, port=9696),
        Part("cinder-api", controller, ("cinder-api",), settings=CINDER, port=8776),
        Part("cinder-scheduler", controller, ("cinder-scheduler",), settings=CINDER),
        Part("cinder-volume", controller, ("cinder-volume",), settings=CINDER),
        Part("database", controller, ("mariadb",)),
        Part("rabbitmq", controller, ("rabbitmq-server",)),
        Part("nova-compute", compute, ("nova-compute",), settings=NOVA),
        Part("libvirt", compute, LIBVIRT),
        Part("ceph-osd", storage, ("ceph-osd@0",)),
    ]
    ovn = [
        Part("ovn-controller", compute, ("ovn-controller",)),
        Part("ovn-northd", controller, ("ovn-northd",)),
        Part("ovn-nb-db", controller, ("ovn-ovsdb-server-nb",)),
        Part("ovn-sb-db", controller, ("ovn-ovsdb-server-sb",)),
        Part("neutron-ovn-metadata-agent", compute, ("neutron-ovn-metadata-agent",), settings=OVN_AGENT),
    ]
    agents = [
        Part("neutron-l2-agent", compute, ("neutron-openvswitch-agent",), settings=L2_AGENT),
        Part("neutron-l2-agent", network_host, ("neutron-openvswitch-agent",), settings=L2_AGENT),
        Part("neutron-dhcp-agent", network_host, ("neutron-dhcp-agent",), settings=DHCP_AGENT),
        Part("neutron-l3-agent", network_host, ("neutron-l3-agent",), settings=L3_AGENT),
        Part("neutron-metadata-agent", network_host, ("neutron-metadata-agent",), settings=METADATA_AGENT),
    ]
    return Site(
        controller=controller,
        compute=compute,
        other=other,
        network=network_host,
        storage=storage,
        parts=(*parts, *(ovn if network == "ovn" else agents)),
        mysql="mysql",
        project="lab",
        is_ovn=network == "ovn",
        addresses={host: variables["ansible_host"] for host, variables in hosts.items()},
    )


def of_devstack(hosts, mysql):
    (host,) = hosts
    units = {name: f"devstack@{name}" for name in ("n-api", "n-api-meta", "n-cond-cell1", "n-sch", "n-cpu", "g-api")}
    parts = [
        Part("keystone", host, ("devstack@keystone",), settings=KEYSTONE),
        Part("glance-api", host, (units["g-api"],), settings=GLANCE),
        Part("placement-api", host, ("devstack@placement-api",), settings=PLACEMENT),
        Part("nova-api", host, (units["n-api"],), settings=NOVA),
        Part("nova-api-metadata", host, (units["n-api-meta"],), settings=NOVA),
        Part("nova-conductor", host, (units["n-cond-cell1"],), settings="/etc/nova/nova_cell1.conf"),
        Part("nova-scheduler", host, (units["n-sch"],), settings=NOVA),
        Part("nova-compute", host, (units["n-cpu"],), settings="/etc/nova/nova-cpu.conf"),
        Part("neutron-server", host, ("devstack@neutron-api", "devstack@neutron-rpc-server"), settings=NEUTRON),
        Part("database", host, ("mariadb",)),
        Part("rabbitmq", host, ("rabbitmq-server",)),
        Part("libvirt", host, LIBVIRT),
        Part("ovn-controller", host, ("ovn-controller",)),
        Part("ovn-northd", host, ("ovn-northd",)),
        Part("ovn-nb-db", host, ("ovn-ovsdb-server-nb",)),
        Part("ovn-sb-db", host, ("ovn-ovsdb-server-sb",)),
        Part("neutron-ovn-metadata-agent", host, ("devstack@q-ovn-agent",), settings=DEVSTACK_AGENT),
    ]
    addresses = {name: variables["ansible_host"] for name, variables in hosts.items()}
    return Site(host, host, tuple(parts), mysql, "demo", True, addresses)
