# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A second fresh set of faults of operations after the boot and of the paths between two guests.

They are made in other ways than those of journey_faults.py, dataplane_faults.py and operations_fresh.py, for guests at
the same places: the first one on COMPUTE, the second one on OTHER, which is also where every move of the first one
ends.
"""

from __future__ import annotations

import contextlib
from functools import partial

from breaking import frozen, stopped
from dataplane_faults import AGENT, KIND, OVER_IPV6, SETTINGS, TUNNELS
from faults import COMPUTE, CONTROLLER, NETWORK, OTHER, STORAGE
from fourth_fresh import by_several
from journey_faults import (
    CINDER,
    DONE,
    MOVE,
    PATHS,
    SECOND,
    SWITCH,
    WITH_VOLUME,
    address,
    configured,
    done,
    in_nova,
    libvirt_told,
)
from lab_under_test import NETWORK as BACK_END
from lab_under_test import until
from operations_fresh import GLANCE, in_routers, kept_in
from ways_to_break import MYSQL
from ways_to_set_wrong import kept_value, sql

QEMU, QEMU_IMG = "/etc/libvirt/qemu.conf", "/usr/bin/qemu-img"
HOME_OF_NOVA = "/var/lib/nova"
HOSTS_OF_DNSMASQ = "/var/lib/neutron/dhcp/*/host"
# The network of its own of a fault in tunnels
IN_TUNNELS = "tunneled-second-fresh"
# What rows call things after a move that was half done
OLD_PHYSICAL_NETWORK, OLD_POOL, OLD_BACK_END = "provider-old", "volumes-old", "rbd-old"
KEPT_SPECS = "nova_api.kept_request_specs"
# The port of VXLAN before it had one of its own
OLD_VXLAN_PORT = 8472
# On the address of the host itself the switch's database listens at the only port of this range.
TAKEN_PORTS = "6640:6641"
METER, METERED = 9, "cookie=0xfed"
# In kilobits a second. So much, or twice as much, may come in one go: an offer of DHCP, and no packet of full size.
METER_RATE = 4
# Between the table of local addresses, which is looked at first, and the main one
RULE = 5
SMALL_MTU, FULL_MTU = 1000, 1500
# Since this version of its API Cinder lists attachments.
ATTACHMENTS_SINCE = "3.27"
NOT_FOUND = 404

FAULTS = {}


fault, fault_between = kept_in(FAULTS)


def dead(name, operation, way, host, unit, *truth, **more):
    """A fault of a unit that does not run, or does nothing."""
    fault(name, operation, lambda lab: way(lab, host, unit), *truth, **more)


def rows(make, back):
    return by_several(CONTROLLER, sql(MYSQL, make), sql(MYSQL, back))


# Moves: a live migration, a cold one, and a resize with its confirmation or its way back


def migration_host(lab):
    """libvirt of OTHER tells whoever migrates a guest to it to connect to another host."""
    line = f'migration_host = "{address(STORAGE)}"'
    return libvirt_told(lab, QEMU, f"echo '{line}' >> {QEMU}")


def renamed_physical_network():
    """The segments of networks are on a physical network of a name that no host has.

    Networks of VLANs that are deleted meanwhile do not give back their VLANs.
    """
    table = "neutron.networksegments"
    rename = "UPDATE {} SET physical_network='{}' WHERE network_type='vlan' AND physical_network='{}'"
    names = OLD_PHYSICAL_NETWORK, "public"
    free = (
        f"UPDATE neutron.ml2_vlan_allocations a LEFT JOIN {table} s ON s.network_type='vlan'"
        " AND s.physical_network=a.physical_network AND s.segmentation_id=a.vlan_id"
        " SET a.allocated=0 WHERE a.allocated=1 AND s.id IS NULL"
    )
    return rows(rename.format(table, *names), f"{rename.format(table, *reversed(names))}; {free}")


fault("libvirt-names-another-host", MOVE, migration_host, "libvirt", OTHER)
dead("switch-database-of-the-destination-frozen", MOVE, frozen, OTHER, "ovsdb-server", "ovsdb", OTHER, DONE)

# sshd takes no key from a home into which everybody may write.
fault(
    "home-of-nova-open-to-all",
    "migrate",
    done(OTHER, f"chmod o+w {HOME_OF_NOVA}", f"chmod o-w {HOME_OF_NOVA}"),
    "ssh nova-compute",
    OTHER,
)
# Ports that are bound stay so; the next binding finds no host.
fault(
    "segments-of-a-renamed-physical-network",
    "migrate",
    renamed_physical_network(),
    "database neutron-server",
    CONTROLLER,
    DONE,
)

# As a hardening leaves accounts of services
fault(
    "nova-without-a-shell",
    "resize",
    partial(
        kept_value,
        host=OTHER,
        get="getent passwd nova | cut -d: -f7",
        put="usermod --shell {} nova",
        value="/bin/false",
    ),
    "ssh nova-compute",
    OTHER,
)
if BACK_END == "ovs":
    # The API binds the port, and the agent gets no answer about it.
    dead(
        "neutron-rpc-server-stopped",
        "resize",
        stopped,
        CONTROLLER,
        "neutron-rpc-server",
        "neutron-server",
        CONTROLLER,
        DONE,
    )

# Both are met by a guest that starts on this host, and not by one that leaves it.
fault(
    "no-port-for-a-serial-console",
    "resize_revert",
    in_nova(COMPUTE, ("serial_console", "enabled", "true"), ("serial_console", "port_range", TAKEN_PORTS)),
    "nova-compute",
    COMPUTE,
    PATHS,
)
# Debian has the module of QEMU for it in a package of its own, which no host has.
fault(
    "console-that-qemu-does-not-have",
    "resize_revert",
    in_nova(COMPUTE, ("spice", "enabled", "true")),
    "nova-compute libvirt",
    COMPUTE,
    PATHS,
)


# Images of a server


# Only what comes back from the shelf makes the conductor look for an image.
fault(
    "conductor-asks-a-glance-of-old",
    "shelve",
    in_nova(CONTROLLER, ("glance", "api_servers", f"http://{address(STORAGE)}:9292"), unit="nova-conductor"),
    "nova-conductor",
    CONTROLLER,
)
# The file belongs to a root file system that several hosts share, so another file is put over it.
fault(
    "qemu-img-not-executable",
    "shelve",
    done(COMPUTE, f"mount --bind /etc/hostname {QEMU_IMG}", f"umount --lazy {QEMU_IMG}"),
    "nova-compute",
    COMPUTE,
    PATHS,
)
# Of all images of a project
fault(
    "images-above-the-storage-quota",
    "boot_snapshot",
    configured(CONTROLLER, GLANCE, "glance-api", ("DEFAULT", "user_storage_quota", "64MB")),
    "glance-api",
    CONTROLLER,
)
# Nova would make the folder, and may not.
fault(
    "snapshots-in-a-folder-of-root",
    "boot_snapshot",
    in_nova(COMPUTE, ("libvirt", "snapshots_directory", "/srv/nova-snapshots")),
    "nova-compute",
    COMPUTE,
)


# On the server's own host


def without_request_specs():
    """What was asked for when the servers on COMPUTE were made is lost, as in a copy that was put back.

    A server that is gone does not get it again.
    """
    table = "nova_api.request_specs"
    here = f"SELECT uuid FROM nova.instances WHERE deleted=0 AND host='{COMPUTE}'"
    living = "SELECT uuid FROM nova.instances WHERE deleted=0"
    return rows(
        f"CREATE TABLE {KEPT_SPECS} AS SELECT * FROM {table} WHERE instance_uuid IN ({here});"
        f" DELETE FROM {table} WHERE instance_uuid IN ({here})",
        f"INSERT IGNORE INTO {table} SELECT * FROM {KEPT_SPECS} WHERE instance_uuid IN ({living});"
        f" DROP TABLE IF EXISTS {KEPT_SPECS}",
    )


def disks_in_an_old_pool():
    """Nova remembers volumes in a pool that was left. A guest that runs has its disk open."""
    names = '"volumes/', f'"{OLD_POOL}/'
    change = "UPDATE nova.block_device_mapping SET connection_info=REPLACE(connection_info, '{}', '{}')"
    return rows(change.format(*names), change.format(*reversed(names)))


def without_hosts_of_dnsmasq():
    """dnsmasq knows no guest any more. Its agent writes the file when a port gets other addresses."""
    read_again = "pkill -HUP -x dnsmasq"
    make = f"for file in {HOSTS_OF_DNSMASQ}; do cp --archive $file $file.kept && : > $file || exit 1; done"
    # A network goes with its run, and its files with it.
    kept = f'for kept in {HOSTS_OF_DNSMASQ}.kept; do test ! -e "$kept" || mv "$kept" "${{kept%.kept}}"; done'
    return by_several(NETWORK, f"{make}; {read_again}", f"{kept}; {read_again}; true")


fault("request-specs-lost", "rebuild", without_request_specs(), "database nova-api", CONTROLLER, PATHS)
dead("glance-api-frozen", "rebuild", frozen, CONTROLLER, "glance-api", "glance-api", CONTROLLER, DONE)
fault(
    "volume-remembered-in-an-old-pool",
    "hard_reboot",
    disks_in_an_old_pool(),
    "database nova-compute",
    f"{CONTROLLER} {COMPUTE}",
    DONE,
    **WITH_VOLUME,
)
if BACK_END == "ovs":
    fault(
        "dnsmasq-without-its-hosts",
        "hard_reboot",
        without_hosts_of_dnsmasq(),
        "dnsmasq neutron-dhcp-agent",
        NETWORK,
        DONE,
    )


# Volumes


def attachments_of_nobody(lab):
    """Return the attachments of servers that are gone."""
    volumes = lab.admin.block_storage
    listed = volumes.get("/attachments?all_tenants=1", microversion=ATTACHMENTS_SINCE).json()["attachments"]
    return [attachment["id"] for attachment in listed if is_gone(lab, attachment["instance"])]


def is_gone(lab, server):
    return bool(server) and lab.admin.compute.get(f"/servers/{server}").status_code == NOT_FOUND


def is_any_deleted(lab):
    """Whether Nova still deletes a server."""
    servers = lab.admin.compute.get("/servers/detail?all_tenants=1").json()["servers"]
    return any(server["OS-EXT-STS:task_state"] == "deleting" for server in servers)


@contextlib.contextmanager
def detached_at_last(lab, make):
    """A fault that keeps servers from giving back their volumes. What is left of their attachments goes at the end."""
    volumes = lab.admin.block_storage
    try:
        with make(lab):
            yield
    finally:
        until("servers to be deleted", lambda: not is_any_deleted(lab), 150, 2)
        for attachment in attachments_of_nobody(lab):
            volumes.delete(f"/attachments/{attachment}", microversion=ATTACHMENTS_SINCE).raise_for_status()


def volumes_of_an_old_back_end():
    """Volumes belong to a back end of a name that no service serves. Who is to delete one gets no word of it."""
    change = "UPDATE cinder.volumes SET host=REPLACE(host, '@{}', '@{}')"
    names = "ceph#", f"{OLD_BACK_END}#"
    stuck = f"UPDATE cinder.volumes SET status='error' WHERE status='deleting' AND host LIKE '%@{OLD_BACK_END}#%'"
    return rows(change.format(*names), f"{stuck}; {change.format(*reversed(names))}")


# The volume grows, and nobody tells its guest.
fault(
    "cinder-not-let-in-by-nova",
    "extend_volume",
    configured(CONTROLLER, CINDER, "cinder-volume", ("nova", "password", "wrong")),
    "cinder-volume",
    CONTROLLER,
    **WITH_VOLUME,
)
dead(
    "cinder-scheduler-frozen",
    "extend_volume",
    frozen,
    CONTROLLER,
    "cinder-scheduler",
    "cinder-scheduler",
    CONTROLLER,
    PATHS,
    **WITH_VOLUME,
)
# Cinder lets nobody but a service take a volume from a guest.
fault(
    "nova-does-not-say-that-it-is-a-service",
    "reattach_volume",
    partial(detached_at_last, make=in_nova(COMPUTE, ("service_user", "send_service_user_token", "false"))),
    "nova-compute",
    COMPUTE,
    **WITH_VOLUME,
)
fault(
    "volumes-of-an-old-back-end",
    "reattach_volume",
    partial(detached_at_last, make=volumes_of_an_old_back_end()),
    "database cinder-volume cinder-api",
    CONTROLLER,
    PATHS,
    **WITH_VOLUME,
)


# Between two guests


def metered(host):
    """What comes over the wire passes a meter of nobody's, as from a test of limits that was forgotten."""
    control = "ovs-ofctl --protocols=OpenFlow13"
    return by_several(
        host,
        f"{control} add-meter br-ex 'meter={METER} kbps bands=type=drop rate={METER_RATE}'"
        f" && {control} add-flow br-ex {METERED},priority=40000,in_port=eth1,actions=meter:{METER},NORMAL",
        f"{control} del-flows br-ex {METERED}/-1; {control} del-meter br-ex meter={METER}",
    )


def protected(host):
    """Protected ports give nothing to each other, as the guests of a hotel."""
    ports = "for port in $(ovs-vsctl list-ports br-ex); do ovs-vsctl set port $port protected={}; done"
    return by_several(host, ports.format("true"), ports.format("false"))


@contextlib.contextmanager
def on_a_network_in_tunnels(lab, make):
    """A fault with a network of its own, which only an administrator can have."""
    network = lab.admin.network
    asked = {"name": IN_TUNNELS, "provider:network_type": KIND}
    made = network.post("/networks", json={"network": asked}).json()["network"]["id"]
    try:
        subnet = {"network_id": made, "ip_version": 4, "cidr": "192.168.79.0/24"}
        network.post("/subnets", json={"subnet": subnet}).raise_for_status()
        with make(lab):
            yield
    finally:
        network.delete(f"/networks/{made}").raise_for_status()


def without_tunnel_address(host):
    """As after somebody has set up the host's addresses again. The unit gives it the address when it starts."""
    find = "address=$(ip -4 -oneline address show dev br-ex scope global | awk 'NR == 1 {print $4}')"
    make = f'{find} && test -n "$address" && ip address del $address dev br-ex'
    return done(host, make, "systemctl restart lab-tunnels")


@contextlib.contextmanager
def at_another_vxlan_port(lab, host):
    """The agent sets up its tunnels at another port. It leaves the option where it is no longer wanted."""
    clear = f"for tunnel in $({TUNNELS}); do ovs-vsctl remove interface $tunnel options dst_port; done"
    moved = configured(host, SETTINGS, AGENT, ("agent", "vxlan_udp_port", str(OLD_VXLAN_PORT)))
    try:
        with moved(lab):
            yield
    finally:
        lab.run(host, clear)


def on_inner_sides(make, back):
    """Commands for each device of a router that is on a network of guests."""
    each = "sh -c 'for device in $(ip -oneline link show | grep -o \"qr-[^:@ ]*\"); do {}; done'"
    return in_routers(each.format(make), each.format(back))


fault_between("meter-of-nobody-at-the-second-host", metered(OTHER), SWITCH, OTHER, SECOND)
fault_between("ports-protected-from-each-other-at-the-second-host", protected(OTHER), SWITCH, OTHER)
fault_between(
    "tunnel-address-gone-on-the-second-host",
    partial(on_a_network_in_tunnels, make=without_tunnel_address(OTHER)),
    SWITCH,
    OTHER,
    network=IN_TUNNELS,
)
# The volume goes from the first guest to the second one. Cinder has no such version of its API any more.
fault_between(
    "cinder-of-old-for-the-second-host",
    partial(
        detached_at_last,
        make=in_nova(OTHER, ("cinder", "endpoint_template", f"http://{address(CONTROLLER)}:8776/v2/%(project_id)s")),
    ),
    "nova-compute",
    OTHER,
    volume="empty",
)
if BACK_END == "ovs":
    fault_between(
        "tunnels-at-an-old-port-on-the-second-host",
        partial(on_a_network_in_tunnels, make=partial(at_another_vxlan_port, host=OTHER)),
        "neutron-l2-agent",
        OTHER,
        network=IN_TUNNELS,
    )
    # What the router answers itself still passes.
    fault_between(
        "routing-rule-drops-in-the-router",
        on_inner_sides(
            f"ip rule add priority {RULE} iif $device type blackhole", f"ip rule del priority {RULE} iif $device"
        ),
        "neutron-l3-agent",
        NETWORK,
        SECOND,
        dataplane_path="routed",
    )
    fault_between(
        "router-of-small-packets",
        on_inner_sides(f"ip link set $device mtu {SMALL_MTU}", f"ip link set $device mtu {FULL_MTU}"),
        "neutron-l3-agent",
        NETWORK,
        SECOND,
        dataplane_path="routed",
    )
    # The first guest has its address already.
    fault_between(
        "radvd-frozen",
        done(NETWORK, "pkill -STOP -x radvd", "pkill -CONT -x radvd; true"),
        "neutron-l3-agent radvd",
        NETWORK,
        SECOND,
        **OVER_IPV6,
    )
