# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The next thing to do about a request that cannot be satisfied: the command that shows why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace

from .._model.finding import Advice, Condition, Repair
from .._model.shortage import Explanation, Reason, Shortage, Sought
from .case import Case
from .leads import NEUTRON_SERVER, command, folders_of, followed, limits

COMPUTES = "openstack compute service list --service nova-compute --long"
# Older versions of the API do not say which services are forced down.
FORCED = "openstack --os-compute-api-version 2.11 compute service list --service nova-compute --long"
AGGREGATES = "openstack aggregate list --long"
INVENTORIES = "openstack resource provider inventory list {provider}"
WITH_TRAIT = "openstack --os-placement-api-version 1.29 resource provider list --required {subject}"
CONDUCTOR = "nova-conductor"
POOLS = "openstack volume backend pool list --long"
# What shows what is missing, with its name
BY_SHORTAGE = {
    Shortage.DISABLED: COMPUTES,
    Shortage.FORCED_DOWN: FORCED,
    Shortage.NO_SERVICE: COMPUTES,
    Shortage.HOST_UNKNOWN: COMPUTES,
    Shortage.UNMAPPED: "nova-manage cell_v2 discover_hosts --verbose",
    Shortage.PROVIDER_DOUBLED: "openstack resource provider list",
    Shortage.PROVIDER_CONFLICT: "openstack resource provider list --name {subject}",
    Shortage.PROVIDER_RENAMED: "openstack resource provider show {provider}",
    Shortage.TRAIT_MISSING: WITH_TRAIT,
    Shortage.TRAIT_FORBIDDEN: WITH_TRAIT,
    Shortage.OUTSIDE_AGGREGATE: AGGREGATES,
    Shortage.MIN_UNIT: INVENTORIES,
    Shortage.STEP_SIZE: INVENTORIES,
    Shortage.IMAGE: "openstack image show {subject}",
    Shortage.REFUSED: "openstack {subject} list --long",
    Shortage.QUOTA: "openstack quota show --usage",
    Shortage.MISCOUNTED: "cinder-manage quota check",
    Shortage.SEGMENTS: "openstack network list --long",
    Shortage.NETWORK_DISABLED: "openstack network show {subject}",
    Shortage.NO_DHCP: "openstack subnet list --long",
    Shortage.PORT_DISABLED: "openstack port show {subject}",
    Shortage.DENIED: "openstack port show {subject}; openstack security group rule list --egress",
    Shortage.UNSUPPORTED: "virsh domcapabilities",
    Shortage.BACKENDS_DISABLED: "openstack volume service list --service cinder-volume --long",
    Shortage.BACKEND_MISSING: POOLS,
    Shortage.POOLS_FULL: POOLS,
    Shortage.POOL_LIMIT: POOLS,
    Shortage.POOL_RATIO: POOLS,
}
# What no host has is to be seen in the flavor alone, unless an image asks for it.
OF_FLAVOR = (
    Shortage.TRAIT_MISSING,
    Shortage.TRAIT_FORBIDDEN,
    Shortage.MAX_UNIT,
    Shortage.CLASS_MISSING,
    Shortage.INSUFFICIENT,
)
FLAVOR = "flavor"
# The component on whose host the command about what is missing is run, where it is not one of the API
RUN_ON = {
    Shortage.UNMAPPED: CONDUCTOR,
    Shortage.MISCOUNTED: "cinder-api",
}
# What bounds the networks of projects: their types, and how many there are of each
SEGMENT_RANGES = (
    "grep -rhsE '^(tenant_network_types|network_vlan_ranges|vni_ranges|tunnel_id_ranges)' "
    "{folders}"
)
# What filters of the scheduler go by beside the flavor: options of Nova, or what aggregates have
OPTIONS_OF_FILTER = {
    "IsolatedHostsFilter": "isolated_hosts|isolated_images|restrict_isolated_hosts_to_isolated_images",
    "IoOpsFilter": "max_io_ops_per_host",
    "NumInstancesFilter": "max_instances_per_host",
    "PciPassthroughFilter": "device_spec|passthrough_whitelist|alias",
    "ImagePropertiesFilter": "image_properties_default_architecture",
    "MetricsFilter": "weight_setting|required",
}
# The services whose options decide
ASKED = {
    Shortage.FILTERED: "nova-scheduler",
    Shortage.SEGMENTS: NEUTRON_SERVER,
}
OF_AGGREGATE = "Aggregate"
# What finds allocations that belong to no server, and what removes them
AUDIT = "nova-manage placement audit --verbose"
REMOVAL = "nova-manage placement audit --delete --verbose"
OPTIONS = "grep -rnsE '^ *({names})' {folders}"


def advice_for_request(
    explanation: Explanation, case: Case | None = None
) -> Advice | None:
    """Return the command that shows why a request cannot be satisfied. case: what is known of the hosts."""
    reasons = [explanation.reason, *(host.first for host in explanation.hosts)]
    reason = next(filter(None, reasons), None)
    if reason is None:
        return None
    shown = command(
        command_by_shortage(reason, explanation), place_of(reason, case)
    )
    advice = by_options(reason, case, shown) or shown
    # It may be no quota of the project, but an option of the API.
    if case and reason.code == Shortage.QUOTA and reason.free is None:
        advice = followed(advice, limits(case))
    return advice and replace(advice, repair=repair_for(reason, case))


def by_options(
    reason: Reason, case: Case | None, shown: Advice | None
) -> Advice | None:
    """Return the command that shows the options by which a service has refused, where a host of it is known.

    shown: what to look at after that.
    """
    if reason.code not in ASKED:
        return None
    service = ASKED[reason.code]
    where = case.host_of(service) if case else None
    names = OPTIONS_OF_FILTER.get(reason.subject or "")
    if where is None:
        return None
    if reason.code == Shortage.SEGMENTS:
        return command(
            SEGMENT_RANGES.format(folders=folders_of(service)), where
        )
    text = OPTIONS.format(names=names, folders=folders_of(service))
    looked = command(text, where) if names else None
    return looked and replace(looked, then=shown)


def place_of(reason: Reason, case: Case | None) -> str | None:
    """Return the host to run the command about what is missing on, if it is not one of the API."""
    if reason.code == Shortage.UNSUPPORTED:
        return reason.host
    if case is None:
        return None
    component = CONDUCTOR if reason.leftover else RUN_ON.get(reason.code)
    return case.host_of(component)


def command_by_shortage(
    reason: Reason, explanation: Explanation
) -> str | None:
    flavor = explanation.flavor
    is_of_flavor = reason.code in OF_FLAVOR or reason.subject == FLAVOR
    if is_of_flavor and flavor and not explanation.of_image:
        return flavor_command(flavor)
    make = BY_REQUEST.get(reason.code)
    return make(reason, explanation) if make else by_name(reason)


def by_name(reason: Reason) -> str | None:
    text = BY_SHORTAGE.get(reason.code)
    return text and text.format(
        provider=reason.provider, subject=shlex.quote(reason.subject or "")
    )


def flavor_command(name: str) -> str:
    return f"openstack flavor show {shlex.quote(name)}"


def limits_command(_reason: Reason, explanation: Explanation) -> str:
    """Return what shows the limits of the guest's disks, which are those of its flavor or of a volume's type."""
    qos = "openstack volume qos list"
    if explanation.flavor is None:
        return qos
    return f"{flavor_command(explanation.flavor)}; {qos}"


def zones_command(_reason: Reason, explanation: Explanation) -> str:
    service = "volume" if explanation.sought == Sought.BACKEND else "compute"
    return f"openstack availability zone list --{service}"


def room_command(reason: Reason, _explanation: Explanation) -> str:
    """Return what shows what a host has, or what holds it, where allocations are left over."""
    if reason.leftover:
        shown = (
            f"openstack resource provider show --allocations {reason.provider}"
        )
        return f"{AUDIT}; {shown}"
    return INVENTORIES.format(provider=reason.provider)


def addresses_command(reason: Reason, _explanation: Explanation) -> str:
    if reason.subject:
        network = shlex.quote(reason.subject)
        return f"openstack ip availability show {network}; openstack port list --network {network}"
    return "openstack ip availability list"


def filter_command(reason: Reason, explanation: Explanation) -> str | None:
    """Return the command that shows what a filter goes by."""
    if explanation.sought == Sought.BACKEND:
        return POOLS
    name = reason.subject or ""
    if name.startswith("ServerGroup"):
        return "openstack server group list --long"
    if name.startswith(OF_AGGREGATE):
        return AGGREGATES
    return explanation.flavor and flavor_command(explanation.flavor)


def candidates_command(_reason: Reason, explanation: Explanation) -> str:
    """Return the question to Placement that the scheduler asks, as far as it is about amounts."""
    options = [
        f"--resource {name}={amount}" for name, amount in explanation.resources
    ]
    return " ".join(
        [
            "openstack --os-placement-api-version 1.29 allocation candidate list",
            *options,
        ]
    )


# What lifts a ban that may be a mistake, or counts again
REPAIRS = {
    Shortage.DISABLED: "openstack compute service set --enable <host> nova-compute",
    Shortage.FORCED_DOWN: "openstack --os-compute-api-version 2.11 compute service set --up <host> nova-compute",
    Shortage.NETWORK_DISABLED: "openstack network set --enable {subject}",
    Shortage.MISCOUNTED: "cinder-manage quota sync",
    Shortage.PORT_DISABLED: "openstack port set --enable {subject}",
}
CONDITIONS = {Shortage.MISCOUNTED: Condition.NEEDED}
# The client's option for each quota, by its name in the API
OPTION_OF_QUOTA = {
    **{
        name: name.replace("_", "-")
        for name in (
            "instances",
            "cores",
            "ram",
            "key_pairs",
            "server_groups",
            "server_group_members",
            "volumes",
            "gigabytes",
            "snapshots",
            "backups",
        )
    },
    "network": "networks",
    "subnet": "subnets",
    "port": "ports",
    "router": "routers",
    "floatingip": "floating-ips",
    "security_group": "secgroups",
    "security_group_rule": "secgroup-rules",
}
# One for volumes of a type
QUOTA_OF_TYPE = re.compile(
    r"(?P<name>volumes|gigabytes|snapshots)_(?P<type>.+)"
)
OPTION_OF_TYPE = "volume-type {type} --{name}"
RAISE = "openstack quota set --{option} <limit> <project>"


def repair_for(reason: Reason, case: Case | None) -> Repair | None:
    """Return the command that makes a request possible, where that is one command."""
    if reason.leftover:
        return Repair(Condition.NEEDED, REMOVAL, place_of(reason, case))
    subject = str(reason.subject)
    of_type = QUOTA_OF_TYPE.fullmatch(subject)
    option = OPTION_OF_QUOTA.get(subject)
    if of_type:
        option = OPTION_OF_TYPE.format(**of_type.groupdict())
    if reason.code == Shortage.QUOTA and option:
        return Repair(Condition.NEEDED, RAISE.format(option=option))
    text = REPAIRS.get(reason.code)
    if text is None:
        return None
    subject = shlex.quote(str(reason.subject))
    condition = CONDITIONS.get(reason.code, Condition.NOT_INTENDED)
    return Repair(condition, text.format(subject=subject))


# What shows it by more than its name
BY_REQUEST: dict[Shortage, Callable[[Reason, Explanation], str | None]] = {
    Shortage.CLASS_MISSING: candidates_command,
    Shortage.MAX_UNIT: candidates_command,
    Shortage.EXCLUDED_BY: candidates_command,
    Shortage.NOT_OFFERED: candidates_command,
    Shortage.FEWER: candidates_command,
    Shortage.UNMET: candidates_command,
    Shortage.NO_ROOM: room_command,
    Shortage.ADDRESSES: addresses_command,
    Shortage.FILTERED: filter_command,
    Shortage.THROTTLED: limits_command,
    Shortage.ZONE_UNKNOWN: zones_command,
    Shortage.ZONE_UNAVAILABLE: zones_command,
}
