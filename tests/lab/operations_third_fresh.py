# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A third fresh set of faults of operations after the boot and of the paths between two guests.

They are those that operators meet most, drawn up by how often and without a look at the other sets, so that some are
like faults there. The guests are at the same places: the first one on COMPUTE, the second one on OTHER, which is also
where every move of the first one ends.
"""

from __future__ import annotations

import contextlib
import json
from functools import partial

from breaking import changed, edited, frozen, recovered, stopped
from dataplane_faults import AGENT, FIREWALL, NEUTRON, OVER_IPV6, SERVERS, SETTINGS, UDP_PORT, dropping, smaller
from faults import COMPUTE, CONTROLLER, NETWORK, OTHER, STORAGE
from fourth_fresh import by_several
from journey_faults import (
    ASKED,
    DONE,
    LIBVIRT,
    MOVE,
    NOBODY,
    NOVA,
    PATHS,
    SECOND,
    SWITCH,
    WITH_VOLUME,
    address,
    closed,
    configured,
    done,
    in_nova,
)
from lab_under_test import NETWORK as BACK_END
from operations_fresh import KNOWN_HOSTS, kept_in
from operations_second_fresh import IN_TUNNELS, detached_at_last, on_a_network_in_tunnels
from ways_to_break import commanded
from ways_to_set_wrong import computes_off, hosts_entry, set_option

AUTHORIZED_KEYS, INSTANCES = "/var/lib/nova/.ssh/authorized_keys", "/var/lib/nova/instances"
# A key of the right form that Ceph does not know
OLD_CEPH_KEY = "AQAAAAAAAAAAABAAu7u7u7u7u7u7u7u7u7u7uw=="
# A model that any processor and QEMU's own emulation can be, and that no other model is made of
CPU_MODEL, CPU_MAP = "Conroe", "/usr/share/libvirt/cpu_map/index.xml"
# What OTHER may still give away, in megabytes: less than the smallest flavor
LEFT = 64
# Of a wire that is itself in somebody's tunnel, and of one that takes jumbo frames
MTU_IN_A_TUNNEL, JUMBO = 1450, 9000

FAULTS = {}


fault, fault_between = kept_in(FAULTS)


# Moves: a live migration, a cold one, and a resize


def key_of_a_new_installation():
    """COMPUTE knows OTHER by a key that OTHER does not have, as when one of them has been installed again."""
    new = "/run/new-host-key"
    make = f"rm -f {new} {new}.pub && ssh-keygen -q -t ed25519 -N '' -f {new} && key=$(cut -d' ' -f1,2 {new}.pub)"
    put = f'sed -i "s#^{address(OTHER)} .*#{address(OTHER)} $key#" {KNOWN_HOSTS} && grep -qF "$key" {KNOWN_HOSTS}'
    return partial(edited, host=COMPUTE, path=KNOWN_HOSTS, edit=f"{make} && {put}", then=f"rm -f {new} {new}.pub")


@contextlib.contextmanager
def processors_that_differ(lab):
    """Guests of COMPUTE get a model of processor of which libvirt on OTHER has never heard.

    The map of all models belongs to a root file system that several hosts share, so another file is put over it.
    libvirt reads it when it starts, and nova-compute takes its host back in service after that.
    """
    fewer, again = "/run/fewer-processors.xml", f"systemctl restart {LIBVIRT} && sleep 5"
    hide = (
        f"grep -v x86_{CPU_MODEL} {CPU_MAP} > {fewer} && ! cmp --silent {fewer} {CPU_MAP}"
        f" && mount --bind {fewer} {CPU_MAP} && {again}"
    )
    show = f"umount --lazy {CPU_MAP}; rm -f {fewer}; {again}"
    # nova-compute would compare it with the host's own processor, which may be of another maker.
    given = in_nova(
        COMPUTE,
        ("libvirt", "cpu_mode", "custom"),
        ("libvirt", "cpu_models", CPU_MODEL),
        ("workarounds", "skip_cpu_compare_at_startup", "true"),
    )
    with recovered(lab, OTHER, ["nova-compute"]), by_several(OTHER, hide, show)(lab), given(lab):
        lab.wait_until_well()
        yield


def old_ceph_key(host):
    """libvirt's secret holds a key that Ceph has replaced since. Guests that run have used theirs already."""
    key, pick = "/run/old-ceph-key", "virsh secret-list | awk 'NR == 3 {print $1}'"
    put = f"printf %s {OLD_CEPH_KEY} > {key} && virsh secret-set-value --secret $({pick}) --file {key}"
    return by_several(host, put, f"rm -f {key}; . /etc/stackproof-lab/ceph-secret.sh")


@contextlib.contextmanager
def memory_kept_by_the_host(lab):
    """nova-compute of OTHER keeps all its memory for the host itself but for a little."""
    placement = lab.admin.placement
    provider = placement.get(f"/resource_providers?name={OTHER}").json()["resource_providers"][0]["uuid"]
    total = placement.get(f"/resource_providers/{provider}/inventories/MEMORY_MB").json()["total"]
    with in_nova(OTHER, ("DEFAULT", "reserved_host_memory_mb", str(total - LEFT)))(lab):
        yield


fault(
    "only-rejects-for-the-ports-of-migrations",
    MOVE,
    closed("49152:49215", "REJECT --reject-with icmp-admin-prohibited"),
    "libvirt",
    OTHER,
)
# nova-compute gives libvirt the name; which of them looks it up is one to an operator.
fault(
    "name-of-the-destination-leads-elsewhere",
    MOVE,
    partial(edited, host=COMPUTE, path="/etc/hosts", edit=hosts_entry(OTHER, address(NETWORK)), then="true"),
    "nova-compute libvirt",
    COMPUTE,
)
fault(
    "processors-of-two-generations",
    MOVE,
    processors_that_differ,
    "libvirt nova-compute",
    f"{COMPUTE} {OTHER}",
)

fault(
    "key-of-nova-not-authorized",
    "migrate",
    partial(edited, host=OTHER, path=AUTHORIZED_KEYS, edit=f": > {AUTHORIZED_KEYS}", then="true"),
    "ssh nova-compute",
    OTHER,
)
fault("ceph-secret-of-old-at-the-destination", "migrate", old_ceph_key(OTHER), "libvirt ceph", OTHER, PATHS)
fault(
    "destination-keeps-its-memory",
    "migrate",
    memory_kept_by_the_host,
    "nova-compute placement nova-scheduler",
    f"{OTHER} {CONTROLLER}",
    PATHS,
)
fault(
    "compute-service-of-the-destination-gone",
    "migrate",
    lambda lab: stopped(lab, OTHER, "nova-compute"),
    "nova-compute",
    OTHER,
    ASKED.format("migrate"),
)
# Ports that are there keep their flows; the one that comes gets none.
fault(
    "wiring-of-the-destination-stopped",
    "migrate",
    lambda lab: stopped(lab, OTHER, AGENT),
    FIREWALL,
    OTHER,
    DONE,
)

fault(
    "destination-installed-anew",
    "resize",
    key_of_a_new_installation(),
    "ssh nova-compute",
    f"{COMPUTE} {OTHER}",
)
fault(
    "instances-not-writable-at-the-destination",
    "resize",
    done(OTHER, f"chown root:root {INSTANCES}", f"chown nova:nova {INSTANCES}"),
    "nova-compute",
    OTHER,
    PATHS,
)
fault(
    "destination-left-disabled",
    "resize",
    partial(computes_off, hosts=(OTHER,), reason="kernel update"),
    "nova-compute",
    OTHER,
    PATHS,
)
fault(
    "libvirt-of-the-destination-hangs",
    "resize",
    lambda lab: frozen(lab, OTHER, LIBVIRT),
    "libvirt",
    OTHER,
    ASKED.format("resize"),
)
fault(
    "conductor-hangs",
    "resize",
    lambda lab: frozen(lab, CONTROLLER, "nova-conductor"),
    "nova-conductor",
    CONTROLLER,
    DONE,
)


# Images of a server


@contextlib.contextmanager
def images_read_only(lab):
    """Glance's key may read its pool and no longer write it. Glance connects anew for each image."""
    caps = json.loads(lab.run(STORAGE, "ceph auth get client.glance --format json"))[0]["caps"]

    def given(rights):
        return "ceph auth caps client.glance " + " ".join(f"{kind} '{text}'" for kind, text in rights.items())

    with commanded(lab, STORAGE, given(caps | {"osd": "profile rbd-read-only pool=images"}), given(caps)):
        yield


fault(
    "glance-gone-at-a-snapshot",
    "boot_snapshot",
    lambda lab: stopped(lab, CONTROLLER, "glance-api"),
    "glance-api",
    CONTROLLER,
    DONE,
)
fault(
    "store-of-images-read-only",
    "boot_snapshot",
    images_read_only,
    "ceph ceph-mon ceph-osd glance-api",
    f"{STORAGE} {CONTROLLER}",
    PATHS,
)


# Volumes


@contextlib.contextmanager
def no_gigabyte_left(lab):
    """The project has volumes of as much as it may have, or of more."""
    project = lab.admin.identity.find_project("admin").id
    lab.admin.set_volume_quotas(project, gigabytes=1)
    try:
        yield
    finally:
        lab.admin.delete_volume_quotas(project)


# Nothing is broken here, and the cloud says itself what is lacking.
fault("gigabytes-used-up", "extend_volume", no_gigabyte_left, *NOBODY, PATHS, **WITH_VOLUME)
fault(
    "cinder-volume-gone-at-a-detachment",
    "reattach_volume",
    partial(detached_at_last, make=lambda lab: stopped(lab, CONTROLLER, "cinder-volume")),
    "cinder-volume",
    CONTROLLER,
    PATHS,
    **WITH_VOLUME,
)
# As settings of before 2023 are; Cinder lets nobody but a service take a volume from a guest.
fault(
    "nova-without-a-service-user",
    "reattach_volume",
    partial(
        detached_at_last,
        make=partial(
            changed,
            host=COMPUTE,
            path=NOVA,
            edit=f"grep -q '^.service_user.$' {NOVA} && sed -i 's/^.service_user.$/[service_user_of_old]/' {NOVA}",
            units=["nova-compute"],
        ),
    ),
    "nova-compute",
    COMPUTE,
    **WITH_VOLUME,
)


# Between two guests


def in_namespaces_of_dhcp(make, back):
    """Commands where each network gets its leases and names. A namespace goes with its network."""
    each = "for space in $(ip netns list | grep -o '^qdhcp-[^ ]*'); do ip netns exec $space {}; done"
    made = each.format(f"{make} || exit 1")
    return by_several(NETWORK, f"ip netns list | grep -q '^qdhcp-' && {made}", f"{each.format(back)}; true")


def dead_radvd():
    """radvd has died, and its agent, which looks for it once a minute, cannot start it again.

    Its file belongs to a root file system that several hosts share, so another file is put over it.
    """
    program = "/usr/sbin/radvd"
    make = f"mount --bind /etc/hostname {program} && pkill -KILL -x radvd"
    return by_several(NETWORK, make, f"umount --lazy {program}")


fault_between(
    "wire-of-the-second-host-too-small-for-tunnels",
    partial(on_a_network_in_tunnels, make=smaller(OTHER, MTU_IN_A_TUNNEL)),
    "data-network",
    OTHER,
    network=IN_TUNNELS,
)
# Where guests ask another host for their metadata, its answer is the first packet that is too large for a wire.
fault_between(
    "jumbo-frames-that-no-wire-takes",
    partial(
        changed,
        host=CONTROLLER,
        path=NEUTRON,
        edit=set_option(NEUTRON, "DEFAULT", "global_physnet_mtu", str(JUMBO)),
        units=SERVERS,
    ),
    "neutron-server",
    CONTROLLER,
    stage="metadata" if BACK_END == "ovs" else "dataplane",
)
fault_between(
    "tunnels-filtered-where-they-enter-the-second-host",
    partial(on_a_network_in_tunnels, make=dropping(OTHER, f"in_port=eth1,udp,tp_dst={UDP_PORT}", "br-ex")),
    SWITCH,
    OTHER,
    network=IN_TUNNELS,
)
# As an access port of the site's own network; the networks of guests have tags there.
fault_between(
    "uplink-of-the-second-host-without-its-vlans",
    done(OTHER, "ovs-vsctl set port eth1 tag=1", "ovs-vsctl clear port eth1 tag"),
    SWITCH,
    OTHER,
)
if BACK_END == "ovs":
    fault_between(
        "security-groups-not-applied-on-the-second-host",
        configured(OTHER, SETTINGS, AGENT, ("securitygroup", "firewall_driver", "noop")),
        FIREWALL,
        OTHER,
    )
    # The run's router comes after it. A network with a router gets its metadata there.
    fault_between(
        "l3-agent-gone-before-the-routers",
        lambda lab: stopped(lab, NETWORK, "neutron-l3-agent"),
        "neutron-l3-agent",
        NETWORK,
        stage="metadata",
        dataplane_path="routed",
    )
    # The first guest has its address already.
    fault_between("radvd-died-for-good", dead_radvd(), "neutron-l3-agent radvd", NETWORK, SECOND, **OVER_IPV6)
    fault_between(
        "no-answer-to-names-from-dnsmasq",
        in_namespaces_of_dhcp(
            "iptables --wait --insert INPUT --protocol udp --dport 53 --jump DROP",
            "iptables --wait --delete INPUT --protocol udp --dport 53 --jump DROP",
        ),
        "dnsmasq neutron-dhcp-agent",
        NETWORK,
        SECOND,
    )
