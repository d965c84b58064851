# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half fifth, which is drawn into no other half either, of both classes, on a devstack, too.

Most are what an operator leaves to the next one: settings of another host, a policy that was tightened, a script of
somebody who has left, rows of an older copy of a database, and what a maintenance has not taken back. A fault without a
kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from functools import partial
from shlex import quote

from breaking import drop_in, recovered, undone
from catalogue_parts import NETWORKED, Kind, Wrong
from fourth_fresh import by_several
from fresh import NORTHBOUND, dead, for_each, part_of
from sites import DNSMASQ, ML2, NEUTRON
from third_fresh import POLICY
from ways_to_break import reporting
from ways_to_set_wrong import by, changed_rows, in_settings, set_by_new_file, sql
from wrong_contents import for_rows
from wrong_requests import FLAVOR, offering_flavor, request

CONTENTS, LIMITS, SETTING, SECRET = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.CREDENTIALS
LIBRARIES, LIBRARY = "/opt/catalogue", "oslo_messaging"
HOOKS, LIBVIRTD = "/etc/libvirt/hooks", "/etc/libvirt/libvirtd.conf"
# The domains that are defined beforehand: how many, and the beginning of their uuids
MANY, UUIDS = 30, "00000000-0000-4000-8000-"
# Neutron asks the chassis for a sign of life when its agents are listed, and not again within 37 seconds. After 75
# seconds without one it counts an agent as dead.
TURNS, TURN = 3, 40
ANSWERS = "enable_chassis_nb_cfg_update"
OLD_CONTROLLER = "controller-old"


def fifth_fresh_of(site):
    """All these faults of a lab or of a devstack."""
    yield from dead_of(site)
    yield from wrong_of_services(site)
    yield from wrong_of_nova(site)
    yield from wrong_at_the_hypervisor(site)
    yield from wrong_with_ovn(site) if site.is_ovn else wrong_with_agents(site)
    yield from wrong_of_a_lab(site) if site.storage else wrong_of_a_devstack(site)
    yield from requests(site)


# Ways


@contextlib.contextmanager
def with_lines(lab, part, lines, make="true", back="true"):
    """Lines of its unit's section of services are others, and it restarts with them, whether it comes up or not.

    make, back: commands for what the lines speak of.
    """
    unit = part.services[0]
    put, away = drop_in(unit, lines)
    make = f"{make} && {put} && (systemctl restart {unit} || true)"
    with recovered(lab, part.host, reporting(part)), undone(lab, part.host, make, f"{back}; {away}"):
        yield


def shadowed(part):
    """A folder of an older installation comes before the packages, with a library that lacks what is imported."""
    text = f"raise ImportError(\"cannot import name 'get_rpc_transport' from '{LIBRARY}' ({LIBRARIES}/{LIBRARY}.py)\")"
    make = f"mkdir -p {LIBRARIES} && printf '%s\\n' {quote(text)} > {LIBRARIES}/{LIBRARY}.py"
    lines = f"Environment=PYTHONPATH={LIBRARIES}"
    return partial(with_lines, part=part, lines=lines, make=make, back=f"rm -rf {LIBRARIES}")


@contextlib.contextmanager
def project_disabled(lab, host, name):
    """Nobody gets a token for a project, and those for it are void. memcached forgets what was valid before."""
    identity, forget = lab.admin.identity, "systemctl restart memcached"
    project = identity.find_project(name)
    with recovered(lab, host):
        try:
            identity.update_project(project, is_enabled=False)
            lab.run(host, forget)
            yield
        finally:
            identity.update_project(project, is_enabled=True)
            lab.run(host, forget)


def bindings_lost(site):
    """The exchange of Nova was lost with its bindings. Who sends makes it again, and who listens does not notice."""
    user, vhost = ("openstack", "/") if site.storage else ("stackrabbit", "nova_cell1")
    exchange = f'rabbit_misc:r(<<"{vhost}">>, exchange, <<"nova">>)'
    delete = f'rabbit_exchange:delete({exchange}, false, <<"catalogue">>).'
    bound = f"rabbitmqctl --quiet list_bindings --vhost {vhost} source_name | grep -qx nova"
    units = [unit for name in ("nova-conductor", "nova-scheduler") for unit in part_of(site, name).services]
    # A service binds its queues when it reconnects.
    reconnect = f"rabbitmqctl close_all_user_connections {user} catalogue; systemctl restart {' '.join(units)}; sleep 5"
    return by_several(site.controller, f"{bound} && rabbitmqctl eval {quote(delete)} && ! {bound}", reconnect)


@contextlib.contextmanager
def names_taken(lab, site):
    """The hypervisor has guests with the names of the next servers, as when the database is that of an older copy.

    A server's name there is made of the number of its row.
    """
    cell = "nova" if site.storage else "nova_cell1"
    rows = f"information_schema.tables WHERE table_schema='{cell}' AND table_name='instances'"
    number = lab.run(site.controller, sql(f"{site.mysql} -BN", f"SELECT auto_increment FROM {rows}"))
    following = int(number.split()[-1])
    define = (
        f"echo \"<domain type='qemu'><name>instance-$name</name><uuid>{UUIDS}0000$name</uuid>"
        "<memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os></domain>\""
        " | virsh --quiet define /dev/stdin || exit 1"
    )
    names = " ".join(f"{number:08x}" for number in range(following, following + MANY))
    back = f"for uuid in $(virsh --quiet list --all --uuid | grep '^{UUIDS}'); do virsh --quiet undefine $uuid; done"
    taken = by_several(site.compute, f"for name in {names}; do {define}; done", back)
    with taken(lab):
        yield


def hooked(site):
    """A script that libvirt calls before each guest refuses them all."""
    made, script = "/root/catalogue-hooks", '#!/bin/sh\n# The card of the old guests\ntest "$2" != prepare'
    make = (
        f"test ! -e {HOOKS}/qemu && (test -d {HOOKS} || {{ mkdir {HOOKS} && touch {made}; }})"
        f" && printf '%s\\n' {quote(script)} > {HOOKS}/qemu && chmod 755 {HOOKS}/qemu"
    )
    back = f"rm -f {HOOKS}/qemu; if test -e {made}; then rmdir {HOOKS}; rm {made}; fi"
    return by(site.compute, make, back, part_of(site, "libvirt"))


@contextlib.contextmanager
def chassis_that_do_not_answer(lab, host):
    """The chassis no longer write down how far they are, by which Neutron knows that they are alive."""
    make = f"ovn-nbctl set nb_global . options:{ANSWERS}=false"
    with recovered(lab, host), undone(lab, host, make, f"ovn-nbctl remove nb_global . options {ANSWERS}"):
        for _turn in range(TURNS):
            list(lab.admin.network.agents())
            lab.run(host, f"sleep {TURN}")
        yield


@contextlib.contextmanager
def private_type(lab):
    """A type of volumes that no project has been given."""
    volumes = lab.admin.block_storage
    made = volumes.create_type(name="catalogue", is_public=False, extra_specs={"volume_backend_name": "ceph"})
    try:
        yield
    finally:
        volumes.delete_type(made)


# What does not run, or crashes


def dead_of(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    # As it is after the second half of a line was lost
    devices = in_settings(part, ("pci", "device_spec", '{"vendor_id": "10de", "product_id":'))
    yield dead("nova-compute-devices-malformed", devices, part.component, compute)
    server, own = part_of(site, "neutron-server"), "ovn" if site.is_ovn else "openvswitch"
    drivers = in_settings(server, ("ml2", "mechanism_drivers", f"{own},baremetal"), path=ML2)
    yield dead("neutron-server-with-an-absent-driver", drivers, server.component, server.host)
    library = shadowed(part_of(site, "nova-conductor"))
    yield dead("nova-conductor-with-a-library-of-old", library, "nova-conductor", controller)
    quotes = in_settings(part_of(site, "libvirt"), "$ a auth_unix_rw = none", path=LIBVIRTD)
    yield dead("libvirtd-setting-without-quotes", quotes, "libvirt", compute)
    # Glance has no such pipeline any more.
    pipeline = in_settings(part_of(site, "glance-api"), ("paste_deploy", "flavor", "trusted-auth"))
    yield dead("glance-api-with-an-old-pipeline", pipeline, "glance-api", controller)
    folder = partial(with_lines, part=part_of(site, "nova-api-metadata"), lines="WorkingDirectory=/srv/nowhere")
    yield dead("nova-api-metadata-without-its-folder", folder, "nova-api-metadata", controller)
    if site.is_ovn:
        lines = "ExecStartPre=/usr/bin/test -e /etc/ovn/chassis-cert.pem"
        certificate = partial(with_lines, part=part_of(site, "ovn-controller"), lines=lines)
        yield dead("ovn-controller-wants-an-absent-certificate", certificate, "ovn-controller", compute)
    else:
        agent = part_of(site, "neutron-l2-agent", compute)
        firewall = in_settings(agent, ("securitygroup", "firewall_driver", "ovs_native"))
        yield dead(f"neutron-l2-agent-{compute}-with-an-unknown-firewall", firewall, agent.component, compute)


# What runs and is wrong


def wrong_of_services(site):
    controller, compute = site.controller, site.compute
    project = partial(project_disabled, host=controller, name="service")
    yield Wrong("project-of-services-disabled", CONTENTS, project, "keystone", controller)
    # As before the migration of the data that an upgrade of Placement asks for
    table = "placement.resource_providers"
    root = changed_rows(
        site,
        f"UPDATE {table} SET root_provider_id=NULL WHERE name='{compute}'",
        f"UPDATE {table} SET root_provider_id=id WHERE root_provider_id IS NULL AND parent_provider_id IS NULL",
    )
    yield Wrong(f"provider-of-{compute}-without-root", CONTENTS, root, "placement-api database", controller)
    yield Wrong("rabbitmq-bindings-lost", CONTENTS, bindings_lost(site), "rabbitmq", controller)


def wrong_of_nova(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    # Neutron tells Nova with it that a port is ready.
    rule = '"os_compute_api:os-server-external-events:create": "role:nobody"'
    events = partial(set_by_new_file, part=part_of(site, "nova-api"), path="/etc/nova/policy.yaml", text=rule)
    yield Wrong("nova-api-policy-of-events", SETTING, events, "nova-api", controller, POLICY)
    scheduler, option = part_of(site, "nova-scheduler"), "image_properties_default_architecture"
    architecture = in_settings(scheduler, ("filter_scheduler", option, "aarch64"))
    name, reason = "nova-scheduler-assumes-another-architecture", ("architecture|aarch64|ImagePropertiesFilter",)
    yield Wrong(name, SETTING, architecture, scheduler.component, controller, reason, "anywhere")
    slash = in_settings(part, ("DEFAULT", "instance_name_template", "guest/%08x"))
    yield Wrong("nova-compute-names-guests-with-a-slash", SETTING, slash, part.component, compute)
    processors = in_settings(part, ("compute", "cpu_shared_set", "900-901"))
    name = "nova-compute-processors-of-another-host"
    yield Wrong(name, SETTING, processors, part.component, compute, ("CPU",))


def wrong_at_the_hypervisor(site):
    compute = site.compute
    yield Wrong("libvirt-hook-left-behind", CONTENTS, hooked(site), "libvirt", compute)
    taken = partial(names_taken, site=site)
    yield Wrong(f"names-of-guests-taken-on-{compute}", CONTENTS, taken, "libvirt nova-compute", compute)


def wrong_of_a_lab(site):
    """What a devstack does not have: Ceph, volumes, and a user of the database for each service."""
    controller, compute, storage = site.controller, site.compute, site.storage
    images, rule = part_of(site, "glance-api"), '"download_image": "role:nobody"'
    downloads = partial(set_by_new_file, part=images, path="/etc/glance/policy.yaml", text=rule)
    yield Wrong("glance-api-policy-of-downloads", SETTING, downloads, images.component, controller, POLICY, "image")
    account, kill = "ALTER USER 'placement'@'%' ACCOUNT {}", sql(site.mysql, "KILL USER placement")
    lock, unlock = (sql(site.mysql, account.format(state)) for state in ("LOCK", "UNLOCK"))
    locked = by_several(controller, f"{lock} && ({kill} || true)", unlock)
    yield Wrong("database-account-of-placement-locked", SECRET, locked, "database placement-api", controller)
    # What is set for a pool holds for each disk in it. A guest reads some hundred times until it runs.
    limit = "vms rbd_qos_iops_limit"
    slow = by(storage, f"rbd config pool set {limit} 1", f"rbd config pool remove {limit}")
    yield Wrong("ceph-pool-of-few-requests", Kind.SLOW, slow, "ceph-osd ceph-mon", storage)
    filters = r"s#^filters_path *=.*#filters_path=/etc/nova/rootwrap.old#"
    rights = in_settings(part_of(site, "nova-compute"), filters, path="/etc/nova/rootwrap.conf")
    yield Wrong("nova-compute-rootwrap-without-filters", Kind.PERMISSIONS, rights, "nova-compute", compute)


def wrong_of_a_devstack(site):
    """Its agent of OVN serves metadata by an extension."""
    agent = part_of(site, "neutron-ovn-metadata-agent")
    others = in_settings(agent, ("agent", "extensions", "qos_hwol"))
    yield Wrong(f"{agent.component}-without-its-extension", SETTING, others, agent.component, agent.host)


def wrong_with_agents(site):
    compute, network = site.compute, site.network
    server, agent = part_of(site, "neutron-server"), part_of(site, "neutron-dhcp-agent")
    zone = in_settings(server, ("DEFAULT", "default_availability_zones", "mars"))
    yield Wrong("neutron-server-places-networks-in-an-unknown-zone", SETTING, zone, server.component, server.host)
    late = in_settings(agent, "$ a dhcp-reply-delay=120", path=DNSMASQ)
    yield Wrong("dnsmasq-offers-late", Kind.SLOW, late, "neutron-dhcp-agent dnsmasq", network)
    # It takes one for the rules in each namespace.
    locks = in_settings(agent, ("oslo_concurrency", "lock_path", "/proc/nowhere"), path=NEUTRON)
    yield Wrong("neutron-dhcp-agent-without-a-folder-of-locks", SETTING, locks, agent.component, network)
    switched = "ovsdb neutron-l2-agent data-network"
    # The agent looks after the flows of its own bridge alone. It makes all of them when it starts.
    again = f"systemctl restart {part_of(site, 'neutron-l2-agent', compute).services[0]}; sleep 12"
    flows = by(compute, "ovs-ofctl --protocols=OpenFlow13 del-flows br-ex", again)
    yield Wrong(f"ovs-{compute}-external-bridge-without-flows", CONTENTS, flows, switched, compute)
    # A port that gets copies carries nothing else. The row goes with the last bridge that names it.
    copies = (
        "ovs-vsctl -- --id=@uplink get port eth1 -- --id=@copies create mirror name=catalogue select_all=true"
        " output_port=@uplink -- set bridge br-ex mirrors=@copies"
    )
    mirror = by(compute, copies, "ovs-vsctl clear bridge br-ex mirrors")
    yield Wrong(f"ovs-{compute}-uplink-gets-copies", Kind.PATH, mirror, switched, compute)


def wrong_with_ovn(site):
    controller, compute = site.controller, site.compute
    # Neutron's workers share what OVN tells them, with those that do not exist, too.
    table = "neutron.ovn_hash_ring"
    workers = changed_rows(
        site,
        f"INSERT INTO {table} (node_uuid, group_name, hostname, created_at, updated_at)"
        f" SELECT UUID(), 'mechanism_driver', '{OLD_CONTROLLER}', UTC_TIMESTAMP(), UTC_TIMESTAMP() + INTERVAL 1 DAY"
        " FROM information_schema.columns LIMIT 90",
        f"DELETE FROM {table} WHERE hostname='{OLD_CONTROLLER}'",
        part_of(site, "neutron-server"),
    )
    yield Wrong("ovn-events-go-to-old-workers", CONTENTS, workers, "neutron-server database", controller)
    # One packet of DHCP has more than a kilobit.
    meter = by_several(
        controller,
        "ovn-nbctl meter-add catalogue drop 1 kbps && ovn-nbctl copp-add catalogue dhcpv4-opts catalogue && "
        + for_each("logical_switch", "", "ls-copp-add catalogue $row"),
        f"{for_rows('logical_switch', '', 'clear logical_switch $row copp')};"
        f" {for_rows('copp', 'name=catalogue', 'destroy copp $row')};"
        f" {for_rows('meter', 'name=catalogue', 'destroy meter $row')}",
    )
    yield Wrong("ovn-nb-meter-on-dhcp", LIMITS, meter, NORTHBOUND, controller, moment=NETWORKED)
    silent = partial(chassis_that_do_not_answer, host=controller)
    yield Wrong("ovn-nb-chassis-do-not-answer", SETTING, silent, NORTHBOUND, controller)
    kept, ids = "/root/catalogue-system-id", "open_vswitch . external_ids"
    nameless = by_several(
        compute,
        f"ovs-vsctl get {ids}:system-id > {kept} && ovs-vsctl remove {ids} system-id",
        f"if test -s {kept}; then ovs-vsctl set {ids}:system-id=$(cat {kept}); fi; rm -f {kept}",
    )
    yield Wrong("chassis-without-system-id", CONTENTS, nameless, "ovn-controller ovsdb", compute)


# Requests that nobody can satisfy


def requests(site):
    flavors = (
        ("realtime", 1, {"hw:cpu_realtime": "yes"}, "real.?time"),
        ("locked-memory", 1, {"hw:locked_memory": "true"}, "lock|page"),
        (
            "topology",
            2,
            {f"hw:cpu_max_{parts}": "1" for parts in ("sockets", "cores", "threads")},
            "topolog|socket|CPU limits|impossible",
        ),
    )
    for name, processors, specs, reason in flavors:
        make = partial(offering_flavor, memory=128, processors=processors, disk=1, specs=specs)
        yield request(f"flavor-{name}", make, (reason,), flavor=FLAVOR)
    if site.storage:
        reason = ("type|catalogue",)
        yield request("volume-type-private", private_type, reason, "volume", volume_type="catalogue")
