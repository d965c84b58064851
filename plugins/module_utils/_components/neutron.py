# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Neutron: its server, the agents of ML2/OVS and ML2/OVN, and the metadata proxies that they start."""

from __future__ import annotations

from .component import Api, Component, Port, Project

PROJECTS = (
    Project(
        "neutron",
        configuration=("/etc/neutron",),
        has_options=True,
        packages=("neutron-*",),
        schema_version="neutron-db-manage current",
        enabling="openstack network agent set --enable <id>",
        components=(
            Component(
                "neutron-server",
                depends_on=(
                    "database",
                    "rabbitmq",
                    "keystone",
                    "memcached",
                    "ovn-nb-db",
                    "ovn-sb-db",
                ),
                stages=("network",),
                answers_calls=True,
                api=Api(
                    ("network",), stage="network", url_paths=("networking",)
                ),
                mentioned_as=("neutron", "network(?:ing)? (?:service|api)"),
                # The binding of the port has failed, or was never made; OVN cannot read what is in its databases.
                bad_values=(
                    r"error parsing (?:actions|match)\b",
                    r"VIF type\W{1,3}(?:unbound|binding_failed)",
                    r"vif_type\W{1,6}(?:unbound|binding_failed)",
                ),
                libraries=("neutronclient",),
                exceptions=("VirtualInterface", "PortBindingFailed"),
                ports=(Port(9696),),
                topics=(
                    "q-plugin",
                    "q-l3-plugin",
                    "q-reports-plugin",
                    "q-server-resource-versions",
                ),
            ),
            Component(
                "neutron-metadata-agent",
                depends_on=("nova-api-metadata", "neutron-server", "rabbitmq"),
                network_back_end="agents",
                stages=("metadata",),
                starts=("haproxy",),
            ),
            Component(
                "neutron-ovn-metadata-agent",
                depends_on=(
                    "nova-api-metadata",
                    "ovn-controller",
                    "ovn-sb-db",
                    "ovsdb",
                ),
                is_beside_instance=True,
                network_back_end="ovn",
                stages=("metadata",),
                # It took the place of the metadata agent in 2025.2.
                reports_as=("neutron-ovn-agent",),
                starts=("haproxy",),
                daemons=("haproxy",),
            ),
            Component(
                "neutron-metadata-proxy",
                run_by=(
                    "neutron-metadata-agent",
                    "neutron-ovn-metadata-agent",
                ),
                mentioned_as=("haproxy",),
                programs=("haproxy",),
            ),
            Component(
                "neutron-dhcp-agent",
                depends_on=("dnsmasq", "rabbitmq", "neutron-server"),
                network_back_end="agents",
                stages=("metadata",),
                starts=("dnsmasq",),
                daemons=("dnsmasq", "haproxy", "radvd"),
                topics=("dhcp_agent",),
            ),
            Component(
                "neutron-l2-agent",
                depends_on=("ovsdb", "rabbitmq", "neutron-server"),
                is_beside_instance=True,
                network_back_end="agents",
                stages=("metadata",),
                reports_as=(
                    "neutron-openvswitch-agent",
                    "neutron-linuxbridge-agent",
                ),
                # It, or who does its work with another back end, does not carry the network there.
                sends_back=(
                    r"Failed to bind port \S+ on host \S+ for vnic_type normal",
                ),
                exceptions=("VirtualInterface", "PortBindingFailed"),
                starts=("ovs-vsctl", "ovs-ofctl"),
            ),
            Component(
                "neutron-l3-agent",
                depends_on=("rabbitmq", "neutron-server"),
                network_back_end="agents",
                stages=("network", "metadata"),
                topics=("l3_agent",),
                daemons=("haproxy", "radvd", "keepalived"),
            ),
        ),
    ),
)
