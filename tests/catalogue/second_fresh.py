# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half second, which is drawn into no other half either, of both classes.

Most are what somebody leaves behind: a setting for another host, a hardened unit, a row that was repaired by hand, a
rule that was meant for something else. A fault without a kind is of the class dead.
"""

from __future__ import annotations

from functools import partial

from catalogue_parts import NETWORKED, Kind, Part, Wrong
from fresh import (
    NORTHBOUND,
    at_the_broker,
    dead,
    done_again,
    for_each,
    killed_again,
    moved,
    part_of,
    with_drop_in,
    with_proxies,
)
from sites import DNSMASQ
from ways_to_set_wrong import (
    HOLDER,
    by,
    changed_rows,
    dropping,
    in_settings,
    kept_value,
    renamed_peer,
    set_by_new_file,
    set_option,
    sql,
    with_property,
    without_role,
    workers_frozen,
)
from wrong_contents import CELLS
from wrong_requests import FLAVOR, full_inventories, offering_flavor, prepared_network, request, used_up

CONTENTS, LIMITS, SETTING, SECRET = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.CREDENTIALS
CEPH, CINDER_KEYRING = "/etc/ceph/ceph.conf", "/etc/ceph/ceph.client.cinder.keyring"
OTHER_KEY = f"s#key = .*#key = AQBpZ2lkAAAAABAA{'u7' * 10}uw==#"
# Who on a compute host speaks to the controller
AROUND = "nova-compute neutron-l2-agent ovn-controller neutron-ovn-metadata-agent"
SB_SOCKET = "unix:/var/run/ovn/ovnsb_db.sock"
WAIT = "ovn-ofctrl-wait-before-clear"


def second_fresh_of(site):
    """All these faults of a lab."""
    yield from dead_of(site)
    yield from wrong_of_compute(site)
    yield from wrong_of_its_network(site)
    yield from wrong_of_services(site)
    yield from wrong_rows(site)
    yield from wrong_around_metadata(site)
    yield from wrong_with_ovn(site) if site.is_ovn else wrong_with_agents(site)
    yield from requests(site)


def rgw_of(site):
    return Part("ceph-rgw", site.storage, ("ceph-radosgw@rgw.a",), settings=CEPH)


# What does not run, or runs and does nothing


def dead_of(site):
    controller, compute, storage = site.controller, site.compute, site.storage
    elsewhere = in_settings(rgw_of(site), "s#beast port=7480#beast port=7481#")
    yield dead("ceph-rgw-listens-elsewhere", elsewhere, "ceph-rgw", storage, needs="image")
    seen = "pgrep -x qemu-system-x86 > /dev/null && systemctl kill --signal=KILL libvirtd && sleep 3"
    yield dead("libvirt-dies-with-each-guest", done_again(compute, seen), "libvirt", compute)
    unix = partial(with_drop_in, part=part_of(site, "nova-conductor"), lines="RestrictAddressFamilies=AF_UNIX")
    yield dead("nova-conductor-without-internet-sockets", unix, "nova-conductor", controller)
    yield dead("virtlogd-socket-gone", moved(compute, "/run/libvirt/virtlogd-sock"), "libvirt", compute)
    hung = partial(workers_frozen, part=part_of(site, "placement-api"), most=99)
    yield dead("placement-api-all-workers-hung", hung, "placement-api", controller)
    agent, proxies = with_proxies(site)
    frozen = done_again(agent.host, "pkill -STOP -x haproxy", "pkill -CONT -x haproxy; true")
    yield dead("haproxy-hung", frozen, proxies, agent.host)
    tasks = with_property(part_of(site, "nova-compute"), "TasksMax", "4")
    yield dead("nova-compute-without-threads-for-ceph", tasks, "nova-compute", compute)
    if site.is_ovn:
        ctl = "ovn-appctl -t ovn-controller debug"
        paused = by(compute, f"{ctl}/pause", f"{ctl}/resume")
        yield dead("ovn-controller-paused", paused, "ovn-controller", compute)
    else:
        killed = killed_again(agent.host, "dnsmasq")
        yield dead("dnsmasq-killed-at-once", killed, "neutron-dhcp-agent dnsmasq", agent.host)


# What runs and is wrong


def wrong_of_compute(site):
    compute, part = site.compute, part_of(site, "nova-compute")
    drive = in_settings(
        part, ("DEFAULT", "force_config_drive", "true"), ("DEFAULT", "mkisofs_cmd", "/usr/local/bin/mkisofs")
    )
    yield Wrong("nova-compute-config-drive-tool-absent", SETTING, drive, part.component, compute)
    console = in_settings(part, ("vnc", "enabled", "true"), ("vnc", "server_listen", site.addresses[site.other]))
    yield Wrong("nova-compute-console-of-another-host", SETTING, console, "nova-compute libvirt", compute)
    proxy = partial(with_drop_in, part=part, lines="Environment=http_proxy=http://127.0.0.1:3128")
    yield Wrong("nova-compute-behind-absent-proxy", SETTING, proxy, part.component, compute)
    read = partial(with_drop_in, part=part, lines="ReadOnlyPaths=/var/lib/nova/instances")
    yield Wrong("nova-compute-instances-read-only", Kind.PERMISSIONS, read, part.component, compute)
    # Who sees the refusal cannot tell whether the file has an old key, or the cluster a new one.
    keyring = in_settings(part, OTHER_KEY, path=CINDER_KEYRING)
    hosts = f"{compute} {site.storage}"
    yield Wrong("nova-compute-other-key-of-ceph", SECRET, keyring, "nova-compute ceph-mon ceph-osd", hosts)
    tasks = with_property(part_of(site, "libvirt"), "TasksMax", "1")
    yield Wrong("libvirt-may-start-no-process", LIMITS, tasks, "libvirt", compute)


def wrong_of_its_network(site):
    controller, compute = site.controller, site.compute
    address = f"{site.addresses[controller]}/32 dev lo"
    taken = by(compute, f"ip address add {address}", f"ip address del {address}")
    yield Wrong(f"address-of-controller-on-{compute}", Kind.NAMES, taken, AROUND, compute)
    rule = (
        f"INPUT --protocol tcp --syn --source {site.addresses[compute]} --dport 5672"
        " --match connlimit --connlimit-above 1 --connlimit-mask 32 --jump REJECT --reject-with tcp-reset"
    )
    few = dropping(controller, rule, part_of(site, "nova-compute"))
    name, hosts = f"firewall-of-rabbitmq-one-connection-of-{compute}", f"{controller} {compute}"
    yield Wrong(name, Kind.PATH, few, "nova-compute neutron-l2-agent rabbitmq", hosts)
    ctl = "ovs-appctl dpctl/ct-{}-maxconns"
    tracked = partial(kept_value, host=compute, get=ctl.format("get"), put=f"{ctl.format('set')} {{}}", value="1")
    switched = "ovsdb data-network " + ("ovn-controller" if site.is_ovn else "neutron-l2-agent")
    yield Wrong(f"ovs-{compute}-tracks-one-connection", LIMITS, tracked, switched, compute)


def wrong_of_services(site):
    controller, compute = site.controller, site.compute
    scheduler = part_of(site, "nova-scheduler")
    exchange = in_settings(scheduler, ("DEFAULT", "control_exchange", "nova-old"))
    yield Wrong("nova-scheduler-another-exchange", SETTING, exchange, scheduler.component, controller, (), "anywhere")
    open_to_all = in_settings(part_of(site, "placement-api"), ("api", "auth_strategy", "noauth2"))
    yield Wrong("placement-api-without-keystone", SETTING, open_to_all, "placement-api", controller)
    server, rule = part_of(site, "neutron-server"), '"{}_port:binding:host_id": "role:nobody"'
    text = "\n".join(rule.format(verb) for verb in ("create", "update"))
    policy = partial(set_by_new_file, part=server, path="/etc/neutron/policy.yaml", text=text)
    reason = ("polic|forbid|not allowed|disallow|403",)
    yield Wrong("neutron-server-policy-of-bindings", SETTING, policy, server.component, controller, reason)
    topics = at_the_broker(
        site,
        "rabbitmqctl set_topic_permissions --vhost / openstack nova '^(?!compute).*' '.*'",
        "rabbitmqctl clear_topic_permissions --vhost / openstack nova",
    )
    yield Wrong("rabbitmq-topics-of-computes-refused", SECRET, topics, "rabbitmq", controller)
    units = [unit for name in CELLS.split() for unit in part_of(site, name).services]
    role = partial(without_role, host=controller, user="nova", role="service", restarted=units)
    accounts = f"keystone {CELLS} nova-api-metadata nova-compute"
    yield Wrong("account-nova-without-role-of-services", SECRET, role, accounts, f"{controller} {compute}")
    # As with any password, either side may be the one that is wrong.
    password = in_settings(rgw_of(site), r"s#^(rgw_keystone_admin_password *=).*#\1 wrong#")
    hosts = f"{site.storage} {controller}"
    yield Wrong("ceph-rgw-other-password", SECRET, password, "ceph-rgw keystone", hosts, needs="image")
    kill = "; ".join(f"({sql(site.mysql, f'KILL USER {user}')} || true)" for user in ("nova", "neutron", "placement"))
    late, back = (sql(site.mysql, f"SET GLOBAL init_connect='{text}'") for text in ("DO SLEEP(20)", ""))
    slow = by(controller, f"{late} && {{ {kill}; }}", f"{back}; {kill}")
    yield Wrong("database-slow-to-connect", Kind.SLOW, slow, "database", controller)


def wrong_rows(site):
    controller, storage = site.controller, site.storage
    kept, table = "nova_api.kept_host_mappings", "nova_api.host_mappings"
    cell0 = "(SELECT id FROM nova_api.cell_mappings WHERE name='cell0')"
    mapped = changed_rows(
        site,
        f"CREATE TABLE {kept} AS SELECT * FROM {table}; UPDATE {table} SET cell_id={cell0} WHERE host='{site.compute}'",
        f"UPDATE {table} h JOIN {kept} k USING (id) SET h.cell_id=k.cell_id; DROP TABLE {kept}",
        part_of(site, "nova-scheduler"),
    )
    reason = ("cell|mapp",)
    yield Wrong(f"cell-of-{site.compute}-is-cell0", CONTENTS, mapped, f"{CELLS} database", controller, reason)
    flavors = changed_rows(site, *(f"UPDATE nova_api.flavors SET disabled={value}" for value in (1, 0)))
    yield Wrong("flavors-disabled-in-database", CONTENTS, flavors, "nova-api database", controller, ("flavor",))
    # As a change of a schema leaves it that was broken off
    trigger = changed_rows(
        site,
        "CREATE TRIGGER nova.catalogue AFTER INSERT ON nova.block_device_mapping FOR EACH ROW"
        " INSERT INTO nova._block_device_mapping_new SET id=NEW.id",
        "DROP TRIGGER IF EXISTS nova.catalogue",
    )
    named = "database nova-conductor nova-api"
    yield Wrong("database-trigger-left-behind", CONTENTS, trigger, named, controller)
    kept = "glance.kept_owners"
    owner = changed_rows(
        site,
        f"CREATE TABLE {kept} AS SELECT id, visibility, owner FROM glance.images;"
        " UPDATE glance.images SET visibility='private', owner='catalogue' WHERE name='probe'",
        f"UPDATE glance.images i JOIN {kept} k USING (id) SET i.visibility=k.visibility, i.owner=k.owner;"
        f" DROP TABLE {kept}",
    )
    yield Wrong("image-of-another-owner", CONTENTS, owner, "glance-api database", controller, ("image",), "anywhere")
    kept, of_others = "neutron.kept_pools", "JOIN neutron.ipamsubnets i ON i.id=p.ipam_subnet_id"
    of_others += " JOIN neutron.subnets s ON s.id=i.neutron_subnet_id WHERE s.name<>'public'"
    table = "neutron.ipamallocationpools"
    pools = changed_rows(
        site,
        f"DROP TABLE IF EXISTS {kept}; CREATE TABLE {kept} AS SELECT p.* FROM {table} p {of_others};"
        f" DELETE FROM {table} WHERE id IN (SELECT id FROM {kept})",
        f"INSERT IGNORE INTO {table} SELECT k.* FROM {kept} k JOIN neutron.ipamsubnets i ON i.id=k.ipam_subnet_id;"
        f" DROP TABLE {kept}",
    )
    name, reason = "subnet-without-pool-in-database", ("address|pool|subnet",)
    yield Wrong(name, CONTENTS, pools, "neutron-server database", controller, reason, moment=NETWORKED)
    option = "client.cinder rbd_default_data_pool"
    data = by(storage, f"ceph config set {option} nowhere && sleep 2", f"ceph config rm {option}")
    named, hosts = "ceph-mon ceph-osd nova-compute cinder-volume", f"{storage} {site.compute} {controller}"
    yield Wrong("ceph-data-pool-unknown", CONTENTS, data, named, hosts)


def wrong_around_metadata(site):
    """What serves metadata, and what starts its proxies."""
    agent, proxies = with_proxies(site)
    user = in_settings(agent, ("DEFAULT", "metadata_proxy_user", "catalogue"))
    yield Wrong("metadata-proxy-of-unknown-user", SETTING, user, proxies, agent.host)
    bounded = partial(with_drop_in, part=agent, lines="NoNewPrivileges=yes")
    name = f"{agent.component}-no-new-privileges"
    yield Wrong(name, Kind.PERMISSIONS, bounded, agent.component, agent.host)
    asking = agent if site.is_ovn else part_of(site, "neutron-metadata-agent")
    edit = set_option(asking.settings, "DEFAULT", "nova_metadata_host", "metadata")
    address = site.addresses[site.storage]
    renamed = partial(renamed_peer, part=asking, edits=[edit], name="metadata", address=address)
    yield Wrong(f"{asking.component}-wrong-address-of-metadata", Kind.NAMES, renamed, asking.component, asking.host)


def wrong_with_agents(site):
    agent = part_of(site, "neutron-dhcp-agent")
    silent = in_settings(agent, "$ a no-dhcp-interface=tap*", path=DNSMASQ)
    yield Wrong("dnsmasq-silent-on-its-devices", SETTING, silent, "neutron-dhcp-agent dnsmasq", agent.host)


def wrong_with_ovn(site):
    controller, compute = site.controller, site.compute
    steal = f"systemd-run --quiet --unit={HOLDER} ovsdb-client steal {SB_SOCKET} ovn_northd"
    # northd takes its lock again by itself. A restart of it would stop the databases.
    back = f"systemctl stop {HOLDER}.service; systemctl reset-failed {HOLDER}.service || true"
    lock = by(controller, f"{steal} && sleep 2 && systemctl is-active {HOLDER}", back)
    yield Wrong("ovn-northd-lock-taken", Kind.LOCKS, lock, "ovn-northd ovn-sb-db", controller)
    ids = f"ovs-vsctl {{}} open_vswitch . external_ids{{}}{WAIT}"
    make, back = f"{ids.format('set', ':')}=900000", ids.format("remove", " ")
    waits = by(compute, make, back, part_of(site, "ovn-controller"))
    yield Wrong("chassis-waits-with-its-flows", Kind.SLOW, waits, "ovn-controller ovsdb", compute)
    add = "ovn-nbctl lb-add catalogue 169.254.169.254:80 192.168.222.77:80"
    to_all = for_each("logical_switch", "", "ls-lb-add $row catalogue")
    balancer = by(controller, f"{add} && {to_all}", "ovn-nbctl lb-del catalogue")
    name = "ovn-nb-load-balancer-takes-metadata"
    yield Wrong(name, CONTENTS, balancer, NORTHBOUND, controller, moment=NETWORKED)
    # OVN answers nobody whose address does not belong to it.
    ranges = by(controller, for_each("dhcp_options", "cidr!=none", "set dhcp_options $row cidr=10.99.0.0/24"), "true")
    yield Wrong("ovn-nb-dhcp-of-another-range", CONTENTS, ranges, NORTHBOUND, controller, moment=NETWORKED)


# Requests that nobody can satisfy


def requests(site):
    flavors = (
        ("persistent-memory", {"hw:pmem": "4GB"}, ("pmem|persistent",), {}),
        ("emulator-threads", {"hw:emulator_threads_policy": "isolate"}, ("emulator",), {}),
        ("private", {}, ("flavor",), {"is_public": False}),
    )
    for name, specs, reason, more in flavors:
        make = partial(offering_flavor, memory=128, processors=1, disk=1, specs=specs, **more)
        yield request(f"flavor-{name}", make, reason, flavor=FLAVOR)
    typed = partial(used_up, project=site.project, service="volume", resource="volumes_ceph")
    yield request("quota-volumes-of-type", typed, ("quota|limit|allowed|exceed", "volume"), "volume")
    steps = partial(full_inventories, kind="MEMORY_MB", change="step_size")
    yield request("placement-memory-in-large-steps", steps, ("memory|RAM|step",))
    own = partial(prepared_network, is_shared=False)
    reason = ("network.*(found|access|shared|visib|exist)|no network",)
    yield request("network-not-shared", own, reason, network="catalogue")
    open_ports = partial(prepared_network, is_port_security_enabled=False)
    yield request("network-without-port-security", open_ports, ("port.?security|security.?group",), network="catalogue")
