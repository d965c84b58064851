# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half fourth, which is drawn into no other half either, of both classes.

Most are what operators meet after an upgrade, a hardening or a reinstallation: a record of the old release, a limit of
the kernel, one side that wants TLS, a role that the new policies need. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from functools import partial
from shlex import quote

from breaking import edited, recovered
from catalogue_parts import NETWORKED, Kind, Wrong
from fresh import LIBVIRT_SETTINGS, NORTHBOUND, dead, for_each, moved, part_of, with_proxies
from third_fresh import ACCOUNTS
from ways_to_set_wrong import both, by, changed_rows, first, hosts_entry, in_settings, kept_value, sql
from wrong_requests import aggregate, nothing, request, typed

CONTENTS, LIMITS, SETTING = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS
ZONE = "mars"
# Since these versions of its API Placement tells traits, and wants the generation with aggregates.
TRAITS_SINCE, AGGREGATES_SINCE = "1.6", "1.19"
DISABLED = "COMPUTE_STATUS_DISABLED"
# What the column that numbers rows can hold
LAST_ID = 2**31 - 1
OLD_COMPUTE = "compute-old"
RESTORING = "flow-restore-wait"


def fourth_fresh_of(site):
    """All these faults of a lab."""
    yield from dead_of(site)
    yield from wrong_identity(site)
    yield from wrong_at_queue_and_database(site)
    yield from wrong_of_services(site)
    yield from wrong_of_hosts(site)
    yield from wrong_in_placement(site)
    yield from wrong_with_ovn(site) if site.is_ovn else wrong_with_agents(site)
    yield from requests(site)


# Ways


@contextlib.contextmanager
def undone_anyway(lab, host, make, back):
    """Several commands, and some that undo them, also where only the first of them worked."""
    with recovered(lab, host):
        try:
            lab.run(host, make)
            yield
        finally:
            lab.run(host, back)


def by_several(host, make, back):
    return partial(undone_anyway, host=host, make=make, back=back)


@contextlib.contextmanager
def lost_by_its_name(lab, part, address):
    """A broker that starts while the name of its own host has another address."""
    unit = part.services[0]
    # Who waited for the start would wait for the ten minutes that it may take.
    edit = f"systemctl stop {unit} && {hosts_entry('localhost', address)} && systemctl start --no-block {unit}"
    back = f"systemctl stop {unit}; systemctl reset-failed {unit}; systemctl start {unit}"
    with edited(lab, part.host, "/etc/hosts", edit, back):
        yield


@contextlib.contextmanager
def without_implied_role(lab, host, prior, implied):
    """A role no longer brings another one with it, as before somebody called the bootstrap of the new release."""
    identity = lab.admin.identity
    path = f"/roles/{identity.find_role(prior).id}/implies/{identity.find_role(implied).id}"
    with recovered(lab, host):
        try:
            identity.delete(path).raise_for_status()
            lab.run(host, "systemctl restart memcached")
            yield
        finally:
            identity.put(path).raise_for_status()
            lab.run(host, "systemctl restart memcached")


class Associations:
    """The traits or the aggregates of a host's provider in Placement."""

    def __init__(self, lab, host, kind, version):
        self.placement, self.kind, self.version = lab.admin.placement, kind, version
        provider = first(self.placement.get(f"/resource_providers?name={host}").json()["resource_providers"])
        self.path = f"/resource_providers/{provider['uuid']}/{kind}"

    def read(self):
        return self.placement.get(self.path, microversion=self.version).json()

    def put(self, names):
        generation = self.read()["resource_provider_generation"]
        body = {self.kind: sorted(names), "resource_provider_generation": generation}
        self.placement.put(self.path, json=body, microversion=self.version).raise_for_status()


@contextlib.contextmanager
def marked_disabled(lab, host):
    """Placement still counts a host as out of service that the administrator has enabled again."""
    traits = Associations(lab, host, "traits", TRAITS_SINCE)
    try:
        traits.put({*traits.read()["traits"], DISABLED})
        yield
    finally:
        traits.put({*traits.read()["traits"]} - {DISABLED})


@contextlib.contextmanager
def zone_without_provider(lab, host):
    """A zone with a host in it, of which Placement was never told. Its aggregate goes with what else it has."""
    aggregates = Associations(lab, host, "aggregates", AGGREGATES_SINCE)
    before = aggregates.read()["aggregates"]
    with aggregate(lab, host, zone=ZONE, metadata={}):
        aggregates.put(before)
        yield


@contextlib.contextmanager
def encrypted_type(lab, project):
    """A type whose volumes need a key, in a cloud without a service that keeps keys."""
    volumes = lab.admin.block_storage
    with typed(lab, project, {"volume_backend_name": "ceph"}):
        encryption = {"provider": "luks", "cipher": "aes-xts-plain64", "key_size": 256}
        volumes.create_type_encryption(volumes.find_type("catalogue"), control_location="front-end", **encryption)
        yield


# What does not run, or crashes


def dead_of(site):
    controller, compute, broker = site.controller, site.compute, part_of(site, "rabbitmq")
    yield dead("rabbitmq-virtual-host-down", virtual_host_down(broker), "rabbitmq", controller)
    named = partial(lost_by_its_name, part=broker, address=site.addresses[site.storage])
    yield dead("rabbitmq-finds-another-host-by-its-name", named, "rabbitmq", controller)
    # As after a reinstallation that kept the name of the host, and not what Nova wrote on its disk
    identity = moved(compute, "/var/lib/nova/compute_id", part_of(site, "nova-compute"))
    yield dead("nova-compute-without-its-identity", identity, "nova-compute", compute)
    # The row of a host that was switched off three releases ago
    old = changed_rows(
        site,
        "INSERT INTO nova.services (created_at, host, `binary`, topic, report_count, disabled, deleted, forced_down,"
        f" version, uuid) VALUES (UTC_TIMESTAMP(), '{OLD_COMPUTE}', 'nova-compute', 'compute', 1, 0, 0, 0, 40, UUID())",
        f"DELETE FROM nova.services WHERE host='{OLD_COMPUTE}'",
        part_of(site, "nova-scheduler"),
    )
    yield dead("nova-scheduler-meets-an-old-compute", old, "nova-scheduler database", controller)
    longest = "/proc/sys/net/core/somaxconn"
    # Its server asks for a queue of 100, and does not start with less.
    queue = partial(
        kept_value,
        host=controller,
        get=f"cat {longest}",
        put=f"echo {{}} > {longest}",
        value="64",
        restarted=part_of(site, "nova-api"),
    )
    yield dead("nova-api-listen-queue-above-the-kernels", queue, "nova-api", controller)


def virtual_host_down(broker):
    """The store of a virtual host has failed more often than the broker starts it again."""
    unit, down = broker.services[0], "rabbitmqctl --quiet list_vhosts name cluster_state | grep -q stopped"
    fail = (
        '{ok, Host} = rabbit_vhost_sup_sup:get_vhost_sup(<<"/">>),'
        " [exit(Store, catalogue) || {msg_store_persistent, Store, _, _} <- supervisor:which_children(Host)]."
    )
    failing = f"for attempt in 1 2 3 4 5 6 7 8 9 10; do {down} && break; rabbitmqctl eval {quote(fail)} || true; done"
    close = "(rabbitmqctl close_all_user_connections openstack catalogue || true)"
    return by_several(broker.host, f"{failing}; {down} && {close}", f"systemctl restart {unit}")


# What runs and is wrong


def wrong_identity(site):
    controller, keystone = site.controller, part_of(site, "keystone")
    elsewhere = in_settings(keystone, ("DEFAULT", "public_endpoint", f"http://{site.addresses[site.storage]}:5000"))
    yield Wrong("keystone-names-another-address", SETTING, elsewhere, keystone.component, controller)
    member = partial(without_implied_role, host=controller, prior="member", implied="reader")
    name, reason = "role-member-without-reader", ("polic|forbid|not allowed|disallow|403|role",)
    yield Wrong(name, CONTENTS, member, keystone.component, controller, reason, "anywhere")
    # Somebody has tried old passwords. Who has a token keeps it, so nova-compute restarts.
    section = "security_compliance"
    locking = in_settings(keystone, (section, "lockout_failure_attempts", "3"), (section, "lockout_duration", "86400"))
    tried = "UPDATE keystone.local_user SET failed_auth_count={}, failed_auth_at={} WHERE name='neutron'"
    rows = changed_rows(
        site, tried.format(3, "UTC_TIMESTAMP()"), tried.format(0, "NULL"), part_of(site, "nova-compute")
    )
    locked = partial(both, first=locking, second=rows)
    named, hosts = "keystone neutron-server nova-compute", f"{controller} {site.compute}"
    yield Wrong("account-neutron-locked", Kind.CREDENTIALS, locked, named, hosts)


def wrong_at_queue_and_database(site):
    controller, scheduler = site.controller, part_of(site, "nova-scheduler")
    encrypted = in_settings(scheduler, ("oslo_messaging_rabbit", "ssl", "true"))
    yield Wrong("nova-scheduler-wants-tls-of-the-queue", SETTING, encrypted, scheduler.component, controller)
    kill = "; ".join(f"({sql(site.mysql, f'KILL USER {user}')} || true)" for user in ACCOUNTS)
    secure = sql(site.mysql, "SET GLOBAL require_secure_transport={}")
    make, back = secure.format("ON"), secure.format("OFF")
    hardened = by_several(controller, f"{make} && {{ {kill}; }}", f"{back}; {kill}")
    yield Wrong("database-wants-tls-of-all", SETTING, hardened, "database", controller)
    table = "nova_api.request_specs"
    numbers = changed_rows(
        site,
        f"INSERT INTO {table} (id, instance_uuid, spec) VALUES ({LAST_ID}, UUID(), '{{}}')",
        # The next number is then the one after those that are there.
        f"DELETE FROM {table} WHERE id={LAST_ID}; ALTER TABLE {table} AUTO_INCREMENT=1",
    )
    name, named = "database-numbers-of-request-specs-used-up", "database nova-api"
    yield Wrong(name, LIMITS, numbers, named, controller)


def wrong_of_services(site):
    controller = site.controller
    images = part_of(site, "glance-api")
    roles = in_settings(images, ("keystone_authtoken", "service_token_roles", "operator"))
    yield Wrong("glance-api-expects-another-role-of-services", SETTING, roles, images.component, controller)
    volumes = part_of(site, "cinder-volume")
    # In MiB; Ceph takes objects of up to 32.
    objects = in_settings(volumes, ("ceph", "rbd_store_chunk_size", "64"))
    yield Wrong("cinder-volume-objects-too-large", SETTING, objects, volumes.component, controller, needs="volume")
    api = part_of(site, "nova-api")
    # As somebody leaves it who has moved the quotas to Keystone, and has registered none there
    limits = in_settings(api, ("quota", "driver", "nova.quota.UnifiedLimitsDriver"))
    name, reason = "nova-api-unified-limits-without-limits", ("limit|quota",)
    yield Wrong(name, SETTING, limits, api.component, controller, reason)
    agent, proxies = with_proxies(site)
    section = "metadata_rate_limiting"
    # A guest asks more than once.
    rare = in_settings(
        agent,
        (section, "rate_limit_enabled", "true"),
        (section, "base_query_rate_limit", "1"),
        (section, "base_window_duration", "600"),
    )
    yield Wrong("metadata-proxies-refuse-a-second-request", LIMITS, rare, proxies, agent.host)


def wrong_of_hosts(site):
    """The hypervisor, its switch, and the disks."""
    compute, storage, part = site.compute, site.storage, part_of(site, "nova-compute")
    own = in_settings(part, ("workarounds", "never_download_image_if_on_rbd", "true"))
    name = "nova-compute-takes-images-of-its-ceph-alone"
    yield Wrong(name, SETTING, own, part.component, compute, needs="image")
    # Each connection to a disk of Ceph is an open file of QEMU.
    files = in_settings(part_of(site, "libvirt"), "$ a max_files = 24", path=LIBVIRT_SETTINGS)
    yield Wrong("libvirt-few-files-of-guests", LIMITS, files, "libvirt", compute)
    # A restart of the switch that was broken off leaves this behind.
    start = "systemctl start openvswitch-switch"
    waiting = by_several(
        compute,
        f"ovs-vsctl set open_vswitch . other_config:{RESTORING}=true && systemctl restart ovs-vswitchd && {start}",
        f"ovs-vsctl remove open_vswitch . other_config {RESTORING}; {start}",
    )
    yield Wrong(f"ovs-{compute}-waits-for-its-flows", CONTENTS, waiting, "ovsdb data-network", compute)
    delay = "ceph daemon osd.0 config set osd_debug_inject_dispatch_delay_{} {}"
    late = by_several(
        storage,
        f"{delay.format('duration', 5)} && {delay.format('probability', 1)}",
        f"{delay.format('probability', 0)} && {delay.format('duration', 0.1)}",
    )
    yield Wrong("ceph-osd-answers-late", Kind.SLOW, late, "ceph-osd", storage)


def wrong_in_placement(site):
    controller, compute = site.controller, site.compute
    disabled = partial(marked_disabled, host=compute)
    named, hosts = "placement-api database nova-compute", f"{controller} {compute}"
    name, reason = f"provider-of-{compute}-marked-disabled", ("disabled|trait",)
    yield Wrong(name, CONTENTS, disabled, named, hosts, reason)
    zone = partial(zone_without_provider, host=compute)
    name, reason = "zone-unknown-to-placement", (f"aggregate|zone|{ZONE}",)
    named, variables = "placement-api database nova-api", {"zone": ZONE}
    yield Wrong(name, CONTENTS, zone, named, controller, reason, "anywhere", variables=variables)


def wrong_with_agents(site):
    server = part_of(site, "neutron-server")
    # Agents report every 30 seconds.
    strict = in_settings(server, ("DEFAULT", "agent_down_time", "1"))
    yield Wrong("neutron-server-counts-agents-as-dead", SETTING, strict, server.component, server.host)
    silent = in_settings(server, ("DEFAULT", "dhcp_agent_notification", "false"))
    yield Wrong("neutron-server-silent-to-dhcp-agents", SETTING, silent, server.component, server.host)


def wrong_with_ovn(site):
    controller = site.controller
    ctl, kept = "ovn-appctl -t /var/run/ovn/ovnsb_db.ctl ovsdb-server", "/root/catalogue-remote-role"
    # Rights by roles need certificates: without one, nobody may write.
    role = by_several(
        controller,
        f"{ctl}/list-remotes | grep ptcp:6642 > {kept} && {ctl}/remove-remote $(cat {kept})"
        " && ovn-sbctl set-connection role=ovn-controller ptcp:6642",
        f"ovn-sbctl del-connection; sleep 1; if test -s {kept}; then {ctl}/add-remote $(cat {kept}); fi; rm -f {kept}",
    )
    yield Wrong("ovn-sb-roles-without-certificates", SETTING, role, "ovn-sb-db", controller)
    # As after a copy of the database was put back that is older than the network
    others = "'external_ids:\"neutron:network_name\"!=public'"
    gone = by(controller, for_each("logical_switch", others, "ls-del $row"), "true")
    yield Wrong("ovn-nb-network-gone", CONTENTS, gone, NORTHBOUND, controller, moment=NETWORKED)


# Requests that nobody can satisfy


def requests(site):
    encrypted = partial(encrypted_type, project=site.project)
    reason = ("key.?manager|encrypt|barbican",)
    yield request("volume-type-encrypted", encrypted, reason, "volume", volume_type="catalogue")
    yield request("external-network", nothing, ("external",), network="public")
