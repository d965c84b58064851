# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half sixth, which is drawn into no other half either, of both classes, on a devstack, too.

Most are what bug reports and mailing lists name: a rotation of keys on a full disk, a schema of another release, a
clock, a place that has become read-only, a policy at the broker, a hardening of the firewall, and what an upgrade has
not brought. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from functools import partial
from shlex import quote

from breaking import drop_in, recovered, undone
from catalogue_parts import DURING, NETWORKED, Kind, Part, Wrong
from fifth_fresh import LIBRARIES, with_lines
from fourth_fresh import by_several
from fresh import LIBVIRT_SETTINGS, NORTHBOUND, dead, done_again, for_each, part_of, with_proxies
from sites import DNSMASQ
from third_fresh import CEPH, port_taken
from ways_to_break import reporting
from ways_to_set_wrong import by, changed_rows, dropping, in_settings, workers_frozen
from wrong_contents import CELLS, for_rows
from wrong_requests import FLAVOR, nothing, offering_flavor, prepared_network, request, typed

CONTENTS, LIMITS, SETTING, RIGHTS = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.PERMISSIONS
KEYS, KEPT_KEYS = "/etc/keystone/fernet-keys", "/root/catalogue-fernet-keys"
FIRMWARE = "bios-256k.bin"
GUEST_LOGS, NAMESPACES = "/var/log/libvirt/qemu", "/run/netns"
MOUNT = "var-lib-images.mount"
# As a clock that keeps the local time, and whose owner takes it for UTC. Python imports a file of this name first.
CLOCK = """import datetime
from oslo_utils import timeutils
right = timeutils.utcnow
def utcnow(with_timezone=False):
    return right(with_timezone) + datetime.timedelta(hours=5, minutes=30)
utcnow.override_time = None
timeutils.utcnow = utcnow"""
# Of the front of a devstack
SOCKET, FRONT = "/var/run/uwsgi/neutron-api.socket", "/etc/apache2/conf-enabled/catalogue.conf"
RESERVATION = "00000000-0000-4000-8000-0000000000aa"


def sixth_fresh_of(site):
    """All these faults of a lab or of a devstack."""
    yield from dead_of(site)
    yield from wrong_identity(site)
    yield from wrong_of_services(site)
    yield from wrong_of_nova(site)
    yield from wrong_of_hosts(site)
    yield from wrong_with_ovn(site) if site.is_ovn else wrong_with_agents(site)
    yield from of_a_lab(site) if site.storage else wrong_of_a_devstack(site)
    yield from requests()


# Ways


def children_killed(part):
    """The kernel takes the memory back from each worker as soon as there is one. Their parent stays."""
    unit = part.services[0]
    # systemd-run would replace what looks like a variable.
    kill = f"systemctl show --property=MainPID --value {unit} | grep -vx 0 | xargs -r pkill -KILL --parent"
    return done_again(part.host, kill, f"systemctl restart {unit} && sleep 5")


def helper_hung(agent):
    """The process with more rights that an agent has started does nothing, and the agent waits for it."""
    # The pattern matches no command that has the pattern itself in it.
    pattern = quote(f"{agent.settings.rpartition('/')[2]}.*[p]rivsep_context")
    back = f"pkill -CONT -f {pattern}; systemctl restart {agent.services[0]}"
    return done_again(agent.host, f"pkill -STOP -f {pattern}", back)


def dangling(part):
    """Its settings are a link to a file that is not there, and it restarts with that."""
    path, unit = part.settings, part.services[0]
    make = f"mv {path} {path}.kept && ln -s {path}.new {path} && (systemctl restart {unit} || true); sleep 2"
    back = (
        f"if test -e {path}.kept; then rm -f {path} && mv {path}.kept {path}; fi;"
        f" systemctl reset-failed {unit}; systemctl restart {unit}"
    )
    return by_several(part.host, make, back)


@contextlib.contextmanager
def requiring(lab, part, wanted):
    """Its unit needs another one that does not exist. systemd does not start it."""
    unit = part.services[0]
    put, back = drop_in(unit, f"\\n[Unit]\\nRequires={wanted}\\nAfter={wanted}")
    make = f"{put} && systemctl stop {unit} && ! systemctl start {unit}"
    with recovered(lab, part.host, reporting(part)), undone(lab, part.host, make, back):
        yield


def wrong_clock(part):
    path = f"{LIBRARIES}/sitecustomize.py"
    make = f"mkdir -p {LIBRARIES} && printf '%s\\n' {quote(CLOCK)} > {path}"
    lines = f"Environment=PYTHONPATH={LIBRARIES}"
    return partial(with_lines, part=part, lines=lines, make=make, back=f"rm -rf {LIBRARIES}")


def read_only(host, folder, back="true"):
    """Nothing can be made in a folder, not even by root, and what was in it cannot be seen."""
    make = f"mkdir -p {folder} && mount -t tmpfs -o ro,size=16k tmpfs {folder}"
    return by(host, make, f"umount --lazy {folder}; {back}")


# What does not run, or runs and does nothing


def dead_of(site):
    controller, compute = site.controller, site.compute
    found = f"$(find /usr/share/seabios /usr/share/qemu -name '{FIRMWARE}{{}}' 2>/dev/null)"
    gone = f'files={found.format("")}; test -n "$files" && for file in $files; do mv $file $file.kept; done'
    again = f"for file in {found.format('.kept')}; do mv $file ${{file%.kept}}; done"
    firmware = by_several(compute, gone, again)
    yield dead("qemu-without-its-firmware", firmware, "libvirt nova-compute", compute)
    agent, _proxies = with_proxies(site)
    name = f"{agent.component}-waits-for-a-hung-helper"
    yield dead(name, helper_hung(agent), agent.component, agent.host)
    workers = children_killed(part_of(site, "nova-api"))
    yield dead("nova-api-workers-killed-at-once", workers, "nova-api", controller)
    metadata = part_of(site, "nova-api-metadata")
    yield dead("nova-api-metadata-port-taken", port_taken(metadata, 8775), metadata.component, controller)
    link = dangling(part_of(site, "nova-conductor"))
    yield dead("nova-conductor-settings-link-to-nothing", link, "nova-conductor", controller)
    mount = partial(requiring, part=part_of(site, "glance-api"), wanted=MOUNT)
    yield dead("glance-api-requires-an-absent-mount", mount, "glance-api", controller)


# What runs and is wrong


def wrong_identity(site):
    controller, keystone = site.controller, part_of(site, "keystone")
    # As somebody leaves it who has listed the methods of a federation
    methods = in_settings(keystone, ("auth", "methods", "token,application_credential"))
    yield Wrong("keystone-without-the-method-of-passwords", SETTING, methods, keystone.component, controller)
    # A rotation on a full disk writes a part of each key.
    keys = by_several(
        controller,
        f"cp --archive {KEYS} {KEPT_KEYS} && for key in {KEYS}/*; do truncate --size 20 $key; done",
        f"if test -d {KEPT_KEYS}; then cp --archive {KEPT_KEYS}/. {KEYS}/ && rm -rf {KEPT_KEYS}; fi",
    )
    yield Wrong("keystone-keys-cut-short", CONTENTS, keys, keystone.component, controller)
    # Made while the clock was wrong, it revokes all tokens of the next years. memcached forgets what was valid before.
    table = "keystone.revocation_event"
    revoked = changed_rows(
        site,
        f"INSERT INTO {table} (issued_before, revoked_at) VALUES ('2037-01-01 00:00:00', UTC_TIMESTAMP())",
        f"DELETE FROM {table} WHERE issued_before > '2036-01-01 00:00:00'",
        Part("memcached", controller, ("memcached",)),
    )
    yield Wrong("tokens-revoked-for-years-to-come", CONTENTS, revoked, "keystone database", controller)


def wrong_of_services(site):
    controller, images = site.controller, part_of(site, "glance-api")
    formats = in_settings(images, ("image_format", "disk_formats", "iso,ami"))
    name, reason = "glance-api-takes-few-formats", ("format",)
    yield Wrong(name, SETTING, formats, images.component, controller, reason, "image")
    # As before or after a migration that was forgotten
    column = "ALTER TABLE glance.images RENAME COLUMN {} TO {}"
    names = ("os_hash_algo", "os_hash_old")
    schema = changed_rows(site, column.format(*names), column.format(*reversed(names)))
    yield Wrong("glance-database-of-another-release", CONTENTS, schema, "glance-api database", controller)
    placement = part_of(site, "placement-api")
    region = in_settings(placement, ("keystone_authtoken", "region_name", "RegionTwo"))
    yield Wrong("placement-api-asks-keystone-of-another-region", SETTING, region, placement.component, controller)
    # Messages for a queue that is longer than nothing are refused.
    vhost = "/" if site.storage else "nova_cell1"
    limits = '{"max-length":0,"overflow":"reject-publish"}'
    policy = by(
        controller,
        f"rabbitmqctl set_policy --vhost {vhost} --apply-to queues catalogue '^conductor' '{limits}'",
        f"rabbitmqctl clear_policy --vhost {vhost} catalogue",
    )
    yield Wrong("rabbitmq-policy-refuses-messages", LIMITS, policy, "rabbitmq", controller)


def wrong_of_nova(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    scheduler = part_of(site, "nova-scheduler")
    clock = wrong_clock(scheduler)
    yield Wrong("nova-scheduler-with-a-wrong-clock", SETTING, clock, scheduler.component, controller, (), "anywhere")
    disks = in_settings(part, ("libvirt", "images_type", "lvm"), ("libvirt", "images_volume_group", "nova-old"))
    yield Wrong("nova-compute-disks-in-an-absent-group", SETTING, disks, part.component, compute)
    signed = in_settings(part, ("glance", "verify_glance_signatures", "true"))
    name, reason = "nova-compute-wants-signed-images", ("signature|signed",)
    yield Wrong(name, SETTING, signed, part.component, compute, reason, "image")
    # As after somebody has cleared orphans away by hand
    table = f"{'nova' if site.storage else 'nova_cell1'}.compute_nodes"
    node = changed_rows(
        site,
        f"UPDATE {table} SET deleted=id, deleted_at=UTC_TIMESTAMP() WHERE host='{compute}' AND deleted=0",
        f"UPDATE {table} SET deleted=0, deleted_at=NULL WHERE host='{compute}' AND deleted=id ORDER BY id DESC LIMIT 1",
    )
    named, hosts = f"{CELLS} database nova-compute", " ".join(sorted({controller, compute}))
    reason = (f"{compute}.*not.*found|compute.?node",)
    yield Wrong(f"compute-node-of-{compute}-deleted", CONTENTS, node, named, hosts, reason)


def wrong_of_hosts(site):
    """The hypervisor, its switch, and the namespaces of the proxies."""
    compute, switch = site.compute, part_of(site, "ovn-controller" if site.is_ovn else "neutron-l2-agent", site.compute)
    # The switch is asked at the host's own address.
    rule = "INPUT --in-interface lo --protocol tcp --dport 6640 --jump REJECT --reject-with tcp-reset"
    asking = "neutron-ovn-metadata-agent" if site.is_ovn else "neutron-l2-agent"
    name = f"firewall-of-{compute}-refuses-its-own-ovsdb"
    yield Wrong(name, Kind.PATH, dropping(compute, rule), f"nova-compute ovsdb {asking}", compute)
    full = "--id=@full create flow_table flow_limit=1 overflow_policy=refuse"
    table = by_several(
        compute,
        f"ovs-vsctl -- {full} -- set bridge br-int flow_tables=0=@full",
        # What was refused comes with all the others.
        f"ovs-vsctl clear bridge br-int flow_tables; systemctl restart {switch.services[0]}; sleep 12",
    )
    yield Wrong(f"ovs-{compute}-first-table-full", LIMITS, table, f"ovsdb {switch.component} data-network", compute)
    logs = read_only(compute, GUEST_LOGS)
    yield Wrong("libvirt-logs-of-guests-read-only", RIGHTS, logs, "libvirt nova-compute", compute)
    agent, _proxies = with_proxies(site)
    spaces = read_only(agent.host, NAMESPACES, f"systemctl restart {agent.services[0]}")
    yield Wrong(f"namespaces-on-{agent.host}-read-only", RIGHTS, spaces, agent.component, agent.host)


def wrong_with_ovn(site):
    controller, compute = site.controller, site.compute
    # The program finds a library that an upgrade on a full disk has left empty.
    library = partial(
        with_lines,
        part=part_of(site, "ovn-controller"),
        lines=f"Environment=LD_LIBRARY_PATH={LIBRARIES}",
        make=f"mkdir -p {LIBRARIES} && : > {LIBRARIES}/libssl.so.3",
        back=f"rm -rf {LIBRARIES}",
    )
    yield dead("ovn-controller-with-an-empty-library", library, "ovn-controller", compute)
    # One packet of DHCP has more than a kilobit.
    quality = by_several(
        controller,
        for_each("logical_switch", "", "qos-add $row from-lport 100 ip4 rate=1 burst=1"),
        f"{for_rows('logical_switch', '', 'qos-del $row from-lport 100 ip4')}; true",
    )
    yield Wrong("ovn-nb-guests-of-a-kilobit", LIMITS, quality, NORTHBOUND, controller, moment=NETWORKED)


def wrong_with_agents(site):
    compute, network = site.compute, site.network
    l2_agent, agent = part_of(site, "neutron-l2-agent", compute), part_of(site, "neutron-dhcp-agent")
    # It ends when none of its devices has the address.
    address = in_settings(l2_agent, ("ovs", "local_ip", "10.99.99.99"))
    name = f"neutron-l2-agent-{compute}-with-an-address-of-elsewhere"
    yield dead(name, address, l2_agent.component, compute)
    # With it a guest reaches nobody, and nobody can be the way to somebody else.
    netmask = in_settings(agent, "$ a dhcp-option-force=option:netmask,255.255.255.255", path=DNSMASQ)
    yield Wrong("dnsmasq-gives-the-netmask-of-one-host", SETTING, netmask, f"{agent.component} dnsmasq", network)
    # No address is answered for.
    spaces = "$(ip netns list | grep -o '^qdhcp-[^ ]*')"
    kernel = f"for space in {spaces}; do ip netns exec $space sysctl -qw net.ipv4.conf.all.arp_ignore={{}}; done"
    silent = by(network, f"ip netns list | grep -q '^qdhcp-' && {kernel.format(8)}", kernel.format(0))
    named = f"{agent.component} data-network"
    yield Wrong("dhcp-namespace-answers-no-arp", SETTING, silent, named, network, moment=DURING)


def of_a_lab(site):
    """What a devstack does not have: volumes, Ceph, and quotas of networks."""
    controller, compute, volumes = site.controller, site.compute, part_of(site, "cinder-volume")
    hung = partial(workers_frozen, part=volumes)
    yield dead("cinder-volume-child-hung", hung, volumes.component, controller, needs="volume")
    # What a request that was broken off has reserved, of somebody's whole quota
    rows = (
        "INSERT INTO neutron.reservations (id, project_id, expiration)"
        f" SELECT '{RESERVATION}', id, UTC_TIMESTAMP() + INTERVAL 2 DAY FROM keystone.project"
        f" WHERE name='{site.project}' AND is_domain=0 LIMIT 1;"
        " INSERT INTO neutron.resourcedeltas (resource, reservation_id, amount)"
        f" VALUES ('network', '{RESERVATION}', 1000)"
    )
    away = (
        f"DELETE FROM neutron.resourcedeltas WHERE reservation_id='{RESERVATION}';"
        f" DELETE FROM neutron.reservations WHERE id='{RESERVATION}'"
    )
    reserved = changed_rows(site, rows, away)
    name, reason = "reservations-of-networks-left-behind", ("quota", "network")
    yield Wrong(name, CONTENTS, reserved, "neutron-server database", controller, reason, "anywhere")
    # Who sees the refusal cannot tell which side wants too much.
    part = part_of(site, "nova-compute")
    method = in_settings(part, r"s#^(auth_client_required) *=.*#\1 = none#", path=CEPH)
    name, hosts = "nova-compute-without-the-method-of-ceph", f"{compute} {site.storage}"
    yield Wrong(name, SETTING, method, "nova-compute ceph-mon", hosts)
    specs = {"volume_backend_name": "ceph", "replication_enabled": "<is> True"}
    replicated, reason = partial(typed, project=site.project, specs=specs), ("replicat|back.?end|type|capabilit",)
    yield request("volume-type-replicated", replicated, reason, "volume", volume_type="catalogue")


def wrong_of_a_devstack(site):
    """Its APIs are behind Apache, and the disks of its guests are files."""
    host = site.controller
    kept = "/root/catalogue-socket"
    closed = by_several(
        host,
        f"stat --format='chown %u:%g %n; chmod %a %n' {SOCKET} > {kept} && chown root:root {SOCKET}"
        f" && chmod 600 {SOCKET}",
        f"if test -s {kept}; then . {kept}; fi; rm -f {kept}",
    )
    yield Wrong("neutron-api-socket-of-root", RIGHTS, closed, "neutron-server", host)
    text = '<Location "/image">\\nLimitRequestBody 100000\\n</Location>'
    front = by_several(
        host,
        f"printf '{text}\\n' > {FRONT} && systemctl reload apache2 && sleep 2",
        f"rm -f {FRONT}; systemctl reload apache2 && sleep 2",
    )
    yield Wrong("front-of-glance-takes-small-requests", LIMITS, front, "glance-api", host, needs="image")
    owner = in_settings(part_of(site, "libvirt"), "$ a dynamic_ownership = 0", path=LIBVIRT_SETTINGS)
    yield Wrong("libvirt-leaves-disks-to-their-owner", SETTING, owner, "libvirt nova-compute", host)


# Requests that nobody can satisfy


def requests():
    flavors = (
        ("without-disk", 0, {}, "zero.?disk|volume.?backed"),
        (
            "isolated-groups",
            1,
            {"resources1:VCPU": "1", "resources2:VCPU": "1", "group_policy": "isolate"},
            "isolat|VCPU|CPU|group",
        ),
        (
            "processors-of-a-node",
            1,
            {"hw:numa_nodes": "1", "hw:numa_cpus.0": "0,5", "hw:numa_mem.0": "128"},
            "CPU|NUMA",
        ),
    )
    for name, disk, specs, reason in flavors:
        make = partial(offering_flavor, memory=128, processors=1, disk=disk, specs=specs)
        yield request(f"flavor-{name}", make, (reason,), flavor=FLAVOR)
    # The flavor leaves it to nobody.
    pages = {"hw_mem_page_size": "1GB"}
    yield request("image-page-size", nothing, ("page",), "image", image_properties=pages)
    subnet = {"cidr": "fd77::/64", "ip_version": 6, "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}
    newer = partial(prepared_network, subnet=subnet)
    yield request("network-of-ipv6-alone", newer, ("IPv6|IPv4|DHCP",), network="catalogue")
