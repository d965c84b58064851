# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults between two guests, each with what a verdict on it has to say to be right.

The first guest is on COMPUTE, and so the second one, which is kept apart from it, on OTHER.
"""

from __future__ import annotations

from breaking import edited, stopped
from faults import COMPUTE, CONTROLLER, HERE, NO_VOLUME, OTHER
from lab_under_test import NETWORK
from truths import fault_of
from ways_to_break import commanded

FIREWALL, AGENT = {
    "ovs": ("neutron-l2-agent", "neutron-openvswitch-agent"),
    "ovn": ("ovn-controller", "ovn-controller"),
}.get(NETWORK, ("", ""))
SETTINGS = "/etc/neutron/plugins/ml2/openvswitch_agent.ini"
FAULTS = {}


def of_guests(name, make, components, hosts, stage="dataplane", **more):
    """A fault that the guests meet on their way to each other."""
    given = {"dataplane": True, "dataplane_timeout": 120, **NO_VOLUME, **HERE, **more}
    return fault_of(name, make, stage, components, hosts, **given)


def fault(name, *truth, **more):
    FAULTS[name] = of_guests(name, *truth, **more)


def done(host, command, back):
    return lambda lab: commanded(lab, host, command, back)


def smaller(host, mtu):
    """A wire between the hosts that is smaller than the networks on it."""
    return done(host, f"ip link set eth1 mtu {mtu}", "ip link set eth1 mtu 1500")


def dropping(host, match, bridge="br-int"):
    """A flow of nobody's in the switch, as from a test that was forgotten."""
    flow = f"priority=40000,{match}"
    return done(
        host,
        f"ovs-ofctl -O OpenFlow10,OpenFlow13,OpenFlow15 add-flow {bridge} cookie=0xbad,{flow},actions=drop",
        f"ovs-ofctl -O OpenFlow10,OpenFlow13,OpenFlow15 del-flows {bridge} cookie=0xbad/-1",
    )


def configured(host, edit):
    """Settings of the agent that are changed by sed and read when it starts; then both are as before."""
    restart = f"systemctl restart {AGENT}"
    return lambda lab: edited(lab, host, SETTINGS, f"sed -i {edit} {SETTINGS} && {restart}", restart, [AGENT])


fault("mtu-1400-on-the-first-host", smaller(COMPUTE, 1400), "data-network", COMPUTE)
fault("mtu-1400-on-the-second-host", smaller(OTHER, 1400), "data-network", OTHER)
fault("mtu-900-on-the-second-host", smaller(OTHER, 900), "data-network", OTHER)
fault("ping-dropped-on-the-first-host", dropping(COMPUTE, "icmp"), f"data-network ovsdb {FIREWALL}", COMPUTE)
fault("ping-dropped-on-the-second-host", dropping(OTHER, "icmp"), f"data-network ovsdb {FIREWALL}", OTHER)
fault("ssh-dropped-on-the-first-host", dropping(COMPUTE, "tcp,tp_dst=22"), f"ovsdb {FIREWALL}", COMPUTE)
fault("ssh-dropped-on-the-second-host", dropping(OTHER, "tcp,tp_dst=22"), f"ovsdb {FIREWALL}", OTHER)
fault("agent-of-the-second-host-stopped", lambda lab: stopped(lab, OTHER, AGENT), FIREWALL, OTHER)
fault(
    "wire-of-the-second-host-down", done(OTHER, "ip link set eth1 down", "ip link set eth1 up"), "data-network", OTHER
)
fault(
    "wire-of-the-second-host-out-of-the-bridge",
    done(OTHER, "ovs-vsctl del-port br-ex eth1", "ovs-vsctl add-port br-ex eth1"),
    f"data-network ovsdb {FIREWALL}",
    OTHER,
)

# The hosts' links have 1500, and the guests are given more: the first of their packets that is too large is lost.
NEUTRON, SERVERS = "/etc/neutron/neutron.conf", ("neutron-api", "neutron-rpc-server")
LARGER, AGAIN = r"sed -i '/^\[DEFAULT\]/a global_physnet_mtu = 1600'", f"systemctl restart {' '.join(SERVERS)}"
fault(
    "networks-larger-than-all-links",
    lambda lab: edited(lab, CONTROLLER, NEUTRON, f"{LARGER} {NEUTRON} && {AGAIN}", AGAIN, SERVERS),
    "neutron-server",
    CONTROLLER,
    stage="metadata",
)

# Over IPv6 alone
ECHO = "icmp6,icmp_type=128"
OVER_IPV6 = {"network_ipv6": "slaac"}
fault("ipv6-dropped-on-the-first-host", dropping(COMPUTE, ECHO), f"ovsdb {FIREWALL}", COMPUTE, **OVER_IPV6)
fault("ipv6-dropped-on-the-second-host", dropping(OTHER, ECHO), f"ovsdb {FIREWALL}", OTHER, **OVER_IPV6)
if NETWORK == "ovs":
    # The file belongs to a root file system that several hosts share, so another file is put over it.
    hide = done("network1", "mount --bind /etc/hostname /usr/sbin/radvd", "umount /usr/sbin/radvd")
    fault("radvd-not-executable", hide, "neutron-l3-agent", "network1", **OVER_IPV6)

# Over a network in tunnels
TUNNELED = "tunneled"
KIND, UDP_PORT = {"ovs": ("vxlan", 4789), "ovn": ("geneve", 6081)}.get(NETWORK, ("", 0))
TUNNELS = f"ovs-vsctl --bare --columns=name find Interface type={KIND}"


def fault_in_tunnels(name, make, components, hosts):
    fault(name, make, components, hosts, network=TUNNELED)


fault_in_tunnels("tunnels-and-mtu-1400-on-the-second-host", smaller(OTHER, 1400), "data-network", OTHER)
fault_in_tunnels(
    "tunnels-closed-on-the-first-host",
    done(
        COMPUTE,
        f"for tunnel in $({TUNNELS}); do ovs-ofctl -O OpenFlow13,OpenFlow15 mod-port $(ovs-vsctl iface-to-br $tunnel)"
        " $tunnel no-forward; done",
        f"for tunnel in $({TUNNELS}); do ovs-ofctl -O OpenFlow13,OpenFlow15 mod-port $(ovs-vsctl iface-to-br $tunnel)"
        " $tunnel forward; done",
    ),
    f"data-network ovsdb {FIREWALL}",
    COMPUTE,
)
fault_in_tunnels(
    "tunnels-dropped-on-the-second-host",
    dropping(OTHER, f"udp,tp_dst={UDP_PORT}", "br-ex"),
    f"data-network ovsdb {FIREWALL}",
    OTHER,
)
if NETWORK == "ovs":
    WITHOUT = "'/^\\[securitygroup\\]/,/^\\[/s/^firewall_driver.*/firewall_driver = noop/'"
    fault("no-firewall-on-the-first-host", configured(COMPUTE, WITHOUT), FIREWALL, COMPUTE)
    fault("no-firewall-on-the-second-host", configured(OTHER, WITHOUT), FIREWALL, OTHER)
