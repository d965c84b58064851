# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong settings and credentials: an option of a file of a component, by a table of components and options.

A row names the component, how the fault is called, its edits and what a run needs to meet it. Each row becomes a fault
on each host of the component. An edit is (section, option, value), whose value may name {controller}, {compute},
{other}, {network} and {storage} for their addresses, or an expression of sed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from catalogue_parts import Kind, Wrong
from sites import DNSMASQ, ML2, NEUTRON
from ways_to_set_wrong import in_settings, renamed_peer, sed, set_by_new_file, set_option

SECRET, SETTING, NAME = Kind.CREDENTIALS, Kind.SETTINGS, Kind.NAMES
# Expressions of sed: another password, virtual host and broker in the URL of the message queue, and another password in
# the URL of the database
QUEUE_PASSWORD = r"s#^(transport_url *= *rabbit://[^:]+):[^@]+@#\1:wrong@#"
QUEUE_VHOST = r"s#^(transport_url *= *rabbit://[^/]+)/.*#\1/nowhere#"
QUEUE_UNKNOWN = r"s#^(transport_url *= *rabbit://[^@]+)@[^:/]+#\1@rabbit.invalid#"
QUEUE_RENAMED = r"s#^(transport_url *= *rabbit://[^@]+)@[^:/]+#\1@queue#"
DATABASE_PASSWORD = r"/^\[{}\]/,/^\[/s#^(connection *= *[^:]+://[^:]+):[^@]+@#\1:wrong@#"
GUEST = "floating"


@dataclass(frozen=True)
class Row:
    component: str
    name: str
    edits: tuple
    kind: Kind = SETTING
    needs: str = ""
    # Components besides the row's own that a verdict may name, and a reason that it may give without a component
    also: str = ""
    reason: tuple = ()
    path: str | None = None
    # The back end of Neutron that the row is for
    only: str = ""


def row(component, name, *edits, **more):
    return Row(component, name, edits, **more)


def secrets():
    """Passwords: of a service's own user in Keystone, in the database, and at the queue."""
    users = [
        ("nova-compute", "placement", ""), ("nova-compute", "neutron", ""), ("nova-compute", "service_user", ""),
        ("nova-scheduler", "placement", ""), ("nova-api-metadata", "neutron", ""),
        ("nova-api", "keystone_authtoken", ""),
        ("neutron-server", "nova", ""), ("neutron-server", "keystone_authtoken", ""),
        ("glance-api", "keystone_authtoken", ""), ("placement-api", "keystone_authtoken", ""),
        ("cinder-api", "keystone_authtoken", "volume"),
    ]  # fmt: skip
    databases = [
        ("nova-api", "api_database", ""), ("nova-scheduler", "api_database", ""), ("nova-conductor", "database", ""),
        ("neutron-server", "database", ""), ("glance-api", "database", ""), ("keystone", "database", ""),
        ("placement-api", "placement_database", ""), ("cinder-api", "database", "volume"),
        ("cinder-scheduler", "database", "volume"), ("cinder-volume", "database", "volume"),
    ]  # fmt: skip
    queues = [
        ("nova-compute", ""), ("nova-conductor", ""), ("nova-scheduler", ""), ("cinder-scheduler", "volume"),
        ("cinder-volume", "volume"),
    ]  # fmt: skip
    # These agents share their file with others on their host: only they restart with it.
    agents = [("neutron-l2-agent", ""), ("neutron-dhcp-agent", ""), ("neutron-l3-agent", GUEST)]
    for component, section, needs in users:
        yield row(component, f"password-of-{section}", (section, "password", "wrong"), kind=SECRET, needs=needs)
    for component, section, needs in databases:
        edit = DATABASE_PASSWORD.format(section)
        yield row(component, "database-password", edit, kind=SECRET, needs=needs)
    for component, needs in queues:
        yield row(component, "queue-password", QUEUE_PASSWORD, kind=SECRET, needs=needs)
    for component, needs in agents:
        yield row(component, "queue-password", QUEUE_PASSWORD, kind=SECRET, needs=needs, path=NEUTRON)
    for component in ("nova-compute", "nova-scheduler", "cinder-volume"):
        yield row(component, "queue-vhost", QUEUE_VHOST, kind=SECRET, needs="volume" if "cinder" in component else "")
    for component in ("nova-compute", "nova-conductor"):
        yield row(component, "queue-name-unknown", QUEUE_UNKNOWN, kind=NAME)
    yield row("neutron-dhcp-agent", "queue-vhost", QUEUE_VHOST, kind=SECRET, path=NEUTRON)
    yield row("neutron-l2-agent", "queue-name-unknown", QUEUE_UNKNOWN, kind=NAME, path=NEUTRON)


SHARED_SECRET = ("DEFAULT", "metadata_proxy_shared_secret", "wrong")
AGENT = "neutron-metadata-agent"
OVN_METADATA = "neutron-ovn-metadata-agent"
METADATA_API = "nova-api-metadata"


def metadata():
    for agent in (AGENT, OVN_METADATA):
        yield row(agent, "shared-secret", SHARED_SECRET, kind=SECRET, also=METADATA_API)
        yield row(agent, "nova-metadata-host", ("DEFAULT", "nova_metadata_host", "{storage}"))
        yield row(agent, "nova-metadata-port", ("DEFAULT", "nova_metadata_port", "8774"))
        yield row(agent, "nova-metadata-protocol", ("DEFAULT", "nova_metadata_protocol", "https"))
    yield row(AGENT, "proxy-socket", ("DEFAULT", "metadata_proxy_socket", "/var/lib/neutron/another_proxy"))
    yield row(OVN_METADATA, "southbound-is-northbound", ("ovn", "ovn_sb_connection", "tcp:{controller}:6641"))
    yield row(OVN_METADATA, "ovsdb-connection", ("ovs", "ovsdb_connection", "tcp:127.0.0.1:6641"))
    secret = ("neutron", "metadata_proxy_shared_secret", "wrong")
    yield row(METADATA_API, "shared-secret", secret, kind=SECRET, also=f"{AGENT} {OVN_METADATA}")


# Nova's settings that name its peers and what is on the host
NOVA_ROWS = (
    row("nova-compute", "virt-type-kvm", ("libvirt", "virt_type", "kvm")),
    row("nova-compute", "cpu-model", ("libvirt", "cpu_mode", "custom"), ("libvirt", "cpu_models", "Icelake-Server")),
    row("nova-compute", "rbd-pool", ("libvirt", "images_rbd_pool", "nowhere")),
    row("nova-compute", "rbd-user", ("libvirt", "rbd_user", "nobody")),
    row("nova-compute", "rbd-secret", ("libvirt", "rbd_secret_uuid", "00000000-1111-2222-3333-444444444444")),
    row("nova-compute", "ceph-configuration", ("libvirt", "images_rbd_ceph_conf", "/etc/ceph/another.conf")),
    row("nova-compute", "region-of-placement", ("placement", "region_name", "RegionTwo")),
    row("nova-compute", "region-of-neutron", ("neutron", "region_name", "RegionTwo")),
    row("nova-compute", "neutron-override", ("neutron", "endpoint_override", "http://{controller}:9797")),
    row("nova-compute", "glance-override", ("glance", "endpoint_override", "http://{controller}:9392")),
    row("nova-compute", "cinder-region", ("cinder", "os_region_name", "RegionTwo"), needs="volume"),
    row("nova-compute", "instances-path", ("DEFAULT", "instances_path", "/proc/nowhere")),
    row("nova-compute", "host-renamed", ("DEFAULT", "host", "another-compute")),
    row("nova-compute", "reserved-memory", ("DEFAULT", "reserved_host_memory_mb", "900000"),
        reason=("memory|RAM|MEMORY_MB",)),
    row("nova-compute", "processor-ratio", ("DEFAULT", "cpu_allocation_ratio", "0.001"), reason=("CPU",)),
    row("nova-scheduler", "region-of-placement", ("placement", "region_name", "RegionTwo"), needs="anywhere"),
    row("nova-scheduler", "filter-of-instances", ("filter_scheduler", "enabled_filters", "NumInstancesFilter"),
        ("filter_scheduler", "max_instances_per_host", "0"), needs="anywhere", reason=("NumInstancesFilter",)),
    row("nova-scheduler", "tenant-aggregates",
        ("scheduler", "placement_aggregate_required_for_tenants", "true"),
        ("scheduler", "limit_tenants_to_placement_aggregate", "true"), needs="anywhere", reason=("aggregate|tenant",)),
    row("nova-scheduler", "filter-unknown", ("filter_scheduler", "enabled_filters", "ComputeFilter,NoSuchFilter"),
        needs="anywhere"),
    row("nova-conductor", "database-name", r"/^\[database\]/,/^\[/s#^(connection *= *.*)/nova\?#\1/nova_old?#"),
    row("nova-api", "quota-in-file", ("quota", "instances", "0"), needs="anywhere", reason=("quota", "instances")),
)  # fmt: skip
NEUTRON_ROWS = (
    row("neutron-server", "region-of-nova", ("nova", "region_name", "RegionTwo")),
    row("neutron-server", "auth-url-of-nova", ("nova", "auth_url", "http://{controller}:5001")),
    row("neutron-server", "tenant-network-types", ("ml2", "tenant_network_types", "vxlan"), path=ML2),
    row("neutron-server", "type-drivers", ("ml2", "type_drivers", "flat"), path=ML2),
    row("neutron-server", "vlan-ranges", ("ml2_type_vlan", "network_vlan_ranges", "provider:100:299"), path=ML2),
    row("neutron-server", "mechanism-drivers", ("ml2", "mechanism_drivers", "logger"), path=ML2),
    row("neutron-server", "quota-in-file", ("quotas", "quota_network", "0"), reason=("quota", "network")),
    row("neutron-server", "without-router-plugin", ("DEFAULT", "service_plugins", "metering"), path=ML2, needs=GUEST),
    row("neutron-server", "no-dhcp-agents", ("DEFAULT", "dhcp_agents_per_network", "0"), only="ovs"),
    row("neutron-server", "northbound-port", ("ovn", "ovn_nb_connection", "tcp:{controller}:6642"), only="ovn",
        path=ML2),
    row("neutron-server", "southbound-port", ("ovn", "ovn_sb_connection", "tcp:{controller}:6641"), only="ovn",
        path=ML2),
    row("neutron-server", "no-metadata", ("ovn", "ovn_metadata_enabled", "false"), path=ML2, only="ovn"),
    row("neutron-l2-agent", "bridge-mappings", ("ovs", "bridge_mappings", "provider:br-ex")),
    row("neutron-l2-agent", "bridge-unknown", ("ovs", "bridge_mappings", "public:br-provider")),
    row("neutron-l2-agent", "datapath-type", ("ovs", "datapath_type", "system")),
    row("neutron-l2-agent", "ovsdb-connection", ("ovs", "ovsdb_connection", "tcp:127.0.0.1:6641")),
    row("neutron-l2-agent", "openflow-port", ("ovs", "of_listen_port", "6640")),
    row("neutron-dhcp-agent", "interface-driver", ("DEFAULT", "interface_driver", "linuxbridge")),
    row("neutron-dhcp-agent", "folder", ("DEFAULT", "dhcp_confs", "/proc/nowhere")),
    row("neutron-dhcp-agent", "integration-bridge", ("OVS", "integration_bridge", "br-tun")),
    row("neutron-dhcp-agent", "root-helper", ("agent", "root_helper", "sudo neutron-rootwrap /etc/nowhere.conf"),
        ("agent", "root_helper_daemon", "sudo neutron-rootwrap-daemon /etc/nowhere.conf"), path=NEUTRON),
    row("neutron-dhcp-agent", "ignores-ports", r"$ a dhcp-mac=set:lost,fa:16:3e:*:*:*\ndhcp-ignore=tag:lost",
        path=DNSMASQ, also="dnsmasq"),
    row("neutron-dhcp-agent", "route-to-metadata",
        "$ a dhcp-option-force=option:classless-static-route,169.254.169.254/32,192.168.222.77", path=DNSMASQ,
        also="dnsmasq"),
    row("neutron-l3-agent", "agent-mode", ("DEFAULT", "agent_mode", "dvr"), needs=GUEST),
    row("neutron-l3-agent", "no-metadata-proxy", ("DEFAULT", "enable_metadata_proxy", "false"), needs="router"),
    row("neutron-l3-agent", "interface-driver", ("DEFAULT", "interface_driver", "linuxbridge"), needs=GUEST),
)  # fmt: skip
STORAGE_ROWS = (
    row("cinder-volume", "rbd-pool", ("ceph", "rbd_pool", "nowhere"), needs="volume"),
    row("cinder-volume", "rbd-user", ("ceph", "rbd_user", "nobody"), needs="volume"),
    row("cinder-volume", "rbd-secret", ("ceph", "rbd_secret_uuid", "00000000-1111-2222-3333-444444444444"),
        needs="volume", also="nova-compute"),
    row("cinder-volume", "ceph-configuration", ("ceph", "rbd_ceph_conf", "/etc/ceph/another.conf"), needs="volume"),
    row("cinder-volume", "back-end-renamed", ("ceph", "volume_backend_name", "ceph-fast"), needs="volume",
        also="cinder-scheduler", reason=("back.?end|type",)),
    row("cinder-volume", "back-end-zone", ("ceph", "backend_availability_zone", "mars"), needs="volume",
        also="cinder-scheduler", reason=("zone",)),
    row("cinder-volume", "back-end-reserved", ("ceph", "reserved_percentage", "100"), needs="volume",
        also="cinder-scheduler", reason=("space|capacity|room|back.?end",)),
    row("cinder-volume", "lock-folder", ("coordination", "backend_url", "file:///proc/nowhere"), needs="volume"),
    row("cinder-volume", "glance-address", ("DEFAULT", "glance_api_servers", "http://{controller}:9393"),
        needs="image-volume"),
    row("cinder-scheduler", "filter-unknown", ("DEFAULT", "scheduler_default_filters", "NoSuchFilter"), needs="volume"),
    row("cinder-api", "default-type", ("DEFAULT", "default_volume_type", "gone"), needs="default-type"),
    row("glance-api", "rbd-pool", ("ceph", "rbd_store_pool", "nowhere"), needs="ceph-image"),
    row("glance-api", "rbd-user", ("ceph", "rbd_store_user", "nobody"), needs="ceph-image"),
    row("glance-api", "size-cap", ("DEFAULT", "image_size_cap", "1000"), needs="image", reason=("size|large|cap",)),
    row("glance-api", "swift-region", ("rgw", "swift_store_region", "RegionTwo"), needs="image"),
    row("glance-api", "default-store", ("glance_store", "default_backend", "gone"), needs="image"),
    row("glance-api", "swift-password", ("rgw", "key", "wrong"), kind=SECRET, needs="image",
        path="/etc/glance/glance-swift.conf"),
)  # fmt: skip
BASIC_ROWS = (
    row("keystone", "short-tokens", ("token", "expiration", "1")),
    row("keystone", "key-repository", ("fernet_tokens", "key_repository", "/etc/keystone/old-keys")),
    row("placement-api", "database-name",
        r"/^\[placement_database\]/,/^\[/s#^(connection *= *.*)/placement\?#\1/placement_old?#"),
)  # fmt: skip
# Rules of policies that nobody fulfils: component, folder, rule, what a run needs
POLICIES = (
    ("nova-api", "nova", "os_compute_api:servers:create", ""),
    ("neutron-server", "neutron", "create_network", ""),
    ("cinder-api", "cinder", "volume:create", "volume"),
    ("glance-api", "glance", "add_image", "image"),
    ("placement-api", "placement", "placement:allocation_candidates:list", ""),
)
# Peers by a name that this host alone resolves to another address: component, name, edits
RENAMED = (
    ("nova-compute", "queue", (QUEUE_RENAMED,)),
    ("nova-compute", "identity", (("placement", "auth_url", "http://identity:5000"),)),
    ("nova-compute", "networking", (("neutron", "endpoint_override", "http://networking:9696"),)),
    ("nova-compute", "images", (("glance", "endpoint_override", "http://images:9292"),)),
)


def settings(site):
    """All wrong settings of a site, as faults."""
    rows = [*secrets(), *metadata(), *NOVA_ROWS, *NEUTRON_ROWS, *STORAGE_ROWS, *BASIC_ROWS]
    network = "ovn" if site.is_ovn else "ovs"
    for one in rows:
        if one.only in ("", network) and fits(site, one):
            yield from (of_row(site, one, part) for part in site.parts_of(one.component))
    yield from policies(site)
    yield from (fault for one in RENAMED if site.other for fault in renamed(site, *one))


def fits(site, one):
    """Whether a site has what a row speaks of: a devstack has no Ceph, no volumes and one host."""
    words = str(one.edits)
    if site.storage:
        return True
    ceph = one.needs in ("volume", "image", "image-volume", "ceph-image", "default-type") or "rbd" in words
    return not (ceph or "ceph" in words or "{storage}" in words or one.path == ML2)


def words_of(site):
    fields = ("controller", "compute", "other", "network", "storage")
    return {field: site.addresses.get(getattr(site, field)) for field in fields}


def edits_of(site, edits):
    words = words_of(site)
    return [edit if isinstance(edit, str) else (*edit[:2], edit[2].format(**words)) for edit in edits]


def of_row(site, one, part):
    others = [other for name in one.also.split() for other in site.parts_of(name)]
    return Wrong(
        name=f"{site.name_of(part)}-wrong-{one.name}",
        kind=one.kind,
        make=in_settings(part, *edits_of(site, one.edits), path=one.path),
        components=f"{part.component} {one.also}".strip(),
        hosts=" ".join(sorted({part.host, *(other.host for other in others)})),
        reason=one.reason,
        needs=one.needs,
    )


def policies(site):
    for component, folder, rule, needs in POLICIES:
        for part in site.parts_of(component) if site.storage or not needs else []:
            path = f"/etc/{folder}/policy.yaml"
            make = partial(set_by_new_file, part=part, path=path, text=f'"{rule}": "role:nobody"')
            reason = ("polic|forbid|not allowed|disallow|403",)
            yield Wrong(f"{component}-wrong-policy", SETTING, make, component, part.host, reason, needs)


def renamed(site, component, name, edits):
    for part in site.parts_of(component):
        commands = [
            sed(part.settings, edit) if isinstance(edit, str) else set_option(part.settings, *edit) for edit in edits
        ]
        address = site.addresses[site.other]
        make = partial(renamed_peer, part=part, edits=commands, name=name, address=address)
        yield Wrong(f"{component}-wrong-address-of-{name}", NAME, make, component, part.host)
