# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of a site in its second year, of operations after the boot and of the paths between two guests.

They are made in other ways than those of journey_faults.py and dataplane_faults.py, for guests at the same places: the
first one on COMPUTE, the second one on OTHER, which is also where every move of the first one ends.
"""

from __future__ import annotations

import contextlib
from functools import partial

from breaking import edited, frozen, recovered, traits_of, undone
from catalogue_parts import Part
from dataplane_faults import AGENT, FIREWALL, KIND, OVER_IPV6, SETTINGS, of_guests
from faults import COMPUTE, CONTROLLER, NETWORK, OTHER, STORAGE
from journey_faults import (
    CINDER,
    DONE,
    LIBVIRT,
    MOVE,
    NOBODY,
    PATHS,
    SECOND,
    SWITCH,
    WITH_VOLUME,
    address,
    configured,
    done,
    in_nova,
    of_operation,
)
from lab_under_test import NETWORK as BACK_END
from ways_to_break import MYSQL, commanded
from ways_to_set_wrong import first, kept_value, set_by_new_file, sql

KNOWN_HOSTS, HOOK = "/var/lib/nova/.ssh/known_hosts", "/etc/libvirt/hooks/qemu"
SNAPSHOTS = "/var/lib/nova/instances/snapshots"
GLANCE, DNSMASQ = "/etc/glance/glance-api.conf", "/etc/neutron/dnsmasq-neutron.conf"
# Of an address for documentation, at which nobody answers
OLD_RESOLVER = "192.0.2.53"
# The network of its own of a fault in tunnels
IN_TUNNELS = "tunneled-fresh"
# nova-compute gives this to the provider of a host that is disabled, and takes it back.
DISABLED = "COMPUTE_STATUS_DISABLED"
# The root disk has 1 GiB.
SMALL_IMAGE = 64 << 20

FAULTS = {}


def kept_in(faults):
    """Two functions that keep a fault there: one that an operation meets, and one that the guests meet between them."""

    def fault(name, operation, make, components, hosts, during="", **more):
        faults[name] = of_operation(name, operation, make, components, hosts, during, **more)

    def fault_between(name, make, components, hosts, during="", **more):
        faults[name] = of_guests(name, make, components, hosts, during=during, **more)

    return fault, fault_between


fault, fault_between = kept_in(FAULTS)


def first_guest(lab):
    """The port of the guest on COMPUTE."""
    ports = lab.admin.network.get("/ports").json()["ports"]
    return first(
        port for port in ports if port["device_owner"].startswith("compute:") and port["binding:host_id"] == COMPUTE
    )


# Of moves


@contextlib.contextmanager
def hook_against_moves(lab):
    """A script of the site's own lets no guest come to OTHER. libvirt finds it only when it starts."""
    again = f"systemctl restart {LIBVIRT} && sleep 5"
    lines = "'#!/bin/sh' 'test \"$2\" != migrate'"
    make = f"mkdir -p $(dirname {HOOK}) && printf '%s\\n' {lines} > {HOOK} && chmod 755 {HOOK} && {again}"
    with recovered(lab, OTHER, ["nova-compute"]), undone(lab, OTHER, make, f"rm -f {HOOK} && {again}"):
        lab.wait_until_well()
        yield


def key_of_another(host, peer, other):
    """A host knows a peer by the key of another one, as when it has been installed again."""
    peer, other = address(peer), address(other)
    key = f"key=$(sed -n 's/^{other} //p' {KNOWN_HOSTS}) && test -n \"$key\""
    edit = f'{key} && sed -i "s#^{peer} .*#{peer} $key#" {KNOWN_HOSTS}'
    return partial(edited, host=host, path=KNOWN_HOSTS, edit=edit, then="true")


@contextlib.contextmanager
def still_marked(lab):
    """OTHER is enabled again, and its provider still has the trait of one that is not.

    nova-compute compares with what it remembers, and asks for the traits only every few minutes.
    """
    put = traits_of(lab.admin.placement, OTHER)
    put(set.union, DISABLED)
    try:
        yield
    finally:
        put(set.difference, DISABLED)


def rows(make, back):
    return done(CONTROLLER, sql(MYSQL, make), sql(MYSQL, back))


def renamed_node(old, new):
    return f"UPDATE nova.instances SET node='{new}' WHERE host='{COMPUTE}' AND node='{old}'"


def forbidden(component, units, port, path, rule):
    """A policy allows nobody what it names. What has read it starts again, as some take no request without it."""
    part = Part(component, CONTROLLER, tuple(units.split()), port=port)
    return partial(set_by_new_file, part=part, path=path, text=f'"{rule}": "!"')


# What only a live migration needs. The guest has more memory than passes in the seconds that it gets.
fault(
    "migration-given-two-seconds",
    MOVE,
    in_nova(
        COMPUTE,
        ("libvirt", "live_migration_bandwidth", "1"),
        ("libvirt", "live_migration_completion_timeout", "1"),
    ),
    "nova-compute",
    COMPUTE,
)
fault("hook-of-libvirt-refuses", MOVE, hook_against_moves, "libvirt", OTHER)
# The port's second binding, which no other operation asks for
fault(
    "policy-of-second-bindings",
    MOVE,
    forbidden(
        "neutron-server", "neutron-api neutron-rpc-server", 9696, "/etc/neutron/policy.yaml", "create_port_binding"
    ),
    "neutron-server",
    CONTROLLER,
)
# Nothing is broken here: with two hosts a third is missing for a group whose servers must never share one.
POLICY = "UPDATE nova_api.instance_group_policy SET policy='{}' WHERE policy='{}'"
GROUPS = "anti-affinity", "soft-anti-affinity"
fault("group-never-together", MOVE, rows(POLICY.format(*GROUPS), POLICY.format(*reversed(GROUPS))), *NOBODY, PATHS)

fault(
    "destination-known-by-an-old-key",
    "migrate",
    key_of_another(COMPUTE, OTHER, STORAGE),
    "nova-compute ssh",
    COMPUTE,
)
fault(
    "destination-still-marked-as-disabled",
    "migrate",
    still_marked,
    "placement nova-scheduler",
    f"{CONTROLLER} {OTHER}",
    DONE,
)
# As after the domain of the hosts was changed
NODES = COMPUTE, f"{COMPUTE}.old.example.org"
fault(
    "server-on-a-node-of-old",
    "resize",
    rows(renamed_node(*NODES), renamed_node(*reversed(NODES))),
    "database nova-conductor",
    CONTROLLER,
    DONE,
)


# On the server's own host


def full_pool(lab):
    """The pool of the root disks may have no more objects. Its monitor sees that with the next report."""
    quota = "ceph osd pool set-quota vms max_objects {}"
    seen = "timeout 30 sh -c 'until ceph health detail | grep -q POOL_FULL; do sleep 1; done'"
    return commanded(lab, STORAGE, f"{quota.format(1)} && {{ {seen}; true; }}", quota.format(0))


@contextlib.contextmanager
def network_without_agent(lab):
    """The DHCP agent was taken off the network, and nobody has given the network one since."""
    network = lab.admin.network
    wanted = first_guest(lab)["network_id"]
    agents = [agent["id"] for agent in network.get(f"/networks/{wanted}/dhcp-agents").json()["agents"]]
    for agent in agents:
        network.delete(f"/agents/{agent}/dhcp-networks/{wanted}").raise_for_status()
    try:
        yield
    finally:
        # The network goes with its run.
        if network.get(f"/networks/{wanted}").status_code == 200:
            for agent in agents:
                network.post(f"/agents/{agent}/dhcp-networks", json={"network_id": wanted}).raise_for_status()


# As it is copied from a cloud that has more than one region. The run's own image is there.
fault(
    "images-of-another-region",
    "rebuild",
    in_nova(COMPUTE, ("glance", "region_name", "RegionTwo")),
    "nova-compute",
    COMPUTE,
    PATHS,
)
fault("pool-of-disks-full", "rebuild", full_pool, "ceph ceph-mon ceph-osd", STORAGE, PATHS)
# libvirt asks it for a file of the console before it starts a guest, and waits.
fault(
    "virtlogd-frozen",
    "hard_reboot",
    lambda lab: frozen(lab, COMPUTE, "virtlogd"),
    "libvirt virtlogd",
    COMPUTE,
    DONE,
)
if BACK_END == "ovs":
    fault(
        "network-without-its-dhcp-agent",
        "stop",
        network_without_agent,
        "neutron-server neutron-dhcp-agent",
        f"{CONTROLLER} {NETWORK}",
        DONE,
    )
# The project has no hosts of its own. What runs already stays.
fault(
    "projects-need-hosts-of-their-own",
    "shelve",
    in_nova(
        CONTROLLER,
        ("scheduler", "limit_tenants_to_placement_aggregate", "true"),
        ("scheduler", "placement_aggregate_required_for_tenants", "true"),
        unit="nova-scheduler",
    ),
    "nova-scheduler",
    CONTROLLER,
    PATHS,
)

# The key of the computes may not write images, so that each snapshot is a file before it is one.
fault(
    "no-space-for-snapshots",
    "boot_snapshot",
    done(
        COMPUTE,
        f"install -d -o nova -g nova {SNAPSHOTS} && mount -t tmpfs -o size=2m,mode=0755 tmpfs {SNAPSHOTS}"
        f" && chown nova:nova {SNAPSHOTS}",
        f"umount --lazy {SNAPSHOTS}; rmdir --ignore-fail-on-non-empty {SNAPSHOTS}",
    ),
    "nova-compute",
    COMPUTE,
)
fault(
    "images-of-a-few-megabytes",
    "boot_snapshot",
    configured(CONTROLLER, GLANCE, "glance-api", ("DEFAULT", "image_size_cap", str(SMALL_IMAGE))),
    "glance-api",
    CONTROLLER,
)
fault(
    "back-end-keeps-all-space",
    "extend_volume",
    configured(CONTROLLER, CINDER, "cinder-volume", ("ceph", "reserved_percentage", "100")),
    "cinder-volume",
    CONTROLLER,
    PATHS,
    **WITH_VOLUME,
)
# The guest had its second disk before.
fault(
    "one-disk-a-guest",
    "reattach_volume",
    in_nova(COMPUTE, ("compute", "max_disk_devices_to_attach", "1")),
    "nova-compute",
    COMPUTE,
    SECOND,
    **WITH_VOLUME,
)


# Between two guests


def in_routers(make, back):
    """Commands in the namespace of each router. A namespace goes with its router, and so does what was done in it."""
    each = "for space in $(ip netns list | grep -o '^qrouter-[^ ]*'); do ip netns exec $space {}; done"
    made = each.format(f"{make} || exit 1")
    return done(NETWORK, f"ip netns list | grep -q '^qrouter-' && {made}", f"{each.format(back)}; true")


def filtered(program, rule):
    """A rule of nobody's in the firewall of each router."""
    return in_routers(*(f"{program} --wait {verb} {rule}" for verb in ("--insert", "--delete")))


@contextlib.contextmanager
def address_at_a_wrong_port(lab):
    """The bridge of OTHER was told for good that the first guest is where the second one is."""
    port = first_guest(lab)
    network = lab.admin.network.get(f"/networks/{port['network_id']}").json()["network"]
    which = f"{network['provider:segmentation_id']} {port['mac_address']}"
    with commanded(lab, OTHER, f"ovs-appctl fdb/add br-ex phy-br-ex {which}", f"ovs-appctl fdb/del br-ex {which}"):
        yield


@contextlib.contextmanager
def told_by_nobody(lab):
    """The agent of OTHER waits for Neutron to tell it where addresses are, which Neutron does only with a driver."""
    network = lab.admin.network
    asked = {"name": IN_TUNNELS, "provider:network_type": KIND}
    made = network.post("/networks", json={"network": asked}).json()["network"]["id"]
    try:
        subnet = {"network_id": made, "ip_version": 4, "cidr": "192.168.78.0/24"}
        network.post("/subnets", json={"subnet": subnet}).raise_for_status()
        with configured(OTHER, SETTINGS, AGENT, ("agent", "l2_population", "true"))(lab):
            yield
    finally:
        network.delete(f"/networks/{made}").raise_for_status()


# The run's networks have VLANs from 100 to 299.
fault_between(
    "vlans-not-allowed-at-the-second-host",
    done(OTHER, "ovs-vsctl set port eth1 trunks=0,300", "ovs-vsctl clear port eth1 trunks"),
    SWITCH,
    OTHER,
)
# What is new passes once, and its answer belongs to no connection.
fault_between(
    "no-room-for-connections-on-the-first-host",
    partial(
        kept_value,
        host=COMPUTE,
        get="ovs-appctl dpctl/ct-get-maxconns",
        put="ovs-appctl dpctl/ct-set-maxconns {}",
        value="0",
    ),
    f"ovsdb {FIREWALL}",
    COMPUTE,
    SECOND,
)
if BACK_END == "ovs":
    fault_between("address-at-a-wrong-port-of-the-second-host", address_at_a_wrong_port, SWITCH, OTHER, SECOND)
    fault_between(
        "tunnels-told-by-nobody-on-the-second-host", told_by_nobody, "neutron-l2-agent", OTHER, network=IN_TUNNELS
    )
    fault_between(
        "resolver-of-old",
        partial(
            edited,
            host=NETWORK,
            path=DNSMASQ,
            edit=f"echo dhcp-option=option:dns-server,{OLD_RESOLVER} >> {DNSMASQ}",
            then="true",
        ),
        "dnsmasq neutron-dhcp-agent",
        NETWORK,
    )
    # As a hardening of the host leaves it that knows nothing of routers
    fault_between(
        "router-that-does-not-forward",
        in_routers("sysctl -q -w net.ipv4.ip_forward=0", "sysctl -q -w net.ipv4.ip_forward=1"),
        "neutron-l3-agent",
        NETWORK,
        SECOND,
        dataplane_path="routed",
    )
    # The first guest has its address already.
    fault_between(
        "advertisements-filtered-in-the-router",
        filtered("ip6tables", "OUTPUT --protocol icmpv6 --icmpv6-type router-advertisement --jump DROP"),
        "neutron-l3-agent",
        NETWORK,
        SECOND,
        **OVER_IPV6,
    )
    fault_between(
        "ssh-filtered-in-the-router",
        filtered("iptables", "FORWARD --protocol tcp --dport 22 --jump DROP"),
        "neutron-l3-agent",
        NETWORK,
        SECOND,
        floating_ip=True,
    )
