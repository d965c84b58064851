# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half third, which is drawn into no other half either, of both classes.

Most are what a change leaves behind that was half done: an upgrade, a move to TLS or to other pools, a settings file of
another site, a row that somebody repaired. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

from breaking import recovered
from catalogue_parts import LATER, Kind, Part, Wrong
from fresh import NORTHBOUND, dead, for_each, killed_again, part_of, with_drop_in
from second_fresh import rgw_of
from sites import ML2, NEUTRON
from ways_to_break import reporting, with_clients_restarted
from ways_to_set_wrong import (
    HOLDER,
    Unhurried,
    by,
    changed_rows,
    dropping,
    flow,
    in_settings,
    set_by_new_file,
    sql,
)
from wrong_conditions import without_access
from wrong_contents import CELLS, for_rows
from wrong_requests import full_inventories, request

CONTENTS, LIMITS, SETTING, SECRET = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.CREDENTIALS
CEPH = "/etc/ceph/ceph.conf"
POLICY = ("polic|forbid|not allowed|disallow|403",)
# Another host in the URL of the message queue
QUEUE_MOVED = r"s#^(transport_url *= *rabbit://[^@]+)@[^:/]+#\1@{}#"
ACCOUNTS = ("nova", "neutron", "placement", "keystone", "glance", "cinder")


def third_fresh_of(site):
    """All these faults of a lab."""
    yield from dead_of(site)
    yield from wrong_of_nova(site)
    yield from wrong_of_compute(site)
    yield from wrong_of_other_services(site)
    yield from wrong_identity(site)
    yield from wrong_rows(site)
    yield from wrong_in_ceph(site)
    yield from wrong_paths(site)
    yield from wrong_with_ovn(site) if site.is_ovn else wrong_with_agents(site)
    yield from requests()


# Ways


def port_taken(part, port, address="0.0.0.0"):
    """Another program listens where a part wants to."""
    names = " ".join(part.services)
    server = f"python3 -m http.server --bind {address} --directory /mnt {port}"
    make = (
        f"systemctl stop {names} && systemd-run --quiet --unit={HOLDER} {server} && sleep 2"
        f" && systemctl is-active {HOLDER} && (systemctl start {names} || true)"
    )
    back = (
        f"systemctl stop {HOLDER}.service; systemctl reset-failed {HOLDER}.service {names};"
        f" systemctl restart {names} && sleep 5"
    )
    return by(part.host, make, back)


@contextlib.contextmanager
def cleaned(lab, fault, host, command):
    """A fault that leaves something behind, which a command removes."""
    try:
        with fault(lab):
            yield
    finally:
        lab.run(host, command)


@contextlib.contextmanager
def agent_renamed(lab, part, name):
    """An agent reports with the name of another host. The row of that name goes before the lab has to be well."""
    network = lab.admin.network
    renamed = in_settings(part, ("DEFAULT", "host", name), path=NEUTRON)
    with recovered(lab, part.host, reporting(part)):
        try:
            with renamed(Unhurried(lab)):
                yield
        finally:
            for agent in list(network.agents(host=name)):
                network.delete_agent(agent)


# What does not run, or runs and does nothing


def dead_of(site):
    controller, compute = site.controller, site.compute
    lines = "ExecStartPre=/bin/sleep 3600\\nTimeoutStartSec=infinity"
    waits = partial(with_drop_in, part=part_of(site, "nova-compute"), lines=lines)
    yield dead("nova-compute-waits-before-its-start", waits, "nova-compute", compute)
    # As somebody leaves it who has begun to use the daemons that libvirt has for each driver
    units = "libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd.service"
    back = f"systemctl unmask --runtime {units}; systemctl reset-failed libvirtd; systemctl start {units}"
    yield dead("libvirtd-masked", by(compute, f"systemctl mask --runtime --now {units}", back), "libvirt", compute)
    back = "rabbitmqctl start_app && systemctl restart nova-conductor nova-scheduler"
    yield dead("rabbitmq-application-stopped", by(controller, "rabbitmqctl stop_app", back), "rabbitmq", controller)
    killed = killed_again(controller, "nova-scheduler")
    yield dead("nova-scheduler-killed-at-once", killed, "nova-scheduler", controller)
    database = part_of(site, "database")
    local = partial(
        set_by_new_file,
        part=database,
        path="/etc/mysql/mariadb.conf.d/99-server.cnf",
        text="[mysqld]\nbind-address = 127.0.0.1",
    )
    clients = tuple(unit for part in site.parts if part.host == controller and part.settings for unit in part.services)
    loopback = partial(with_clients_restarted, part=replace(database, clients=clients), fault=local)
    yield dead("database-listens-on-loopback", loopback, "database", controller)
    alone = partial(with_drop_in, part=part_of(site, "nova-api-metadata"), lines="PrivateNetwork=yes")
    yield dead("nova-api-metadata-in-a-private-network", alone, "nova-api-metadata", controller)
    placement = part_of(site, "placement-api")
    yield dead("placement-api-port-taken", port_taken(placement, placement.port), placement.component, controller)
    if site.is_ovn:
        blind = partial(with_drop_in, part=part_of(site, "ovn-controller"), lines="InaccessiblePaths=/run/openvswitch")
        yield dead("ovn-controller-without-its-switch", blind, "ovn-controller", compute)
    else:
        agent = part_of(site, "neutron-l2-agent", compute)
        taken = port_taken(agent, 6633, "127.0.0.1")
        yield dead(f"neutron-l2-agent-{compute}-openflow-port-taken", taken, agent.component, compute)


# What runs and is wrong


def wrong_of_nova(site):
    """Services of Nova on the controller."""
    controller = site.controller
    conductor, scheduler = part_of(site, "nova-conductor"), part_of(site, "nova-scheduler")
    pinned = in_settings(conductor, ("upgrade_levels", "compute", "newton"))
    yield Wrong("nova-conductor-pinned-to-old-computes", SETTING, pinned, conductor.component, controller)
    isolated = in_settings(
        scheduler,
        ("filter_scheduler", "enabled_filters", "ComputeFilter,IsolatedHostsFilter"),
        ("filter_scheduler", "isolated_hosts", f"{site.compute},{site.other}"),
    )
    name, reason = "nova-scheduler-hosts-isolated", ("isolat",)
    yield Wrong(name, SETTING, isolated, scheduler.component, controller, reason, "anywhere")
    paste = in_settings(
        part_of(site, "nova-api"),
        r"s#keystonemiddleware\.auth_token#keystoneclient.middleware.auth_token#",
        path="/etc/nova/api-paste.ini",
    )
    yield Wrong("nova-api-with-an-old-pipeline", SETTING, paste, "nova-api", controller)
    metadata = part_of(site, "nova-api-metadata")
    other_cell = in_settings(
        metadata,
        ("api", "local_metadata_per_cell", "true"),
        r"/^\[database\]/,/^\[/s#^(connection *= *.*)/nova\?#\1/nova_cell0?#",
    )
    # It writes itself down in the database that it is given.
    row = sql(site.mysql, "DELETE FROM nova_cell0.services WHERE `binary`='nova-metadata'")
    cell = partial(cleaned, fault=other_cell, host=controller, command=row)
    yield Wrong("nova-api-metadata-of-another-cell", SETTING, cell, metadata.component, controller)


def wrong_of_compute(site):
    compute, other, part = site.compute, site.addresses[site.other], part_of(site, "nova-compute")
    monitors = in_settings(part, f"s#^mon_host = .*#mon_host = [v2:{other}:3300,v1:{other}:6789]#", path=CEPH)
    yield Wrong("nova-compute-monitors-of-another-cluster", SETTING, monitors, part.component, compute)
    plugging = in_settings(part, ("os_vif_ovs", "ovsdb_connection", "tcp:127.0.0.1:6699"))
    yield Wrong("nova-compute-plugs-at-another-port", SETTING, plugging, part.component, compute)
    durable = in_settings(part, ("oslo_messaging_rabbit", "amqp_durable_queues", "true"))
    yield Wrong("nova-compute-durable-queues", SETTING, durable, part.component, compute)


def wrong_of_other_services(site):
    controller, storage = site.controller, site.storage
    server = part_of(site, "neutron-server")
    # The first octet is that of a group, and libvirt takes no such address for a guest.
    addresses = in_settings(server, ("DEFAULT", "base_mac", "fb:16:3e:00:00:00"))
    yield Wrong("neutron-server-addresses-of-groups", SETTING, addresses, server.component, controller)
    groups = in_settings(server, ("securitygroup", "enable_security_group", "false"), path=ML2)
    yield Wrong("neutron-server-without-security-groups", SETTING, groups, server.component, controller)
    volumes = part_of(site, "cinder-api")
    rule = '"volume:attachment_create": "role:nobody"'
    policy = partial(set_by_new_file, part=volumes, path="/etc/cinder/policy.yaml", text=rule)
    name = "cinder-api-policy-of-attachments"
    yield Wrong(name, SETTING, policy, volumes.component, controller, POLICY, "connected")
    images = part_of(site, "glance-api")
    rights = partial(without_access, host=controller, path=images.settings, restarted=[images])
    yield Wrong("glance-api-settings-of-root", Kind.PERMISSIONS, rights, images.component, controller)
    roles = in_settings(rgw_of(site), r"s#^(rgw_keystone_accepted_roles *=).*#\1 operator#")
    yield Wrong("ceph-rgw-accepts-other-roles", SETTING, roles, "ceph-rgw", storage, needs="image")


def wrong_identity(site):
    controller, compute, keystone = site.controller, site.compute, part_of(site, "keystone")
    short = in_settings(keystone, ("identity", "max_password_length", "8"))
    yield Wrong("keystone-cuts-passwords", LIMITS, short, keystone.component, controller)
    rule = '"identity:validate_token": "role:nobody"'
    policy = partial(set_by_new_file, part=keystone, path="/etc/keystone/policy.yaml", text=rule)
    yield Wrong("keystone-policy-of-tokens", SETTING, policy, keystone.component, controller, POLICY)
    # Who has a token keeps it, so the services restart.
    units = tuple(unit for name in CELLS.split() for unit in part_of(site, name).services)
    rows = (
        "UPDATE keystone.password p JOIN keystone.local_user l ON l.id=p.local_user_id"
        " SET p.expires_at={}, p.expires_at_int={} WHERE l.name='nova'"
    )
    expired = changed_rows(
        site,
        rows.format("'2026-01-01 00:00:00'", "1767225600000000"),
        rows.format("NULL", "NULL"),
        Part("nova-api", controller, units),
    )
    accounts = f"keystone {CELLS} nova-api-metadata nova-compute"
    yield Wrong("account-nova-password-expired", SECRET, expired, accounts, f"{controller} {compute}")


def wrong_rows(site):
    controller, compute = site.controller, site.compute
    # In one packet there is not even room for a row of a server.
    kept = "/root/catalogue-packets.sql"
    before = (
        "SELECT CONCAT('SET GLOBAL max_allowed_packet=', @@GLOBAL.max_allowed_packet,"
        " ', GLOBAL net_buffer_length=', @@GLOBAL.net_buffer_length)"
    )
    small = "SET GLOBAL net_buffer_length=1024, GLOBAL max_allowed_packet=1024"
    kill = "; ".join(f"({sql(site.mysql, f'KILL USER {user}')} || true)" for user in ACCOUNTS)
    read = f"{sql(f'{site.mysql} --batch --skip-column-names', before)} > {kept} && test -s {kept}"
    packets = by(
        controller,
        f"{read} && {sql(site.mysql, small)} && {{ {kill}; }}",
        f"{site.mysql} < {kept} && rm {kept} && {{ {kill}; }}",
    )
    yield Wrong("database-small-packets", LIMITS, packets, "database", controller)
    # As after a host was reinstalled: the provider has the host's name, and the uuid of no compute node.
    kept, table = "placement.kept_providers", "placement.resource_providers"
    provider = changed_rows(
        site,
        f"CREATE TABLE {kept} AS SELECT id, uuid FROM {table} WHERE name='{compute}';"
        f" UPDATE {table} SET uuid=UUID() WHERE name='{compute}'",
        f"UPDATE {table} p JOIN {kept} k USING (id) SET p.uuid=k.uuid; DROP TABLE {kept}",
    )
    named, hosts = "placement-api database nova-compute", f"{controller} {compute}"
    yield Wrong(f"provider-of-{compute}-with-another-uuid", CONTENTS, provider, named, hosts)
    of_compute = f"host='{compute}' AND `binary`='nova-compute'"
    service = changed_rows(
        site,
        f"UPDATE nova.services SET deleted=id, deleted_at=UTC_TIMESTAMP() WHERE {of_compute} AND deleted=0",
        "UPDATE nova.services SET deleted=0, deleted_at=NULL"
        f" WHERE {of_compute} AND deleted=id ORDER BY id DESC LIMIT 1",
    )
    yield Wrong(f"service-of-{compute}-deleted", CONTENTS, service, f"{CELLS} database nova-compute", hosts)
    images = "UPDATE glance.images SET disk_format='{}' WHERE name='probe' AND disk_format='{}'"
    typed = changed_rows(site, images.format("qcow2", "raw"), images.format("raw", "qcow2"))
    name, reason = "image-of-another-format", ("format|image.*unacceptable",)
    yield Wrong(name, CONTENTS, typed, "glance-api database", controller, reason)
    rules = "UPDATE neutron.securitygroupdefaultrules SET used_in_non_default_sg={} WHERE direction='egress'"
    egress = changed_rows(site, rules.format(0), rules.format(1))
    name, reason = "new-security-groups-without-egress", ("security.?group|egress",)
    yield Wrong(name, CONTENTS, egress, "neutron-server database", controller, reason)


def wrong_in_ceph(site):
    storage = site.storage
    # A rule whose root has no disk, as for a class of disks that was taken out
    rule = by(
        storage,
        "ceph osd crush add-bucket catalogue root && ceph osd crush rule create-replicated catalogue catalogue osd"
        " && ceph osd pool set vms crush_rule catalogue && sleep 5",
        "ceph osd pool set vms crush_rule replicated_rule; ceph osd crush rule rm catalogue;"
        " ceph osd crush rm catalogue; sleep 8",
    )
    yield Wrong("ceph-pool-with-a-rule-of-no-disk", CONTENTS, rule, "ceph-osd ceph-mon", storage)
    kept = "/root/catalogue-snapshots"
    purge = (
        f"rm -f {kept}; for image in $(rbd --pool images ls); do"
        " rbd snap unprotect images/$image@snap; rbd snap rm images/$image@snap"
        f" && echo $image >> {kept}; done; test -s {kept}"
    )
    again = (
        f"for image in $(cat {kept}); do rbd snap create images/$image@snap;"
        f" rbd snap protect images/$image@snap; done; rm {kept}"
    )
    hosts, named = f"{storage} {site.controller}", "glance-api ceph-osd ceph-mon"
    yield Wrong("image-snapshots-purged", CONTENTS, by(storage, purge, again), named, hosts, ("image",))


def wrong_paths(site):
    compute, network = site.compute, site.network
    rule = "OUTPUT --table nat --protocol tcp --dport 9696 --jump REDIRECT --to-ports 3128"
    name = f"redirect-of-neutron-on-{compute}"
    yield Wrong(name, Kind.PATH, dropping(compute, rule), "nova-compute", compute)
    switched = "data-network ovsdb " + ("ovn-controller" if site.is_ovn else "neutron-l2-agent")
    name = f"ovs-{network}-external-bridge-drops-arp"
    yield Wrong(name, CONTENTS, flow(network, "br-ex", "arp"), switched, network, needs="floating")


def wrong_with_agents(site):
    compute, network = site.compute, site.network
    old = site.addresses[site.storage]
    agent = part_of(site, "neutron-l2-agent", compute)
    renamed = partial(agent_renamed, part=agent, name="compute-old")
    yield Wrong(f"neutron-l2-agent-{compute}-of-another-host", SETTING, renamed, agent.component, compute)
    leases = in_settings(part_of(site, "neutron-dhcp-agent"), ("DEFAULT", "dnsmasq_lease_max", "0"))
    yield Wrong("dnsmasq-without-leases", LIMITS, leases, "neutron-dhcp-agent dnsmasq", network)
    for name in ("neutron-metadata-agent", "neutron-server"):
        part = part_of(site, name)
        moved = in_settings(part, QUEUE_MOVED.format(old), path=NEUTRON)
        yield Wrong(f"{name}-at-an-old-queue", SETTING, moved, name, part.host)
    back = f"ovs-vsctl set-controller br-int tcp:127.0.0.1:6633; systemctl restart {agent.services[0]}; sleep 12"
    another = by(compute, "ovs-vsctl set-controller br-int tcp:127.0.0.1:6699", back)
    name = f"ovs-{compute}-of-another-controller"
    yield Wrong(name, CONTENTS, another, "ovsdb neutron-l2-agent", compute)


def wrong_with_ovn(site):
    controller, compute = site.controller, site.compute
    option = "default_acl_drop"
    drops = by(
        controller,
        f"ovn-nbctl set nb_global . options:{option}=true",
        f"ovn-nbctl remove nb_global . options {option}",
    )
    yield Wrong("ovn-nb-drops-by-default", CONTENTS, drops, f"ovn-northd {NORTHBOUND}", controller)
    # Two chassis may not have one address, so a host that was reinstalled under another name cannot register.
    stale = f"{compute}-old"
    address = f"address=$(ovn-sbctl --bare --columns=ip find encap chassis_name={compute} type=geneve)"
    taken = by(
        controller,
        f'{address} && test -n "$address" && ovn-sbctl chassis-del {compute} -- chassis-add {stale} geneve $address',
        f"ovn-sbctl --if-exists chassis-del {stale}",
        part_of(site, "ovn-controller"),
    )
    named, hosts = "ovn-controller ovn-sb-db", f"{compute} {controller}"
    yield Wrong(f"chassis-of-old-has-address-of-{compute}", CONTENTS, taken, named, hosts)
    # ovn-controller prefers what is set for its chassis to what is set for all.
    key = f"ovn-bridge-mappings-{compute}"
    override = by(
        compute,
        f"ovs-vsctl set open_vswitch . external_ids:{key}=public:br-provider",
        f"ovs-vsctl remove open_vswitch . external_ids {key}",
    )
    name, components = "chassis-mappings-overridden", "ovn-controller ovsdb"
    yield Wrong(name, SETTING, override, components, compute, needs="floating")
    rows = [
        for_each("logical_router", "", f"lr-policy-{command}")
        for command in ("add $row 32000 ip4 drop", "del $row 32000 ip4")
    ]
    policy = by(controller, rows[0], f"{rows[1]} || true")
    yield Wrong("ovn-nb-router-policy-drops", CONTENTS, policy, NORTHBOUND, controller, moment=LATER)
    allowed = "02:00:00:00:00:99 192.168.222.77"
    secure = for_each("logical_switch_port", 'type=\\"\\"', f"lsp-set-port-security $row '{allowed}'")
    own = 'lsp-set-port-security $row "$(ovn-nbctl lsp-get-addresses $row)"'
    again = for_rows("logical_switch_port", f"'port_security{{>=}}\"{allowed}\"'", own)
    secured = by(controller, secure, again)
    name = "ovn-nb-port-secured-for-another"
    yield Wrong(name, CONTENTS, secured, NORTHBOUND, controller, moment=LATER)


# Requests that nobody can satisfy


def requests():
    units = partial(full_inventories, kind="VCPU", change="min_unit")
    yield request("placement-processors-smallest-unit", units, ("VCPU|CPU",))
