# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half fresh, which are drawn into neither of the other two halves, of both classes.

They break what the other tables leave alone: children and helpers of services, sockets, limits, and rows and settings
that operators meet. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from functools import partial
from shlex import quote

from breaking import drop_in, frozen, recovered, undone
from catalogue_parts import DURING, LATER, Kind, Wrong
from sites import DNSMASQ
from ways_to_break import reporting
from ways_to_set_wrong import (
    both,
    by,
    changed_rows,
    dropping,
    first,
    in_settings,
    with_restarts,
)
from wrong_conditions import stopped_at, without_access
from wrong_requests import offering_flavor, request, used_up

CONTENTS, LIMITS, SETTING = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS
# The transient unit that kills a child whenever it is there
KILLER = "catalogue-killer"
LIBVIRT_FOLDER, LIBVIRT_SETTINGS = "/var/lib/libvirt/qemu", "/etc/libvirt/qemu.conf"
PLACEMENT_SERVER = "/etc/placement/placement-api-uwsgi.ini"
RESERVED_PORTS = "/proc/sys/net/ipv4/ip_local_reserved_ports"
PRIVSEP = "$(readlink -f /usr/bin/privsep-helper)"
REGION = "RegionCatalogue"
NORTHBOUND = "ovn-nb-db neutron-server"


def fresh_of(site):
    """All these faults of a lab."""
    yield from dead_of(site)
    yield from (dead_with_ovn(site) if site.is_ovn else dead_with_agents(site))
    yield from wrong_of_services(site)
    yield from wrong_of_hosts(site)
    yield from (wrong_with_ovn(site) if site.is_ovn else wrong_with_agents(site))
    yield from two_together(site)


def dead(name, make, components, hosts, **more):
    return Wrong(name, None, make, components, hosts, **more)


def part_of(site, component, host=None):
    """A part of a site; the first one, if no host is named."""
    return first(part for part in site.parts_of(component) if host in (None, part.host))


def with_proxies(site):
    """The agent that starts the metadata proxies beside a network, and components of which a verdict may name any."""
    if site.is_ovn:
        return part_of(site, "neutron-ovn-metadata-agent"), "neutron-ovn-metadata-agent haproxy"
    return part_of(site, "neutron-dhcp-agent"), "neutron-dhcp-agent neutron-metadata-agent haproxy"


# Ways


@contextlib.contextmanager
def with_drop_in(lab, part, lines):
    """Lines of its unit's section of services are others, and its processes are killed once."""
    unit = part.services[-1]
    make, back = drop_in(unit, lines)
    make += f" && systemctl kill --signal=KILL {unit}"
    with recovered(lab, part.host, reporting(part)), undone(lab, part.host, make, back):
        yield


def killed_again(host, name):
    """Each process of a name is killed as soon as it is seen. The name is that of the kernel: 15 characters."""
    return done_again(host, f"pkill -KILL -x {name}")


def done_again(host, command, back="true"):
    """A command is called again and again. back: a command at the end."""
    loop = f"while sleep 0.1; do {command}; done"
    make = f"systemd-run --quiet --unit={KILLER} /bin/sh -c {quote(loop)} && systemctl is-active {KILLER}"
    return by(host, make, f"systemctl stop {KILLER}.service; systemctl reset-failed {KILLER}.service; {back}")


def without_inodes(host, folder, owner):
    """A small file system in the place of a folder, in which nothing more can be made."""
    there = f"(test -d {folder} || install -d -o {owner} {folder})"
    mount = f"{there} && mount -t tmpfs -o nr_inodes=4,mode=0755 tmpfs {folder} && chown {owner} {folder}"
    fill = f"for number in 1 2 3 4; do touch {folder}/filler-$number 2>/dev/null; done"
    return by(host, f"{mount} && {{ {fill}; ! touch {folder}/one-more; }}", f"umount --lazy {folder}")


def moved(host, path, restarted=None):
    """A socket has another name: its listener is there, and nobody finds it."""
    return by(host, f"mv {path} {path}.kept", f"mv {path}.kept {path}", restarted)


@contextlib.contextmanager
def not_executable(lab, part, program):
    """A helper that a part starts when it needs more rights cannot be executed."""
    restart = with_restarts([part])
    with recovered(lab, part.host, reporting(part)):
        try:
            with undone(lab, part.host, f"chmod a-x {program}", f"chmod a+x {program}"):
                restart(lab)
                yield
        finally:
            restart(lab)


@contextlib.contextmanager
def in_another_region(lab, part, service):
    """The catalog has a service's endpoints in another region. part: who reads the catalog when it starts."""
    identity, restart = lab.admin.identity, with_restarts([part])
    service_id = first(one.id for one in identity.services() if one.type == service)
    before = {endpoint.id: endpoint.region_id for endpoint in identity.endpoints(service_id=service_id)}
    with recovered(lab, part.host):
        identity.post("/regions", json={"region": {"id": REGION}}).raise_for_status()
        try:
            for endpoint in before:
                identity.update_endpoint(endpoint, region_id=REGION)
            restart(lab)
            yield
        finally:
            for endpoint, region in before.items():
                identity.update_endpoint(endpoint, region_id=region)
            identity.delete(f"/regions/{REGION}").raise_for_status()
            restart(lab)


@contextlib.contextmanager
def image_deactivated(lab, name):
    images = lab.admin.image
    image = images.find_image(name)
    images.deactivate_image(image.id)
    try:
        yield
    finally:
        images.reactivate_image(image.id)


def at_the_broker(site, make, back):
    """A command at the broker, after which all its clients connect again."""
    units = [unit for name in ("nova-conductor", "nova-scheduler") for unit in part_of(site, name).services]
    close = "(rabbitmqctl close_all_user_connections openstack catalogue || true)"
    return by(site.controller, f"{make} && {close}", f"{back}; systemctl restart {' '.join(units)}")


# What does not run


def dead_of(site):
    controller, compute, storage = site.controller, site.compute, site.storage
    libvirt, scheduler = part_of(site, "libvirt"), part_of(site, "nova-scheduler")
    yield dead("ovs-database-frozen", lambda lab: frozen(lab, compute, "ovsdb-server"), "ovsdb", compute)
    yield dead("virtlogd-frozen", lambda lab: frozen(lab, compute, "virtlogd"), "libvirt", compute)
    hypervisor = "libvirt nova-compute"
    yield dead("qemu-killed-at-once", killed_again(compute, "qemu-system-x86"), hypervisor, compute)
    inodes = without_inodes(compute, LIBVIRT_FOLDER, "libvirt-qemu")
    yield dead("libvirt-folder-without-inodes", inodes, hypervisor, compute)
    security = in_settings(libvirt, '$ a security_driver = "selinux"', path=LIBVIRT_SETTINGS)
    yield dead("libvirt-with-absent-security-driver", security, "libvirt", compute)
    late = partial(with_drop_in, part=part_of(site, "nova-conductor"), lines="Restart=always\\nRestartSec=1200")
    yield dead("nova-conductor-comes-back-late", late, "nova-conductor", controller)
    log = partial(without_access, host=controller, path="/var/log/nova/nova-scheduler.log", restarted=[scheduler])
    yield dead("nova-scheduler-with-log-of-root", log, "nova-scheduler", controller)
    memory = partial(with_drop_in, part=part_of(site, "placement-api"), lines="LimitAS=64M")
    yield dead("placement-api-without-memory", memory, "placement-api", controller)
    suspended = at_the_broker(site, "rabbitmqctl suspend_listeners", "rabbitmqctl resume_listeners")
    yield dead("rabbitmq-listeners-suspended", suspended, "rabbitmq", controller)
    down = by(storage, "ceph osd set noup && ceph osd down 0 && sleep 5", "ceph osd unset noup; sleep 8")
    yield dead("ceph-osd-may-not-come-up", down, "ceph-osd ceph-mon", storage)
    yield from dead_around_metadata(site)


def dead_around_metadata(site):
    """What serves metadata beside a network: on a compute host with OVN, on the network host with agents."""
    agent, proxies = with_proxies(site)
    yield dead("haproxy-killed-at-once", killed_again(agent.host, "haproxy"), proxies, agent.host)
    folder = "ovn-metadata-proxy" if site.is_ovn else "ns-metadata-proxy"
    inodes = without_inodes(agent.host, f"/var/lib/neutron/{folder}", "neutron")
    yield dead("metadata-proxies-without-inodes", inodes, proxies, agent.host)
    helper = partial(not_executable, part=agent, program=PRIVSEP)
    yield dead("privsep-helper-not-executable", helper, agent.component, agent.host)


def dead_with_agents(site):
    agent, server = part_of(site, "neutron-dhcp-agent"), part_of(site, "neutron-server")
    option = in_settings(agent, "$ a no-such-option=catalogue", path=DNSMASQ)
    yield dead("dnsmasq-with-unknown-option", option, "neutron-dhcp-agent dnsmasq", agent.host)
    late = partial(with_drop_in, part=server, lines="Restart=always\\nRestartSec=1200")
    yield dead("neutron-rpc-server-comes-back-late", late, "neutron-server", server.host)
    components, host = "neutron-metadata-agent", site.network
    yield dead("metadata-socket-gone", moved(host, "/var/lib/neutron/metadata_proxy"), components, host)


def dead_with_ovn(site):
    ctl, kept = "ovn-appctl -t /var/run/ovn/ovnnb_db.ctl ovsdb-server", "/root/catalogue-remote-local"
    make = f"{ctl}/list-remotes | grep punix: > {kept} && {ctl}/remove-remote $(cat {kept})"
    local = by(site.controller, make, f"{ctl}/add-remote $(cat {kept}) && rm {kept}")
    yield dead("ovn-nb-local-socket-closed", local, "ovn-nb-db ovn-northd", site.controller)
    management = moved(site.compute, "/var/run/openvswitch/br-int.mgmt", part_of(site, "ovn-controller"))
    yield dead("ovs-management-socket-gone", management, "ovsdb ovn-controller", site.compute)


# What runs and is wrong


def wrong_of_services(site):
    controller, storage = site.controller, site.storage
    buffer = in_settings(part_of(site, "placement-api"), ("uwsgi", "buffer-size", "200"), path=PLACEMENT_SERVER)
    yield Wrong("placement-api-small-request-buffer", LIMITS, buffer, "placement-api", controller)
    body = in_settings(part_of(site, "keystone"), ("oslo_middleware", "max_request_body_size", "50"))
    yield Wrong("keystone-small-request-body", LIMITS, body, "keystone", controller)
    region = partial(in_another_region, part=part_of(site, "nova-scheduler"), service="placement")
    reason = ("endpoint|catalog|region",)
    yield Wrong("catalog-placement-in-another-region", CONTENTS, region, "keystone", controller, reason, "anywhere")
    image, reason = partial(image_deactivated, name="probe"), ("image.*(active|status)|deactivated",)
    yield Wrong("image-deactivated", CONTENTS, image, "glance-api", controller, reason)
    zone = in_settings(part_of(site, "nova-api"), ("DEFAULT", "default_schedule_zone", "mars"))
    yield Wrong("nova-api-default-zone-unknown", SETTING, zone, "nova-api", controller, ("zone|mars",), "anywhere")
    old = ("nova_api.request_specs", "nova_api.request_specs_old")
    table = changed_rows(site, "RENAME TABLE {} TO {}".format(*old), "RENAME TABLE {1} TO {0}".format(*old))
    yield Wrong("database-table-of-nova-missing", CONTENTS, table, "nova-api database", controller)
    password = at_the_broker(
        site,
        "rabbitmqctl change_password openstack catalogue",
        "rabbitmqctl import_definitions /etc/rabbitmq/definitions.json",
    )
    yield Wrong("rabbitmq-other-password", Kind.CREDENTIALS, password, "rabbitmq", controller)
    out = by(storage, "ceph osd out 0 && sleep 5", "ceph osd in 0; sleep 8")
    yield Wrong("ceph-osd-taken-out", CONTENTS, out, "ceph-osd ceph-mon", storage)
    specs = {"capabilities:hypervisor_type": "s== xen"}
    flavor = partial(offering_flavor, memory=128, processors=1, disk=1, specs=specs)
    yield request("flavor-capabilities", flavor, ("capabilit|hypervisor|xen",), flavor="catalogue-flavor")
    large = partial(used_up, project=site.project, service="volume", resource="per_volume_gigabytes")
    yield request("quota-per-volume-gigabytes", large, ("quota|limit|allowed", "volume|size|gigabyte"), "volume")


def wrong_of_hosts(site):
    compute, storage = site.compute, site.storage
    machine = in_settings(part_of(site, "nova-compute"), ("libvirt", "hw_machine_type", "x86_64=pc-q35-99.0"))
    yield Wrong("nova-compute-machine-type-unknown", SETTING, machine, "nova-compute", compute)
    around = "nova-compute neutron-l2-agent ovn-controller neutron-ovn-metadata-agent"
    ports = by(compute, f"echo 1024-65535 > {RESERVED_PORTS}", f"echo > {RESERVED_PORTS}")
    yield Wrong(f"{compute}-without-free-ports", Kind.CAPACITY, ports, around, compute)
    closed = f"INPUT --protocol tcp --source {site.addresses[compute]} --dport 6800:6899 --jump REJECT"
    rule = dropping(storage, f"{closed} --reject-with icmp-host-prohibited")
    name, hosts = f"firewall-of-ceph-osd-against-{compute}", f"{compute} {storage}"
    yield Wrong(name, Kind.PATH, rule, "nova-compute ceph-osd", hosts)
    rights = partial(without_access, host=compute, path=LIBVIRT_FOLDER, restarted=[])
    yield Wrong("libvirt-folder-of-root", Kind.PERMISSIONS, rights, "libvirt nova-compute", compute)


def wrong_with_agents(site):
    compute, network = site.compute, site.network
    rarely = in_settings(part_of(site, "neutron-l2-agent", compute), ("agent", "polling_interval", "900"))
    yield Wrong(f"neutron-l2-agent-{compute}-polls-rarely", Kind.SLOW, rarely, "neutron-l2-agent", compute)
    agent = part_of(site, "neutron-dhcp-agent")
    isolated = in_settings(agent, ("DEFAULT", "enable_isolated_metadata", "false"))
    yield Wrong("neutron-dhcp-agent-no-isolated-metadata", SETTING, isolated, "neutron-dhcp-agent", network)
    peer = "ovs-vsctl set interface int-br-ex options:peer={}"
    patch = by(compute, peer.format("nowhere"), peer.format("phy-br-ex"))
    yield Wrong(f"ovs-{compute}-patch-without-peer", CONTENTS, patch, "ovsdb neutron-l2-agent data-network", compute)
    device = (
        "for space in $(ip netns list | grep -o '^qdhcp-[^ ]*'); do"
        " for device in $(ip -n $space -o link show | grep -o ' tap[^:@]*'); do"
        " ip -n $space link set $device {}; done; done"
    )
    down = by(network, f"ip netns list | grep -q '^qdhcp-' && {device.format('down')}", device.format("up"))
    yield Wrong("dhcp-device-down", CONTENTS, down, "neutron-dhcp-agent dnsmasq", network, moment=DURING)


def for_each(table, condition, command):
    """A command of ovn-nbctl for each row; at least one must be there."""
    rows = f"$(ovn-nbctl --bare --columns=_uuid find {table} {condition})"
    return f'rows={rows} && test -n "$rows" && for row in $rows; do ovn-nbctl {command}; done'


def wrong_with_ovn(site):
    controller, compute = site.controller, site.compute
    guests = 'type=\\"\\"'

    def row(name, make, back="true"):
        return Wrong(f"ovn-nb-{name}", CONTENTS, by(controller, make, back), NORTHBOUND, controller, moment=LATER)

    chassis = f"set logical_switch_port $row options:requested-chassis={site.other}"
    yield row("port-on-another-chassis", for_each("logical_switch_port", guests, chassis))
    address = "lsp-set-addresses $row '02:00:00:00:00:99 192.168.222.77'"
    yield row("port-of-another-address", for_each("logical_switch_port", guests, address))
    router = [for_each("logical_router", "", f"set logical_router $row enabled={value}") for value in ("false", "true")]
    yield row("router-disabled", router[0], f"{router[1]} || true")
    ids = (
        "for port in $(ovs-vsctl list-ports br-int | grep '^tap'); do"
        " ovs-vsctl set interface $port external_ids:iface-id=catalogue; done"
    )
    wrong_ids = by(compute, ids, "true")
    yield Wrong("ovs-interface-of-no-port", CONTENTS, wrong_ids, "ovsdb ovn-controller", compute, moment=LATER)
    agent = part_of(site, "neutron-ovn-metadata-agent")
    state = in_settings(agent, ("DEFAULT", "state_path", "/proc/nowhere"))
    yield Wrong(f"{agent.component}-state-path-wrong", SETTING, state, agent.component, compute)


# Two at the same time: the first is what a run meets.


def two_together(site):
    server, metadata = part_of(site, "neutron-server"), part_of(site, "nova-api-metadata")
    silent = in_settings(server, ("DEFAULT", "notify_nova_on_port_status_changes", "false"))
    manager = partial(stopped_at, host=site.storage, unit="ceph-mgr@a")
    yield two("neutron-silent-to-nova-and-ceph-mgr", silent, manager, "neutron-server", server.host)
    alone = in_settings(metadata, ("neutron", "service_metadata_proxy", "false"))
    driver = ("ceph", "volume_driver", "cinder.volume.drivers.rbd.RBDDriverOfOld")
    storing = in_settings(part_of(site, "cinder-volume"), driver)
    yield two("metadata-without-proxy-and-cinder-volume-driver", alone, storing, metadata.component, metadata.host)
    elsewhere = f"qemu+tcp://{site.addresses[site.controller]}/system"
    remote = in_settings(part_of(site, "nova-compute"), ("libvirt", "connection_uri", elsewhere))
    quota = in_settings(part_of(site, "glance-api"), ("DEFAULT", "user_storage_quota", "1000"))
    yield two("nova-compute-libvirt-elsewhere-and-image-quota", remote, quota, "nova-compute libvirt", site.compute)


def two(name, met, beside, components, hosts):
    return Wrong(name, Kind.TWO, partial(both, first=met, second=beside), components, hosts)
