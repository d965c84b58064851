# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that the cloud cannot satisfy: nothing is broken, so no component is to be named, but the reason is."""

from __future__ import annotations

import contextlib
from functools import partial

from breaking import recovered
from catalogue_parts import Kind, Wrong
from ways_to_set_wrong import changed_rows, first

FLAVOR = "catalogue-flavor"
GHOST = "00000000-0000-4000-8000-0000000000ff"
ALL_RESERVED_SINCE = "1.28"
# Nobody has these.
TRAIT, CLASS = "CUSTOM_CATALOGUE_GPU", "CUSTOM_CATALOGUE_FPGA"
# Flavors that no host can hold: name, memory, processors, disk, extra specs, what the headline must have
FLAVORS = (
    ("memory", 4_000_000, 1, 1, {}, ("memory|RAM",)),
    ("processors", 128, 600, 1, {}, ("VCPU|CPU",)),
    ("disk", 128, 1, 900_000, {}, ("disk",)),
    ("trait", 128, 1, 1, {f"trait:{TRAIT}": "required"}, (TRAIT,)),
    ("class", 128, 1, 1, {f"resources:{CLASS}": "1"}, (CLASS,)),
    ("trait-forbidden", 128, 1, 1, {"trait:COMPUTE_NODE": "forbidden"}, ("COMPUTE_NODE",)),
    ("pinned", 128, 1, 1, {"hw:cpu_policy": "dedicated"}, ("PCPU|dedicated|pinn",)),
    ("huge-pages", 128, 1, 1, {"hw:mem_page_size": "1GB"}, ("page",)),
    ("numa-nodes", 128, 4, 1, {"hw:numa_nodes": "4"}, ("NUMA",)),
    ("pci-alias", 128, 1, 1, {"pci_passthrough:alias": "catalogue-gpu:1"}, ("alias|catalogue-gpu",)),
    ("vgpu", 128, 1, 1, {"resources:VGPU": "1"}, ("VGPU",)),
    ("encrypted-memory", 128, 1, 1, {"hw:mem_encryption": "true"}, ("encrypt|firmware|machine",)),
)
# Properties of an image that no host fulfils, in the same way
PROPERTIES = (
    ("architecture", {"hw_architecture": "aarch64"}, ("aarch64|architecture",)),
    ("hypervisor", {"img_hv_type": "xen"}, ("xen|hypervisor",)),
    ("trait", {f"trait:{TRAIT}": "required"}, (TRAIT,)),
    ("tpm", {"hw_tpm_version": "2.0", "hw_tpm_model": "tpm-crb"}, ("TPM",)),
    ("firmware", {"hw_firmware_type": "uefi", "os_secure_boot": "required"}, ("firmware|UEFI|secure",)),
    ("machine-type", {"hw_machine_type": "pc-catalogue-1.0"}, ("machine",)),
    ("disk-bus", {"hw_disk_bus": "catalogue"}, ("bus|hw_disk_bus",)),
    ("interface", {"hw_vif_model": "catalogue"}, ("vif|interface|model",)),
)
# Quotas that are used up: the service, the resource as the SDK sets it, what a run needs, the words of the headline
QUOTAS = (
    ("compute", "instances", "", "instances"), ("compute", "cores", "", "cores"), ("compute", "ram", "", "ram"),
    ("network", "network", "", "network"), ("network", "subnet", "", "subnet"), ("network", "port", "", "port"),
    ("network", "router", "floating", "router"), ("network", "floatingip", "floating", "floating"),
    ("network", "security_group", "", "security.?group"),
    ("network", "security_group_rule", "", "security.?group.?rule"),
    ("volume", "volumes", "volume", "volumes"), ("volume", "gigabytes", "volume", "gigabytes"),
)  # fmt: skip
# Inventories of all hosts that have no room: name, resource class, change
INVENTORIES = (
    ("processors-reserved", "VCPU", "reserved"), ("memory-reserved", "MEMORY_MB", "reserved"),
    ("disk-reserved", "DISK_GB", "reserved"), ("processors-ratio", "VCPU", "allocation_ratio"),
    ("memory-largest-unit", "MEMORY_MB", "max_unit"),
)  # fmt: skip
WORDS = {"VCPU": "VCPU|CPU", "MEMORY_MB": "memory|RAM", "DISK_GB": "disk"}
CHANGES = {"allocation_ratio": 0.0001, "max_unit": 64, "step_size": 1000}


def requests(site):
    yield from flavors(site)
    yield from quotas(site)
    yield from placement(site)
    yield from zones(site)
    yield from networks(site)
    if site.storage:
        yield from of_images(site)
        yield from volumes(site)


def request(name, make, reason, needs="", **variables):
    """Nobody broke anything: a plain user asks, and any host may take it."""
    needs = f"anywhere {needs}".strip()
    return Wrong(f"request-{name}", Kind.CAPACITY, make, reason=reason, needs=needs, variables=variables)


# Flavors and images


@contextlib.contextmanager
def offering_flavor(lab, memory, processors, disk, specs, **more):
    compute, placement = lab.admin.compute, lab.admin.placement
    named = [(f"/traits/{TRAIT}", TRAIT), (f"/resource_classes/{CLASS}", CLASS)]
    needed = [path for path, name in named if name in str(specs)]
    for path in needed:
        placement.put(path, microversion="1.7").raise_for_status()
    flavor = compute.create_flavor(name=FLAVOR, ram=memory, vcpus=processors, disk=disk, **more)
    try:
        if specs:
            compute.create_flavor_extra_specs(flavor, specs)
        yield
    finally:
        compute.delete_flavor(flavor)
        for path in needed:
            placement.delete(path, microversion="1.7")


@contextlib.contextmanager
def with_trait(lab):
    """A trait that no host has must exist all the same before an image may require it."""
    placement = lab.admin.placement
    placement.put(f"/traits/{TRAIT}", microversion="1.7").raise_for_status()
    try:
        yield
    finally:
        placement.delete(f"/traits/{TRAIT}", microversion="1.7")


def nothing(_lab):
    return contextlib.nullcontext()


def flavors(_site):
    for name, memory, processors, disk, specs, reason in FLAVORS:
        make = partial(offering_flavor, memory=memory, processors=processors, disk=disk, specs=specs)
        yield request(f"flavor-{name}", make, reason, flavor=FLAVOR)


def of_images(site):
    for name, properties, reason in PROPERTIES:
        make = with_trait if TRAIT in str(properties) else nothing
        yield request(f"image-{name}", make, reason, "image", image_properties=properties)
    small = partial(offering_flavor, memory=128, processors=1, disk=1, specs={})
    yield request("image-minimum-memory", small, ("memory|RAM",), "image", image_min_ram=4096, flavor=FLAVOR)
    yield request("image-minimum-disk", small, ("disk",), "image", image_min_disk=50, flavor=FLAVOR)
    size = "UPDATE glance.images SET size={} WHERE name='probe'"
    make = changed_rows(
        site,
        "CREATE TABLE glance.kept AS SELECT id, size FROM glance.images; " + size.format(5_000_000_000),
        "UPDATE glance.images i JOIN glance.kept k USING (id) SET i.size=k.size; DROP TABLE glance.kept",
    )
    yield request("image-size-in-database", make, ("disk|size",))


# Quotas


@contextlib.contextmanager
def used_up(lab, project, service, resource):
    project = lab.admin.identity.find_project(project).id
    getattr(lab.admin, f"set_{service}_quotas")(project, **{resource: 0})
    try:
        yield
    finally:
        getattr(lab.admin, f"delete_{service}_quotas")(project)


def quotas(site):
    for service, resource, needs, word in QUOTAS:
        if needs and not site.storage:
            continue
        make = partial(used_up, project=site.project, service=service, resource=resource)
        yield request(f"quota-{resource}".replace("_", "-"), make, ("quota", word), needs)


# Placement


def providers(placement):
    return [one["uuid"] for one in placement.get("/resource_providers").json()["resource_providers"]]


@contextlib.contextmanager
def full_inventories(lab, kind, change):
    placement = lab.admin.placement
    paths = [f"/resource_providers/{uuid}/inventories/{kind}" for uuid in providers(placement)]
    before = {path: placement.get(path).json() for path in paths}
    try:
        for path, inventory in before.items():
            full = inventory | {change: CHANGES.get(change, inventory["total"])}
            placement.put(path, json=full, microversion=ALL_RESERVED_SINCE).raise_for_status()
        yield
    finally:
        for path, inventory in before.items():
            generation = placement.get(path).json()["resource_provider_generation"]
            whole = inventory | {"resource_provider_generation": generation}
            placement.put(path, json=whole, microversion=ALL_RESERVED_SINCE).raise_for_status()


@contextlib.contextmanager
def ghost_allocation(lab, kind):
    """A consumer that is no server any more still has all of a resource of each host."""
    placement = lab.admin.placement
    project, user = lab.admin.session.get_project_id(), lab.admin.session.get_user_id()
    allocations = {}
    for uuid in providers(placement):
        inventory = placement.get(f"/resource_providers/{uuid}/inventories/{kind}").json()
        used = placement.get(f"/resource_providers/{uuid}/usages").json()["usages"].get(kind, 0)
        room = int((inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"]) - used
        allocations[uuid] = {"resources": {kind: min(room, inventory["max_unit"])}}
    body = {"allocations": allocations, "project_id": project, "user_id": user, "consumer_generation": None}
    placement.put(f"/allocations/{GHOST}", json=body, microversion="1.28").raise_for_status()
    try:
        yield
    finally:
        placement.delete(f"/allocations/{GHOST}").raise_for_status()


def placement(_site):
    for name, kind, change in INVENTORIES:
        make = partial(full_inventories, kind=kind, change=change)
        yield request(f"placement-{name}", make, (WORDS[kind],))
    ghost = partial(ghost_allocation, kind="MEMORY_MB")
    yield request("placement-ghost-allocation", ghost, ("memory|RAM|allocation",))


# Zones and aggregates


@contextlib.contextmanager
def aggregate(lab, host, zone, metadata, disabled=False):
    """An aggregate with a zone. disabled: its only host is out of service."""
    compute = lab.admin.compute
    made = compute.create_aggregate(name="catalogue", availability_zone=zone)
    service = first(one for one in compute.services(binary="nova-compute") if one.host == host)
    path = f"/os-services/{service.id}"
    with recovered(lab, host):
        try:
            compute.add_host_to_aggregate(made, host)
            if metadata:
                compute.set_aggregate_metadata(made, metadata)
            if disabled:
                body = {"status": "disabled", "disabled_reason": "maintenance"}
                compute.put(path, json=body, microversion="2.53").raise_for_status()
            yield
        finally:
            if disabled:
                compute.put(path, json={"status": "enabled"}, microversion="2.53").raise_for_status()
            compute.remove_host_from_aggregate(made, host)
            compute.delete_aggregate(made)


def zones(site):
    yield request("zone-unknown", nothing, ("zone|mars",), zone="mars")
    if site.other:
        empty = partial(aggregate, host=site.compute, zone="mars", metadata={}, disabled=True)
        yield request("zone-disabled", empty, ("zone|mars|disabled|maintenance",), zone="mars")


# Networks that somebody has prepared, and addresses


@contextlib.contextmanager
def prepared_network(lab, subnet=None, **options):
    """A shared network with one subnet. subnet: what differs in it; without a range it has none."""
    network = lab.admin.network
    made = network.create_network(name="catalogue", **{"is_shared": True, **options})
    wanted = {"cidr": "192.168.77.0/24", "ip_version": 4, "name": "catalogue", **(subnet or {})}
    try:
        if wanted["cidr"]:
            network.create_subnet(network_id=made.id, **wanted)
        yield
    finally:
        for port in network.ports(network_id=made.id):
            # Neutron's own ports go with their network.
            if not port.device_owner.startswith("network:"):
                network.delete_port(port)
        network.delete_network(made)


@contextlib.contextmanager
def full_subnet(lab):
    """The only address is taken by a port of somebody else."""
    pool = [{"start": "192.168.77.50", "end": "192.168.77.50"}]
    with prepared_network(lab, {"allocation_pools": pool, "is_dhcp_enabled": False}):
        network = lab.admin.network
        made = network.find_network("catalogue")
        network.create_port(network_id=made.id, name="catalogue")
        yield


@contextlib.contextmanager
def no_public_address(lab):
    """The pool of the external network has no address that is free."""
    network = lab.admin.network
    (subnet,) = network.subnets(name="public")
    before = subnet.allocation_pools
    last = before[0]["end"]
    port = None
    try:
        network.update_subnet(subnet, allocation_pools=[{"start": last, "end": last}])
        port = network.create_port(network_id=subnet.network_id, name="catalogue")
        yield
    finally:
        if port:
            network.delete_port(port)
        network.update_subnet(subnet, allocation_pools=before)


def networks(site):
    yield request("subnet-full", full_subnet, ("address|subnet|full|IP",), network="catalogue")
    no_dhcp = partial(prepared_network, subnet={"is_dhcp_enabled": False})
    yield request("subnet-without-dhcp", no_dhcp, ("DHCP",), network="catalogue")
    no_subnet = partial(prepared_network, subnet={"cidr": ""})
    yield request("network-without-subnet", no_subnet, ("subnet",), network="catalogue")
    down = partial(prepared_network, is_admin_state_up=False)
    yield request("network-down", down, ("admin|down|disabled",), network="catalogue")
    if site.storage:
        yield request("public-addresses-used-up", no_public_address, ("address|IP|pool",), "floating")


# Volumes


@contextlib.contextmanager
def typed(lab, project, specs):
    """A type of volumes, and quotas that are no hindrance."""
    volume = lab.admin.block_storage
    project = lab.admin.identity.find_project(project).id
    made = volume.create_type(name="catalogue", extra_specs=specs)
    lab.admin.set_volume_quotas(project, gigabytes=-1, volumes=-1, per_volume_gigabytes=-1)
    try:
        yield
    finally:
        lab.admin.delete_volume_quotas(project)
        volume.delete_type(made)


def volumes(site):
    make = partial(typed, project=site.project, specs={"volume_backend_name": "ceph"})
    sized = {"volume_size": 90_000, "volume_type": "catalogue"}
    yield request("volume-too-large", make, ("capacity|space|room|GB|size",), "volume", **sized)
    make = partial(typed, project=site.project, specs={"volume_backend_name": "ceph-fast"})
    yield request("volume-type-without-back-end", make, ("back.?end|type",), "volume", volume_type="catalogue")
    yield request("volume-zone-unknown", nothing, ("zone|mars",), "volume", volume_zone="mars")
    yield request("volume-type-unknown", nothing, ("type|catalogue",), "volume", volume_type="catalogue")
