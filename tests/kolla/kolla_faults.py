# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that are made on a cloud of kolla, each with what a verdict on it has to say to be right."""

from __future__ import annotations

from typing import Any, ClassVar

import devstack_faults
from devstack_faults import Devstack, done
from kolla_under_test import ENGINE, HOST, OPERATOR
from truths import fault_of

CONTAINERS = f"{ENGINE} ps --all --format '{{{{.Names}}}} {{{{.State}}}} {{{{.Status}}}}'"
# What the status of a running container says while its health check fails, or has not passed yet
NOT_WELL = ("unhealthy", "starting")
IMAGES = {"docker": "/var/lib/docker", "podman": "/var/lib/containers/storage"}[ENGINE] + "/volumes/glance/_data"


class Kolla(Devstack):
    """The host with root's rights, and the cloud as its administrator sees it."""

    given: ClassVar[dict[str, Any]] = {**Devstack.given, **OPERATOR}

    def ill(self):
        for line in self.run(HOST, CONTAINERS).splitlines():
            name, state, status = line.split(" ", 2)
            if state != "running" or any(word in status for word in NOT_WELL):
                yield f"{name} is {state} ({status})"
        yield from self.ill_for_the_cloud()


def unit(container):
    return f"kolla-{container}-container"


def stopping(container):
    return devstack_faults.stopping(unit(container))


def pausing(container):
    return done(f"{ENGINE} pause {container}", f"{ENGINE} unpause {container}")


def configured(container, file, edit):
    """A file that is changed by sed and copied into the container when that starts; then both are as before."""
    path = f"/etc/kolla/{container.replace('_', '-')}/{file}"
    return devstack_faults.configured(path, edit, unit(container))


def in_section(section, change):
    return f"'/^\\[{section}\\]/,/^\\[/{change}'"


def wrong_password(section):
    return in_section(section, "s/^password = .*/password = wrong/")


def called(statement):
    """A statement for the database, by root of its container."""
    password = "$(awk '/^database_password:/ {print $2}' /etc/kolla/passwords.yml)"
    return f'{ENGINE} exec mariadb mariadb --user=root --password="{password}" --execute "{statement}"'


def without_image(image):
    """An image that is no longer known by its name, as after a clean-up; the containers that run keep it."""
    name = f"{image}:$({ENGINE} images --format '{{{{.Tag}}}}' {image} | grep --max-count=1 --invert-match kept)"
    back = f"{ENGINE} tag {image}:kept {image}:$(cat /run/stackproof-tag) && {ENGINE} rmi {image}:kept"
    keep = f"{ENGINE} tag {name} {image}:kept && {ENGINE} rmi {name}"
    return done(f"echo {name} | cut -d: -f2 > /run/stackproof-tag && {keep}", back)


# A disk for images that has no room for one
SMALL_DISK = done(
    f"mount -t tmpfs -o size=1m,mode=0777 tmpfs {IMAGES} && systemctl restart {unit('glance_api')}",
    f"umount --lazy {IMAGES} && systemctl restart {unit('glance_api')}",
)

FAULTS = {}


def fault(name, make, stage, components, **variables):
    FAULTS[name] = fault_of(name, make, stage, components, HOST or "", **variables)


fault("nova-compute-stopped", stopping("nova_compute"), "boot", "nova-compute")
fault("nova-compute-paused", pausing("nova_compute"), "boot", "nova-compute")
fault("nova-scheduler-paused", pausing("nova_scheduler"), "boot", "nova-scheduler")
fault("nova-conductor-paused", pausing("nova_conductor"), "boot", "nova-conductor")
fault("nova-metadata-paused", pausing("nova_metadata"), "metadata", "nova-api-metadata")
fault("nova-libvirt-stopped", stopping("nova_libvirt"), "boot", "libvirt")
fault("dhcp-agent-stopped", stopping("neutron_dhcp_agent"), "metadata", "neutron-dhcp-agent")
fault("dhcp-agent-paused", pausing("neutron_dhcp_agent"), "metadata", "neutron-dhcp-agent")
# It does not recover by itself from what it has missed.
fault(
    "l2-agent-paused",
    done(
        f"{ENGINE} pause neutron_openvswitch_agent",
        f"{ENGINE} unpause neutron_openvswitch_agent && systemctl restart {unit('neutron_openvswitch_agent')}",
    ),
    "boot",
    "neutron-l2-agent",
)
fault("metadata-agent-stopped", stopping("neutron_metadata_agent"), "metadata", "neutron-metadata-agent")
fault("neutron-server-stopped", stopping("neutron_server"), "network", "neutron-server")
fault("glance-api-paused", pausing("glance_api"), "image", "glance-api")
fault("placement-api-stopped", stopping("placement_api"), "boot", "placement-api")
fault("keystone-stopped", stopping("keystone"), "auth", "keystone")
fault("haproxy-stopped", stopping("haproxy"), "auth", "haproxy")
fault("keepalived-stopped", stopping("keepalived"), "auth", "keepalived")
fault("mariadb-paused", pausing("mariadb"), "auth", "database")
fault("rabbitmq-paused", pausing("rabbitmq"), "boot", "rabbitmq")
fault(
    "nova-compute-wrong-password-of-neutron",
    configured("nova_compute", "nova.conf", wrong_password("neutron")),
    "boot",
    "nova-compute",
)
fault(
    "nova-scheduler-wrong-password-of-placement",
    configured("nova_scheduler", "nova.conf", wrong_password("placement")),
    "boot",
    "nova-scheduler",
)
fault(
    "haproxy-wrong-port-of-placement",
    configured("haproxy", "services.d/placement-api.cfg", "'/^    server /s/:8780 /:8781 /'"),
    "boot",
    "haproxy placement-api",
)
fault(
    "haproxy-wrong-port-of-neutron",
    configured("haproxy", "services.d/neutron-server.cfg", "'/^    server /s/:9696 /:9697 /'"),
    "network",
    "haproxy neutron-server",
)
fault(
    "neutron-server-wrong-password-of-nova",
    configured("neutron_rpc_server", "neutron.conf", wrong_password("nova")),
    "boot",
    "neutron-server",
)
fault(
    "glance-api-wrong-password",
    configured("glance_api", "glance-api.conf", wrong_password("keystone_authtoken")),
    "image",
    "glance-api",
)
fault(
    "placement-api-wrong-password-of-database",
    configured(
        "placement_api", "placement.conf", in_section("placement_database", "s/placement:[^@]*@/placement:wrong@/")
    ),
    "boot",
    "placement-api",
)
fault(
    "nova-compute-wrong-virt-type",
    configured("nova_compute", "nova.conf", in_section("libvirt", "s/^virt_type = .*/virt_type = xen/")),
    "boot",
    "nova-compute",
)
fault(
    "metadata-agent-wrong-secret",
    configured(
        "neutron_metadata_agent",
        "metadata_agent.ini",
        "'s/^metadata_proxy_shared_secret = .*/metadata_proxy_shared_secret = wrong/'",
    ),
    "metadata",
    "neutron-metadata-agent nova-api-metadata",
)
fault(
    "l2-agent-wrong-bridge",
    configured(
        "neutron_openvswitch_agent",
        "openvswitch_agent.ini",
        "'s/^bridge_mappings = .*/bridge_mappings = physnet1:br-none/'",
    ),
    "boot",
    "neutron-l2-agent",
)
fault("dhcp-agent-image-removed", without_image("kolla/neutron-dhcp-agent"), "metadata", "neutron-dhcp-agent dnsmasq")
fault("glance-disk-full", SMALL_DISK, "image", "glance-api")
fault(
    "mariadb-read-only",
    done(called("SET GLOBAL read_only = 1"), called("SET GLOBAL read_only = 0")),
    "image",
    "database",
)
fault(
    "rabbitmq-memory-alarm",
    done(
        f"{ENGINE} exec rabbitmq rabbitmqctl set_vm_memory_high_watermark absolute 1MB",
        f"{ENGINE} exec rabbitmq rabbitmqctl set_vm_memory_high_watermark 0.6",
    ),
    "boot",
    "rabbitmq",
)
