# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that an operation after the boot meets, each with what a verdict on it has to say to be right.

The first guest is on COMPUTE and the second one on OTHER, so OTHER is where every move of the first one ends: Nova
leaves out the host on which it is. Both guests are then on one host, and no wire is between them any more.
"""

from __future__ import annotations

import contextlib
import json
from functools import partial

from breaking import changed, cut_off, edited, frozen, recovered, stopped, undone
from dataplane_faults import AGENT, FIREWALL, dropping
from faults import COMPUTE, CONTROLLER, HERE, NETWORK, NO_VOLUME, OTHER, STORAGE, full_quota, silent_neutron
from lab_under_test import HOSTS
from lab_under_test import NETWORK as BACK_END
from truths import fault_of
from ways_to_break import MYSQL, commanded
from ways_to_set_wrong import computes_off, first, hosts_entry, set_option, sql

# The run's texts at which a fault is made. The second guest has its server when the paths are looked at, and both have
# their leases and user data when that has ended. The journey then waits for a sign of life before it asks for anything.
SECOND = '"stage": "dataplane"'
PATHS = '"stage": "dataplane", "text": "waiting for the guests to show the paths'
DONE = '"stage": "dataplane", "text": "ok after'
# The signs of life are on the console of the second guest, which nova-compute and libvirt of OTHER read: they can break
# only once the operation is asked for.
ASKED = '"stage": "journey", "text": "asking for {}'

NOVA, CINDER = "/etc/nova/nova.conf", "/etc/cinder/cinder.conf"
LIBVIRT, SOCKETS = "libvirtd", "libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket"
# What a fault of the guest's network on a host may be laid to, as between two guests
SWITCH = f"data-network ovsdb {FIREWALL}"
# At boot, as an attachment that comes later would need Cinder when it is broken. The guests do not hand it over for the
# same reason.
WITH_VOLUME = {"volume": "empty", "attach": "at_boot", "dataplane_volume": False}
# An operation takes half a minute. One that hangs would keep its server busy for longer than a run may take.
PATIENT = {"dataplane_timeout": 120, "journey_timeout": 150}
# A consumer of resources that is no server any more
GHOST = "00000000-0000-4000-8000-0000000000fe"
NOBODY = ("", "")

FAULTS = {}


def of_operation(name, operation, make, components, hosts, during="", **more):
    """A fault that an operation meets."""
    given = {"dataplane": True, "journey": [operation], **PATIENT, **NO_VOLUME, **HERE, **more}
    return fault_of(name, make, "journey", components, hosts, during=during, **given)


def fault(name, *truth, **more):
    FAULTS[name] = of_operation(name, *truth, **more)


def done(host, command, back):
    return partial(commanded, host=host, make=command, back=back)


def address(host):
    return HOSTS[host]["ansible_host"]


# Settings


def configured(host, path, unit, *options):
    """Options of a file, each a section, a name and a value, that a service reads when it starts."""
    edit = " && ".join(set_option(path, *option) for option in options)
    return partial(changed, host=host, path=path, edit=edit, units=[unit])


def in_nova(host, *options, unit="nova-compute"):
    return configured(host, NOVA, unit, *options)


@contextlib.contextmanager
def libvirt_told(lab, path, edit):
    """Settings of libvirt on OTHER. nova-compute sees that its connection is lost, and takes its host back in service.

    The guests go on without libvirt.
    """
    # The pause is for nova-compute to notice, or the lab would be well before it is ill.
    restart = f"systemctl restart {LIBVIRT} && sleep 5"
    with edited(lab, OTHER, path, f"{edit} && {restart}", restart, ["nova-compute"]):
        lab.wait_until_well()
        yield


@contextlib.contextmanager
def listening_on_loopback(lab):
    """Other hosts do not reach libvirt on OTHER: its socket listens on an address of the host's own."""
    folder = "/run/systemd/system/libvirtd-tcp.socket.d"
    # A socket cannot start while its service runs, and a socket that is left would start the service.
    units = f"{SOCKETS} libvirtd-tcp.socket {LIBVIRT}"
    again = f"systemctl daemon-reload && systemctl stop {units} && systemctl start {units} && sleep 5"
    text = "[Socket]\\nListenStream=\\nListenStream=127.0.0.1:16509\\n"
    make = f"mkdir -p {folder} && printf '{text}' > {folder}/zz.conf && {again}"
    with recovered(lab, OTHER, ["nova-compute"]), undone(lab, OTHER, make, f"rm {folder}/zz.conf && {again}"):
        lab.wait_until_well()
        yield


def misnamed(lab):
    """COMPUTE has another address for the name of OTHER, by which libvirt is reached there."""
    return edited(lab, COMPUTE, "/etc/hosts", hosts_entry(OTHER, address(STORAGE)), "true")


# On a host


def closed(ports, jump):
    """Ports of OTHER that a firewall closes for COMPUTE."""
    rule = f"INPUT --protocol tcp --source {address(COMPUTE)} --dport {ports} --jump {jump}"
    return done(OTHER, f"iptables --wait --insert {rule}", f"iptables --wait --delete {rule}")


def of_root(host, path, group):
    """A file that its service, which is in a group, may not read."""
    return done(host, f"chgrp root {path}", f"chgrp {group} {path}")


def without_secret(host):
    """libvirt has forgotten the key for Ceph. Guests that run have used it already."""
    pick = "virsh secret-list | awk 'NR == 3 {print $1}'"
    return done(host, f"virsh secret-undefine $({pick})", ". /etc/stackproof-lab/ceph-secret.sh")


@contextlib.contextmanager
def foreign_flow(lab):
    """A flow of nobody's for what the first guest sends on OTHER.

    Packets that come over the wire have the tag of their VLAN, so those from COMPUTE still pass.
    """
    ports = lab.admin.network.get("/ports").json()["ports"]
    guest = first(
        port for port in ports if port["device_owner"].startswith("compute:") and port["binding:host_id"] == COMPUTE
    )
    with dropping(OTHER, f"dl_vlan=0xffff,dl_src={guest['mac_address']}")(lab):
        yield


def dnsmasq_that_does_not_start(lab):
    """dnsmasq has ended, and its agent cannot start it with these settings. Guests that run have their leases."""
    path, agent = "/etc/neutron/dnsmasq-neutron.conf", "neutron-dhcp-agent"
    make = f"echo no-such-option >> {path} && pkill -x dnsmasq"
    return edited(lab, NETWORK, path, make, f"systemctl restart {agent}", [agent])


# In Ceph


@contextlib.contextmanager
def with_rights(lab, osd):
    """The key of the computes and of cinder has other rights. Who is connected keeps those that it has."""
    caps = json.loads(lab.run(STORAGE, "ceph auth get client.cinder --format json"))[0]["caps"]
    before = " ".join(f"{kind} '{text}'" for kind, text in caps.items())
    make = f"ceph auth caps client.cinder mon '{caps['mon']}' osd '{osd}'"
    with recovered(lab, STORAGE), undone(lab, STORAGE, make, f"ceph auth caps client.cinder {before}"):
        yield


@contextlib.contextmanager
def image_moved(lab):
    """The data of the image has another name than Glance knows. Disks that were made of it find it all the same."""
    image = f"images/{lab.admin.image.find_image(lab.given['image']).id}"
    with commanded(lab, STORAGE, f"rbd mv {image} {image}-old", f"rbd mv {image}-old {image}"):
        yield


# In the cloud


@contextlib.contextmanager
def ghost_on_other(lab):
    """A server that is gone still has all memory of OTHER, as it may be after a move that failed."""
    placement = lab.admin.placement
    provider = placement.get(f"/resource_providers?name={OTHER}").json()["resource_providers"][0]["uuid"]
    inventory = placement.get(f"/resource_providers/{provider}/inventories/MEMORY_MB").json()
    used = placement.get(f"/resource_providers/{provider}/usages").json()["usages"]["MEMORY_MB"]
    room = int((inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"]) - used
    session = lab.admin.session
    body = {
        "allocations": {provider: {"resources": {"MEMORY_MB": min(room, inventory["max_unit"])}}},
        "project_id": session.get_project_id(),
        "user_id": session.get_user_id(),
        "consumer_generation": None,
    }
    placement.put(f"/allocations/{GHOST}", json=body, microversion="1.28").raise_for_status()
    try:
        yield
    finally:
        placement.delete(f"/allocations/{GHOST}").raise_for_status()


def failed_bindings(lab):
    """Neutron's rows say that the ports on COMPUTE could not be bound. Their flows are still there."""
    change = "UPDATE neutron.ml2_port_bindings SET vif_type='{}' WHERE host='" + COMPUTE + "' AND vif_type='{}'"
    make, back = (sql(MYSQL, change.format(*types)) for types in (("binding_failed", "ovs"), ("ovs", "binding_failed")))
    return commanded(lab, CONTROLLER, make, back)


# Everything runs, and something is wrong. First a live migration: libvirt of COMPUTE speaks to that of OTHER, and its
# qemu to the one there. What only a migration needs is wrong from the beginning.
MOVE = "live_migrate"
fault(
    "migration-address-wrong",
    MOVE,
    in_nova(OTHER, ("libvirt", "live_migration_inbound_addr", address(STORAGE))),
    "nova-compute",
    OTHER,
)
# This host has no certificates, as the lab has none.
fault(
    "migration-over-tls",
    MOVE,
    in_nova(COMPUTE, ("libvirt", "live_migration_scheme", "tls")),
    "nova-compute",
    COMPUTE,
)
fault("libvirt-listens-on-loopback", MOVE, listening_on_loopback, "libvirt", OTHER)
# The package's own setting
fault(
    "libvirt-asks-for-a-password",
    MOVE,
    partial(
        libvirt_told,
        path="/etc/libvirt/libvirtd.conf",
        edit="sed -i 's/^auth_tcp.*/auth_tcp = \"sasl\"/' /etc/libvirt/libvirtd.conf",
    ),
    "libvirt",
    OTHER,
)
fault("libvirt-port-closed", MOVE, closed("16509", "REJECT --reject-with tcp-reset"), "libvirt", OTHER)
fault("migration-ports-closed", MOVE, closed("49152:49215", "DROP"), "libvirt", OTHER)
# nova-compute gives libvirt the name; which of them looks it up is one to an operator.
fault("destination-has-another-address", MOVE, misnamed, "nova-compute libvirt", COMPUTE)
fault("secret-missing-at-the-destination", MOVE, without_secret(OTHER), "libvirt", OTHER, PATHS)
# nova-compute asks for the port's move with its own user, and not with that of the request.
fault(
    "neutron-password-at-the-destination",
    MOVE,
    in_nova(OTHER, ("neutron", "password", "wrong")),
    "nova-compute",
    OTHER,
    PATHS,
)
fault("foreign-flow-at-the-destination", MOVE, foreign_flow, f"ovsdb {FIREWALL}", OTHER, PATHS)
fault(
    "destination-disabled",
    MOVE,
    partial(computes_off, hosts=(OTHER,), reason="disk swap"),
    "nova-compute",
    OTHER,
    PATHS,
)

# Moves of a server that is stopped: nova-compute of COMPUTE makes a folder on OTHER by ssh, and OTHER starts it.
# At this address, which is another host's, nobody takes the key.
fault("own-address-wrong", "migrate", in_nova(OTHER, ("DEFAULT", "my_ip", address(STORAGE))), "nova-compute", OTHER)
fault(
    "ssh-key-not-readable",
    "migrate",
    of_root(COMPUTE, "/var/lib/nova/.ssh/id_ed25519", "nova"),
    "nova-compute ssh",
    COMPUTE,
)
fault(
    "instances-folder-of-root",
    "migrate",
    done(OTHER, "chown root:root /var/lib/nova/instances", "chown nova:nova /var/lib/nova/instances"),
    "nova-compute",
    OTHER,
    PATHS,
)
fault(
    "one-instance-a-host",
    "migrate",
    in_nova(
        CONTROLLER,
        ("filter_scheduler", "enabled_filters", "ComputeFilter,NumInstancesFilter"),
        ("filter_scheduler", "max_instances_per_host", "1"),
        unit="nova-scheduler",
    ),
    "nova-scheduler",
    CONTROLLER,
)
# The server boots again there, and asks for its lease again.
fault("dhcp-dropped-at-the-destination", "migrate", dropping(OTHER, "udp,tp_dst=67"), SWITCH, OTHER, DONE)
REFUSAL = "/etc/ssh/sshd_config.d/zz-journey.conf"
fault(
    "ssh-refuses-nova",
    "resize",
    done(
        OTHER,
        f"echo 'DenyUsers nova' > {REFUSAL} && systemctl reload ssh",
        f"rm {REFUSAL} && systemctl reload ssh",
    ),
    "ssh nova-compute",
    OTHER,
)
fault(
    "ceph-key-not-readable-at-the-destination",
    "resize",
    of_root(OTHER, "/etc/ceph/ceph.client.cinder.keyring", "ceph"),
    "nova-compute ceph",
    OTHER,
    PATHS,
)
fault("ghost-on-the-destination", "resize", ghost_on_other, "placement nova-scheduler", f"{CONTROLLER} {OTHER}", PATHS)
# Nothing is broken here, and the cloud says itself what is lacking.
# The project may have no more memory than its two guests have.
fault("memory-quota-full", "resize", partial(full_quota, project="admin", ram=256), *NOBODY, PATHS)
fault("secret-missing-at-the-way-back", "resize_revert", without_secret(COMPUTE), "libvirt", COMPUTE, PATHS)

# On the server's own host
fault("image-data-gone", "rebuild", image_moved, "glance-api ceph ceph-mon ceph-osd", f"{CONTROLLER} {STORAGE}", PATHS)
fault(
    "disks-read-only",
    "rebuild",
    partial(with_rights, osd="profile rbd-read-only pool=vms, profile rbd-read-only pool=images"),
    "ceph ceph-mon ceph-osd nova-compute",
    f"{STORAGE} {COMPUTE}",
    PATHS,
)
fault("binding-failed", "hard_reboot", failed_bindings, "neutron-server", CONTROLLER, DONE)
if BACK_END == "ovs":
    fault("dnsmasq-broken", "stop", dnsmasq_that_does_not_start, "dnsmasq neutron-dhcp-agent", NETWORK, DONE)
else:
    # Here each host answers for DHCP itself.
    fault("dhcp-dropped", "stop", dropping(COMPUTE, "udp,tp_dst=67"), SWITCH, COMPUTE, DONE)
# Only a server that is spawned waits until Neutron tells Nova that its port is there.
fault("ports-not-told", "shelve", silent_neutron, "neutron-server", CONTROLLER, PATHS)
fault(
    "volumes-read-only",
    "extend_volume",
    partial(
        with_rights,
        osd="profile rbd pool=vms, profile rbd-read-only pool=volumes, profile rbd-read-only pool=images",
    ),
    "ceph ceph-mon ceph-osd cinder-volume",
    f"{STORAGE} {CONTROLLER}",
    PATHS,
    **WITH_VOLUME,
)
fault(
    "volume-secret-unknown",
    "reattach_volume",
    configured(
        CONTROLLER, CINDER, "cinder-volume", ("ceph", "rbd_secret_uuid", "00000000-1111-2222-3333-444444444444")
    ),
    "cinder-volume",
    CONTROLLER,
    SECOND,
    **WITH_VOLUME,
)


# What only the operation needs is dead, or does nothing


def dead(name, operation, host, units, *truth, way=stopped, **more):
    fault(name, operation, lambda lab: way(lab, host, *units.split()), *truth, **more)


dead("conductor-stopped", MOVE, CONTROLLER, "nova-conductor", "nova-conductor", CONTROLLER, DONE)
dead("scheduler-frozen", "migrate", CONTROLLER, "nova-scheduler", "nova-scheduler", CONTROLLER, PATHS, way=frozen)
dead("scheduler-stopped", "shelve", CONTROLLER, "nova-scheduler", "nova-scheduler", CONTROLLER, PATHS)
dead("placement-stopped", "resize", CONTROLLER, "placement-api", "placement", CONTROLLER, PATHS)
dead(
    "nova-compute-of-the-destination-stopped",
    MOVE,
    OTHER,
    "nova-compute",
    "nova-compute",
    OTHER,
    ASKED.format("os-migrateLive"),
)
dead(
    "nova-compute-of-the-destination-frozen",
    "resize",
    OTHER,
    "nova-compute",
    "nova-compute",
    OTHER,
    ASKED.format("resize"),
    way=frozen,
)
dead(
    "libvirt-of-the-destination-stopped",
    "migrate",
    OTHER,
    f"{SOCKETS} {LIBVIRT}",
    "libvirt",
    OTHER,
    ASKED.format("migrate"),
)
dead(
    "libvirt-of-the-destination-frozen",
    MOVE,
    OTHER,
    LIBVIRT,
    "libvirt",
    OTHER,
    ASKED.format("os-migrateLive"),
    way=frozen,
)
# Ports that are there keep their flows; the one that comes gets none.
dead("agent-of-the-destination-stopped", MOVE, OTHER, AGENT, FIREWALL, OTHER, DONE)
dead("agent-frozen", "hard_reboot", COMPUTE, AGENT, FIREWALL, COMPUTE, DONE, way=frozen)
dead(
    "cinder-volume-stopped",
    "extend_volume",
    CONTROLLER,
    "cinder-volume",
    "cinder-volume",
    CONTROLLER,
    PATHS,
    **WITH_VOLUME,
)
fault(
    "rabbitmq-cut-compute",
    "pause",
    partial(cut_off, host=COMPUTE, port=5672, units=["nova-compute"]),
    "rabbitmq nova-compute",
    f"{COMPUTE} {CONTROLLER}",
    DONE,
)
