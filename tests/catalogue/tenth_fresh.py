# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half tenth, which is drawn into no other half either, of both classes, on a devstack, too.

They were chosen by how often operators meet them, and not because nobody had thought of them: some are close to faults
of other halves. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from shlex import quote

from breaking import recovered
from catalogue_parts import DURING, NETWORKED, Kind, Part, Wrong
from fourth_fresh import by_several
from fresh import dead, moved, part_of, with_drop_in, with_proxies
from ninth_fresh import switched
from seventh_fresh import INSTANCES
from third_fresh import agent_renamed
from ways_to_break import full_disk, reporting, with_clients_restarted
from ways_to_set_wrong import (
    Unhurried,
    agent_down,
    by,
    changed_rows,
    computes_off,
    external_id,
    in_settings,
    moved_endpoint,
    sql,
)
from wrong_conditions import ASKING, other_mtu
from wrong_contents import CELLS, NORTHBOUND
from wrong_requests import FLAVOR, offering_flavor, providers, request, used_up
from wrong_settings import QUEUE_PASSWORD, SHARED_SECRET

CONTENTS, LIMITS, SETTING, SECRET = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.CREDENTIALS
PATH, NAMES, CAPACITY = Kind.PATH, Kind.NAMES, Kind.CAPACITY
DOMAIN = "example.org"
# An address of no host
GONE = "192.0.2.10"
# The secret of libvirt in Ceph's own manual
SECRET_OF_THE_MANUAL = "457eb676-33da-42ec-9a8c-9293d545c337"
# What a host keeps for guests, in MiB: less than any flavor has
LEFT = 32
# Consumers of allocations that are no servers
ORPHANS = "00000000-0000-4000-8000-{:012d}"
QUARANTINE = "from-lport 32767 'ip4 && tcp'"


def tenth_fresh_of(site):
    """All these faults of a lab or of a devstack."""
    yield from dead_of_the_control_plane(site)
    yield from dead_of_a_compute(site)
    yield from wrong_identity(site)
    yield from wrong_cells(site)
    yield from wrong_of_compute(site)
    yield from wrong_around_metadata(site)
    if site.is_ovn:
        yield from of_ovn(site)
    if site.storage:
        yield from of_a_lab(site)
    yield from requests()


def of_a_lab(site):
    """What a devstack does not have: several hosts, volumes, Ceph, and accounts of each service in the database."""
    yield from dead_of_a_lab(site)
    yield from data_network_of_a_lab(site)
    yield from ceph_of_a_lab(site)
    yield from services_of_a_lab(site)
    if not site.is_ovn:
        yield from of_agents(site)
    yield from requests_of_a_lab(site)


# Ways


def killed_for_good(part):
    """The kernel has killed it for its memory, and nothing starts it again."""
    return partial(with_drop_in, part=part, lines="Restart=no")


def hung(part):
    """It runs and does nothing: its control group is frozen."""
    unit = part.services[0]
    return by_several(part.host, f"systemctl freeze {unit}", f"systemctl thaw {unit}")


def switch_killed(site):
    """The daemon of Open vSwitch dies. What ends with it has to be started, too."""
    unit = "ovs-vswitchd"
    folder = f"/run/systemd/system/{unit}.service.d"
    make = f"mkdir -p {folder} && printf '[Service]\\nRestart=no\\n' > {folder}/zz.conf && systemctl daemon-reload"
    back = (
        f"rm -f {folder}/zz.conf; systemctl daemon-reload; systemctl reset-failed {unit};"
        f" systemctl restart {unit}; systemctl start openvswitch-switch"
    )
    return by_several(site.compute, f"{make} && systemctl kill --signal=KILL {unit}", back)


def unstartable_libvirt(site):
    """As an upgrade that broke off leaves it: the daemon has ended, and its program does not run."""
    sockets = "libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket"
    make = "chmod a-x /usr/sbin/libvirtd && systemctl kill --signal=KILL libvirtd"
    back = (
        f"chmod a+x /usr/sbin/libvirtd; systemctl stop libvirtd; systemctl reset-failed 'libvirtd*';"
        f" systemctl start {sockets} libvirtd"
    )
    return by_several(site.compute, make, back)


def clients_of_the_database(site):
    """Units that keep connections, which are void after the database was away."""
    units = [unit for part in site.parts if part.host == site.controller and part.settings for unit in part.services]
    return tuple(units) if site.storage else (*units, "devstack@n-super-cond")


def rotated_in_the_database(site, user):
    """Somebody has given a user of the database another password, and has told no service."""
    kept, table = f"{user}.kept_account", "mysql.global_priv"
    kill = f"({sql(site.mysql, f'KILL USER {user}')} || true)"
    keep = f"CREATE TABLE {kept} AS SELECT Host, User, Priv FROM {table} WHERE User='{user}'"
    make = sql(site.mysql, f"{keep}; ALTER USER '{user}'@'%' IDENTIFIED BY 'rotated'")
    back = sql(
        site.mysql,
        f"UPDATE {table} g JOIN {kept} k USING (Host, User) SET g.Priv=k.Priv; DROP TABLE {kept}; FLUSH PRIVILEGES",
    )
    return by_several(site.controller, f"{make} && {kill}", f"{back}; {kill}")


def kept_rows(site, rows, change, restore, restarted=None):
    """Changed rows of Nova's API database, whose content of before is in a table beside them."""
    kept = "nova_api.kept_by_the_catalogue"
    make = f"CREATE TABLE {kept} AS SELECT * FROM {rows}; {change}"
    return changed_rows(site, make, f"{restore.format(kept)}; DROP TABLE {kept}", restarted)


@contextlib.contextmanager
def orphaned_allocations(lab, kind):
    """Servers that are long gone still have all of a resource of each host, each as much as one may have."""
    placement = lab.admin.placement
    owner = {"project_id": lab.admin.session.get_project_id(), "user_id": lab.admin.session.get_user_id()}
    made = []
    try:
        for uuid in providers(placement):
            for amount in portions(placement, f"/resource_providers/{uuid}", kind):
                path = f"/allocations/{ORPHANS.format(len(made) + 1)}"
                body = {"allocations": {uuid: {"resources": {kind: amount}}}, "consumer_generation": None, **owner}
                placement.put(path, json=body, microversion="1.28").raise_for_status()
                made.append(path)
        yield
    finally:
        for path in made:
            placement.delete(path).raise_for_status()


def portions(placement, path, kind):
    """What is free of a resource, in amounts that one consumer may have."""
    inventory = placement.get(f"{path}/inventories/{kind}").json()
    used = placement.get(f"{path}/usages").json()["usages"].get(kind, 0)
    room = int((inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"]) - used
    largest = min(inventory["max_unit"], inventory["total"])
    return [min(largest, room - taken) for taken in range(0, room, largest)]


@contextlib.contextmanager
def memory_reserved(lab, part):
    """Nearly all memory of a host is kept for the host itself. More than it has would not be taken."""
    total = int(lab.run(part.host, "awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo").split()[-1])
    reserved = in_settings(part, ("DEFAULT", "reserved_host_memory_mb", str(total - LEFT)))
    with reserved(lab):
        yield


@contextlib.contextmanager
def compute_renamed(lab, part, name):
    """A compute calls its host otherwise. Should it have told the cloud so, that row goes."""
    compute = lab.admin.compute
    renamed = in_settings(part, ("DEFAULT", "host", name))
    with recovered(lab, part.host, reporting(part)):
        try:
            with renamed(Unhurried(lab)):
                yield
        finally:
            for service in list(compute.services(binary="nova-compute")):
                if service.host == name:
                    compute.delete_service(service)


@contextlib.contextmanager
def one_public_address(lab):
    """The pool of the external network has one address, which goes to a router before a server asks for it."""
    network = lab.admin.network
    (subnet,) = network.subnets(name="public")
    before = subnet.allocation_pools
    last = before[-1]["end"]
    try:
        network.update_subnet(subnet, allocation_pools=[{"start": last, "end": last}])
        yield
    finally:
        network.update_subnet(subnet, allocation_pools=before)


# What does not run, or hangs


def dead_of_the_control_plane(site):
    controller = site.controller
    scheduler, database = part_of(site, "nova-scheduler"), part_of(site, "database")
    yield dead("nova-scheduler-killed-for-good", killed_for_good(scheduler), scheduler.component, controller)
    connected = replace(database, clients=clients_of_the_database(site))
    killed = partial(with_clients_restarted, part=connected, fault=killed_for_good(database))
    yield dead("database-killed-for-good", killed, database.component, controller, moment=DURING)
    for name in ("nova-conductor", "keystone"):
        yield dead(f"{name}-hangs", hung(part_of(site, name)), name, controller)
    images, placement = part_of(site, "glance-api"), part_of(site, "placement-api")
    killed = killed_for_good(images)
    yield dead("glance-api-killed-for-good", killed, images.component, controller, moment=NETWORKED)
    word = in_settings(placement, ("placement_database", "max_pool_size", "many"))
    yield dead("placement-api-with-a-word-for-a-number", word, placement.component, controller)
    # A share of the memory in the place of a size
    limit, usual = "rabbitmqctl set_disk_free_limit", "200MB" if site.storage else "50MB"
    alarm = by_several(controller, f"{limit} mem_relative 9000 && sleep 2", f"{limit} {usual}")
    yield dead("rabbitmq-wants-more-disk-than-there-is", alarm, "rabbitmq", controller)


def dead_of_a_compute(site):
    """What is on a compute host, or beside its networks."""
    compute = site.compute
    yield dead("libvirtd-after-half-an-upgrade", unstartable_libvirt(site), "libvirt", compute)
    yield dead(f"vswitchd-of-{compute}-killed-for-good", switch_killed(site), switched(site), compute)
    folder, owner = ("/var/lib/nova/instances", "nova:nova") if site.storage else (INSTANCES, "stack:root")
    full = partial(full_disk, host=compute, folder=folder, owner=owner)
    yield dead(f"disk-of-instances-of-{compute}-full", full, "nova-compute libvirt", compute)
    agent, proxies = with_proxies(site)
    yield dead("haproxy-removed", moved(agent.host, "/usr/sbin/haproxy"), proxies, agent.host)
    metadata = metadata_agent(site)
    yield dead(f"{metadata.component}-killed-for-good", killed_for_good(metadata), metadata.component, metadata.host)


def metadata_agent(site):
    return part_of(site, "neutron-ovn-metadata-agent" if site.is_ovn else "neutron-metadata-agent")


def dead_of_a_lab(site):
    controller, storage = site.controller, site.storage
    daemon, volumes = part_of(site, "ceph-osd"), part_of(site, "cinder-volume")
    yield dead("ceph-osd-killed-for-good", killed_for_good(daemon), "ceph-osd", storage)
    yield dead("cinder-volume-killed-for-good", killed_for_good(volumes), "cinder-volume", controller, needs="volume")
    # As a firewall is after somebody has loaded its rules of old
    computes = sorted({site.compute, site.other})
    rules = [
        f"INPUT --protocol tcp --source {site.addresses[host]} --dport 5672 --jump REJECT"
        " --reject-with icmp-host-prohibited"
        for host in computes
    ]
    insert, delete = ([f"iptables --wait --{verb} {rule}" for rule in rules] for verb in ("insert", "delete"))
    closed = by_several(controller, " && ".join(insert), "; ".join(delete))
    hosts, named = " ".join([controller, *computes]), f"rabbitmq {ASKING['rabbitmq']}"
    yield dead("firewall-of-rabbitmq-against-all-computes", closed, named, hosts)
    port = "ovs-ofctl mod-port br-ex eth1"
    unplugged = by(site.compute, f"{port} down", f"{port} up")
    yield dead(f"uplink-of-{site.compute}-down", unplugged, switched(site), site.compute, needs=across_hosts(site))


def across_hosts(site):
    """What a run needs for its packets to leave the compute host: with OVN, leases and metadata are served there."""
    return "floating" if site.is_ovn else ""


# What runs and is wrong


def wrong_identity(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    find = site.addresses[controller]
    old = partial(moved_endpoint, host=controller, service="network", find=find, put=GONE)
    name, reason = "catalog-network-at-an-address-of-old", ("endpoint|catalog",)
    yield Wrong(name, CONTENTS, old, "keystone neutron-server", controller, reason)
    # The passwords were changed, and this host was away then.
    account = in_settings(part, ("neutron", "password", "before-the-rotation"))
    yield Wrong("nova-compute-with-neutrons-password-of-old", SECRET, account, part.component, compute)
    queue = in_settings(part, QUEUE_PASSWORD.replace("wrong", "before-the-rotation"))
    yield Wrong("nova-compute-with-the-queues-password-of-old", SECRET, queue, part.component, compute)


def wrong_cells(site):
    """Rows by which Nova knows its hosts and cells, and what Placement knows of them."""
    controller, compute, conductor = site.controller, site.compute, part_of(site, "nova-conductor")
    table = "nova_api.cell_mappings"
    password = r"transport_url=REGEXP_REPLACE(transport_url, '^(rabbit://[^:]+):[^@]+@', '\\1:before-the-rotation@')"
    # On a devstack it is not the conductor of the cell that sends into the cell.
    sender = conductor if site.storage else Part(conductor.component, controller, ("devstack@n-super-cond",))
    rotated = kept_rows(
        site,
        table,
        f"UPDATE {table} SET {password} WHERE name='cell1'",
        f"UPDATE {table} c JOIN {{}} k USING (uuid) SET c.transport_url=k.transport_url",
        sender,
    )
    yield Wrong("cell-with-the-queues-password-of-old", SECRET, rotated, CELLS, controller)
    rows = f"nova_api.host_mappings WHERE host='{compute}'"
    forgotten = kept_rows(
        site, rows, f"DELETE FROM {rows}", "INSERT IGNORE INTO nova_api.host_mappings SELECT * FROM {}"
    )
    reason = ("cell|mapp|could not be found",)
    yield Wrong(f"{compute}-was-never-discovered", CONTENTS, forgotten, CELLS, controller, reason)
    computes = tuple(host for host in (compute, site.other) if host)
    down = partial(computes_off, hosts=computes, reason="", forced=True)
    name, reason = "computes-left-forced-down", ("forced",)
    yield Wrong(name, CONTENTS, down, "nova-compute", " ".join(computes), reason, "anywhere")
    orphans, reason = partial(orphaned_allocations, kind="VCPU"), ("CPU|allocation",)
    name = "placement-allocations-of-servers-long-gone"
    yield Wrong(name, CAPACITY, orphans, "placement-api", controller, reason, "anywhere")


def wrong_of_compute(site):
    compute, part = site.compute, part_of(site, "nova-compute")
    reserved, reason = partial(memory_reserved, part=part), ("memory|RAM|reserved",)
    yield Wrong("nova-compute-keeps-its-memory-for-itself", LIMITS, reserved, part.component, compute, reason)
    # As it was copied from hosts that are ten years old
    model = in_settings(part, ("libvirt", "cpu_mode", "custom"), ("libvirt", "cpu_models", "Opteron_G5"))
    yield Wrong("nova-compute-with-the-processor-of-old-hosts", SETTING, model, part.component, compute)
    full = partial(compute_renamed, part=part, name=f"{compute}.{DOMAIN}")
    yield Wrong("nova-compute-under-its-full-name", NAMES, full, part.component, compute)


def wrong_around_metadata(site):
    controller, agent = site.controller, metadata_agent(site)
    template = in_settings(agent, (*SHARED_SECRET[:2], "METADATA_SECRET"))
    named, hosts = f"{agent.component} nova-api-metadata", " ".join(sorted({agent.host, controller}))
    yield Wrong(f"{agent.component}-with-the-secret-of-a-template", SECRET, template, named, hosts)


def data_network_of_a_lab(site):
    compute, needs = site.compute, across_hosts(site)
    # As the switch of another rack has it
    port = "ovs-vsctl {} port eth1 trunks"
    trunk = by(compute, f"{port.format('set')}=0,300,301", port.format("clear"))
    name = f"trunk-of-{compute}-without-the-networks-of-projects"
    yield Wrong(name, PATH, trunk, switched(site), compute, needs=needs)
    mtu = partial(other_mtu, host=compute, device="eth1", mtu=576)
    yield Wrong(f"wire-of-{compute}-takes-small-packets", PATH, mtu, switched(site), compute, needs=needs)
    mappings = "physnet1:br-ex"
    name = f"{compute}-calls-the-physical-network-otherwise"
    if site.is_ovn:
        mapped, named = external_id(compute, "ovn-bridge-mappings", mappings), "ovn-controller ovsdb"
    else:
        agent = part_of(site, "neutron-l2-agent", compute)
        mapped, named = in_settings(agent, ("ovs", "bridge_mappings", mappings)), agent.component
    yield Wrong(name, SETTING, mapped, named, compute)


def ceph_of_a_lab(site):
    controller, compute, storage, part = site.controller, site.compute, site.storage, part_of(site, "nova-compute")
    secret = in_settings(part, ("libvirt", "rbd_secret_uuid", SECRET_OF_THE_MANUAL))
    yield Wrong("nova-compute-with-the-secret-of-a-manual", SECRET, secret, f"{part.component} libvirt", compute)
    key, cinder = "/root/catalogue.tenth.key", "client.cinder"
    rights = "allow class-read object_prefix rbd_children, allow rwx pool=volumes, allow rwx pool=images"
    poor = by_several(
        storage,
        f"ceph auth get {cinder} -o {key} && ceph auth caps {cinder} mon 'allow r' osd '{rights}'",
        f"if test -s {key}; then ceph auth import -i {key} && rm {key}; fi",
    )
    named, hosts = f"ceph-mon ceph-osd {part.component} libvirt", f"{compute} {storage}"
    yield Wrong("ceph-rights-of-cinder-as-in-an-old-manual", SECRET, poor, named, hosts)
    quota = "ceph osd pool set-quota vms max_bytes {} && sleep 8"
    full = "ceph osd pool ls detail | grep \"'vms'\" | grep -q full_quota"
    used = by_several(storage, f"{quota.format(1)} && {{ {full} || sleep 10; {full}; }}", quota.format(0))
    yield Wrong("ceph-quota-of-bytes-used-up", LIMITS, used, "ceph-mon ceph-osd", storage)
    images = part_of(site, "glance-api")
    swift = in_settings(images, ("rgw", "key", "before-the-rotation"), path="/etc/glance/glance-swift.conf")
    name = "glance-api-with-its-password-of-old-at-the-gateway"
    yield Wrong(name, SECRET, swift, f"{images.component} ceph-rgw", f"{controller} {storage}", needs="image")


def services_of_a_lab(site):
    controller = site.controller
    rotated = rotated_in_the_database(site, "nova")
    named = f"database {CELLS} nova-api-metadata"
    yield Wrong("database-password-of-nova-rotated", SECRET, rotated, named, controller)
    row = "UPDATE cinder.services SET disabled={}, disabled_reason={} WHERE `binary`='cinder-volume' AND NOT deleted"
    off = changed_rows(site, row.format(1, quote("new disks")), row.format(0, "NULL"))
    name, reason = "cinder-volume-left-in-maintenance", ("disabled|maintenance|new disks",)
    yield Wrong(name, CONTENTS, off, "cinder-volume", controller, reason, "volume")


def of_agents(site):
    """What only a lab with agents has."""
    network, compute, part = site.network, site.compute, part_of(site, "neutron-dhcp-agent")
    yield dead("dnsmasq-removed", moved(network, "/usr/sbin/dnsmasq"), f"{part.component} dnsmasq", network)
    routers = part_of(site, "neutron-l3-agent")
    killed = killed_for_good(routers)
    yield dead("neutron-l3-agent-killed-for-good", killed, routers.component, network, needs="floating")
    off = partial(agent_down, host=network, binary="neutron-dhcp-agent")
    name, reason = "neutron-dhcp-agent-left-out-of-service", ("disabled|admin",)
    yield Wrong(name, CONTENTS, off, part.component, network, reason, moment=NETWORKED)
    agent = part_of(site, "neutron-l2-agent", compute)
    full = partial(agent_renamed, part=agent, name=f"{compute}.{DOMAIN}")
    yield Wrong(f"{agent.component}-{compute}-under-its-full-name", NAMES, full, agent.component, compute)


def of_ovn(site):
    """What a lab and a devstack with OVN have."""
    controller, compute = site.controller, site.compute
    for name in ("ovn-northd", "ovn-sb-db"):
        yield dead(f"{name}-killed-for-good", killed_for_good(part_of(site, name)), name, controller)
    named = "ovn-controller ovsdb"
    full = external_id(compute, "hostname", f"{compute}.{DOMAIN}")
    yield Wrong("chassis-under-its-full-name", NAMES, full, named, compute)
    old = external_id(compute, "ovn-remote", f"tcp:{GONE}:6642")
    yield Wrong("chassis-asks-the-southbound-of-old", SETTING, old, named, compute)
    # Left by somebody who kept a guest away from all others
    switches = "for row in $(ovn-nbctl --bare --columns=_uuid find logical_switch); do ovn-nbctl {}; done"
    rule = by_several(
        controller,
        switches.format(f"--type=switch acl-add $row {QUARANTINE} drop"),
        switches.format(f"acl-del $row {QUARANTINE}"),
    )
    yield Wrong("ovn-nb-quarantine-of-all", CONTENTS, rule, NORTHBOUND, controller, moment=NETWORKED)


# Requests that nobody can satisfy


def requests():
    rack = partial(offering_flavor, memory=1_500_000, processors=1, disk=1, specs={})
    yield request("flavor-of-a-whole-rack", rack, ("memory|RAM",), flavor=FLAVOR)
    # A trait that all clouds know, and that few hosts have
    specs = {"trait:HW_CPU_X86_AMD_SEV": "required"}
    sealed = partial(offering_flavor, memory=128, processors=1, disk=1, specs=specs)
    yield request("flavor-of-sealed-memory", sealed, ("SEV|trait",), flavor=FLAVOR)
    small, reason = partial(offering_flavor, memory=128, processors=1, disk=1, specs={}), ("disk",)
    yield request("image-larger-than-its-disk", small, reason, "image", image_min_disk=20, flavor=FLAVOR)


def requests_of_a_lab(site):
    yield request("last-public-address", one_public_address, ("address|IP|pool",), "floating")
    of_type = partial(used_up, project=site.project, service="volume", resource="gigabytes_ceph")
    reason = ("quota|limit|exceed", "gigabyte|volume|size")
    yield request("quota-of-a-type-of-volumes", of_type, reason, "volume")
