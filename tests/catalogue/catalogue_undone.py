# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fault may change, read before and after it: what is not as before was not undone."""

from __future__ import annotations

from devstack_under_test import HOST

# Commands whose output a fault must leave as it was, by what they read; where one does not exist, it says so each time.
ON_HOSTS = {
    "files": (
        "find /etc/nova /etc/neutron /etc/cinder /etc/glance /etc/keystone /etc/placement /etc/ceph /etc/hosts"
        " /etc/mysql /etc/rabbitmq /etc/libvirt/qemu.conf /etc/libvirt/libvirtd.conf /etc/libvirt/hooks /etc/sudoers.d"
        " /run/systemd/system /run/systemd/system.control /opt/catalogue /etc/default/ovn-host -type f"
        " -not -path '*/fernet-keys/*' -exec sha256sum {} + 2>/dev/null | sort"
    ),
    "rights": (
        "stat --format='%n %U %a' /etc/ceph /etc/ceph/* /var/lib/nova/instances /var/lib/neutron/dhcp"
        " /etc/glance/glance-api.conf /etc/keystone/fernet-keys /etc/sudoers.d/* /var/lib/libvirt/qemu"
        " /var/run/uwsgi/*.socket /opt/stack/data/nova/instances /usr/lib/python3/dist-packages/vif_plug_ovs"
        " 2>/dev/null"
    ),
    "rules": "ip rule; iptables --wait --list-rules 2>/dev/null; iptables --wait --table nat --list-rules 2>/dev/null",
    "links": (
        "cat /sys/class/net/eth*/mtu; ip route; ip neigh show nud permanent; ip -o -4 address show dev lo;"
        " cat /proc/sys/net/ipv4/ip_local_reserved_ports /proc/sys/net/core/somaxconn"
    ),
    "mounts": "grep -E '^tmpfs /(etc|var|run/netns)|/dev/net/tun' /proc/mounts",
    "switch": (
        "ovs-vsctl --columns=external_ids list open_vswitch 2>/dev/null; ovs-vsctl get-manager 2>/dev/null;"
        " ovs-vsctl --if-exists get open_vswitch . other_config:flow-restore-wait 2>/dev/null;"
        " ovs-vsctl list-ports br-ex 2>/dev/null; ovs-vsctl --columns=tag,trunks find port name=eth1 2>/dev/null;"
        " ovs-vsctl --columns=protocols,stp_enable,other_config find bridge name=br-int 2>/dev/null;"
        " ovs-vsctl --columns=name,protected,vlan_mode find port protected=true 2>/dev/null;"
        " ovs-vsctl --columns=vlan_mode find port name=eth1 2>/dev/null; ovs-vsctl get-fail-mode br-ex 2>/dev/null;"
        " ovs-ofctl dump-flows br-ex 2>/dev/null | grep -c 'actions=NORMAL';"
        " ovs-vsctl --columns=name list mirror 2>/dev/null;"
        " ovs-vsctl --columns=flow_limit list flow_table 2>/dev/null;"
        " ovs-appctl dpctl/ct-get-maxconns 2>/dev/null;"
        " ovs-ofctl --protocols=OpenFlow10,OpenFlow13,OpenFlow15 dump-flows br-int 2>/dev/null | grep priority=65535,"
        " | sed 's/.*table=/table=/; s/n_packets.*priority/priority/' | grep -v cookie | grep actions=drop | sort;"
        " ovs-ofctl --protocols=OpenFlow13,OpenFlow15 dump-flows br-ex 2>/dev/null | grep -c priority=65535,"
    ),
    "masked": "systemctl list-unit-files --no-legend --state=masked-runtime",
    "guests": "virsh --quiet list --all --uuid 2>/dev/null | grep '^00000000-'",
    "frozen": "ps -eo stat=,args= | grep '^T' | grep -v grep",
    "kept": (
        "ls /root/kept-* /root/catalogue* /var/lib/neutron/*.kept /var/lib/nova/*.kept /run/openvswitch/*.kept"
        " /run/libvirt/*.kept /etc/*/*.conf.kept /usr/share/seabios/*.kept /usr/share/qemu/*.kept"
        " /usr/lib/*/qemu/*.kept"
        " /etc/apache2/conf-enabled/catalogue.conf 2>/dev/null"
    ),
    "ceph": (
        "test ! -e /etc/ceph/ceph.client.admin.keyring || { timeout 20 ceph config dump;"
        " timeout 20 ceph osd pool get vms crush_rule; timeout 20 ceph osd crush rule ls;"
        " timeout 20 rbd config pool get vms rbd_qos_iops_limit;"
        " for user in $(timeout 20 radosgw-admin user list | tr -d '[], \"'); do"
        ' timeout 20 radosgw-admin user info --uid "$user" | grep suspended; done;'
        " timeout 20 ceph daemon osd.0 config get osd_debug_inject_dispatch_delay_probability; } 2>/dev/null"
    ),
}
# These print nothing on other hosts.
ON_CONTROLLER = {
    "database": (
        "test ! -d /etc/mysql || mysql --batch --skip-column-names --execute"
        " 'SELECT trigger_schema, trigger_name FROM information_schema.triggers; SELECT @@init_connect;"
        " SELECT host, cell_id FROM nova_api.host_mappings; SELECT name, disabled FROM nova_api.flavors;"
        " SELECT name, owner, visibility, disk_format FROM glance.images;"
        " SELECT @@GLOBAL.max_allowed_packet, @@GLOBAL.net_buffer_length; SELECT host, topic FROM nova_cell0.services;"
        " SELECT @@GLOBAL.require_secure_transport; SELECT host FROM nova.services WHERE version < 50 AND deleted=0;"
        " SELECT COUNT(*) FROM nova_api.request_specs WHERE id=2147483647;"
        " SELECT COUNT(*) FROM keystone.password WHERE expires_at IS NOT NULL;"
        " SELECT direction, used_in_non_default_sg FROM neutron.securitygroupdefaultrules;"
        " SELECT name, root_provider_id FROM placement.resource_providers;"
        ' SELECT user, JSON_VALUE(priv, "$.account_locked") FROM mysql.global_priv;'
        ' SELECT COUNT(*) FROM neutron.ovn_hash_ring WHERE hostname="controller-old";'
        ' SELECT COUNT(*) FROM keystone.revocation_event WHERE issued_before > "2036-01-01";'
        ' SHOW COLUMNS FROM glance.images LIKE "os_hash%";'
        " SELECT COUNT(*) FROM neutron.reservations WHERE expiration > UTC_TIMESTAMP() + INTERVAL 1 DAY;"
        " SELECT @@GLOBAL.max_join_size, @@event_scheduler;"
        " SELECT event_schema, event_name FROM information_schema.events;"
        " SELECT COUNT(*) FROM keystone.assignment;"
        " SELECT action, COUNT(*) FROM neutron.networkrbacs GROUP BY action;"
        " SELECT host FROM nova.compute_nodes WHERE deleted=0;"
        " SELECT COUNT(*) FROM cinder.quota_usages WHERE in_use >= 1000;"
        " SELECT name FROM keystone.role; SELECT COUNT(*) FROM keystone.project_endpoint;"
        ' SHOW COLUMNS FROM neutron.networks LIKE "catalogue"; SELECT name FROM nova_api.cell_mappings;'
        " SELECT user, host FROM mysql.global_priv;"
        " SELECT name, enabled FROM keystone.project WHERE is_domain=1;"
        " SELECT domain_id, COUNT(*) FROM keystone.whitelisted_config GROUP BY domain_id;"
        " SELECT COUNT(*) FROM keystone.user WHERE last_active_at IS NOT NULL;"
        " SELECT physical_network, network_type FROM neutron.networksegments GROUP BY 1, 2;"
        " SELECT class_name, resource, hard_limit FROM nova_api.quota_classes;"
        ' SELECT table_schema, table_name FROM information_schema.tables WHERE table_name LIKE "kept%"'
        "' 2>/dev/null"
    ),
    "queue": (
        "if command -v rabbitmqctl > /dev/null; then rabbitmqctl --quiet list_permissions --vhost /;"
        " rabbitmqctl --quiet list_topic_permissions --vhost /;"
        " for vhost in / nova_cell1; do rabbitmqctl --quiet list_policies --vhost $vhost 2>/dev/null; done;"
        " rabbitmqctl --quiet list_vhost_limits; rabbitmqctl --quiet list_user_limits; fi"
    ),
    "northbound": (
        "test ! -S /var/run/ovn/ovnnb_db.sock ||"
        " for table in nb_global acl dhcp_options load_balancer logical_switch logical_router nat copp meter qos"
        " static_mac_binding; do"
        " ovn-nbctl --format=csv --columns=_uuid list $table 2>/dev/null; done;"
        " ovn-nbctl --columns=options find logical_switch_port type=localnet 2>/dev/null;"
        " ovn-nbctl --if-exists get nb_global . options:default_acl_drop 2>/dev/null;"
        " ovn-nbctl --if-exists get nb_global . options:enable_chassis_nb_cfg_update 2>/dev/null;"
        " ovn-sbctl --bare --columns=name list chassis 2>/dev/null | sort; ovn-sbctl get-connection 2>/dev/null"
    ),
}
# Answers of the cloud's APIs: the service, the path, and the fields of each of its rows that must stay
IN_CLOUD = {
    "endpoints": ("identity", "/endpoints", "endpoints", ("id", "url", "enabled")),
    "projects": ("identity", "/projects", "projects", ("name", "enabled")),
    "flavors": ("compute", "/flavors/detail?is_public=none", "flavors", ("id", "name")),
    "services": ("compute", "/os-services", "services", ("binary", "host", "status", "forced_down")),
    "aggregates": ("compute", "/os-aggregates", "aggregates", ("name", "hosts")),
    "agents": ("network", "/agents", "agents", ("binary", "host", "admin_state_up")),
    "subnets": ("network", "/subnets", "subnets", ("id", "allocation_pools")),
    "networks": ("network", "/networks", "networks", ("id", "name")),
    "volume types": ("block_storage", "/types", "volume_types", ("name",)),
    "volume services": ("block_storage", "/os-services", "services", ("binary", "host", "status")),
    "providers": ("placement", "/resource_providers", "resource_providers", ("uuid", "name")),
}


# The line between the outputs of two commands
BETWEEN = "---- {} ----"


def fingerprint(lab):
    """Read everything that faults change; by its name and its place."""
    read = {}
    for host in list(getattr(lab, "hosts", None) or [HOST]):
        commands = {**ON_HOSTS, **ON_CONTROLLER}
        # One call for all: each costs a connection.
        script = [f"echo '{BETWEEN.format(name)}'\n{command}\n" for name, command in commands.items()]
        output = lab.run(host, "".join([*script, "true"]))
        read.update({(name, host): part for name, part in parts_of(output, commands).items()})
    clouds = {(name, "cloud"): rows(lab, *where) for name, where in IN_CLOUD.items()}
    return {**read, **clouds, **inventories(lab)}


def parts_of(text, names):
    """Return the output of each command by its name."""
    parts, current = {name: [] for name in names}, None
    begins = {BETWEEN.format(name): name for name in names}
    for line in text.splitlines():
        if line in begins:
            current = begins[line]
        elif current:
            parts[current].append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}


def rows(lab, service, path, key, fields):
    try:
        listed = getattr(lab.admin, service).get(path).json().get(key, [])
    except Exception as error:  # a devstack has no Cinder, for example
        return type(error).__name__
    return "\n".join(sorted(str({field: row.get(field) for field in fields}) for row in listed))


def inventories(lab):
    """The inventories and the usages of each provider, which no boot leaves changed."""
    placement = lab.admin.placement
    table = {}
    for provider in placement.get("/resource_providers").json()["resource_providers"]:
        path = f"/resource_providers/{provider['uuid']}"
        kinds = placement.get(f"{path}/inventories").json()["inventories"]
        # The hosts of a lab share the machine's memory, of which more or less is free each time.
        kinds.get("MEMORY_MB", {}).update(total=None, max_unit=None)
        table["inventories", provider["name"]] = str(kinds)
        table["usages", provider["name"]] = str(placement.get(f"{path}/usages").json()["usages"])
    return table


def differences(before, after):
    """Return what is not as before, with the lines that came or went."""
    found = []
    for name in before.keys() | after.keys():
        old, new = (set((text.get(name) or "").splitlines()) for text in (before, after))
        lines = [f"-{line}" for line in sorted(old - new)] + [f"+{line}" for line in sorted(new - old)]
        if lines:
            found.append(f"{' of '.join(name)}: {'; '.join(lines)}")
    return sorted(found)
