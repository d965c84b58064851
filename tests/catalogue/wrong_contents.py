# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong contents: of Keystone, Nova's cells, Neutron's and Cinder's tables, Ceph, the queue, Open vSwitch and OVN."""

from __future__ import annotations

from functools import partial

from catalogue_parts import BEFORE, DURING, LATER, NETWORKED, UPLOADED, Kind, Part, Wrong
from ways_to_set_wrong import (
    agent_down,
    by,
    changed_rows,
    computes_off,
    endpoint_off,
    external_id,
    fewer_rights,
    flow,
    held,
    kept_value,
    moved_endpoint,
    other_bridge,
    other_password,
    renamed_chassis,
    sql,
    volume_service_off,
    without_role,
)

CONTENTS, LIMITS, LOCKS, SECRET = Kind.CONTENTS, Kind.LIMITS, Kind.LOCKS, Kind.CREDENTIALS
# Who answers for the rows of Nova's cells, and for those of OVN's northbound database
CELLS = "nova-api nova-conductor nova-scheduler"
NORTHBOUND = "ovn-nb-db neutron-server"
# Services of the catalog: the name of a fault, the type, the port, another one, what a run needs, who reads it
ENDPOINTS = (
    ("network", "network", ":9696", ":9797", "", None),
    ("image", "image", ":9292", ":9393", "", None),
    ("compute", "compute", ":8774", ":8974", "", None),
    ("volume", "block-storage", ":8776", ":8976", "volume", None),
    ("placement", "placement", ":8778", ":8978", "anywhere", "nova-scheduler"),
)
# Users in the database and what they own: user, components, a run's needs
DATABASE_USERS = (
    ("nova", "nova-api nova-conductor nova-scheduler", ""),
    ("neutron", "neutron-server", ""),
    ("cinder", "cinder-api cinder-scheduler cinder-volume", "volume"),
    ("placement", "placement-api", ""),
    ("glance", "glance-api", "image"),
)
# Locks that a forgotten session holds: name, statement, what a run needs
HELD = (
    ("global-read-lock", "FLUSH TABLES WITH READ LOCK", ""),
    ("lock-on-instances", "LOCK TABLES nova.instances READ", ""),
    ("lock-on-ports", "LOCK TABLES neutron.ports READ", ""),
    ("lock-on-volumes", "LOCK TABLES cinder.volumes READ", "volume"),
    ("lock-on-build-requests", "LOCK TABLES nova_api.build_requests READ", ""),
    ("lock-on-images", "LOCK TABLES glance.images READ", "image"),
    ("rows-of-providers", "BEGIN; SELECT COUNT(*) FROM placement.resource_providers FOR UPDATE", ""),
    ("rows-of-vlans", "BEGIN; SELECT COUNT(*) FROM neutron.ml2_vlan_allocations FOR UPDATE", ""),
    ("rows-of-computes", "BEGIN; SELECT COUNT(*) FROM nova.compute_nodes FOR UPDATE", ""),
)


def contents(site):
    yield from catalog(site)
    yield from accounts(site)
    yield from cells(site)
    yield from database(site)
    yield from queue(site)
    yield from services(site)
    yield from switch(site)
    if site.storage:
        yield from ceph(site)
        yield from images(site)
    if site.is_ovn:
        yield from ovn(site)


def wrong(name, kind, make, components, hosts, **more):
    return Wrong(name, kind, make, components, hosts, **more)


# Keystone


def catalog(site):
    host = site.controller
    for name, service, find, put, needs, reader in ENDPOINTS:
        if not site.storage and (needs == "volume" or find != ":8778"):
            continue  # a devstack has paths behind one port in the place of ports
        restarted = site.parts_of(reader)[0] if reader else None
        changed = {"find": find, "put": put} if site.storage else {"find": "/placement", "put": "/placing"}
        make = partial(moved_endpoint, host=host, service=service, restarted=restarted, **changed)
        yield wrong(f"catalog-{name}-moved", CONTENTS, make, "keystone", host, needs=needs)
    for name, service, needs in (("image", "image", ""), ("network", "network", "")):
        make = partial(endpoint_off, host=host, service=service)
        reason = ("endpoint|catalog",)
        yield wrong(f"catalog-{name}-disabled", CONTENTS, make, "keystone", host, needs=needs, reason=reason)


def accounts(site):
    """Users of services whose role or password in Keystone is not what the services need."""
    users = (
        ("nova", CELLS, ["nova-api", "nova-conductor", "nova-scheduler"], ""),
        ("neutron", "neutron-server", ["neutron-server"], ""),
        ("placement", "placement-api", ["placement-api"], ""),
        ("glance", "glance-api", ["glance-api"], ""),
    )
    for user, components, names, needs in users:
        parts = [site.parts_of(name)[0] for name in names]
        units = [unit for part in parts for unit in part.services]
        named = (
            f"keystone {components} nova-api-metadata nova-compute"
            if user in ("nova", "neutron")
            else f"keystone {components}"
        )
        hosts = f"{site.controller} {site.compute}"
        path = parts[0].settings
        make = partial(other_password, host=site.controller, user=user, path=path, restarted=units)
        yield wrong(f"account-{user}-other-password", SECRET, make, named, hosts, needs=needs)
        if user in ("nova", "neutron"):
            make = partial(without_role, host=site.controller, user=user, role="admin", restarted=units)
            yield wrong(f"account-{user}-without-admin", SECRET, make, named, hosts, needs=needs)


# Nova's cells


def cells(site):
    host, scheduler = site.controller, site.parts_of("nova-scheduler")[0]
    conductor = site.parts_of("nova-conductor")[0]
    # The conductor that sends requests into the cells keeps where they are for as long as it runs. On a devstack it is
    # not the one of the cell.
    sender = conductor if site.storage else Part("nova-conductor", host, ("devstack@n-super-cond", *scheduler.units))
    table = "nova_api.cell_mappings"

    def of_cell(make, back, restarted):
        where = "WHERE name='cell1'"
        return changed_rows(site, f"UPDATE {table} SET {make} {where}", f"UPDATE {table} SET {back} {where}", restarted)

    disabled = of_cell("disabled=1", "disabled=0", scheduler)
    yield wrong("cell-disabled", CONTENTS, disabled, CELLS, host, reason=("cell",), needs="anywhere")
    queue = of_cell(
        "transport_url=REPLACE(transport_url,':5672/',':5699/')",
        "transport_url=REPLACE(transport_url,':5699/',':5672/')",
        sender,
    )
    yield wrong("cell-with-another-queue", CONTENTS, queue, CELLS, host)
    base = of_cell(
        "database_connection=REPLACE(database_connection,'?charset','_gone?charset')",
        "database_connection=REPLACE(database_connection,'_gone?charset','?charset')",
        scheduler,
    )
    yield wrong("cell-with-another-database", CONTENTS, base, CELLS, host, needs="anywhere")
    kept = "nova_api.kept_host_mappings"
    unmapped = changed_rows(
        site,
        f"CREATE TABLE {kept} AS SELECT * FROM nova_api.host_mappings; DELETE FROM nova_api.host_mappings",
        f"INSERT IGNORE INTO nova_api.host_mappings SELECT * FROM {kept}; DROP TABLE {kept}",
        scheduler,
    )
    yield wrong("hosts-in-no-cell", CONTENTS, unmapped, CELLS, host, reason=("cell|mapp",), needs="anywhere")


# The database itself


def database(site):
    host = site.controller
    for name, statement, needs in HELD:
        if needs and not site.storage:
            continue
        make = partial(held, host=host, statement=statement, mysql=site.mysql)
        moments = (BEFORE, DURING) if name in ("global-read-lock", "lock-on-instances", "lock-on-ports") else (BEFORE,)
        for moment in moments:
            yield wrong(f"database-{name}", LOCKS, make, "database", host, needs=needs, moment=moment)
    slow = changed_rows(site, "SET GLOBAL max_statement_time=0.001", "SET GLOBAL max_statement_time=0")
    yield wrong("database-statement-time", LIMITS, slow, "database", host)
    if not site.storage:
        return  # a devstack has one user of the database for all
    units = {
        name: [unit for one in names.split() for unit in site.parts_of(one)[0].services]
        for name, names, _needs in DATABASE_USERS
    }
    for user, components, needs in DATABASE_USERS:
        fewer = partial(fewer_rights, host=host, user=user, rights="SELECT", mysql=site.mysql, restarted=units[user])
        yield wrong(f"database-{user}-reads-only", SECRET, fewer, f"database {components}", host, needs=needs)
    for user, components, needs in DATABASE_USERS[:3]:
        few = f"ALTER USER '{user}'@'%' WITH MAX_USER_CONNECTIONS {{}}"
        restart = f"systemctl restart {' '.join(units[user])}"
        kill = f"({sql(site.mysql, f'KILL USER {user}')} || true)"
        make = f"{sql(site.mysql, few.format(1))} && {kill} && ({restart} || true)"
        limited = by(host, make, f"{sql(site.mysql, few.format(0))}; {restart}")
        yield wrong(f"database-{user}-one-connection", LIMITS, limited, f"database {components}", host, needs=needs)


# The message queue


def queue(site):
    host = site.controller
    user, vhost = ("openstack", "/") if site.storage else ("stackrabbit", "nova_cell1")
    close = f"(rabbitmqctl close_all_user_connections {user} catalogue || true)"
    all_rights = f"rabbitmqctl set_permissions --vhost {vhost} {user} '.*' '.*' '.*'"
    workers = ("nova-conductor", "nova-scheduler", "nova-compute", "neutron-l2-agent", "neutron-dhcp-agent")
    restart = "; ".join(
        f"systemctl reset-failed {unit}; systemctl restart {unit}"
        for name in workers[:2]
        for unit in site.parts_of(name)[0].services
    )

    def rights(name, configure, write, read, also=""):
        make = f"rabbitmqctl set_permissions --vhost {vhost} {user} '{configure}' '{write}' '{read}' && {close}"
        hosts = f"{host} {site.compute}" if also else host
        return wrong(
            f"rabbitmq-{name}",
            SECRET,
            by(host, make, f"{all_rights} && {close}; {restart}"),
            f"rabbitmq {also}".strip(),
            hosts,
        )

    yield rights("no-new-queues", "^nothing$", ".*", ".*")
    yield rights("compute-cannot-read", ".*", ".*", "^(?!compute).*", "nova-compute")
    yield rights("conductor-cannot-read", ".*", ".*", "^(?!conductor).*", "nova-conductor")
    yield rights("replies-cannot-be-written", ".*", "^(?!reply_).*", ".*")
    for name, limits in (("connections", '{"max-connections": 4}'), ("queues", '{"max-queues": 1}')):
        make = f"rabbitmqctl set_vhost_limits --vhost {vhost} '{limits}' && {close}"
        back = f"rabbitmqctl clear_vhost_limits --vhost {vhost} && {close}; {restart}"
        yield wrong(f"rabbitmq-few-{name}", LIMITS, by(host, make, back), "rabbitmq", host)
    make = f"rabbitmqctl set_user_limits {user} '{{\"max-channels\": 1}}' && {close}"
    back = f"rabbitmqctl clear_user_limits {user} all && {close}; {restart}"
    yield wrong("rabbitmq-one-channel", LIMITS, by(host, make, back), "rabbitmq", host)


# What an administrator has switched off


def services(site):
    computes = tuple(host for host in (site.compute, site.other) if host)
    off = partial(computes_off, hosts=computes, reason="maintenance")
    reason = ("disabled|maintenance",)
    all_hosts = " ".join(computes)
    yield wrong("computes-disabled", CONTENTS, off, "nova-compute", all_hosts, reason=reason, needs="anywhere")
    one = partial(computes_off, hosts=(site.compute,), reason="disk swap")
    reason = ("disabled|disk swap",)
    yield wrong("compute-disabled", CONTENTS, one, "nova-compute", site.compute, reason=reason)
    down = partial(computes_off, hosts=(site.compute,), reason="", forced=True)
    yield wrong("compute-forced-down", CONTENTS, down, "nova-compute", site.compute, reason=("forced",))
    if not site.is_ovn:
        agents = (
            ("neutron-l2-agent", "neutron-openvswitch-agent", site.compute, ""),
            ("neutron-dhcp-agent", "neutron-dhcp-agent", site.network, ""),
            ("neutron-l3-agent", "neutron-l3-agent", site.network, "floating"),
        )
        for component, binary, host, needs in agents:
            make = partial(agent_down, host=host, binary=binary)
            yield wrong(
                f"{component}-admin-down", CONTENTS, make, component, host, needs=needs, reason=("disabled|admin",)
            )
    if site.storage:
        for binary in ("cinder-volume", "cinder-scheduler"):
            make = partial(volume_service_off, host=site.controller, binary=binary)
            name, reason = f"{binary}-disabled", ("disabled",)
            yield wrong(name, CONTENTS, make, binary, site.controller, needs="volume", reason=reason)
        kept = "neutron.kept_vlan_allocations"
        vlans = changed_rows(
            site,
            f"CREATE TABLE {kept} AS SELECT * FROM neutron.ml2_vlan_allocations WHERE NOT allocated;"
            " UPDATE neutron.ml2_vlan_allocations SET allocated=1",
            "UPDATE neutron.ml2_vlan_allocations a JOIN neutron.kept_vlan_allocations k"
            " USING (physical_network, vlan_id) SET a.allocated=0; DROP TABLE neutron.kept_vlan_allocations",
        )
        yield wrong(
            "no-free-vlan", Kind.CAPACITY, vlans, reason=("VLAN|segment|tenant network",), components="", hosts=""
        )


# Ceph, and images


def ceph(site):
    storage = site.storage
    parts = "ceph-mon ceph-osd"

    def at(name, make, back, components=parts, hosts="", **more):
        return wrong(
            f"ceph-{name}",
            more.pop("kind", CONTENTS),
            by(storage, make, back),
            components,
            f"{storage} {hosts}".strip(),
            **more,
        )

    yield at(
        "pool-undersized",
        "ceph osd pool set vms size 2 && ceph osd pool set vms min_size 2 && sleep 5",
        "ceph osd pool set vms min_size 1; ceph osd pool set vms size 1 --yes-i-really-mean-it; sleep 5",
    )
    yield at(
        "pool-of-images-undersized",
        "ceph osd pool set images size 2 && ceph osd pool set images min_size 2 && sleep 5",
        "ceph osd pool set images min_size 1; ceph osd pool set images size 1 --yes-i-really-mean-it; sleep 5",
    )
    yield at(
        "pool-quota",
        "ceph osd pool set-quota vms max_objects 1 && sleep 8",
        "ceph osd pool set-quota vms max_objects 0 && sleep 8",
        kind=LIMITS,
    )
    yield at(
        "pool-of-volumes-quota",
        "ceph osd pool set-quota volumes max_objects 1 && sleep 8",
        "ceph osd pool set-quota volumes max_objects 0 && sleep 8",
        kind=LIMITS,
        needs="volume",
    )
    both = f"{parts} nova-compute"
    yield at("pool-renamed", "ceph osd pool rename vms vms-old", "ceph osd pool rename vms-old vms", both, site.compute)
    address = site.addresses[site.compute]
    yield at(
        "client-blocklisted",
        f"ceph osd blocklist range add {address}/32 3600",
        f"ceph osd blocklist range rm {address}/32; sleep 3",
        both,
        site.compute,
    )
    keys = (
        ("cinder", "vms", f"{parts} nova-compute libvirt", f"{site.compute}", ""),
        ("glance", "images", f"{parts} glance-api", f"{site.controller}", "ceph-image"),
        ("cinder", "volumes", f"{parts} cinder-volume", f"{site.controller}", "volume"),
    )
    for user, pool, components, hosts, needs in keys:
        file = f"/root/catalogue.{user}.key"
        poor = (
            "allow r"
            if user == "glance"
            else "profile rbd pool={}, profile rbd-read-only pool=images".format("volumes" if pool == "vms" else "vms")
        )
        make = f"ceph auth get client.{user} -o {file} && ceph auth caps client.{user} mon 'profile rbd' osd '{poor}'"
        back = f"ceph auth import -i {file} && rm {file}"
        yield at(f"caps-of-{user}-without-{pool}", make, back, components, hosts, kind=SECRET, needs=needs)
    rotated = "ceph auth get client.glance -o /root/catalogue.old.key"
    other = "s#key = .*#key = AQBpZ2lkAAAAABAAu7u7u7u7u7u7u7u7u7u7uw==#"
    rotate = f"sed '{other}' /root/catalogue.old.key > /root/catalogue.new.key"
    yield at(
        "key-of-glance-rotated",
        f"{rotated} && {rotate} && ceph auth import -i /root/catalogue.new.key",
        "ceph auth import -i /root/catalogue.old.key && rm /root/catalogue.old.key /root/catalogue.new.key",
        f"{parts} glance-api",
        site.controller,
        kind=SECRET,
        needs="ceph-image",
    )
    secret = (
        "virsh secret-set-value --secret $(virsh secret-list | awk 'NR == 3 {print $1}')"
        " --base64 AQBpZ2lkAAAAABAAu7u7u7u7u7u7u7u7u7u7uw=="
    )
    make = by(site.compute, secret, ". /etc/stackproof-lab/ceph-secret.sh")
    yield wrong("libvirt-secret-wrong", SECRET, make, "libvirt nova-compute", site.compute)


def images(site):
    """Rows of Glance that do not agree with its stores. Other images have no volume or network in their way."""
    host = site.controller
    moved = changed_rows(
        site,
        "UPDATE glance.image_locations SET value=REPLACE(value,'/images/','/imagery/')",
        "UPDATE glance.image_locations SET value=REPLACE(value,'/imagery/','/images/')",
    )
    glance = "glance-api database"
    yield wrong("image-location-wrong", CONTENTS, moved, glance, host, reason=("image.*location",))
    for name, changed in (("checksum", "os_hash_value=REPEAT('0',128), checksum=REPEAT('0',32)"),):
        make = changed_rows(site, f"UPDATE glance.images SET {changed} WHERE name LIKE 'stackproof-%'", "SELECT 1")
        reason = ("checksum|hash|corrupt",)
        yield wrong(f"image-{name}-wrong", CONTENTS, make, glance, host, reason=reason, needs="image", moment=UPLOADED)
    lost = "rbd --pool images ls | grep -v -e '-lost$'"
    make = by(
        site.storage,
        f"for image in $({lost}); do rbd mv images/$image images/$image-lost; done",
        "for image in $(rbd --pool images ls | grep -e '-lost$'); do rbd mv images/$image images/${image%-lost}; done",
    )
    hosts = f"{site.storage} {host}"
    yield wrong("image-data-renamed", CONTENTS, make, "glance-api ceph-osd ceph-mon", hosts, reason=("image",))


# Open vSwitch


def switch(site):
    compute, network = site.compute, site.network
    switched = "ovsdb ovn-controller data-network" if site.is_ovn else "ovsdb neutron-l2-agent data-network"
    bridge = "br-ex"

    def at(host, name, make, back, components=switched, **more):
        suffix = f"-{host}" if site.network else ""
        return wrong(f"ovs{suffix}-{name}", CONTENTS, by(host, make, back), components, host, **more)

    if site.network:
        for host in (compute, network):
            needs = "floating" if site.is_ovn and host == network else ""
            yield at(
                host,
                "uplink-trunks",
                "ovs-vsctl set port eth1 trunks=4000",
                "ovs-vsctl clear port eth1 trunks",
                needs=needs,
            )
            yield at(
                host,
                "uplink-in-no-bridge",
                f"ovs-vsctl del-port {bridge} eth1",
                f"ovs-vsctl --may-exist add-port {bridge} eth1",
                needs=needs,
            )
        make = partial(
            kept_value,
            host=compute,
            get="ovs-vsctl get-manager | head -n 1",
            put="ovs-vsctl del-manager; test {0} = none || ovs-vsctl set-manager {0}",
            value="ptcp:6699:127.0.0.1",
        )
        yield wrong(f"ovs-{compute}-manager-moved", CONTENTS, make, f"ovsdb {switched}", compute)
    old = "ovs-vsctl set bridge br-int protocols=OpenFlow10"
    back = "ovs-vsctl set bridge br-int protocols={}".format(
        "OpenFlow15" if site.is_ovn else "OpenFlow10,OpenFlow13,OpenFlow14"
    )
    yield at(compute, "old-openflow", old, back)
    dropped = (
        ("dhcp-dropped", "udp,tp_src=68,tp_dst=67"), ("arp-dropped", "arp"),
        ("metadata-dropped", "tcp,nw_dst=169.254.169.254,tp_dst=80"), ("ping-dropped", "icmp"),
    )  # fmt: skip
    for name, match in dropped:
        for host in [compute, *([network] if network and not site.is_ovn else [])]:
            suffix = f"-{host}" if site.network else ""
            make = flow(host, "br-int", match)
            yield wrong(f"ovs{suffix}-{name}", CONTENTS, make, switched, host)
    if not site.is_ovn:
        tags = "for port in $(ovs-vsctl list-ports br-int | grep '^tap'); do ovs-vsctl set port $port tag=99; done"
        yield at(network, "tags", tags, "true", moment=LATER)
        for host in (compute, network):
            # The agent has made both ends; it makes them again when it restarts.
            agent = site.parts_of("neutron-l2-agent")[0].services[0]
            yield at(
                host,
                "patch-port-gone",
                "ovs-vsctl del-port br-int int-br-ex",
                f"systemctl restart {agent}; sleep 12",
            )


# OVN


def for_rows(table, condition, command):
    """A command of ovn-nbctl for each row. command: with $row for it."""
    return f"for row in $(ovn-nbctl --bare --columns=_uuid find {table} {condition}); do ovn-nbctl {command}; done"


def ovn(site):
    yield from chassis(site)
    yield from rows(site)
    yield from databases(site)
    if site.storage:
        yield metadata_veth(site)


def chassis(site):
    """Settings of a chassis in its Open vSwitch."""
    address = site.addresses[site.controller]
    elsewhere = site.addresses[site.other] if site.other else "10.255.255.9"
    values = [
        ("remote-is-northbound", "ovn-remote", f"tcp:{address}:6641"),
        ("remote-port", "ovn-remote", f"tcp:{address}:6643"),
        ("remote-is-unknown", "ovn-remote", "tcp:ovn.invalid:6642"),
        ("encap-ip-of-another", "ovn-encap-ip", elsewhere),
        ("encap-type", "ovn-encap-type", "vxlan"),
        ("hostname", "hostname", "another-host"),
        ("bridge-mappings", "ovn-bridge-mappings", "provider:br-ex"),
    ]
    if site.storage:
        values.append(("datapath-type", "ovn-bridge-datapath-type", "system"))
    host, setting, components = site.compute, Kind.SETTINGS, "ovn-controller ovsdb"
    for name, key, value in values:
        yield wrong(f"chassis-{name}", setting, external_id(host, key, value), components, host)
    renamed = partial(renamed_chassis, host=host, controller=site.controller, name="renamed")
    yield wrong("chassis-system-id", setting, renamed, components, host)
    yield wrong("chassis-bridge", setting, other_bridge(host, "br-integration"), components, host)
    if site.network:
        for name, key, value in (
            ("bridge-mappings", "ovn-bridge-mappings", "provider:br-ex"),
            ("not-a-gateway", "ovn-cms-options", "none"),
            ("remote-is-northbound", "ovn-remote", f"tcp:{address}:6641"),
        ):
            make = external_id(site.network, key, value)
            yield wrong(f"chassis-{site.network}-{name}", setting, make, components, site.network, needs="floating")


def metadata_veth(site):
    """The wire between the switch and the namespace of the metadata proxy is gone once the server runs."""
    make = (
        "for space in $(ip netns list | grep -o '^ovnmeta-[^ ]*'); do"
        " for link in $(ip -n $space -o link show type veth | grep -o 'tap[^@]*'); do"
        " ip -n $space link del $link; done; done"
    )
    components = "neutron-ovn-metadata-agent ovsdb"
    return wrong("metadata-veth-gone", CONTENTS, by(site.compute, make, "true"), components, site.compute, moment=LATER)


def rows(site):
    """Rows of the northbound database. Those of the run's own network exist once the run has made it."""
    host = site.controller

    def row(name, make, back="true", **more):
        more = {"moment": NETWORKED, **more}
        return wrong(f"ovn-nb-{name}", CONTENTS, by(host, make, back), NORTHBOUND, host, **more)

    yield row("dhcp-options-deleted", for_rows("dhcp_options", "cidr!=none", "dhcp-options-del $row"))
    yield row(
        "dhcp-options-without-server",
        for_rows("dhcp_options", "cidr!=none", "remove dhcp_options $row options server_mac"),
    )
    yield row(
        "dhcp-route-wrong",
        for_rows(
            "dhcp_options",
            "cidr!=none",
            "set dhcp_options $row 'options:classless_static_route=\"{169.254.169.254/32,192.168.222.77}\"'",
        ),
    )
    yield row(
        "localnet-name",
        for_rows("logical_switch_port", "type=localnet", "set logical_switch_port $row options:network_name=provider"),
        for_rows("logical_switch_port", "type=localnet", "set logical_switch_port $row options:network_name=public"),
        needs="floating",
    )
    yield row(
        "acl-drops-dhcp",
        "for row in $(ovn-nbctl --bare --columns=_uuid find logical_switch); do"
        " ovn-nbctl --type=switch acl-add $row from-lport 32767 'udp.src == 68 && udp.dst == 67' drop; done",
        "for row in $(ovn-nbctl --bare --columns=_uuid find logical_switch); do"
        " ovn-nbctl acl-del $row from-lport 32767 'udp.src == 68 && udp.dst == 67'; done",
    )
    yield row(
        "acl-drops-metadata",
        "for row in $(ovn-nbctl --bare --columns=_uuid find logical_switch); do"
        " ovn-nbctl --type=switch acl-add $row from-lport 32767 'ip4.dst == 169.254.169.254' drop; done",
        "for row in $(ovn-nbctl --bare --columns=_uuid find logical_switch); do"
        " ovn-nbctl acl-del $row from-lport 32767 'ip4.dst == 169.254.169.254'; done",
    )
    yield row(
        "metadata-port-gone",
        for_rows("logical_switch_port", "type=localport", "lsp-del $row"),
    )
    yield row(
        "port-disabled",
        'for port in $(ovn-nbctl --bare --columns=_uuid find logical_switch_port type=\\"\\"); do'
        " ovn-nbctl set logical_switch_port $port enabled=false; done",
        moment=LATER,
    )
    if site.network:
        yield row(
            "gateway-chassis-gone",
            "for port in $(ovn-nbctl --bare --columns=name find logical_router_port); do"
            " ovn-nbctl clear logical_router_port $port gateway_chassis ha_chassis_group; done",
            needs="connected",
            moment=LATER,
        )
    backoff = "ovn-nbctl set nb_global . options:northd-backoff-interval-ms=90000"
    make = by(host, backoff, "ovn-nbctl remove nb_global . options northd-backoff-interval-ms")
    yield wrong("ovn-northd-backoff", Kind.SLOW, make, f"ovn-northd {NORTHBOUND}", host)


def databases(site):
    host = site.controller
    northd = by(host, "ovn-appctl -t ovn-northd pause", "ovn-appctl -t ovn-northd resume")
    yield wrong("ovn-northd-paused", CONTENTS, northd, "ovn-northd", host)
    for name, database in (("nb", "ovnnb_db"), ("sb", "ovnsb_db")):
        ctl = f"ovn-appctl -t /var/run/ovn/{database}.ctl ovsdb-server"
        nowhere = f"{ctl}/set-active-ovsdb-server tcp:127.0.0.1:6699 && {ctl}/connect-active-ovsdb-server"
        back = f"{ctl}/disconnect-active-ovsdb-server"
        standby = by(host, nowhere, back)
        yield wrong(f"ovn-{name}-standby", CONTENTS, standby, f"ovn-{name}-db", host)
        port = {"nb": 6641, "sb": 6642}[name]
        remote = f"$({ctl}/list-remotes | grep tcp:{port})"
        kept = f"/root/catalogue-remote-{name}"
        make = f"echo {remote} > {kept} && test -s {kept} && {ctl}/remove-remote $(cat {kept})"
        unheard = by(host, make, f"{ctl}/add-remote $(cat {kept}) && rm {kept}")
        yield wrong(f"ovn-{name}-not-listening", Kind.SETTINGS, unheard, f"ovn-{name}-db", host)
    gone = by(host, f"ovn-sbctl --if-exists chassis-del {site.compute}", "true")
    yield wrong("ovn-sb-chassis-gone", CONTENTS, gone, "ovn-controller ovn-sb-db", f"{site.compute} {host}")
