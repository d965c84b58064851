# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half eighth, which is drawn into no other half either, of both classes, on a devstack, too.

Most are what an operator inherits: lines of a guide for another cloud, a service that was moved out of a container, a
schema that is ahead of its service, a cell that was switched off and not removed, a limit in the wrong unit, and a
hardening of units, accounts and packages. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from functools import partial

from breaking import drop_in, recovered, undone
from catalogue_parts import LATER, NETWORKED, Kind, Part, Wrong
from fifth_fresh import with_lines
from fourth_fresh import by_several
from fresh import LIBVIRT_SETTINGS, NORTHBOUND, dead, for_each, part_of, with_proxies
from seventh_fresh import broker_with
from sites import ML2
from sixth_fresh import FRONT
from third_fresh import CEPH, POLICY
from ways_to_break import reporting
from ways_to_set_wrong import both, by, changed_rows, in_settings, sql
from wrong_conditions import without_access
from wrong_contents import CELLS
from wrong_requests import FLAVOR, GHOST, nothing, offering_flavor, prepared_network, request, used_up

CONTENTS, LIMITS, SETTING, RIGHTS = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.PERMISSIONS
CATALOG = ("endpoint|catalog",)
LIBVIRTD, ROOTWRAP = "/etc/libvirt/libvirtd.conf", "/etc/neutron/rootwrap.conf"
# What os-vif plugs with, as Debian installs it
PLUGIN = "/usr/lib/python3/dist-packages/vif_plug_ovs"
TUN, SPACES = "/dev/net/tun", "/run/netns"
# Where no service listens
OLD_QUEUE, OLD_DATABASE, OLD_IDENTITY = 5673, 3399, 5001
OLD_CELL, OLD_ROLE = "cell-old", "_member_"
# Of the features of an image: layering, and a map of its objects, which needs a lock that is not among them
FEATURES, OPTION = 9, "client.cinder rbd_default_features"
# The longest that Open vSwitch takes, in seconds. A port waits twice as long before it carries anything.
DELAY = 30
KEPT_RANGES = "/root/catalogue-cidrs"
# One more than Neutron takes for a subnet
RESOLVERS = [f"192.0.2.{number}" for number in range(1, 7)]


def eighth_fresh_of(site):
    """All these faults of a lab or of a devstack."""
    yield from dead_of(site)
    yield from wrong_identity(site)
    yield from wrong_at_queue_and_database(site)
    yield from wrong_of_services(site)
    yield from wrong_of_compute(site)
    yield from wrong_at_the_hypervisor(site)
    yield from wrong_around_metadata(site)
    yield from wrong_with_ovn(site) if site.is_ovn else of_agents(site)
    yield from of_a_lab(site) if site.storage else wrong_of_a_devstack(site)
    yield from requests(site)


# Ways


def forgotten(site, make, back):
    """Changed rows of Keystone, of which its cache has nothing from before, nor later from their time."""
    return changed_rows(site, make, back, Part("memcached", site.controller, ("memcached",)))


@contextlib.contextmanager
def conditional(lab, part, path):
    """Its unit starts only where a file exists, which does not. For systemd that is no failure."""
    unit = part.services[0]
    put, back = drop_in(unit, f"\\n[Unit]\\nConditionPathExists={path}")
    make = f"{put} && systemctl restart {unit} && ! systemctl is-active --quiet {unit}"
    with recovered(lab, part.host, reporting(part)), undone(lab, part.host, make, back):
        yield


def account_of_another_network(site, user):
    """A user of the database may come from another network alone, and whoever is connected has to come again."""
    rename = "RENAME USER '{0}'@'{1}' TO '{0}'@'{2}'"
    away, again = (sql(site.mysql, rename.format(user, *ends)) for ends in (("%", "192.0.2.%"), ("192.0.2.%", "%")))
    listed = sql(f"{site.mysql} -BN", f"SELECT id FROM information_schema.processlist WHERE user='{user}'")
    kill = f'for id in $({listed}); do echo "KILL $id;"; done | {site.mysql} --force 2>/dev/null; true'
    return by_several(site.controller, f"{away} && {{ {kill}; }}", f"{again}; {kill}")


def with_old_cell(site):
    """A cell whose database is gone is still asked for what it has, by each service that knows all cells."""
    table, address = "nova_api.cell_mappings", site.addresses[site.controller]
    queue = f"rabbit://{address}:{OLD_QUEUE}/"
    database = f"mysql+pymysql://nova@{address}:{OLD_DATABASE}/nova_old?charset=utf8"
    units = [unit for name in CELLS.split() for unit in part_of(site, name).services]
    if not site.storage:
        units.append("devstack@n-super-cond")
    return changed_rows(
        site,
        f"INSERT INTO {table} (created_at, uuid, name, transport_url, database_connection, disabled)"
        f" VALUES (UTC_TIMESTAMP(), UUID(), '{OLD_CELL}', '{queue}', '{database}', 0)",
        f"DELETE FROM {table} WHERE name='{OLD_CELL}'",
        # They read the cells once.
        Part("nova-api", site.controller, tuple(units)),
    )


def without_tunables(agent):
    """The unit of an agent sees the kernel's settings, and may not change them."""
    # What it made meanwhile was mounted for itself alone.
    stale = f'for file in {SPACES}/*; do test "$(stat --file-system --format=%T $file)" = nsfs || rm -f $file; done'
    back = f"systemctl stop {agent.services[0]}; {stale}"
    return partial(with_lines, part=agent, lines="ProtectKernelTunables=yes", back=back)


# What does not run, or ends when it starts


def dead_of(site):
    controller, compute = site.controller, site.compute
    scheduler, part = part_of(site, "nova-scheduler"), part_of(site, "nova-compute")
    # As the class was called in an own package that has not been ported
    weights = in_settings(scheduler, ("filter_scheduler", "weight_classes", "nova.scheduler.weights.ram.OwnRAMWeigher"))
    yield dead("nova-scheduler-with-an-absent-weigher", weights, scheduler.component, controller)
    condition = partial(conditional, part=part, path="/etc/nova/ready")
    yield dead("nova-compute-waits-for-the-word-of-its-installer", condition, part.component, compute)
    # As after accounts were tidied up
    images = part_of(site, "glance-api")
    user = partial(with_lines, part=images, lines="User=catalogue")
    yield dead("glance-api-of-a-user-who-is-gone", user, images.component, controller)
    # As on hosts that share their disks by another file system
    locks = in_settings(part_of(site, "libvirt"), '$ a lock_manager = "lockd"', path=LIBVIRT_SETTINGS)
    yield dead("libvirt-with-an-absent-lock-manager", locks, "libvirt", compute)


# What runs and is wrong


def wrong_identity(site):
    controller, keystone = site.controller, part_of(site, "keystone")
    rename = "UPDATE keystone.role SET name='{1}' WHERE name='{0}'"
    names = ("member", OLD_ROLE)
    role = forgotten(site, rename.format(*names), rename.format(*reversed(names)))
    name, reason = "role-member-with-its-name-of-old", (f"{POLICY[0]}|role",)
    yield Wrong(name, CONTENTS, role, keystone.component, controller, reason, "anywhere")
    # A project that has a choice of endpoints has these alone.
    chosen = forgotten(
        site,
        "INSERT INTO keystone.project_endpoint (endpoint_id, project_id) SELECT e.id, p.id FROM keystone.endpoint e"
        " JOIN keystone.service s ON s.id=e.service_id JOIN keystone.project p"
        f" WHERE s.type='identity' AND e.interface='public' AND p.name='{site.project}' AND p.is_domain=0",
        "DELETE FROM keystone.project_endpoint",
    )
    yield Wrong("project-with-few-endpoints", CONTENTS, chosen, keystone.component, controller, CATALOG, "anywhere")
    cache = in_settings(keystone, ("cache", "enabled", "true"), ("cache", "backend", "dogpile.cache.pylibmc"))
    yield Wrong("keystone-cache-of-an-absent-library", SETTING, cache, keystone.component, controller)


def wrong_at_queue_and_database(site):
    controller, user = site.controller, "openstack" if site.storage else "stackrabbit"
    # As somebody sets it who takes the number for minutes
    hasty = broker_with(site, "handshake_timeout = 1", "handshake_timeout,1}")
    yield Wrong("rabbitmq-hangs-up-early", LIMITS, hasty, "rabbitmq", controller)
    local = broker_with(site, f"loopback_users.{user} = true", f"loopback_users.*{user}")
    yield Wrong("rabbitmq-user-from-its-own-host-alone", RIGHTS, local, "rabbitmq", controller)
    # The schema has been brought to the next release, and the service has not.
    ahead = changed_rows(
        site,
        "ALTER TABLE neutron.networks ADD COLUMN catalogue INT NOT NULL",
        "ALTER TABLE neutron.networks DROP COLUMN IF EXISTS catalogue",
    )
    named = "neutron-server database"
    yield Wrong("neutron-database-ahead-of-its-release", CONTENTS, ahead, named, controller)
    cell, named = with_old_cell(site), f"{CELLS} database"
    yield Wrong("cell-of-old-left-behind", CONTENTS, cell, named, controller)


def wrong_of_services(site):
    controller, compute = site.controller, site.compute
    api, images, scheduler = (part_of(site, name) for name in ("nova-api", "glance-api", "nova-scheduler"))
    # With it each server has its root disk on a volume.
    volumes = in_settings(api, ("DEFAULT", "max_local_block_devices", "0"))
    name, reason = "nova-api-takes-no-local-disks", ("local|volume|block.?device",)
    yield Wrong(name, SETTING, volumes, api.component, controller, reason)
    address = f"http://{site.addresses[controller]}:{OLD_IDENTITY}/v3"
    environment = partial(with_lines, part=scheduler, lines=f"Environment=OS_PLACEMENT__AUTH_URL={address}")
    name = "nova-scheduler-with-the-environment-of-its-container"
    yield Wrong(name, SETTING, environment, scheduler.component, controller)
    part = part_of(site, "nova-compute")
    excluded = in_settings(part, ("compute", "image_type_exclude_list", "raw,qcow2"))
    asking = in_settings(scheduler, ("scheduler", "query_placement_for_image_type_support", "true"))
    few = partial(both, first=excluded, second=asking)
    name, named = "nova-compute-takes-few-types-of-images", f"{part.component} {scheduler.component}"
    reason, hosts = ("image.?type|COMPUTE_IMAGE_TYPE|trait|format",), " ".join(sorted({controller, compute}))
    yield Wrong(name, SETTING, few, named, hosts, reason)
    properties = in_settings(images, ("DEFAULT", "image_property_quota", "0"))
    name, reason = "glance-api-takes-no-properties", ("propert|limit|quota",)
    more = {"image_properties": {"hw_disk_bus": "virtio"}}
    yield Wrong(name, LIMITS, properties, images.component, controller, reason, "image", variables=more)


def wrong_of_compute(site):
    compute, part = site.compute, part_of(site, "nova-compute")
    # The broker of the telemetry has been switched off. A notification waits for it without end.
    section, broker = "oslo_messaging_notifications", f"rabbit://{site.addresses[site.controller]}:{OLD_QUEUE}/"
    notified = in_settings(part, (section, "driver", "messagingv2"), (section, "transport_url", broker))
    yield Wrong("nova-compute-notifies-a-broker-of-old", SETTING, notified, part.component, compute)
    random = in_settings(part, ("libvirt", "rng_dev_path", "/dev/hwrng"))
    yield Wrong("nova-compute-random-numbers-of-an-absent-device", SETTING, random, part.component, compute)
    # Where all are for pinned guests, others have none.
    pinned = in_settings(part, ("compute", "cpu_dedicated_set", "0"))
    name = "nova-compute-processors-for-pinned-guests-alone"
    yield Wrong(name, SETTING, pinned, part.component, compute, ("CPU",))


def wrong_at_the_hypervisor(site):
    compute, switch = site.compute, part_of(site, "ovn-controller" if site.is_ovn else "neutron-l2-agent", site.compute)
    secured = in_settings(part_of(site, "libvirt"), '$ a auth_unix_rw = "sasl"', path=LIBVIRTD)
    yield Wrong("libvirtd-wants-passwords", SETTING, secured, "libvirt nova-compute", compute)
    # As where the host is itself a guest that was given only some devices
    device = by(compute, f"mount --bind /dev/null {TUN}", f"umount --lazy {TUN}")
    yield Wrong(f"{compute}-without-its-device-of-taps", CONTENTS, device, "libvirt nova-compute", compute)
    option = "stp-forward-delay"
    tree = by(
        compute,
        f"ovs-vsctl set bridge br-int stp_enable=true other_config:{option}={DELAY}",
        f"ovs-vsctl set bridge br-int stp_enable=false -- remove bridge br-int other_config {option}",
    )
    named = f"ovsdb data-network {switch.component}"
    yield Wrong(f"ovs-{compute}-new-ports-wait", Kind.SLOW, tree, named, compute)


def wrong_around_metadata(site):
    agent, _proxies = with_proxies(site)
    tunables = without_tunables(agent)
    yield Wrong(f"{agent.component}-changes-no-setting-of-the-kernel", RIGHTS, tunables, agent.component, agent.host)
    if site.storage:
        folders = in_settings(agent, r"s#^exec_dirs *=.*#exec_dirs=/usr/bin,/usr/local/bin#", path=ROOTWRAP)
        named = f"{agent.component} {'haproxy' if site.is_ovn else 'dnsmasq'}"
        yield Wrong(f"{agent.component}-helper-looks-in-few-folders", SETTING, folders, named, agent.host)


def of_agents(site):
    """What only a lab with agents has."""
    controller, network = site.controller, site.network
    agent, server = part_of(site, "neutron-dhcp-agent"), part_of(site, "neutron-server")
    file = in_settings(agent, ("DEFAULT", "dnsmasq_config_file", "/etc/neutron/dnsmasq.d/site.conf"))
    yield dead("dnsmasq-wants-an-absent-file", file, f"{agent.component} dnsmasq", network)
    # As for a cloud with OVN
    workers = in_settings(server, ("DEFAULT", "rpc_workers", "0"))
    yield Wrong("neutron-server-without-workers-for-agents", SETTING, workers, server.component, controller)
    # No host has an agent for them.
    distributed = in_settings(server, ("DEFAULT", "router_distributed", "true"))
    name = "neutron-server-makes-routers-for-other-agents"
    yield Wrong(name, SETTING, distributed, server.component, controller, needs="floating")
    spaces = "$(ip netns list | grep -o '^qrouter-[^ ]*')"
    kernel = f"for space in {spaces}; do ip netns exec $space sysctl -qw net.ipv4.ip_forward={{}}; done"
    make = f"ip netns list | grep -q '^qrouter-' && {kernel.format(0)}"
    stuck = by_several(network, make, f"{kernel.format(1)}; true")
    named = "neutron-l3-agent data-network"
    yield Wrong("routers-that-do-not-forward", SETTING, stuck, named, network, moment=LATER)


def wrong_with_ovn(site):
    controller, compute, server = site.controller, site.compute, part_of(site, "neutron-server")
    # As dnsmasq calls it. OVN has another name for the same, and takes none of the answer then.
    options = in_settings(server, ("ovn", "ovn_dhcp4_global_options", "domain-name:example.org"), path=ML2)
    yield Wrong("neutron-server-option-of-dhcp-unknown-to-ovn", SETTING, options, server.component, controller)
    # As rows of a release that did not write it
    key, table = 'external_ids:"neutron:cidrs"', "logical_switch_port"
    rows = f"$(ovn-nbctl --bare --columns=_uuid find {table} type=localport)"
    back = f"ovn-nbctl --if-exists set {table} $row '{key}=$value'".replace('"', '\\"')
    ranges = by_several(
        controller,
        f": > {KEPT_RANGES}; for row in {rows}; do value=$(ovn-nbctl --if-exists get {table} $row '{key}');"
        f' test -z "$value" || {{ echo "{back}" >> {KEPT_RANGES};'
        f" ovn-nbctl remove {table} $row external_ids '\"neutron:cidrs\"'; }}; done; test -s {KEPT_RANGES}",
        f"sh {KEPT_RANGES}; rm -f {KEPT_RANGES}",
    )
    name = "ovn-nb-port-of-metadata-without-its-range"
    yield Wrong(name, CONTENTS, ranges, NORTHBOUND, controller, moment=NETWORKED)
    ids = "external_ids{}ovn-bridge-remote"
    socket = by(
        compute,
        f"ovs-vsctl set open_vswitch . {ids.format(':')}=unix:/run/openvswitch/br-old.mgmt",
        f"ovs-vsctl remove open_vswitch . {ids.format(' ')}",
    )
    yield Wrong("chassis-bridge-at-a-socket-of-old", SETTING, socket, "ovn-controller ovsdb", compute)
    if site.storage:
        unlinked = by(controller, for_each(table, "type=router", f"remove {table} $row options router-port"), "true")
        yield Wrong("ovn-nb-routers-without-their-links", CONTENTS, unlinked, NORTHBOUND, controller, moment=LATER)


def of_a_lab(site):
    """What a devstack does not have: Ceph, volumes, packages of Debian, and an account for each service."""
    controller, compute, storage = site.controller, site.compute, site.storage
    monitor = Part("ceph-mon", storage, ("ceph-mon@a",), settings=CEPH)
    # As a share that has to be used, in the place of one that has to be free
    full = in_settings(monitor, ("global", "mon_data_avail_crit", "100"))
    yield dead("ceph-mon-counts-its-disk-as-full", full, monitor.component, storage)
    account = account_of_another_network(site, "neutron")
    named = "database neutron-server"
    yield Wrong("database-account-of-another-network", Kind.CREDENTIALS, account, named, controller)
    # As guides have it for a service of that name
    api = part_of(site, "nova-api")
    service = in_settings(api, ("cinder", "catalog_info", "volumev3:cinderv3:publicURL"))
    yield Wrong("nova-api-looks-for-another-cinder", SETTING, service, api.component, controller, needs="volume")
    # As after an installation by a user whose files are closed to others
    part = part_of(site, "nova-compute")
    plugin = partial(without_access, host=compute, path=PLUGIN, restarted=[part])
    yield Wrong("nova-compute-may-not-read-its-plugin", RIGHTS, plugin, part.component, compute)
    features = by(storage, f"ceph config set {OPTION} {FEATURES} && sleep 2", f"ceph config rm {OPTION}")
    named, hosts = "ceph-mon ceph-osd nova-compute cinder-volume", f"{storage} {compute} {controller}"
    yield Wrong("ceph-features-that-do-not-fit", SETTING, features, named, hosts)
    users = "radosgw-admin user list | grep -o '\"[^\"]*\"' | tr -d '\"'"
    state = f'{users} | while read -r user; do radosgw-admin user {{}} --uid "$user" > /dev/null; done'
    suspended = by(storage, f"{users} | grep -q . && {state.format('suspend')}", state.format("enable"))
    yield Wrong("ceph-rgw-users-suspended", CONTENTS, suspended, "ceph-rgw", storage, needs="image")


def wrong_of_a_devstack(site):
    """Its APIs are behind Apache."""
    host, reload = site.controller, "systemctl reload apache2 && sleep 2"
    text = '<Location "/networking">\\nRequire method GET HEAD OPTIONS\\n</Location>'
    reading = by_several(host, f"printf '{text}\\n' > {FRONT} && {reload}", f"rm -f {FRONT}; {reload}")
    yield Wrong("front-of-neutron-lets-read-alone", SETTING, reading, "neutron-server", host)


# Requests that no cloud of this kind can satisfy


def requests(site):
    small = partial(offering_flavor, memory=128, processors=1, disk=1)
    accelerator = partial(small, specs={"accel:device_profile": "catalogue"})
    yield request("flavor-accelerator", accelerator, ("accelerat|cyborg|device.?profile",), flavor=FLAVOR)
    shared, dedicated = partial(small, specs={"hw:cpu_policy": "shared"}), {"hw_cpu_policy": "dedicated"}
    name, reason = "image-against-its-flavor", ("CPU|pinn|dedicated",)
    yield request(name, shared, reason, "image", flavor=FLAVOR, image_properties=dedicated)
    name, reason = "image-of-an-absent-kernel", ("kernel|image.*(found|exist)|f(i|ou)nd.*image",)
    yield request(name, nothing, reason, "image", image_properties={"kernel_id": GHOST})
    # One address is the gateway's, and the other one that of what serves the network.
    tiny = partial(prepared_network, subnet={"cidr": "192.168.77.0/30"})
    yield request("network-of-two-addresses", tiny, ("address|subnet|full|IP",), network="catalogue")
    yield request("many-name-servers", nothing, ("DNS|name.?server",), network_dns_nameservers=RESOLVERS)
    items = partial(used_up, project=site.project, service="compute", resource="metadata_items")
    reason = ("quota|limit|allow|exceed|maximum", "metadata")
    yield request("quota-metadata-items", items, reason)
    if site.storage:
        large = partial(offering_flavor, memory=128, processors=1, disk=10, specs={})
        name, needs = "volume-smaller-than-its-image", "volume image image-volume"
        yield request(name, large, ("size|disk|small|GB",), needs, flavor=FLAVOR, image_min_disk=5)
