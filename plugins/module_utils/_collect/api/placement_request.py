# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a flavor and an image ask of a host, as Nova's scheduler reads them, and the same as a question to Placement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Optional

from ..._model.capacity import (
    STATUS_DISABLED,
    Constraint,
    Requested,
    RequestGroup,
)
from .answers import AggregateAnswer, FlavorDetailAnswer

# A property of a flavor or of an image that is about a resource class or a trait
GROUPED = re.compile(
    r"(?P<what>resources|trait)(?P<suffix>[\w-]{0,64}):(?P<name>\w{1,255})"
)
PROPERTY = "aggregate_instance_extra_specs:"
REQUIRED, FORBIDDEN = "required", "forbidden"
GROUP_POLICY = "group_policy"
EMULATOR_THREADS = "hw:emulator_threads_policy"
# What the name of a resource class has not
NO_NAME = re.compile(r"[^A-Z0-9_]")
ZONE = "availability_zone"
MB_PER_GB = 1024
TRUE = ("true", "1", "yes", "on")
# How a property is set that is on, as it is written
ON = (*TRUE, "True", "TRUE")
# Properties that stand for a trait if they are on
FLAGS = {
    "hw:ephemeral_encryption": "COMPUTE_EPHEMERAL_ENCRYPTION",
    "hw:virtio_packed_ring": "COMPUTE_NET_VIRTIO_PACKED",
    "hw:firmware_stateless": "COMPUTE_SECURITY_STATELESS_FIRMWARE",
}
# Properties of a flavor that stand for a trait. Those of an image have an underscore instead of the colon.
TRAITS_OF = {
    ("hw:tpm_version", "1.2"): "COMPUTE_SECURITY_TPM_1_2",
    ("hw:tpm_version", "2.0"): "COMPUTE_SECURITY_TPM_2_0",
    ("hw:tpm_model", "tpm-crb"): "COMPUTE_SECURITY_TPM_CRB",
    ("os:secure_boot", "required"): "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
    (
        "hw:maxphysaddr_mode",
        "passthrough",
    ): "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    ("hw:maxphysaddr_mode", "emulate"): "COMPUTE_ADDRESS_SPACE_EMULATED",
    (
        "hw:pci_numa_affinity_policy",
        "socket",
    ): "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    (
        "hw:ephemeral_encryption_format",
        "luks",
    ): "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS",
    **{
        (name, word): trait
        for (name, trait), word in product(FLAGS.items(), ON)
    },
}
# Properties by which filters of the scheduler choose hosts, and which Placement does not know
OF_FILTERS = re.compile(
    r"hw:(?:mem_page_size|numa_\w+|cpu_\w+)|pci_passthrough:alias|capabilities:.+"
    r"|hw_(?:architecture|vm_mode|mem_page_size|numa_\w+|cpu_\w+)|img_hv_\w+|architecture|hypervisor_type|vm_mode"
)

# A parameter of a question to Placement
Query = dict[str, str]
Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Wanted:
    """An instance: its flavor, the properties of its image, and where it is to run.

    from_volume: whether it boots from a volume, and so needs no root disk on the host.
    """

    flavor: FlavorDetailAnswer
    image: Properties
    zone: Optional[str] = None
    host: Optional[str] = None
    from_volume: bool = False
    count: int = 1


def requested(wanted: Wanted) -> Requested:
    """Return what an instance asks of its host."""
    specs = dict(wanted.flavor.extra_specs or {})
    zone, _colon, host = (wanted.zone or "").partition(":")
    return Requested(
        flavor=wanted.flavor.name,
        groups=groups_of(wanted, specs),
        zone=zone or None,
        # Administrators may give both as zone:host:node.
        host=wanted.host or host.partition(":")[0] or None,
        properties={
            name[len(PROPERTY) :]: value
            for name, value in specs.items()
            if name.startswith(PROPERTY)
        },
        image_traits=required_by(wanted.image),
        filtered_by=filtered_by({**wanted.image, **specs}),
        group_policy=specs.get(GROUP_POLICY),
        count=wanted.count,
    )


def groups_of(
    wanted: Wanted, specs: Mapping[str, str]
) -> tuple[RequestGroup, ...]:
    """Return the resources and traits that a flavor and an image ask for, those without a suffix first."""
    resources: dict[str, dict[str, int]] = {"": usual_resources(wanted, specs)}
    for suffix, name, value in grouped(specs, "resources"):
        resources.setdefault(suffix, {})[name] = amount_of(value)
    traits: dict[str, dict[str, str]] = {"": {STATUS_DISABLED: FORBIDDEN}}
    for properties in (specs, wanted.image):
        traits[""].update(usual_traits(properties))
        for suffix, name, value in grouped(properties, "trait"):
            traits.setdefault(suffix, {})[name] = value
    suffixes = sorted({*resources, *traits})
    return tuple(
        group(suffix, resources.get(suffix, {}), traits.get(suffix, {}))
        for suffix in suffixes
    )


def required_by(image: Properties) -> tuple[str, ...]:
    """Return the traits that an image requires."""
    traits = usual_traits(image)
    traits.update(
        {name: value for _suffix, name, value in grouped(image, "trait")}
    )
    return names_with(REQUIRED, traits)


def names_with(rule: str, traits: Mapping[str, str]) -> tuple[str, ...]:
    """Return the traits that are required, or those that are forbidden."""
    return tuple(name for name, value in traits.items() if value == rule)


def usual_resources(
    wanted: Wanted, specs: Mapping[str, str]
) -> dict[str, int]:
    """Return the resources by the sizes of the flavor. A property of the flavor may replace each."""
    flavor = wanted.flavor
    policy = specs.get("hw:cpu_policy") or wanted.image.get("hw_cpu_policy")
    # Before version 2.75 no swap is an empty text.
    swap_gb = -(-int(flavor.swap or 0) // MB_PER_GB)
    root_gb = 0 if wanted.from_volume else flavor.disk
    amounts = {
        "PCPU" if policy == "dedicated" else "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.ram,
        "DISK_GB": root_gb + flavor.ephemeral + swap_gb,
    }
    is_encrypted = [
        specs.get("hw:mem_encryption"),
        wanted.image.get("hw_mem_encryption"),
    ]
    if any(str(value).lower() in TRUE for value in is_encrypted):
        amounts["MEM_ENCRYPTION_CONTEXT"] = 1
    if "PCPU" in amounts and specs.get(EMULATOR_THREADS) == "isolate":
        amounts["PCPU"] += 1
    amounts.update(persistent_memory(specs.get("hw:pmem", "")))
    return amounts


def persistent_memory(labels: str) -> Mapping[str, int]:
    """Return the namespaces of persistent memory that a flavor asks for by their labels, as a list with commas."""
    names = labels.upper().replace(" ", "").split(",")
    return Counter(
        f"CUSTOM_PMEM_NAMESPACE_{NO_NAME.sub('_', name)}"
        for name in filter(None, names)
    )


def usual_traits(properties: Properties) -> dict[str, str]:
    """Return the traits that properties of a flavor or an image stand for."""
    traits = {}
    for (name, value), trait in TRAITS_OF.items():
        if value in (
            properties.get(name),
            properties.get(name.replace(":", "_")),
        ):
            traits[trait] = REQUIRED
    return traits


def filtered_by(properties: Properties) -> dict[str, str]:
    """Return the properties by which filters of the scheduler choose hosts."""
    found = {}
    for name, value in sorted(properties.items()):
        if OF_FILTERS.fullmatch(name):
            found[name] = str(value)
    return found


def grouped(
    properties: Properties, what: str
) -> Iterator[tuple[str, str, str]]:
    """Yield suffix, name and value of the properties that are about resources or traits."""
    for text, value in sorted(properties.items()):
        match = GROUPED.fullmatch(text)
        if match and match.group("what") == what:
            yield match.group("suffix"), match.group("name"), str(value)


def traits_in(specs: Properties) -> dict[str, str]:
    """Return the traits that a flavor requires or forbids of the host; those of a single group are left out."""
    return {
        name: word
        for suffix, name, word in grouped(specs, "trait")
        if not suffix and word in (REQUIRED, FORBIDDEN)
    }


def amount_of(value: str) -> int:
    """Return an amount; what is no number asks for nothing."""
    return int(value) if value.isdigit() else 0


def group(
    suffix: str, resources: Mapping[str, int], traits: Mapping[str, str]
) -> RequestGroup:
    return RequestGroup(
        suffix=suffix,
        resources={
            name: amount for name, amount in resources.items() if amount
        },
        required=names_with(REQUIRED, traits),
        forbidden=names_with(FORBIDDEN, traits),
    )


# The question to Placement


@dataclass(frozen=True)
class Question:
    """A question about allocation candidates, without one constraint; None as the scheduler asks."""

    query: Query
    without: Optional[Constraint] = None
    name: Optional[str] = None


def aggregates_of(
    zone: str | None, aggregates: Iterable[AggregateAnswer]
) -> list[str]:
    """Return the ids of the aggregates that make an availability zone; none for the zone of all other hosts."""
    if zone is None:
        return []
    ids = []
    for found in aggregates:
        metadata = found.metadata or {}
        if found.uuid and metadata.get(ZONE) == zone:
            ids.append(found.uuid)
    return ids


def questions(
    asked: Requested, aggregates: Sequence[str], root: str | None, most: int
) -> list[Question]:
    """Return the scheduler's question, and the same without one constraint at a time.

    aggregates: the ids of those that make the zone. root: the id of the provider of the host that was asked for.
    """
    relaxed = [
        Question(query_of(less, aggregates, root, most), constraint, name)
        for constraint, name, less in relaxations(asked)
        if less.resources
    ]
    if aggregates:
        relaxed.append(
            Question(
                query_of(asked, [], root, most), Constraint.ZONE, asked.zone
            )
        )
    return [Question(query_of(asked, aggregates, root, most)), *relaxed]


def relaxations(
    asked: Requested,
) -> Iterator[tuple[Constraint, str, Requested]]:
    """Yield each constraint, and the request without it. Traits come first: a host seldom gets another one."""
    for trait in asked.required:
        yield (
            Constraint.REQUIRED,
            trait,
            replace(asked, groups=without_trait(asked, trait)),
        )
    for trait in asked.forbidden:
        # The services of Nova show the same.
        if trait != STATUS_DISABLED:
            yield (
                Constraint.FORBIDDEN,
                trait,
                replace(asked, groups=without_trait(asked, trait)),
            )
    for name in asked.resources:
        yield (
            Constraint.RESOURCE,
            name,
            replace(asked, groups=without_class(asked, name)),
        )


def without_trait(asked: Requested, trait: str) -> tuple[RequestGroup, ...]:
    return tuple(
        replace(
            part,
            required=without(trait, part.required),
            forbidden=without(trait, part.forbidden),
        )
        for part in asked.groups
    )


def without(trait: str, traits: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in traits if name != trait)


def without_class(asked: Requested, left_out: str) -> tuple[RequestGroup, ...]:
    groups = []
    for part in asked.groups:
        resources = {
            name: amount
            for name, amount in part.resources.items()
            if name != left_out
        }
        groups.append(replace(part, resources=resources))
    return tuple(groups)


def query_of(
    asked: Requested, aggregates: Sequence[str], root: str | None, most: int
) -> Query:
    """Return the parameters of a question. A group without resources cannot be asked for."""
    query: Query = {"limit": str(most)}
    suffixes = []
    for part in asked.groups:
        if part.resources:
            query.update(query_of_group(part))
            suffixes.append(part.suffix)
    if "" in suffixes:
        query.update(query_of_place(aggregates, root))
    if len(set(suffixes) - {""}) > 1:
        query[GROUP_POLICY] = asked.group_policy or "none"
    return query


def query_of_group(part: RequestGroup) -> Query:
    query = {
        f"resources{part.suffix}": ",".join(
            f"{name}:{amount}" for name, amount in part.resources.items()
        )
    }
    traits = [*part.required, *(f"!{name}" for name in part.forbidden)]
    if traits:
        query[f"required{part.suffix}"] = ",".join(traits)
    return query


def query_of_place(aggregates: Sequence[str], root: str | None) -> Query:
    """Return where the resources may be: on the hosts of a zone, or on one host."""
    query: Query = {}
    if aggregates:
        query["member_of"] = f"in:{','.join(aggregates)}"
    if root:
        query["in_tree"] = root
    return query
