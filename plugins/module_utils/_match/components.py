# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The components of a cloud: which others each needs, which stages it works for, and which log it writes."""

from __future__ import annotations

# Each instance has one of these beside it; those beside other instances have nothing to do with it.
BESIDE = (
    "nova-compute", "libvirt", "neutron-l2-agent", "ovsdb", "ovn-controller", "neutron-ovn-metadata-agent",
    "vm-instance",
)  # fmt: skip
# The components that only clouds with this back end of Neutron have
OF_BACK_END = {
    "agents": {"neutron-l2-agent", "neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent", "dnsmasq"},
    "ovn": {"ovn-controller", "ovn-northd", "ovn-nb-db", "ovn-sb-db", "neutron-ovn-metadata-agent"},
}
# Services that send others the same requests as nova-compute
ALSO_ASK = {"nova-api", "nova-conductor", "nova-scheduler"}
# The components that work for a stage that no flow follows, in the order in which they are asked
WORKERS = {
    "auth": ["keystone", "ldap", "database", "memcached"],
    "image": ["glance-api", "ceph-rgw", "ceph-mon", "ceph-osd", "keystone", "memcached", "database"],
    "network": [
        "neutron-server", "neutron-l3-agent", "ovn-nb-db", "ovn-sb-db", "ovn-northd", "rabbitmq", "keystone",
        "memcached", "database",
    ],
    "volume": [
        "cinder-api", "cinder-scheduler", "cinder-volume", "ceph-mon", "ceph-osd", "glance-api", "rabbitmq", "keystone",
        "memcached", "database",
    ],
    "boot": ["nova-api", "rabbitmq", "keystone", "memcached", "database"],
    "metadata": [
        "neutron-metadata-agent", "neutron-ovn-metadata-agent", "nova-api-metadata", "neutron-dhcp-agent",
        "neutron-l2-agent", "ovsdb", "ovn-controller", "ovn-sb-db", "rabbitmq", "memcached", "database",
    ],
}  # fmt: skip
# The components that carry a message of each kind
CARRIERS = {
    "AMQP cast": ["rabbitmq"],
    "AMQP call": ["rabbitmq"],
    "AMQP subscribe": ["rabbitmq"],
    "DB": ["database"],
    "socket(RADOS)": ["ceph-mon", "ceph-osd"],
    "libvirt": ["libvirt"],
    "OVSDB": ["ovsdb"],
    "DHCP": ["data network"],
}
# The components that each one needs for its work: the failure of one of them may be all that is wrong with it.
LEANS_ON = {
    "keystone": ["ldap", "database", "memcached"],
    "nova-api": ["keystone", "database", "rabbitmq", "glance-api", "neutron-server", "cinder-api", "memcached"],
    "nova-conductor": ["database", "rabbitmq"],
    "nova-scheduler": ["placement-api", "database", "rabbitmq"],
    "nova-compute": [
        "libvirt", "rabbitmq", "nova-conductor", "ceph-mon", "ceph-osd", "glance-api", "neutron-server", "cinder-api",
        "placement-api", "neutron-l2-agent", "ovn-controller", "ovsdb",
    ],
    "placement-api": ["database", "keystone"],
    "glance-api": ["ceph-mon", "ceph-osd", "ceph-rgw", "keystone", "database", "memcached"],
    "neutron-server": ["database", "rabbitmq", "keystone", "memcached", "ovn-nb-db", "ovn-sb-db"],
    "neutron-dhcp-agent": ["dnsmasq", "rabbitmq", "neutron-server"],
    "neutron-l2-agent": ["ovsdb", "rabbitmq", "neutron-server"],
    "neutron-metadata-agent": ["nova-api-metadata", "neutron-server", "rabbitmq"],
    "ovn-northd": ["ovn-nb-db", "ovn-sb-db"],
    "ovn-controller": ["ovsdb", "ovn-sb-db", "ovn-northd"],
    "neutron-ovn-metadata-agent": ["nova-api-metadata", "ovn-controller", "ovn-sb-db", "ovsdb"],
    "nova-api-metadata": ["database", "neutron-server", "nova-conductor", "memcached"],
    "cinder-api": ["cinder-volume", "database", "rabbitmq", "keystone", "memcached"],
    "cinder-scheduler": ["cinder-volume", "database", "rabbitmq"],
    "cinder-volume": ["ceph-mon", "ceph-osd", "database", "rabbitmq"],
    "ceph-rgw": ["ceph-mon", "ceph-osd", "keystone"],
    "libvirt": ["ceph-mon", "ceph-osd", "ovsdb"],
    "data network": ["ovsdb", "neutron-l2-agent", "ovn-controller"],
    "vm-instance": ["data network", "neutron-l2-agent", "dnsmasq", "neutron-dhcp-agent", "ovn-controller"],
}  # fmt: skip
# The component that a Python library speaks to: an exception that it raises is about an answer of that component
SPEAKS_TO = {
    "amqp": "rabbitmq",
    "cinderclient": "cinder-api",
    "glanceclient": "glance-api",
    "keystoneclient": "keystone",
    "ldap": "ldap",
    "libvirt": "libvirt",
    "memcache": "memcached",
    "neutronclient": "neutron-server",
    "novaclient": "nova-api",
    "pymemcache": "memcached",
    "pymysql": "database",
}
# A word in the class of an exception, and the components that such an exception is about
RAISED_ABOUT = (
    ("libvirt", ["libvirt"]),
    ("Hypervisor", ["libvirt"]),
    ("rados.", ["ceph-mon"]),
    ("rbd.", ["ceph-mon"]),
    ("VirtualInterface", ["neutron-server", "neutron-l2-agent", "ovn-controller"]),
    ("PortBindingFailed", ["neutron-server", "neutron-l2-agent", "ovn-controller"]),
    ("DBConnection", ["database"]),
    ("DBError", ["database"]),
    ("OperationalError", ["database"]),
    ("ldap.", ["ldap"]),
    ("SERVER_DOWN", ["ldap"]),
    ("PlacementAPI", ["placement-api"]),
)
# Components that answer calls over the queue, by the project whose services call them
ANSWERS_CALLS = {
    "nova": ["nova-conductor", "nova-scheduler"],
    "neutron": ["neutron-server"],
    "cinder": ["cinder-volume"],
}
# Names in flows that stand for other components, or for a process of one of them
STANDS_FOR = {
    "neutron-metadata-proxy": ["neutron-metadata-proxy", "neutron-metadata-agent", "neutron-ovn-metadata-agent"],
    "client": [],
    "token-store": [],
}
# The component that writes each log, where it has another name
WRITERS = {
    "slapd": "ldap",
    "nova-metadata": "nova-api-metadata",
    "placement": "placement-api",
    "rgw": "ceph-rgw",
    "openvswitch": "ovsdb",
}
# Errors that a cloud logs when all goes well, too: component, logger, exception, and the share of healthy runs on the
# labs that had one. Open vSwitch still asks for the tap of a guest that has gone.
LOGGED_WHEN_WELL = {("ovsdb", "netdev_linux", None): 0.5, ("ovsdb", "dpif_netdev", None): 0.5}


# The component that a program is, by the program's name
PROGRAMS = {
    "dnsmasq": "dnsmasq", "haproxy": "neutron-metadata-proxy", "mariadbd": "database", "mysqld": "database",
    "beam.smp": "rabbitmq", "memcached": "memcached", "ceph-osd": "ceph-osd", "ceph-mon": "ceph-mon",
    "radosgw": "ceph-rgw", "ovs-vswitchd": "ovsdb", "ovsdb-server": "ovsdb", "ovn-controller": "ovn-controller",
    "ovn-northd": "ovn-northd", "libvirtd": "libvirt", "virtqemud": "libvirt", "qemu-kvm": "libvirt",
    "slapd": "ldap",
}  # fmt: skip
# The name of a project's folders, where it is not the first word of its components
PROJECTS = {"database": "mysql", "ovsdb": "openvswitch", "data network": "", "vm-instance": ""}


def project_of(component):
    """The project that a component is a part of, by the name of its folders."""
    return PROJECTS.get(component, component.partition("-")[0])


def writer_of(log):
    return WRITERS.get(log, log)


def is_beside(name):
    """Whether each instance has one of its own, by the name of a component or of its log."""
    return writer_of(name) in BESIDE


def lacking_with(back_end):
    """The components that a cloud with this back end of Neutron does not have; none if it is not known."""
    return set().union(*(names for other, names in OF_BACK_END.items() if back_end and other != back_end))
