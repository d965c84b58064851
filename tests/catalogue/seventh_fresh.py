# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half seventh, which is drawn into no other half either, of both classes, on a devstack, too.

Most are what a site meets in its second year: a job that cleans up too much, a counter that nobody has corrected, a
second service of the same name, a hardening that was copied from a guide, and a move to TLS that was half done. A fault
without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from functools import partial
from shlex import quote

from catalogue_parts import DURING, LATER, Kind, Part, Wrong
from fifth_fresh import with_lines
from fourth_fresh import by_several
from fresh import NORTHBOUND, dead, done_again, part_of, with_proxies
from sixth_fresh import FRONT
from third_fresh import POLICY
from ways_to_set_wrong import HOLDER, both, by, changed_rows, in_settings, moved_endpoint, sql
from wrong_requests import FLAVOR, TRAIT, aggregate, nothing, offering_flavor, request, typed

CONTENTS, LIMITS, SETTING, RIGHTS = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.PERMISSIONS
PASTE, PROTECTIONS = "/etc/nova/api-paste.ini", "/etc/glance/catalogue.conf"
PROVIDERS = "/etc/nova/catalogue"
BROKER_SETTINGS, LARGEST_MESSAGE = "/etc/rabbitmq/conf.d/catalogue.conf", 2000
INSTANCES = "/opt/stack/data/nova/instances"
FORGET = "systemctl restart memcached"
# More than anybody's quota
MANY = 1000
# An agent that has not reported for 75 seconds counts as dead.
UNTIL_DEAD = 80
# The first rule that matches a property counts; without one nobody may set it.
RULES = (
    "[^hw_.*]\ncreate = admin\nread = @\nupdate = admin\ndelete = admin\n"
    "[.*]\ncreate = @\nread = @\nupdate = @\ndelete = @\n"
)
# Takes each message of a queue before who else listens there. The arguments are settings and the queue.
CONSUMER = """import sys
from kombu import Connection
url = next(line.split("=", 1)[1].strip() for line in open(sys.argv[1]) if line.startswith("transport_url"))
with Connection(url.replace("rabbit://", "amqp://", 1)) as connection:
    channel = connection.default_channel
    channel.basic_consume(sys.argv[2], no_ack=True, callback=lambda _message: None, arguments={"x-priority": 10})
    while True:
        connection.drain_events()
"""
CONSUMER_PATH, PYTHONS = "/root/catalogue-consumer.py", "/opt/stack/data/venv/bin/python3 python3"


def seventh_fresh_of(site):
    """All these faults of a lab or of a devstack."""
    yield from dead_of(site)
    yield from wrong_identity(site)
    yield from wrong_in_the_database(site)
    yield from wrong_at_the_queue(site)
    yield from wrong_of_services(site)
    yield from wrong_of_hosts(site)
    if not site.is_ovn:
        yield from of_agents(site)
    yield from wrong_of_a_lab(site) if site.storage else wrong_of_a_devstack(site)
    yield from requests(site)


# Ways


def forgetting(site, fault):
    """A fault of which nothing stays in memcached, neither from before it nor from its time."""
    return partial(both, first=by(site.controller, FORGET, FORGET), second=fault)


def few_rows(site):
    """The database refuses each query that has to look at more than one row, on all connections."""
    known = "user NOT IN ('system user', 'event_scheduler') AND id <> CONNECTION_ID()"
    listed = f"ids=$({sql(f'{site.mysql} -BN', f'SELECT id FROM information_schema.processlist WHERE {known}')})"
    # A connection keeps the limit that it began with. Who has lost one makes another.
    kill = f'for id in $ids; do echo "KILL $id;"; done | {site.mysql} --force 2>/dev/null; true'
    limit = "SET GLOBAL max_join_size={}"
    # Newer servers compare rows with the limit, and older ones costs.
    refused = f"! {sql(site.mysql, 'SELECT id FROM keystone.role ORDER BY name')}"
    make = f"{listed} && {sql(site.mysql, limit.format(1))} && {refused} && {{ {kill}; }}"
    back = f"{sql(site.mysql, limit.format('DEFAULT'))}; {listed}; {kill}"
    return by_several(site.controller, make, back)


def broker_with(site, line, shown):
    """The broker starts with one line more in its settings. shown: what it says of itself then."""
    restart, folder = "systemctl restart rabbitmq-server", BROKER_SETTINGS.rpartition("/")[0]
    make = (
        f"mkdir -p {folder} && echo '{line}' > {BROKER_SETTINGS} && {restart} && sleep 5"
        f" && rabbitmqctl environment | grep -q '{shown}'"
    )
    back = f"rm -f {BROKER_SETTINGS}; rmdir --ignore-fail-on-non-empty {folder}; {restart}"
    return by_several(site.controller, make, back)


def short_messages(site):
    return broker_with(site, f"max_message_size = {LARGEST_MESSAGE}", f"max_message_size,{LARGEST_MESSAGE}")


def second_consumer(site, queue):
    """Somebody else listens at a queue, gets each message first and does nothing with it."""
    part = part_of(site, "nova-conductor")
    find = f"for python in {PYTHONS}; do $python -c 'import kombu' 2>/dev/null && break; done"
    make = (
        f"printf '%s' {quote(CONSUMER)} > {CONSUMER_PATH} && {find} && systemd-run --quiet --unit={HOLDER}"
        f" $python {CONSUMER_PATH} {part.settings} {queue} && sleep 4 && systemctl is-active {HOLDER}"
    )
    back = f"systemctl stop {HOLDER}.service; systemctl reset-failed {HOLDER}.service; rm -f {CONSUMER_PATH}"
    return by_several(part.host, make, back)


def without_roles(site):
    """Nobody has a role in the project any more."""
    table, kept = "keystone.assignment", "keystone.kept_assignments"
    project = f"(SELECT id FROM keystone.project WHERE name='{site.project}' AND is_domain=0)"
    return changed_rows(
        site,
        f"CREATE TABLE {kept} AS SELECT * FROM {table} WHERE target_id IN {project};"
        f" DELETE FROM {table} WHERE target_id IN {project}",
        f"INSERT IGNORE INTO {table} SELECT * FROM {kept}; DROP TABLE {kept}",
        Part("memcached", site.controller, ("memcached",)),
    )


@contextlib.contextmanager
def image_without_data(lab):
    """Somebody has made an image, and has not uploaded it."""
    images = lab.admin.image
    wanted = {"name": "catalogue", "disk_format": "raw", "container_format": "bare", "visibility": "public"}
    made = images.post("/images", json=wanted).json()["id"]
    try:
        yield
    finally:
        images.delete(f"/images/{made}").raise_for_status()


# What does not run, or ends again and again


def dead_of(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    modules = in_settings(part, ("libvirt", "swtpm_enabled", "true"))
    yield dead("nova-compute-wants-an-absent-tpm", modules, part.component, compute)
    make = f"mkdir -p {PROVIDERS} && echo 'providers: []' > {PROVIDERS}/hosts.yaml"
    located = in_settings(part, ("compute", "provider_config_location", PROVIDERS))
    providers = partial(both, first=by(compute, make, f"rm -rf {PROVIDERS}"), second=located)
    yield dead("nova-compute-providers-without-a-version", providers, part.component, compute)
    conductor, placement = part_of(site, "nova-conductor"), part_of(site, "placement-api")
    lines = "RuntimeMaxSec=4\\nRestart=always\\nRestartSec=2"
    ended = partial(with_lines, part=conductor, lines=lines)
    yield dead("nova-conductor-ended-every-few-seconds", ended, conductor.component, controller)
    authority = r"/^\[database\]/,/^\[/s#^(connection *= *.*)$#\1\&ssl_ca=/etc/ssl/certs/catalogue.pem#"
    name = "nova-conductor-with-an-absent-authority-of-the-database"
    yield dead(name, in_settings(conductor, authority), conductor.component, controller)
    cache = in_settings(placement, ("keystone_authtoken", "memcache_security_strategy", "ENCRYPT"))
    yield dead("placement-api-encrypts-its-cache-without-a-key", cache, placement.component, controller)


# What runs and is wrong


def wrong_identity(site):
    controller, keystone = site.controller, part_of(site, "keystone")
    # As it was copied from the settings of a cloud that has such a file
    template = in_settings(keystone, ("catalog", "driver", "templated"), ("catalog", "template_file", "/dev/null"))
    name, reason = "keystone-catalog-of-an-empty-template", ("endpoint|catalog",)
    yield Wrong(name, SETTING, forgetting(site, template), keystone.component, controller, reason)
    signed = in_settings(keystone, ("token", "provider", "jws"))
    yield Wrong("keystone-signs-tokens-without-keys", SETTING, signed, keystone.component, controller)
    name, reason = "project-without-roles", ("role|project|assign|401|authori|access",)
    yield Wrong(name, CONTENTS, without_roles(site), keystone.component, controller, reason, "anywhere")
    # Who sees that the two do not agree cannot tell which of them was to change.
    encrypted = partial(moved_endpoint, host=controller, service="network", find="http://", put="https://")
    yield Wrong("catalog-network-with-tls", CONTENTS, encrypted, "keystone neutron-server", controller)
    api = part_of(site, "nova-api")
    # It makes requests smaller, and Nova looks for its peers in it.
    catalog = in_settings(api, ("keystone_authtoken", "include_service_catalog", "false"))
    yield Wrong("nova-api-asks-for-no-catalog", SETTING, forgetting(site, catalog), api.component, controller)


def wrong_in_the_database(site):
    controller, named = site.controller, "neutron-server database"
    yield Wrong("database-refuses-large-queries", LIMITS, few_rows(site), "database", controller)
    # Each port waits for a driver that is no longer there.
    blocks = "neutron.provisioningblocks (standard_attr_id, entity) VALUES (NEW.standard_attr_id, 'ODL')"
    waiting = changed_rows(
        site,
        f"CREATE TRIGGER neutron.catalogue AFTER INSERT ON neutron.ports FOR EACH ROW INSERT INTO {blocks}",
        "DROP TRIGGER IF EXISTS neutron.catalogue",
    )
    yield Wrong("ports-wait-for-a-driver-of-old", CONTENTS, waiting, named, controller)
    # It takes ports for forgotten that are not in use yet.
    ports = "neutron.ports WHERE status='DOWN' AND device_owner LIKE 'compute:%'"
    job = changed_rows(
        site,
        "SET GLOBAL event_scheduler=ON;"
        f" CREATE EVENT neutron.catalogue ON SCHEDULE EVERY 1 SECOND DO DELETE FROM {ports}",
        "DROP EVENT IF EXISTS neutron.catalogue; SET GLOBAL event_scheduler=OFF",
    )
    yield Wrong("job-in-the-database-removes-new-ports", CONTENTS, job, named, controller)


def wrong_at_the_queue(site):
    controller, compute = site.controller, site.compute
    yield Wrong("rabbitmq-takes-short-messages-alone", LIMITS, short_messages(site), "rabbitmq", controller)
    # As after a host was cloned, or when a container of the old release was forgotten
    other, hosts = second_consumer(site, f"compute.{compute}"), " ".join(sorted({controller, compute}))
    yield Wrong(f"second-consumer-of-the-queue-of-{compute}", CONTENTS, other, "rabbitmq nova-compute", hosts)


def wrong_of_services(site):
    controller, images, scheduler = site.controller, part_of(site, "glance-api"), part_of(site, "nova-scheduler")
    make = f"printf '%s' {quote(RULES)} > {PROTECTIONS} && chmod 644 {PROTECTIONS}"
    rules = by(controller, make, f"rm -f {PROTECTIONS}")
    protected = in_settings(images, ("DEFAULT", "property_protection_file", PROTECTIONS))
    yield Wrong(
        "glance-api-protects-properties",
        SETTING,
        partial(both, first=rules, second=protected),
        images.component,
        controller,
        (f"{POLICY[0]}|protect",),
        "anywhere image",
        variables={"image_properties": {"hw_disk_bus": "virtio"}},
    )
    isolating = in_settings(scheduler, ("scheduler", "enable_isolated_aggregate_filtering", "true"))
    cards = partial(aggregate, host=site.compute, zone=None, metadata={f"trait:{TRAIT}": "required"})
    isolated = partial(both, first=isolating, second=cards)
    name, reason = "nova-scheduler-keeps-hosts-for-their-trait", (f"aggregate|isolat|trait|{TRAIT}",)
    yield Wrong(name, SETTING, isolated, scheduler.component, controller, reason)
    metadata = part_of(site, "nova-api-metadata")
    elsewhere = in_settings(metadata, r"s#^/: *meta *$#/meta: meta#", path=PASTE)
    yield Wrong("nova-api-metadata-at-another-path", SETTING, elsewhere, metadata.component, controller)


def wrong_of_hosts(site):
    """The hypervisor, and what serves metadata beside a network."""
    compute, part = site.compute, part_of(site, "nova-compute")
    prefix = in_settings(part, ("libvirt", "disk_prefix", "xx"))
    yield Wrong("nova-compute-disks-with-an-unknown-prefix", SETTING, prefix, part.component, compute)
    devices = partial(with_lines, part=part_of(site, "libvirt"), lines="PrivateDevices=yes")
    yield Wrong("libvirtd-without-the-devices-of-its-host", RIGHTS, devices, "libvirt", compute)
    agent, proxies = with_proxies(site)
    rights = in_settings(agent, ("privsep", "capabilities", "CAP_CHOWN"))
    yield Wrong(f"{agent.component}-helper-of-few-rights", RIGHTS, rights, agent.component, agent.host)
    spaces = "ovnmeta" if site.is_ovn else "qdhcp"
    flush = (
        f"ip netns list | grep -o '^{spaces}-[^ ]*' | xargs -r -I SPACE ip -n SPACE address flush to 169.254.169.254/32"
    )
    gone = done_again(agent.host, flush, f"systemctl restart {agent.services[0]}")
    yield Wrong("address-of-metadata-removed-again", CONTENTS, gone, proxies, agent.host)


def of_agents(site):
    compute, network = site.compute, site.network
    l2_agent, agent = part_of(site, "neutron-l2-agent", compute), part_of(site, "neutron-dhcp-agent")
    shares = in_settings(l2_agent, ("ovs", "resource_provider_bandwidths", "br-provider:10000:10000"))
    name = f"neutron-l2-agent-{compute}-shares-an-absent-bridge"
    yield dead(name, shares, l2_agent.component, compute)
    rarely = in_settings(l2_agent, ("agent", "report_interval", "900"))
    late = partial(both, first=rarely, second=by(compute, f"sleep {UNTIL_DEAD}", "true"))
    yield Wrong(f"neutron-l2-agent-{compute}-reports-rarely", Kind.SLOW, late, l2_agent.component, compute)
    bulk = in_settings(agent, ("DEFAULT", "bulk_reload_interval", "900"))
    yield Wrong("neutron-dhcp-agent-reloads-rarely", Kind.SLOW, bulk, f"{agent.component} dnsmasq", network)
    spaces = "$(ip netns list | grep -o '^qdhcp-[^ ]*')"
    rule = "ip netns exec $space iptables --wait --{} INPUT --protocol udp --dport 67 --jump DROP"
    put, away = (f"for space in {spaces}; do {rule.format(verb)}; done" for verb in ("insert", "delete"))
    closed = by_several(network, f"ip netns list | grep -q '^qdhcp-' && {put}", f"{away}; true")
    named = f"{agent.component} dnsmasq data-network"
    yield Wrong("dhcp-namespace-with-a-firewall", Kind.PATH, closed, named, network, moment=DURING)


def wrong_of_a_lab(site):
    """What a devstack does not have: volumes, Ceph, floating IPs in a run, and networks without tunnels."""
    controller, compute, server = site.controller, site.compute, part_of(site, "neutron-server")
    # As after an upgrade that left out a package of QEMU
    module = by_several(
        compute,
        'file=$(find /usr/lib -name block-rbd.so) && test -n "$file" && mv $file $file.kept',
        "for file in $(find /usr/lib -name block-rbd.so.kept); do mv $file ${file%.kept}; done",
    )
    yield Wrong("qemu-without-its-module-of-ceph", CONTENTS, module, "libvirt nova-compute", compute)
    disks, part = ("compute", "max_disk_devices_to_attach", "1"), part_of(site, "nova-compute")
    one, reason = in_settings(part, disks), ("disk|device",)
    yield Wrong("nova-compute-one-disk-of-each-guest", LIMITS, one, part.component, compute, reason, "connected")
    # The size of a packet in the place of that of a header
    packets, reason = in_settings(server, ("DEFAULT", "global_physnet_mtu", "60")), ("MTU",)
    yield Wrong("neutron-server-networks-of-tiny-packets", SETTING, packets, server.component, controller, reason)
    rows = "neutron.networkrbacs WHERE action='access_as_external'"
    kept = "neutron.kept_rbacs"
    private = changed_rows(
        site,
        f"CREATE TABLE {kept} AS SELECT * FROM {rows}; DELETE FROM {rows}",
        f"INSERT IGNORE INTO neutron.networkrbacs SELECT * FROM {kept}; DROP TABLE {kept}",
    )
    name, reason, named = "external-network-of-nobody", ("external|network|public",), "neutron-server database"
    yield Wrong(name, CONTENTS, private, named, controller, reason, "floating anywhere")
    # Cinder counts by itself, and does not look again.
    table, count = "cinder.quota_usages", "in_use=in_use{}"
    usage = changed_rows(
        site,
        f"INSERT INTO {table} (created_at, deleted, project_id, resource, in_use, reserved, race_preventer)"
        f" SELECT UTC_TIMESTAMP(), 0, id, 'volumes', {MANY}, 0, 1 FROM keystone.project"
        f" WHERE name='{site.project}' AND is_domain=0 ON DUPLICATE KEY UPDATE {count.format(f'+{MANY}')}",
        f"UPDATE {table} SET {count.format(f'-{MANY}')} WHERE resource='volumes' AND in_use >= {MANY}",
    )
    name, reason, named = "usage-of-volumes-miscounted", ("quota|limit|allowed|exceed", "volume"), "cinder-api database"
    yield Wrong(name, CONTENTS, usage, named, controller, reason, "anywhere volume")
    if site.is_ovn:
        yield stale_neighbour(site)


def stale_neighbour(site):
    """The address of the gateway still belongs to the interface that it had before it was replaced."""
    hop = "hop=$(ovn-nbctl --bare --columns=nexthop list logical_router_static_route | grep -m 1 .)"
    ports = "ports=$(ovn-nbctl --bare --columns=name list logical_router_port)"
    bind = "ovn-nbctl --may-exist static-mac-binding-add $port $hop 02:00:00:00:00:99"
    make = f'{hop} && {ports} && test -n "$ports" && for port in $ports; do {bind}; done'
    all_rows = "$(ovn-nbctl --bare --columns=_uuid list static_mac_binding)"
    back = f"for row in {all_rows}; do ovn-nbctl destroy static_mac_binding $row; done"
    stale = by_several(site.controller, make, back)
    return Wrong("ovn-nb-old-neighbour-of-routers", CONTENTS, stale, NORTHBOUND, site.controller, moment=LATER)


def wrong_of_a_devstack(site):
    host = site.controller
    text = '<Location "/placement">\\nRequire ip 192.0.2.0/24\\n</Location>'
    reload = "systemctl reload apache2 && sleep 2"
    front = by_several(host, f"printf '{text}\\n' > {FRONT} && {reload}", f"rm -f {FRONT}; {reload}")
    yield Wrong("front-of-placement-lets-others-in", SETTING, front, "placement-api", host)
    closed = by_several(host, f"chmod o-x {INSTANCES}", f"chmod o+x {INSTANCES}")
    yield Wrong("folder-of-instances-closed-to-qemu", RIGHTS, closed, "libvirt nova-compute", host)


# Requests that nobody can satisfy


def requests(site):
    flavors = (
        ("threads-without-pinning", {"hw:cpu_thread_policy": "require"}, "thread|pinn|dedicated"),
        ("iommu", {"hw:viommu_model": "intel"}, "iommu|q35|machine"),
        ("encrypted-disks", {"hw:ephemeral_encryption": "true"}, "encrypt"),
    )
    for name, specs, reason in flavors:
        make = partial(offering_flavor, memory=128, processors=1, disk=1, specs=specs)
        yield request(f"flavor-{name}", make, (reason,), flavor=FLAVOR)
    yield request("image-without-data", image_without_data, ("image|queued|data",), image="catalogue")
    # Only an administrator may choose a host.
    reason = (f"zone|host|{POLICY[0]}",)
    yield request("zone-with-a-host", nothing, reason, zone=f"nova:{site.compute}")
    if site.storage:
        types = (
            ("of-another-zone", {"RESKEY:availability_zones": "mars"}, "zone|mars"),
            ("of-large-volumes", {"provisioning:min_vol_size": "50"}, "size|minimum|small|GB|large"),
        )
        for name, specs, reason in types:
            make = partial(typed, project=site.project, specs={"volume_backend_name": "ceph", **specs})
            yield request(f"volume-type-{name}", make, (reason,), "volume", volume_type="catalogue")
