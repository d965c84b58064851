#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: network
short_description: 'Third stage of a run: creates or finds the network'
version_added: 0.1.0
description:
  - Creates a network with a subnet, or uses an existing one, and creates a security group with rules.
  - A network without port security gets no security group, since the compute service rejects one there.
  - With O(floating_ip) it also creates a router to the external network, and allocates the address.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  network:
    description: Name or id of an existing network to use. By default the stage creates one.
    type: str
  ipv4:
    description:
      - Whether guests of a new network get an IPv4 address. Without one they have that of O(ipv6) alone, ask for their
        metadata over IPv6, and have no floating IP.
    type: bool
    default: true
  cidr:
    description: Range of the subnet of a new network.
    type: str
    default: 192.168.222.0/24
  ipv6:
    description:
      - How guests of a new network get an IPv6 address. It then has a subnet for that, and a router, which advertises
        it.
      - With V(slaac) and V(dhcpv6-stateless) they make it themselves. With V(dhcpv6-stateful) DHCP gives it to them.
    type: str
    choices: [none, slaac, dhcpv6-stateless, dhcpv6-stateful]
    default: none
  ipv6_cidr:
    description: Range of the subnet for IPv6, a C(/64).
    type: str
    default: fd57:ac9f:100f::/64
  dns_nameservers:
    description: Name servers of the subnet.
    type: list
    elements: str
    default: []
  rules:
    description:
      - The ingress rules of the security group. Each has a C(protocol) and, except for ICMP, a C(port).
      - By default they allow ping and the port O(tcp_port).
    type: list
    elements: dict
    suboptions:
      protocol:
        description: Such as V(icmp), V(tcp) or V(udp).
        type: str
        required: true
      port:
        description: The port; without it all ports are open.
        type: int
  tcp_port:
    description: The port of the guest that the stage metadata connects to.
    type: int
    default: 22
  floating_ip:
    description: Whether the instance gets a floating IP. A new network then gets a router, too.
    type: bool
    default: false
  router:
    description:
      - Whether a new network gets a router. With V(auto) it gets one here for a floating IP, or later in the stage
        metadata, if the guest has no route to the metadata service.
      - With V(always) it gets one here, without a gateway if there is no floating IP. Use it on ML2 networks whose DHCP
        agents serve no metadata, with guests that do not report why they get none.
    type: str
    choices: [auto, always, never]
    default: auto
  external_network:
    description: Name or id of the external network for the floating IP. Defaults to the only external network.
    type: str
  port:
    description:
      - The creator of the instance's port. With V(nova) the compute service creates it when it builds the instance, as
        in the flow.
      - With V(precreated) this stage creates it. That moves the steps of its creation.
    type: str
    choices: [nova, precreated]
    default: nova
  dataplane:
    description: Whether this stage creates ports for two servers, for the stage dataplane.
    type: bool
    default: false
  path:
    description:
      - The path between both servers. With V(bridged) they are on one network.
      - With V(routed) the second one has a network of its own, whose range of addresses follows that of the first, and
        a router is between them.
    type: str
    choices: [bridged, routed]
    default: bridged
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 120
notes:
  - The role P(stackproof.provision.network#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.image
    description: The stage before.
  - module: stackproof.provision.volume
    description: The next stage.
"""

EXAMPLES = r"""
- name: Create a network with external access
  stackproof.provision.network:
    run_dir: "{{ run.directory }}"
    floating_ip: true
    external_network: public

- name: Use a network
  stackproof.provision.network:
    run_dir: "{{ run.directory }}"
    network: tenant-net
"""

RETURN = r"""
record:
  description: The stage's record, as in C(run.json).
  returned: success
  type: dict
  contains:
    stage:
      description: Name of the stage.
      returned: always
      type: str
      sample: network
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-21T15:27:51.302362+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-21T15:27:55.948116+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 4.645755
    resources:
      description: Network, subnet, security group and so on, and whether the run created them.
      returned: always
      type: list
      elements: dict
      sample:
        - {kind: external_network, id: dca85dd0-f52d-41f1-a5a9-87c03ab12877, name: public, created: false}
        - kind: network
          id: d4217a13-8228-47c4-9ea6-86b1771cb7e7
          name: stackproof-20261121-152747-af4099-network
          created: true
        - kind: subnet
          id: c32fa7cf-d4f4-444d-bf64-c5bb7505b92d
          name: stackproof-20261121-152747-af4099-subnet
          created: true
    calls:
      description: Every request with method, service, path, status, seconds and request id.
      returned: always
      type: list
      elements: dict
      sample:
        - method: POST
          service: network
          host: 10.71.16.12:9696
          path: /v2.0/networks
          status: 201
          request_id: req-bb6b9fb2-4857-4305-8bef-df21523b70e8
          started: '2026-11-21T15:27:51.382693+00:00'
          seconds: 0.175376
    waits:
      description: Empty, as this stage waits for nothing.
      returned: always
      type: list
      elements: dict
      sample: []
    details:
      description: The creator of the port, the reason if there is no security group, and the floating IP.
      returned: always
      type: dict
      sample:
        port: nova
        floating_ip: 10.71.17.82
error:
  description: The kind of the failure, the action, the resource, the answer of the cloud, and what to check next.
  returned: failure
  type: dict
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import (
    not_found,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.networking import (
    add_interface,
    addresses_of,
    make_marked,
    make_router,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Named,
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.connection import (
    answer_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    NetworkDetails,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)

# Options of a module, or of a rule
Params = dict[str, Any]


# What Neutron calls ICMP over IPv6, and its other names
ICMP6 = "ipv6-icmp"
NAMES_OF_ICMP6 = (ICMP6, "icmpv6", "58")


@dataclass(frozen=True)
class Ranges:
    """The ranges of a network's addresses. None where it has none of that version; it has one at least."""

    ipv4: str | None
    ipv6: str | None


@dataclass(frozen=True)
class Made:
    """A network that the run has made, with its subnets; None where it has none of that version."""

    network: Any
    subnet: Any = None
    subnet_ipv6: Any = None


@dataclass(frozen=True)
class Opening:
    """A rule of a security group for what comes in. port: None for all of them."""

    ether_type: str
    protocol: str
    port: int | None


@dataclass(frozen=True)
class FloatingAddress(Named):
    """A floating IP. It has no name of its own, so its description has one."""

    address: str


def find_network(stage: Stage[NetworkDetails], name: str) -> Any:
    network = stage.cloud.network.find_network(name)
    if network is None:
        raise not_found("network", name, stage.cloud.network.networks())
    return network


def find_external(stage: Stage[NetworkDetails], name: str | None) -> Any:
    """Return the external network of the floating IP: that of the given name, or the only one."""
    if name:
        network = find_network(stage, name)
        if not network.is_router_external:
            message = f"the network {name} is not external, so it has no floating IPs"
            raise StageError(
                "invalid",
                message,
                resource=name,
                hint="Name an external network.",
            )
        return network
    # A cloud that ignores the filter lists the others, too.
    networks = stage.cloud.network.networks(is_router_external=True)
    external = list(filter(attrgetter("is_router_external"), networks))
    if len(external) == 1:
        return external[0]
    names = ", ".join(sorted(network.name for network in external))
    if external:
        hint = "Name one with external_network."
        raise StageError(
            "ambiguous",
            f"there are several external networks: {names}",
            hint=hint,
        )
    hint = "Ask the administrator for one, or do without a floating IP."
    raise StageError(
        "not_found",
        "a floating IP is asked for, but this project sees no external network",
        hint=hint,
    )


def make_network(
    stage: Stage[NetworkDetails], ranges: Ranges, which: str = ""
) -> Made:
    """Make a network and its subnets. which: what their kinds begin with."""
    neutron = stage.cloud.network
    network = make_marked(
        stage, f"{which}network", neutron.networks, neutron.create_network
    )
    made = Made(network)
    # Guests that have both subnets need the resolvers of one alone.
    resolvers = {"dns_nameservers": stage.params["dns_nameservers"]}
    if ranges.ipv4 is not None:
        subnet = make_subnet(
            stage,
            f"{which}subnet",
            network_id=network.id,
            ip_version=4,
            cidr=ranges.ipv4,
            **resolvers,
        )
        made = replace(made, subnet=subnet)
    if ranges.ipv6 is not None:
        mode = stage.params["ipv6"]
        subnet = make_subnet(
            stage,
            f"{which}subnet_ipv6",
            network_id=network.id,
            ip_version=6,
            cidr=ranges.ipv6,
            ipv6_ra_mode=mode,
            ipv6_address_mode=mode,
            **({} if ranges.ipv4 else resolvers),
        )
        made = replace(made, subnet_ipv6=subnet)
    return made


def make_subnet(stage: Stage[NetworkDetails], kind: str, **given: Any) -> Any:
    neutron = stage.cloud.network
    return make_marked(
        stage,
        kind,
        neutron.subnets,
        lambda **marks: neutron.create_subnet(**given, **marks),
    )


def make_second_network(
    stage: Stage[NetworkDetails], router: Any, ranges: Ranges
) -> Any:
    """Make a network for the second guest on the run's router, and return it."""
    following = Ranges(
        ranges.ipv4 and next_range(ranges.ipv4),
        ranges.ipv6 and next_range(ranges.ipv6),
    )
    made = make_network(stage, following, "second_")
    connect(stage, router, made, "second_")
    return made.network


def connect(
    stage: Stage[NetworkDetails], router: Any, made: Made, which: str = ""
) -> None:
    """Connect a router to the subnets of a network. It advertises that for IPv6 to guests."""
    ends = {
        "router_interface": made.subnet,
        "router_interface_ipv6": made.subnet_ipv6,
    }
    for kind, subnet in ends.items():
        if subnet is not None:
            add_interface(stage, f"{which}{kind}", router, subnet.id)


def next_range(cidr: str) -> str:
    """Return the range of addresses behind another one of the same size; that before it, behind the last."""
    network = ipaddress.ip_network(cidr)
    size, first = network.num_addresses, int(network.network_address)
    is_last = first + size >= 1 << network.max_prefixlen
    following = first - size if is_last else first + size
    return str(type(network)((following, network.prefixlen)))


def has_port_security(stage: Stage[NetworkDetails], network: Any) -> bool:
    """Return whether a network has port security. A cloud without this extension has security groups all the same."""
    if network.is_port_security_enabled:
        return True
    # The SDK says no, too, if the cloud says nothing.
    body = answer_of(stage.cloud.network.get(f"/networks/{network.id}"))[
        "network"
    ]
    return body.get("port_security_enabled") is not False


def make_security_group(
    stage: Stage[NetworkDetails], wanted: Iterable[Opening]
) -> Any:
    neutron = stage.cloud.network
    group = make_marked(
        stage,
        "security_group",
        neutron.security_groups,
        neutron.create_security_group,
    )
    existing = neutron.security_group_rules(security_group_id=group.id)
    openings = {
        Opening(rule.ether_type, rule.protocol, rule.port_range_min)
        for rule in existing
        if rule.security_group_id == group.id
    }
    for opening in wanted:
        if opening not in openings:
            make_rule(neutron, group.id, opening)
    return group


def make_rule(neutron: Any, group_id: str, opening: Opening) -> None:
    """Open a port, or all of a protocol. A rule is deleted with its group, and has no name to find it by."""
    neutron.create_security_group_rule(
        security_group_id=group_id,
        direction="ingress",
        ether_type=opening.ether_type,
        protocol=opening.protocol,
        port_range_min=opening.port,
        port_range_max=opening.port,
    )


def allocate_address(stage: Stage[NetworkDetails], external: Any) -> None:
    neutron = stage.cloud.network
    name = f"{stage.run.mark}-floating-ip"

    def named(address: Any) -> FloatingAddress:
        return FloatingAddress(address.id, name, address.floating_ip_address)

    def find() -> FloatingAddress | None:
        own = (
            address
            for address in neutron.ips(description=name)
            if address.description == name
        )
        first = next(own, None)
        if first is None:
            return None
        return named(first)

    def make() -> FloatingAddress:
        return named(
            neutron.create_ip(
                floating_network_id=external.id, description=name
            )
        )

    address = stage.create("floating_ip", name, make, find).address
    stage.details = replace(stage.details, floating_ip=address)


def make_port(
    stage: Stage[NetworkDetails], kind: str, network: Any, group: Any
) -> tuple[str, ...]:
    """Make a port for a server, and return its addresses."""
    neutron = stage.cloud.network
    groups = {"security_group_ids": [group.id]} if group else {}
    port = make_marked(
        stage,
        kind,
        neutron.ports,
        lambda **marks: neutron.create_port(
            network_id=network.id, **groups, **marks
        ),
    )
    return addresses_of(port)


def check_options(params: Params) -> None:
    """Refuse options that no network can have, before anything is asked for."""
    limited = {
        "cidr": params["cidr"],
        "ipv6_cidr": params["ipv6_cidr"],
        "dns_nameservers": params["dns_nameservers"],
        "rules": rules_of(params),
    }
    stage_options.check(
        {
            f"stackproof_network_{name}": value
            for name, value in limited.items()
        }
    )
    if (
        params["floating_ip"]
        and params["router"] == "never"
        and not params["network"]
    ):
        message = "a network without a router has no floating IPs"
        raise StageError(
            "invalid",
            message,
            hint="Ask for one of them: floating_ip, or router: never.",
        )
    has_own_router = not params["network"] and params["router"] != "never"
    check_versions(params)
    if wants_ipv6(params) and not has_own_router:
        message = "only a network and a router of the run's own can get IPv6"
        raise StageError(
            "invalid",
            message,
            hint="Leave out the network and router: never, or ipv6.",
        )
    if is_routed(params) and not has_own_router:
        message = "a routed path between two guests needs networks and a router of the run's own"
        raise StageError(
            "invalid",
            message,
            hint="Leave out the network and router: never, or check a bridged path.",
        )


def check_versions(params: Params) -> None:
    """Refuse a network without addresses, and a floating IP for guests that have none of its version."""
    if params["ipv4"]:
        return
    if not wants_ipv6(params):
        raise StageError(
            "invalid",
            "a network without IPv4 and IPv6 has no addresses for guests",
            hint="Set ipv6 to slaac, dhcpv6-stateless or dhcpv6-stateful, or leave out ipv4: false.",
        )
    if params["floating_ip"]:
        raise StageError(
            "invalid",
            "floating IPs need IPv4",
            hint="Leave out floating_ip, or ipv4: false.",
        )


def is_routed(params: Params) -> bool:
    """Return whether a router is to be between two guests."""
    return bool(params["dataplane"]) and params["path"] == "routed"


def rules_of(params: Mapping[str, Any]) -> list[Params]:
    """Return the rules that are asked for; by default those that the checks of the guest need."""
    rules: list[Params] | None = params["rules"]
    if rules is not None:
        return rules
    return [
        {"protocol": "icmp", "port": None},
        {"protocol": "tcp", "port": params["tcp_port"]},
    ]


def openings_of(
    rules: Iterable[Params], has_ipv4: bool, has_ipv6: bool
) -> list[Opening]:
    """Return what the security group is to let in, over each version of IP that guests have."""
    over_ipv4: list[Opening] = []
    over_ipv6: list[Opening] = []
    for rule in rules:
        protocol, port = rule["protocol"], rule["port"]
        if protocol in NAMES_OF_ICMP6:
            over_ipv6.append(Opening("IPv6", ICMP6, port))
            continue
        if has_ipv4:
            over_ipv4.append(Opening("IPv4", protocol, port))
        if has_ipv6:
            name = ICMP6 if protocol == "icmp" else protocol
            over_ipv6.append(Opening("IPv6", name, port))
    return list(dict.fromkeys([*over_ipv4, *over_ipv6]))


def ipv6_of(stage: Stage[NetworkDetails], network: Any) -> str | None:
    """Return how guests of a network get their IPv6 addresses, if a router of Neutron advertises them."""
    if wants_ipv6(stage.params):
        return str(stage.params["ipv6"])
    # A network of the run's own has no other subnet, and without a second guest nobody asks.
    if not stage.params["network"] or not stage.params["dataplane"]:
        return None
    subnets = stage.cloud.network.subnets(network_id=network.id)
    modes = [
        subnet.ipv6_address_mode
        for subnet in subnets
        if subnet.network_id == network.id and subnet.ipv6_ra_mode
    ]
    return next(filter(None, modes), None)


def security_group_for(stage: Stage[NetworkDetails], network: Any) -> Any:
    """Make a security group, and return it; nothing where a network has no use for one."""
    ipv6 = ipv6_of(stage, network)
    stage.details = replace(stage.details, ipv6=ipv6)
    if has_port_security(stage, network):
        wanted = openings_of(
            rules_of(stage.params), stage.params["ipv4"], ipv6 is not None
        )
        return make_security_group(stage, wanted)
    reason = f"the network {network.name} has no port security"
    stage.details = replace(stage.details, no_security_group=reason)
    stage.say(f"no security group is made: {reason}")
    return None


def find_networks(
    stage: Stage[NetworkDetails], params: Params
) -> tuple[Any, Any]:
    """Return the external network and the network that guests are to use; None for one that is not asked for."""
    external = network = None
    if params["floating_ip"]:
        stage.begin("looking for the external network")
        external = stage.use(
            "external_network",
            find_external(stage, params["external_network"]),
        )
    if params["network"]:
        stage.begin(f"looking for the network {params['network']}")
        network = stage.use("network", find_network(stage, params["network"]))
    return external, network


def ranges_of(params: Params) -> Ranges:
    ipv6 = params["ipv6_cidr"] if wants_ipv6(params) else None
    return Ranges(params["cidr"] if params["ipv4"] else None, ipv6)


def wants_ipv6(params: Mapping[str, Any]) -> bool:
    return bool(params["ipv6"] != "none")


def needs_router(params: Params, external: Any) -> bool:
    return (
        external is not None
        or params["router"] == "always"
        or wants_ipv6(params)
        or is_routed(params)
    )


def make_ports(
    stage: Stage[NetworkDetails],
    params: Params,
    network: Any,
    second: Any,
    group: Any,
) -> None:
    """Make the ports that Nova is not to make: that of the first guest, and with dataplane that of the second one."""
    if params["port"] == "precreated" or params["dataplane"]:
        stage.details = replace(
            stage.details, fixed_ips=make_port(stage, "port", network, group)
        )
    if params["dataplane"]:
        # Each guest has the other one's address in its user data.
        stage.details = replace(
            stage.details,
            second_fixed_ips=make_port(stage, "second_port", second, group),
        )


def act(stage: Stage[NetworkDetails]) -> None:
    params = dict(stage.params)
    stage.details = replace(stage.details, port=params["port"])
    check_options(params)
    external, network = find_networks(stage, params)
    if stage.check:
        # Sends a request, so that a wrong password or a missing service shows.
        stage.changed = bool(stage.cloud.network.get_endpoint())
        return
    made = None
    ranges = ranges_of(params)
    if network is None:
        made = make_network(stage, ranges)
        network = made.network
    second = network
    group = security_group_for(stage, network)
    if made is not None and needs_router(params, external):
        router = make_router(stage, external and external.id)
        connect(stage, router, made)
        if is_routed(params):
            second = make_second_network(stage, router, ranges)
    if external is not None:
        allocate_address(stage, external)
    make_ports(stage, params, network, second, group)


def main() -> None:
    rule = {
        "protocol": {"type": "str", "required": True},
        "port": {"type": "int"},
    }
    options = {
        "network": {"type": "str"},
        "ipv4": {"type": "bool", "default": True},
        "cidr": {"type": "str", "default": "192.168.222.0/24"},
        "ipv6": {
            "type": "str",
            "choices": stage_options.IPV6_MODES,
            "default": "none",
        },
        "ipv6_cidr": {"type": "str", "default": "fd57:ac9f:100f::/64"},
        "dns_nameservers": {"type": "list", "elements": "str", "default": []},
        "rules": {"type": "list", "elements": "dict", "options": rule},
        "tcp_port": {"type": "int", "default": 22},
        "floating_ip": {"type": "bool", "default": False},
        "router": {
            "type": "str",
            "choices": stage_options.ROUTERS,
            "default": "auto",
        },
        "external_network": {"type": "str"},
        "port": {
            "type": "str",
            "choices": stage_options.PORTS,
            "default": "nova",
        },
        "dataplane": {"type": "bool", "default": False},
        "path": {
            "type": "str",
            "choices": stage_options.PATHS,
            "default": "bridged",
        },
    }
    run_stage(StageName.NETWORK, act, NetworkDetails(), options, timeout=120)


if __name__ == "__main__":
    main()
