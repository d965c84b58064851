# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nova."""

from __future__ import annotations

from .component import (
    Api,
    Commands,
    Component,
    HostOption,
    OwnAddress,
    Port,
    Project,
)

# The cells have the addresses of their queue and database in the database of the API.
CELLS = Commands(connections="nova-manage cell_v2 list_cells --verbose")

PROJECTS = (
    Project(
        "nova",
        configuration=("/etc/nova",),
        has_options=True,
        packages=("nova-*",),
        schema_version="nova-manage api_db version; nova-manage db version",
        enabling="openstack compute service set --enable <host> {component}",
        components=(
            Component(
                "nova-api",
                depends_on=(
                    "keystone", "database", "rabbitmq", "glance-api", "neutron-server", "cinder-api", "memcached",
                ),
                stages=("boot",),
                works_on_boot=True,
                api=Api(("compute",), url_paths=("compute",)),
                mentioned_as=("nova[ -]api", "compute (?:service|api)"),
                libraries=("novaclient",),
                ports=(Port(8774),),
                commands=CELLS,
            ),
            Component(
                "nova-api-metadata",
                depends_on=("database", "neutron-server", "nova-conductor", "memcached"),
                stages=("metadata",),
                log_name="nova-metadata",
                ports=(Port(8775),),
                host_options=(
                    HostOption("nova_metadata_host", "nova_metadata_port"),
                    HostOption("nova_metadata_ip", "nova_metadata_port"),
                ),
                commands=CELLS,
            ),
            Component(
                "nova-conductor",
                depends_on=("database", "rabbitmq"),
                works_on_boot=True,
                answers_calls=True,
                mentioned_as=("conductor",),
                topics=("conductor",),
                commands=CELLS,
            ),
            Component(
                "nova-scheduler",
                depends_on=("placement-api", "database", "rabbitmq"),
                works_on_boot=True,
                answers_calls=True,
                topics=("scheduler",),
                commands=CELLS,
            ),
            Component(
                "nova-compute",
                depends_on=(
                    "libvirt", "rabbitmq", "nova-conductor", "ceph-mon", "ceph-osd", "glance-api", "neutron-server",
                    "cinder-api", "placement-api", "neutron-l2-agent", "ovn-controller", "ovsdb",
                ),
                is_beside_instance=True,
                works_on_boot=True,
                sends_back=("Error from last host: ", "Timeout while checking if we can live migrate to host: "),
                moves_with=(
                    # Files of TLS that it cannot read, and names that it does not know, are those of the source.
                    r"Live Migration failure: (?!.*(?:libvirt-sock|Cannot read|Unable to resolve)).*"
                    r"(?:unable to connect|failed to connect"
                    r"|authentication failed|unexpectedly (?:closed|failed)|recv data|TLS handshake|certificate)",
                    # On the source the domain runs already: it is defined, plugged in and started at the other end.
                    r"Live Migration failure: (?!.*(?:non-migratable|VIR_MIGRATE_|post-copy)).*"
                    r"(?:exited while connecting|machine type|guest (?:and host )?CPU|CPU (?:feature|model)"
                    r"|already (?:defined|exists|active)|unused port|Unable to add (?:port|bridge)|Cannot get interface"
                    r"|Secret not found|backing store|Failed to bind|to the same host|unsupported configuration)",
                    # libvirt asks a site's own script where the server is to go.
                    r"Live Migration failure: .*hooks/qemu ",
                ),
                # Who ends a migration by himself breaks nothing.
                repeats=("Migration operation has aborted$", "canceled by client"),
                starts=("qemu-img",),
                own_addresses=(
                    OwnAddress("DEFAULT", "my_ip", ("migrate", "resize")),
                    OwnAddress("libvirt", "live_migration_inbound_addr", ("live-migration",)),
                ),
                commands=Commands(
                    state="ls -l /dev/kvm; grep --recursive --extended-regexp '^(virt_type|cpu_m)' /etc/nova"
                ),
                topics=("compute",),
            ),
        ),
    ),
)  # fmt: skip
