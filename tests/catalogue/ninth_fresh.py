# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the half ninth, which is drawn into no other half either, of both classes, on a devstack, too.

Most are what a busy year leaves behind: a feature that a release no longer permits, an account that nobody used for too
long, a limit that was meant as "none", a schema change that waits, one side of an encryption, and rules that were made
by hand while somebody was debugging. A fault without a kind is of the class dead.
"""

from __future__ import annotations

import contextlib
import json
from functools import partial
from shlex import quote

from breaking import recovered
from catalogue_parts import LATER, NETWORKED, Kind, Part, Wrong
from eighth_fresh import CATALOG, LIBVIRTD, forgotten
from fifth_fresh import LIBRARIES, with_lines
from fourth_fresh import by_several
from fresh import LIBVIRT_SETTINGS, dead, done_again, for_each, part_of, with_proxies
from second_fresh import rgw_of
from seventh_fresh import BROKER_SETTINGS, broker_with
from sites import CINDER, DNSMASQ, ML2, NEUTRON
from sixth_fresh import CLOCK
from third_fresh import CEPH, cleaned
from ways_to_set_wrong import (
    HOLDER,
    SLEEP,
    Unhurried,
    by,
    changed_rows,
    dropping,
    external_id,
    in_settings,
    set_by_new_file,
    sql,
)
from wrong_contents import for_rows
from wrong_requests import FLAVOR, GHOST, nothing, offering_flavor, prepared_network, request

CONTENTS, LIMITS, SETTING, RIGHTS = Kind.CONTENTS, Kind.LIMITS, Kind.SETTINGS, Kind.PERMISSIONS
PATH, NAMES, SECRET = Kind.PATH, Kind.NAMES, Kind.CREDENTIALS
ZEROS = "00000000-0000-0000-0000-000000000000"
UNUSED_SINCE, DAYS = "2020-01-01", "365"
OLD_QUEUE = 5673
# What conductors use with each server, and nothing changes in it when the comment is again what it was
CHANGED_TABLE = "nova_api.instance_mappings"
PACKAGED_DATABASE = "/var/lib/glance/glance.sqlite"
# The first rule of those that an administrator may add
PREFERENCE = 100
# As a clock that went two hours back: who reports by it was last seen too long ago.
LATE_CLOCK = CLOCK.replace("hours=5, minutes=30", "hours=-2")
REPORTED = 25
READ_ONLY = "SET%20SESSION%20TRANSACTION%20READ%20ONLY"
CATCH_ALL = "priority=65535,actions=NORMAL"
RGW_USERS = "radosgw-admin user list | grep -o '\"[^\"]*\"' | tr -d '\"'"


def ninth_fresh_of(site):
    """All these faults of a lab or of a devstack."""
    yield from dead_of(site)
    yield from wrong_of_services(site)
    yield from wrong_of_nova(site)
    yield from wrong_at_the_hypervisor(site)
    yield from wrong_at_queue_and_database(site)
    if site.is_ovn:
        yield from wrong_with_ovn(site)
    if site.storage:
        yield from of_a_lab(site)
    yield from requests(site)


def of_a_lab(site):
    """What a devstack does not have: several hosts, volumes, Ceph, and files and accounts of each service."""
    yield from dead_of_a_lab(site)
    yield from identity_of_a_lab(site)
    yield from services_of_a_lab(site)
    yield from volumes_of_a_lab(site)
    yield from ceph_of_a_lab(site)
    yield from paths_of_a_lab(site)
    yield from ovn_of_a_lab(site) if site.is_ovn else of_agents(site)


# Ways


@contextlib.contextmanager
def in_turn(lab, faults):
    """Faults that are made one after the other, and undone in the reverse order; the first one waits for the cloud."""
    with contextlib.ExitStack() as stack:
        for number, fault in enumerate(faults):
            stack.enter_context(fault(Unhurried(lab) if number else lab))
        yield


def broker_that_may_not_start(site, line):
    """The broker restarts with one line more in its settings, whether it comes up with that or not."""
    restart, folder = "systemctl restart rabbitmq-server", BROKER_SETTINGS.rpartition("/")[0]
    make = f"mkdir -p {folder} && echo '{line}' > {BROKER_SETTINGS} && {{ {restart} || true; }}; sleep 5"
    back = f"rm -f {BROKER_SETTINGS}; rmdir --ignore-fail-on-non-empty {folder}; {restart}"
    return by_several(site.controller, make, back)


def with_clock(part, text):
    """A part whose process has another clock. Python imports a file of this name before all others."""
    make = f"mkdir -p {LIBRARIES} && printf '%s\\n' {quote(text)} > {LIBRARIES}/sitecustomize.py"
    lines = f"Environment=PYTHONPATH={LIBRARIES}"
    return partial(with_lines, part=part, lines=lines, make=make, back=f"rm -rf {LIBRARIES}")


@contextlib.contextmanager
def hosts_of_others(lab, hosts):
    """An aggregate reserves these hosts for one project, and the cloud has no such project."""
    compute = lab.admin.compute
    made = compute.create_aggregate(name="catalogue", availability_zone=None)
    with recovered(lab, hosts[0]):
        try:
            for host in hosts:
                compute.add_host_to_aggregate(made, host)
            compute.set_aggregate_metadata(made, {"filter_tenant_id": GHOST.replace("-", "")})
            yield
        finally:
            for host in compute.get(f"/os-aggregates/{made.id}").json()["aggregate"]["hosts"]:
                compute.remove_host_from_aggregate(made, host)
            compute.delete_aggregate(made)


def waiting_change(site):
    """A change of a table waits for a session that has read it and was forgotten, and all others wait behind it."""
    reader = sql(site.mysql, f"BEGIN; SELECT COUNT(*) FROM {CHANGED_TABLE}; {SLEEP}")
    change = sql(site.mysql, f"ALTER TABLE {CHANGED_TABLE} COMMENT=''")
    script = quote(f"{reader} & sleep 2; {change}")
    make = (
        f"systemd-run --quiet --unit={HOLDER} --setenv=HOME=/root /bin/sh -c {script} && sleep 5"
        f" && systemctl is-active {HOLDER}"
    )
    rows = "SELECT id FROM information_schema.processlist WHERE info LIKE '{}'"
    ended = (rows.format(f"ALTER TABLE {CHANGED_TABLE}%"), rows.format(SLEEP))
    kill = "; ".join(
        f'for id in $({sql(f"{site.mysql} -BN", found)}); do {site.mysql} --execute "KILL $id"; done' for found in ended
    )
    back = f"{kill}; systemctl stop {HOLDER}.service; systemctl reset-failed {HOLDER}.service; true"
    return by_several(site.controller, make, back)


def expired_password(site, user):
    """The password of a user of the database has expired. What the server keeps of it is put back as it was."""
    kept, table = f"{user}.kept_privileges", "mysql.global_priv"
    kill = f"({sql(site.mysql, f'KILL USER {user}')} || true)"
    keep = f"CREATE TABLE {kept} AS SELECT Host, User, Priv FROM {table} WHERE User='{user}'"
    make = sql(site.mysql, f"{keep}; ALTER USER '{user}'@'%' PASSWORD EXPIRE")
    back = sql(
        site.mysql,
        f"UPDATE {table} g JOIN {kept} k USING (Host, User) SET g.Priv=k.Priv; DROP TABLE {kept}; FLUSH PRIVILEGES",
    )
    return by_several(site.controller, f"{make} && {kill}", f"{back}; {kill}")


def unused_account(site, user, part):
    """Keystone locks accounts that were not used for a year, and one of a service counts as such."""
    keystone = part_of(site, "keystone")
    named = f"UPDATE keystone.user u JOIN keystone.local_user l ON l.user_id=u.id SET {{}} WHERE l.name='{user}'"
    # Keystone writes down who comes while the setting is there; without it nobody has such a day.
    rows = changed_rows(
        site,
        named.format(f"u.last_active_at='{UNUSED_SINCE}'"),
        f"UPDATE keystone.user SET last_active_at=NULL; {named.format('u.enabled=1')}",
    )
    locking = in_settings(keystone, ("security_compliance", "disable_user_account_days_inactive", DAYS))
    # Who has a token keeps it, and memcached has the account as it was.
    again = by(site.controller, "true", "true", Part(part.component, part.host, ("memcached", *part.services)))
    return partial(in_turn, faults=(again, rows, locking, again))


def switched(site):
    """Components of which a verdict may name any where the switch of a host is wrong."""
    return "data-network ovsdb " + ("ovn-controller" if site.is_ovn else "neutron-l2-agent")


# What does not run, or ends when it starts


def dead_of(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    multipath = in_settings(
        part, ("libvirt", "volume_use_multipath", "true"), ("libvirt", "volume_enforce_multipath", "true")
    )
    yield dead("nova-compute-enforces-paths-of-an-absent-daemon", multipath, part.component, compute)
    scheduler = part_of(site, "nova-scheduler")
    logs = in_settings(scheduler, ("DEFAULT", "log_config_append", "/etc/nova/logging.conf"))
    yield dead("nova-scheduler-logs-by-an-absent-file", logs, scheduler.component, controller)
    # As the firmware of some boards says it
    zeros = in_settings(part_of(site, "libvirt"), f'$ a host_uuid = "{ZEROS}"', path=LIBVIRTD)
    yield dead("libvirtd-host-of-zeros", zeros, "libvirt", compute)
    metadata = part_of(site, "nova-api-metadata")
    processes = partial(with_lines, part=metadata, lines="LimitNPROC=1")
    yield dead("nova-api-metadata-may-have-one-process", processes, metadata.component, controller)
    images = part_of(site, "glance-api")
    stores = in_settings(images, r"s#^(enabled_backends *=.*)$#\1,archive:tape#")
    yield dead("glance-api-with-a-store-of-an-unknown-kind", stores, images.component, controller)


def dead_of_a_lab(site):
    controller, storage, keystone = site.controller, site.storage, part_of(site, "keystone")
    # As half of a move into a container leaves it
    root = partial(with_lines, part=keystone, lines="RootDirectory=/srv/keystone")
    yield dead("keystone-in-an-absent-root", root, keystone.component, controller)
    listening = f"listeners.tcp.1 = {site.addresses[controller]}:{OLD_QUEUE}"
    moved = broker_with(site, listening, f"tcp_listeners.*{OLD_QUEUE}")
    yield dead("rabbitmq-listens-at-another-port", moved, "rabbitmq", controller)
    volumes = part_of(site, "cinder-api")
    output = partial(with_lines, part=volumes, lines="StandardOutput=append:/var/log/cinder-old/api.log")
    yield dead("cinder-api-writes-to-an-absent-folder", output, volumes.component, controller, needs="volume")
    # As before a snapshot of the host that was never finished. No process of it is stopped by a signal.
    suspended = by(storage, "systemctl freeze ceph-osd@0", "systemctl thaw ceph-osd@0")
    yield dead("ceph-osd-in-the-freezer", suspended, "ceph-osd", storage)


# What runs and is wrong


def wrong_of_services(site):
    controller, images, keystone = site.controller, part_of(site, "glance-api"), part_of(site, "keystone")
    domain = "UPDATE keystone.project SET enabled={} WHERE is_domain=1 AND name='Default'"
    disabled = forgotten(site, domain.format(0), domain.format(1))
    name, reason = "domain-of-all-users-disabled", ("domain|disabled|401|authori",)
    yield Wrong(name, CONTENTS, disabled, keystone.component, controller, reason)
    algorithm = in_settings(images, ("DEFAULT", "hashing_algorithm", "sha1024"))
    name = "glance-api-sums-by-an-unknown-algorithm"
    yield Wrong(name, SETTING, algorithm, images.component, controller, needs="image")
    api = part_of(site, "nova-api")
    # The second quote was lost.
    rule = '"os_compute_api:os-keypairs:create": "rule:project_member_or_admin'
    policy = partial(set_by_new_file, part=api, path="/etc/nova/policy.yaml", text=rule)
    yield Wrong("nova-api-policies-malformed", SETTING, policy, api.component, controller)
    agent, _proxies = with_proxies(site)
    # Its helper is spoken to at a socket in a folder that it makes for that.
    lines = "InaccessiblePaths=/tmp /var/tmp\\nWorkingDirectory=/proc"
    homeless = partial(with_lines, part=agent, lines=lines)
    name = f"{agent.component}-without-a-folder-for-temporary-files"
    yield Wrong(name, RIGHTS, homeless, agent.component, agent.host)


def wrong_of_nova(site):
    controller, compute, part = site.controller, site.compute, part_of(site, "nova-compute")
    scheduler, conductor = part_of(site, "nova-scheduler"), part_of(site, "nova-conductor")
    # Somebody took it for "wait without end".
    patience = in_settings(part, ("neutron", "timeout", "0"))
    yield Wrong("nova-compute-waits-no-time-for-neutron", LIMITS, patience, part.component, compute)
    targets = f"site@http://{site.addresses[controller]}:8999/vendordata"
    vendor = in_settings(
        part,
        ("DEFAULT", "force_config_drive", "true"),
        ("api", "vendordata_providers", "StaticJSON,DynamicJSON"),
        ("api", "vendordata_dynamic_targets", targets),
        ("api", "vendordata_dynamic_failure_fatal", "true"),
    )
    yield Wrong("nova-compute-asks-an-absent-vendor", SETTING, vendor, part.component, compute)
    filters = in_settings(
        scheduler, ("filter_scheduler", "enabled_filters", "ComputeFilter,AggregateMultiTenancyIsolation")
    )
    hosts = tuple(host for host in (compute, site.other) if host)
    others = partial(hosts_of_others, hosts=hosts)
    kept = partial(in_turn, faults=(filters, others))
    name, reason = "nova-scheduler-keeps-hosts-for-another-project", ("aggregate|tenan|isolat|project",)
    yield Wrong(name, SETTING, kept, scheduler.component, controller, reason, "anywhere")
    # It stamps what computes report, which they do every ten seconds.
    reported = by(controller, f"sleep {REPORTED}", "true")
    clock = partial(in_turn, faults=(with_clock(conductor, LATE_CLOCK), reported))
    yield Wrong("nova-conductor-with-a-late-clock", SETTING, clock, conductor.component, controller, (), "anywhere")
    # As for a copy of the database that nobody may write to
    reading = in_settings(conductor, rf"/^\[database\]/,/^\[/s#^(connection *= *.*)$#\1\&init_command={READ_ONLY}#")
    named = f"{conductor.component} database"
    yield Wrong("nova-conductor-reads-its-database-alone", SETTING, reading, named, controller)


def wrong_at_the_hypervisor(site):
    compute, libvirt = site.compute, part_of(site, "libvirt")
    # What is forbidden to a unit is forbidden to its guests, which write code and then run it.
    hardened = partial(with_lines, part=libvirt, lines="MemoryDenyWriteExecute=yes")
    yield Wrong("libvirtd-guests-may-make-no-code", RIGHTS, hardened, "libvirt", compute)
    processes = in_settings(libvirt, "$ a max_processes = 8", path=LIBVIRT_SETTINGS)
    yield Wrong("libvirt-few-threads-of-guests", LIMITS, processes, "libvirt", compute)


def wrong_at_queue_and_database(site):
    controller = site.controller
    mechanisms = broker_with(site, "auth_mechanisms.1 = EXTERNAL", "auth_mechanisms,.*EXTERNAL")
    yield Wrong("rabbitmq-takes-certificates-alone", SECRET, mechanisms, "rabbitmq", controller)
    # The next release permits them no longer, and somebody wanted to know who uses them.
    queues = broker_that_may_not_start(site, "deprecated_features.permit.transient_nonexcl_queues = false")
    yield Wrong("rabbitmq-permits-no-transient-queues", SETTING, queues, "rabbitmq", controller)
    yield Wrong("database-change-of-a-table-waits", Kind.LOCKS, waiting_change(site), "database", controller)


def identity_of_a_lab(site):
    controller, keystone = site.controller, part_of(site, "keystone")
    images = part_of(site, "glance-api")
    unused, named = unused_account(site, "glance", images), f"{keystone.component} {images.component}"
    yield Wrong("account-glance-unused-for-too-long", SECRET, unused, named, controller)
    # Somebody has written the settings of the domain of the directory to the domain of everybody.
    table, units = "keystone.whitelisted_config", ("memcached", *keystone.services)
    rows = (("identity", "driver", "ldap"), ("ldap", "url", f"ldap://{site.addresses[controller]}"))
    values = ", ".join(f"('default', '{group}', '{option}', '\"{value}\"')" for group, option, value in rows)
    directory = changed_rows(
        site,
        f"INSERT INTO {table} (domain_id, `group`, `option`, value) VALUES {values}",
        f"DELETE FROM {table} WHERE domain_id='default'",
        Part(keystone.component, controller, units, port=keystone.port),
    )
    name, reason = "domain-of-all-users-in-a-directory", ("401|authori|authenti|user",)
    yield Wrong(name, CONTENTS, directory, keystone.component, controller, reason)
    # Keystone leaves an address out that it cannot complete.
    urls = "UPDATE keystone.endpoint SET url=REPLACE(url, '{}', '{}') WHERE url LIKE '%:8776/%'"
    names = ("%(project_id)s", "%(project)s")
    misspelt = forgotten(site, urls.format(*names), urls.format(*reversed(names)))
    name = "catalog-volume-with-a-misspelt-variable"
    yield Wrong(name, CONTENTS, misspelt, keystone.component, controller, CATALOG, "volume")


def services_of_a_lab(site):
    controller, images, scheduler = site.controller, part_of(site, "glance-api"), part_of(site, "nova-scheduler")
    # No compute measures that. Where there is a choice of hosts it is weighed.
    metric = in_settings(scheduler, ("metrics", "weight_setting", "cpu.user.percent=1.0"))
    name, reason = "nova-scheduler-weighs-what-nobody-measures", ("metric",)
    yield Wrong(name, SETTING, metric, scheduler.component, controller, reason, "anywhere")
    packaged = in_settings(images, ("database", "connection", f"sqlite:///{PACKAGED_DATABASE}"))
    database = partial(cleaned, fault=packaged, host=controller, command=f"rm -f {PACKAGED_DATABASE}")
    yield Wrong("glance-api-database-of-its-package", SETTING, database, images.component, controller)
    expired, named = expired_password(site, "glance"), f"database {images.component}"
    yield Wrong("database-password-of-glance-expired", SECRET, expired, named, controller)
    store = in_settings(images, r"s#^(enabled_backends *=).*#\1 ceph:rbd#")
    name, reason = "glance-api-without-its-second-store", ("store|rgw|back.?end",)
    yield Wrong(name, SETTING, store, images.component, controller, reason, "image")
    agent, proxies = with_proxies(site)
    edits = [("DEFAULT", "metadata_proxy_user", "nobody")]
    if site.is_ovn:
        edits.append(("DEFAULT", "metadata_proxy_socket_mode", "user"))
    name = "metadata-proxies-may-not-use-their-socket"
    yield Wrong(name, RIGHTS, in_settings(agent, *edits), proxies, agent.host)


def volumes_of_a_lab(site):
    controller, api, part = site.controller, part_of(site, "cinder-api"), part_of(site, "cinder-volume")
    zone = in_settings(api, ("DEFAULT", "default_availability_zone", "mars"))
    name, reason = "cinder-api-default-zone-unknown", ("zone|mars",)
    yield Wrong(name, SETTING, zone, api.component, controller, reason, "volume")
    named = f"{part.component} cinder-scheduler"
    # As a share of what there is
    ratio = in_settings(part, ("ceph", "max_over_subscription_ratio", "0.5"))
    name, reason = "cinder-volume-promises-half-of-its-room", ("subscri|capacity|space|room|back.?end",)
    yield Wrong(name, LIMITS, ratio, named, controller, reason, "volume")
    both_services = Part(part.component, controller, ("cinder-volume", "cinder-scheduler"), settings=CINDER)
    function = in_settings(
        both_services,
        ("DEFAULT", "scheduler_default_filters", "AvailabilityZoneFilter,CapabilitiesFilter,DriverFilter"),
        ("ceph", "filter_function", '"volume.size < 0"'),
    )
    name, reason = "cinder-volume-takes-no-size", ("filter|back.?end|host",)
    yield Wrong(name, SETTING, function, named, controller, reason, "volume")


def ceph_of_a_lab(site):
    compute, storage, part = site.compute, site.storage, part_of(site, "nova-compute")
    # The storage was moved to encrypted connections, and one host still asks for others.
    server = by(storage, "ceph config set osd ms_service_mode secure && sleep 2", "ceph config rm osd ms_service_mode")
    client = in_settings(part, ("global", "ms_client_mode", "crc"), path=CEPH)
    encrypted = partial(in_turn, faults=(server, client))
    named, hosts = f"{part.component} ceph-osd", f"{compute} {storage}"
    yield Wrong("ceph-osd-wants-encryption", SETTING, encrypted, named, hosts)
    quota = f"{RGW_USERS} | while read -r user; do {{}}; done"
    change = 'radosgw-admin quota {} --quota-scope=user --uid "$user"'
    few = f"{change.format('set')} --max-size=1 && {change.format('enable')}"
    many = f"{change.format('disable')}; {change.format('set')} --max-size=-1"
    full = by_several(storage, f"{RGW_USERS} | grep -q . && {quota.format(few)}", quota.format(many))
    yield Wrong("ceph-rgw-users-with-a-small-quota", LIMITS, full, "ceph-rgw", storage, needs="image")
    gateway = in_settings(rgw_of(site), ("client.rgw.a", "rgw_enable_apis", "s3"))
    yield Wrong("ceph-rgw-speaks-another-protocol", SETTING, gateway, "ceph-rgw", storage, needs="image")


def paths_of_a_lab(site):
    controller, compute, storage = site.controller, site.compute, site.storage
    # Left behind by a proxy that was on the host
    agent = part_of(site, "neutron-ovn-metadata-agent" if site.is_ovn else "neutron-metadata-agent")
    rule = "PREROUTING --table nat --protocol tcp --dport 8775 --jump REDIRECT --to-ports 8774"
    named, hosts = f"nova-api-metadata {agent.component}", f"{controller} {agent.host}"
    yield Wrong(f"redirect-of-metadata-on-{controller}", PATH, dropping(controller, rule), named, hosts)
    away = f"pref {PREFERENCE} to {site.addresses[storage]}/32 prohibit"
    prohibited = by(controller, f"ip rule add {away}", f"ip rule del {away}")
    named, hosts = "cinder-volume ceph-mon ceph-osd", f"{controller} {storage}"
    yield Wrong(f"rule-of-routes-on-{controller}-prohibits-ceph", NAMES, prohibited, named, hosts, needs="volume")
    route = f"unreachable {site.addresses[compute]}/32"
    silent = by(storage, f"ip route add {route}", f"ip route del {route}")
    named, hosts = "nova-compute ceph-mon ceph-osd", f"{compute} {storage}"
    yield Wrong(f"{storage}-has-no-way-back-to-{compute}", NAMES, silent, named, hosts)
    # The services of a host speak to each other by its address, too.
    own = "INPUT --in-interface lo --protocol tcp --dport 8778 --jump REJECT --reject-with tcp-reset"
    name, named = f"firewall-of-{controller}-refuses-its-own-placement", "placement-api nova-scheduler"
    yield Wrong(name, PATH, dropping(controller, own), named, controller)
    # As somebody leaves it who wanted to see whether the flows are to blame
    flows = "ovs-ofctl --protocols=OpenFlow13,OpenFlow15"
    catch_all = by(
        compute,
        f"{flows} add-flow br-int {CATCH_ALL}",
        f"{flows} --strict del-flows br-int {CATCH_ALL.partition(',')[0]}",
    )
    yield Wrong(f"ovs-{compute}-flow-takes-all", CONTENTS, catch_all, switched(site), compute)


def of_agents(site):
    """What only a lab with agents has."""
    yield from dead_of_agents(site)
    yield from wrong_of_agents(site)
    yield from wrong_of_routers(site)


def dead_of_agents(site):
    controller, network, server = site.controller, site.network, part_of(site, "neutron-server")
    dhcp, routers, metadata = (part_of(site, f"neutron-{name}-agent") for name in ("dhcp", "l3", "metadata"))
    driver = ("DEFAULT", "network_scheduler_driver", "networking_site.scheduler.WeightScheduler")
    absent = in_settings(server, driver)
    yield dead("neutron-server-with-an-absent-scheduler-of-networks", absent, server.component, controller)
    own = in_settings(dhcp, ("DEFAULT", "dhcp_driver", "networking_site.dhcp.Dnsmasq"))
    yield dead("neutron-dhcp-agent-with-an-absent-driver", own, dhcp.component, network)
    mode = in_settings(routers, ("DEFAULT", "agent_mode", "dvr-snat"))
    yield dead("neutron-l3-agent-in-a-misspelt-mode", mode, routers.component, network, needs="floating")
    bound = partial(with_lines, part=metadata, lines="BindReadOnlyPaths=/srv/authorities")
    yield dead("neutron-metadata-agent-wants-an-absent-folder", bound, metadata.component, network)


def wrong_of_agents(site):
    compute, network, agent = site.compute, site.network, part_of(site, "neutron-dhcp-agent")
    ports = in_settings(agent, "$ a dhcp-alternate-port", path=DNSMASQ)
    yield Wrong("dnsmasq-at-other-ports", SETTING, ports, f"{agent.component} dnsmasq", network)
    # Such ports carry nothing to each other.
    each = "for port in $(ovs-vsctl list-ports br-ex); do ovs-vsctl set port $port protected={}; done"
    isolated = by_several(compute, each.format("true"), each.format("false"))
    yield Wrong(f"ovs-{compute}-ports-protected", CONTENTS, isolated, switched(site), compute)
    tunnel = by(
        network,
        "ovs-vsctl set port eth1 vlan_mode=dot1q-tunnel tag=100",
        "ovs-vsctl clear port eth1 vlan_mode -- clear port eth1 tag",
    )
    yield Wrong(f"ovs-{network}-uplink-tags-what-is-tagged", CONTENTS, tunnel, switched(site), network)


def wrong_of_routers(site):
    controller, network, agent = site.controller, site.network, part_of(site, "neutron-l3-agent")
    # The others have not been moved.
    quorum = in_settings(agent, ("oslo_messaging_rabbit", "rabbit_quorum_queue", "true"), path=NEUTRON)
    yield Wrong("neutron-l3-agent-wants-quorum-queues", SETTING, quorum, agent.component, network, needs="floating")
    # As it was called before a renaming of which the hosts know, and the database does not
    segment = (
        "UPDATE neutron.networksegments s JOIN neutron.networks n ON n.id=s.network_id"
        " SET s.physical_network='{}' WHERE n.name='public' AND s.physical_network='{}'"
    )
    names = ("physnet1", "public")
    renamed = changed_rows(site, segment.format(*names), segment.format(*reversed(names)))
    named, hosts = "neutron-server database neutron-l2-agent", f"{controller} {network}"
    name = "external-network-with-its-name-of-old"
    yield Wrong(name, CONTENTS, renamed, named, hosts, ("physical|physnet|bind|segment",), "floating")
    spaces = "$(ip netns list | grep -o '^qrouter-[^ ]*')"
    policy = f"for space in {spaces}; do ip netns exec $space iptables --wait --policy FORWARD {{}}; done"
    make = f"ip netns list | grep -q '^qrouter-' && {policy.format('DROP')}"
    closed = by_several(network, make, f"{policy.format('ACCEPT')}; true")
    named = f"{agent.component} data-network"
    yield Wrong("routers-with-a-closed-firewall", PATH, closed, named, network, moment=LATER)


def wrong_with_ovn(site):
    controller, compute, named = site.controller, site.compute, "ovn-nb-db ovn-controller neutron-server"
    key = "other_config:ct-zone-limit"
    limited = by_several(
        controller,
        for_each("logical_switch", "", f"set logical_switch $row {key}=1"),
        f"{for_rows('logical_switch', '', 'remove logical_switch $row other_config ct-zone-limit')}; true",
    )
    hosts = " ".join(sorted({controller, compute}))
    name = "ovn-nb-guests-of-one-connection"
    yield Wrong(name, LIMITS, limited, f"{named} ovsdb", hosts, moment=NETWORKED)
    # ovn-controller does not look again for what it has put there.
    flows = by(
        compute,
        "ovs-ofctl --protocols=OpenFlow15 del-flows br-int",
        "systemctl restart ovn-controller && sleep 5",
    )
    named = "ovsdb ovn-controller data-network"
    yield Wrong(f"ovs-{compute}-integration-bridge-without-flows", CONTENTS, flows, named, compute)


def ovn_of_a_lab(site):
    """What a devstack with OVN does not have: several hosts, floating IPs in a run, and packages of Debian."""
    yield from ovn_settings_of_a_lab(site)
    controller, network = site.controller, site.network
    # Without a controller such a bridge carries nothing.
    secure = by_several(
        network,
        "ovs-vsctl set-fail-mode br-ex secure && ovs-ofctl del-flows br-ex",
        "ovs-vsctl del-fail-mode br-ex; ovs-ofctl add-flow br-ex priority=0,actions=NORMAL",
    )
    name = f"ovs-{network}-external-bridge-waits-for-a-controller"
    yield Wrong(name, CONTENTS, secure, switched(site), network, needs="floating")
    # It takes addresses for forgotten. systemd-run would replace what looks like a variable.
    clean = (
        "ovn-nbctl --bare --columns=name list logical_router | grep . |"
        " xargs -r -I ROUTER ovn-nbctl lr-nat-del ROUTER dnat_and_snat"
    )
    removed, named = done_again(controller, clean), "ovn-nb-db neutron-server"
    yield Wrong("ovn-nb-job-removes-floating-addresses", CONTENTS, removed, named, controller, needs="floating")
    ctl, kept = "ovn-appctl -t /var/run/ovn/ovnsb_db.ctl ovsdb-server", "/root/catalogue-remote-read"
    reading = by_several(
        controller,
        f"{ctl}/list-remotes | grep ptcp:6642 > {kept} && {ctl}/remove-remote $(cat {kept})"
        " && ovn-sbctl set-connection read-only ptcp:6642",
        f"ovn-sbctl del-connection; sleep 1; if test -s {kept}; then {ctl}/add-remote $(cat {kept}); fi; rm -f {kept}",
    )
    yield Wrong("ovn-sb-may-only-be-read", RIGHTS, reading, "ovn-sb-db", controller)


def ovn_settings_of_a_lab(site):
    controller, compute, server = site.controller, site.compute, part_of(site, "neutron-server")
    agent = part_of(site, "neutron-ovn-metadata-agent")
    option = "$ a OVN_CTL_OPTS=--ovn-controller-old-option=yes"
    options = in_settings(part_of(site, "ovn-controller"), option, path="/etc/default/ovn-host")
    yield dead("ovn-controller-with-an-unknown-option", options, "ovn-controller", compute)
    scheduler = in_settings(server, ("ovn", "ovn_l3_scheduler", "random"), path=ML2)
    yield dead("neutron-server-with-an-unknown-scheduler-of-gateways", scheduler, server.component, controller)
    # As before the move to OVN
    plugin = in_settings(server, ("DEFAULT", "service_plugins", "router"), path=ML2)
    name = "neutron-server-makes-routers-for-agents-of-old"
    yield Wrong(name, SETTING, plugin, server.component, controller, needs="floating")
    # As on a host that has everything
    local = in_settings(agent, ("ovn", "ovn_sb_connection", "unix:/var/run/ovn/ovnsb_db.sock"))
    yield Wrong(f"{agent.component}-at-a-socket-of-another-host", SETTING, local, agent.component, compute)
    encrypted = external_id(compute, "ovn-remote", f"ssl:{site.addresses[controller]}:6642")
    yield Wrong("chassis-wants-tls-of-southbound", SETTING, encrypted, "ovn-controller ovsdb", compute)


# Requests that no cloud of this kind can satisfy


def requests(site):
    small = partial(offering_flavor, memory=128, processors=1, disk=1)
    serial, ports = partial(small, specs={"hw:serial_port_count": "1"}), {"hw_serial_port_count": "2"}
    name, reason = "image-of-many-serial-ports", ("serial",)
    yield request(name, serial, reason, "image", flavor=FLAVOR, image_properties=ports)
    mixed = partial(small, specs={"hw:cpu_policy": "mixed"})
    yield request("flavor-mixed-processors", mixed, ("mixed|CPU|dedicated",), flavor=FLAVOR)
    # A guest reads some hundred times until it runs.
    throttled = partial(small, specs={"quota:disk_total_iops_sec": "1"})
    yield request("flavor-of-few-disk-requests", throttled, ("iops|quota|throttl|flavor|disk",), flavor=FLAVOR)
    services = partial(prepared_network, subnet={"service_types": ["compute:site"]})
    name, reason = "subnet-for-other-services", ("subnet|service.?type|address|IP",)
    yield request(name, services, reason, network="catalogue")
    # What holds for each project that has nothing of its own
    table, row = "nova_api.quota_classes", "class_name='default' AND resource='cores'"
    none = changed_rows(
        site,
        f"INSERT INTO {table} (created_at, class_name, resource, hard_limit)"
        " VALUES (UTC_TIMESTAMP(), 'default', 'cores', 0)",
        f"DELETE FROM {table} WHERE {row}",
    )
    yield request("quota-class-cores", none, ("quota|limit|exceed", "cores"))
    if site.storage:
        yield request_of_a_lost_snapshot()


def request_of_a_lost_snapshot():
    """An image that was made of a server on a volume, whose snapshot somebody has tidied up."""
    device = {
        "source_type": "snapshot",
        "snapshot_id": GHOST,
        "destination_type": "volume",
        "device_name": "/dev/vda",
        "boot_index": 0,
        "volume_size": 1,
        "delete_on_termination": True,
    }
    properties = {"block_device_mapping": json.dumps([device]), "bdm_v2": "True", "root_device_name": "/dev/vda"}
    reason = ("snapshot|block.?device",)
    return request("image-of-a-lost-snapshot", nothing, reason, "image", image_properties=properties)
