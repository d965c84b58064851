# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run's record knows of the cloud, in the form in which the checks of links ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from .._match import moves, places
from .._model import codec
from .._model.details import ADDRESSED
from .._model.facts import (
    SHUT_OFF,
    Ceph,
    Disk,
    Facts,
    Image,
    LogicalPort,
    OriginImage,
    OvnPort,
    OvnRouter,
    PortBinding,
    SwitchInterface,
)
from .._model.host import Host, Unread
from .._model.instance import (
    ROUTER_INTERFACE,
    DescribedInstance,
    GuestPath,
    Network,
    Port,
    ServingPort,
)
from .._model.record import Record
from .._model.stores import Chassis, OvnDatabases, Stores, Switch, Trace
from .._model.words import StageName
from .._record.sole import sole

# What fails with a router: a login from outside, and what it advertises to guests over IPv6
THROUGH_ROUTER = frozenset(("no_login", "no_ipv6", "path6_lost"))
# The kind of a command that did not end in time
HUNG = "hung"
# The states of units that do their work, or begin to as soon as somebody needs them
AT_WORK = ("running", "on demand")
# Stand for what was not read, or is not there
NO_HOST = Host("")
NO_FACTS = Facts(names=(), addresses=(), zone_s=None, services=())
NO_NETWORK = Network(
    "", mtu=None, subnets=(), dhcp_ports=(), distributed=False, routers=()
)
NO_OVN_PORT = OvnPort(
    logical=None, binding=None, dhcp=None, groups=None, routers=None
)

T = TypeVar("T")


class Names(dict[str, str]):
    """The names in a command. One that is not known stays a place to fill in."""

    def __missing__(self, name: str) -> str:
        return f"<{name}>"

    def with_known(self, more: Mapping[str, str | None]) -> Names:
        """Return these names with others instead, as far as those are known."""
        return Names(
            {
                **self,
                **{
                    name: value
                    for name, value in more.items()
                    if value is not None
                },
            }
        )


@dataclass(frozen=True)
class Cloud:
    """The stores of all hosts, and the instance whose chains are walked."""

    record: Record

    @property
    def instance(self) -> DescribedInstance | None:
        return self.record.instance

    @cached_property
    def port(self) -> Port | None:
        """Return the first port of the instance: the one by which it gets its address."""
        return next(iter(self.record.ports), None)

    @property
    def port_id(self) -> str | None:
        return self.port.id if self.port else None

    @cached_property
    def network(self) -> Network | None:
        return (
            self.instance.network_of(self.port)
            if self.instance and self.port
            else None
        )

    @property
    def paths(self) -> tuple[GuestPath, ...]:
        """Return the paths between the guests of a run on which packets are lost."""
        return self.instance.paths if self.instance else ()

    @property
    def second_host(self) -> str | None:
        """Return the host of the second guest, if that is another one."""
        host = places.second_host_of(self.record)
        return None if host == self.host else host

    @property
    def destination(self) -> str | None:
        """Return the host to which the failed operation moves the server, if it is known."""
        failed = self.record.failed_stage
        if failed is None:
            return None
        return moves.destination_of(self.record, failed)

    def host_of_port(self, port: Port) -> str | None:
        """Return the host of a port of one of the guests."""
        return (
            self.host
            if port.id == self.port_id
            else places.second_host_of(self.record)
        )

    @property
    def network_or_empty(self) -> Network:
        """Return the instance's network; an empty one without it."""
        return self.network or NO_NETWORK

    @property
    def is_active(self) -> bool:
        """Return whether Nova takes the instance for built, so that all of it must be there."""
        return (
            self.instance is not None
            and self.instance.server.status == "ACTIVE"
        )

    @property
    def is_given_up(self) -> bool:
        """Return whether a nova-compute has failed to build the instance: what it had made may be gone by now."""
        return not self.is_active and any(
            error.is_of_run and error.service == "nova-compute"
            for error in self.record.known_errors
        )

    @cached_property
    def volume_id(self) -> str | None:
        """Return the first volume of the run."""
        return next(
            (
                resource.id
                for resource in self.record.resources
                if resource.kind == "volume"
            ),
            None,
        )

    @cached_property
    def ceph_hosts(self) -> dict[str, Ceph]:
        """Return Ceph as each host shows it that was asked about the instance's images."""
        found: dict[str, Ceph] = {}
        for host, facts in self.facts.items():
            ceph = facts.ceph
            if ceph is not None and ceph.images is not None:
                found[host] = ceph
        return found

    @property
    def ceph_host(self) -> str | None:
        return next(iter(self.ceph_hosts), None)

    @property
    def origin(self) -> OriginImage | None:
        """Return the image that the instance's disk is cloned from, if possible from a host that could ask for it."""
        found = [
            ceph.origin
            for ceph in self.ceph_hosts.values()
            if ceph.origin is not None
        ]
        return min(
            found, key=lambda origin: origin.exists is None, default=None
        )

    def disk(self, name: str) -> Disk | None:
        """Return the disk of the instance's domain that is an RBD image with a name."""
        domain = self.facts_of(self.host).domain
        if domain is None:
            return None
        for disk in domain.disks:
            _pool, _slash, image = (disk.source or "").partition("/")
            if disk.protocol == "rbd" and image == name:
                return disk
        return None

    def image_of(self, disk: Disk) -> Image | None:
        """Return the RBD image of a disk, from a host that could ask for it if there is one."""
        found: list[Image] = []
        for ceph in self.ceph_hosts.values():
            found.extend(ceph.images or ())
        found = [
            image
            for image in found
            if f"{image.pool}/{image.name}" == disk.source
        ]
        return min(found, key=lambda image: image.exists is None, default=None)

    @property
    def router_id(self) -> str | None:
        """Return the first router that has an interface on the instance's network; not one whose gateway it is."""
        inner = self.serving(ROUTER_INTERFACE)
        return (
            next(iter(self.network_or_empty.routers), None) if inner else None
        )

    @cached_property
    def needs_router(self) -> bool:
        """Return whether what failed goes through a router: between guests not all does."""
        stage = self.record.failed_stage
        if stage is None or stage.stage is not StageName.DATAPLANE:
            return True
        is_routed = any(path.is_routed for path in self.paths)
        return is_routed or stage.error_kind in THROUGH_ROUTER

    def serving(self, owner: str) -> list[ServingPort]:
        """Return the ports by which a service, such as DHCP, is on the instance's network."""
        return self.network_or_empty.served_by(owner)

    @property
    def wants_dhcp(self) -> bool:
        return self.network_or_empty.leases_ipv4

    @cached_property
    def back_end(self) -> str | None:
        """Return the back end of Neutron, ovn or agents, if it is known."""
        return places.back_end_of(self.record)

    @cached_property
    def host(self) -> str | None:
        """Return the host of the instance, which may still be on its way there.

        Nova forgets it when it gives up, but nova-compute on that host has logged why.
        """
        known = places.host_of(self.record)
        if known is not None:
            return known
        failed = {
            error.host
            for error in self.record.known_errors
            if error.own and error.service == "nova-compute"
        }
        return sole(failed)

    @cached_property
    def names(self) -> Names:
        """Return the names that commands have in braces."""
        known = {
            **names_of_port(self.port),
            **names_of_instance(self.instance),
            "network": self.network.id if self.network else None,
            "router": self.router_id,
            "volume": self.volume_id,
            "host": self.host,
        }
        return Names().with_known(known)

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return {host.host: host for host in self.record.hosts}

    @cached_property
    def facts(self) -> dict[str, Facts]:
        """Return the facts of the hosts that were read."""
        found: dict[str, Facts] = {}
        for name, host in self.hosts.items():
            facts = typed_facts(host)
            if facts is not None:
                found[name] = facts
        return found

    @cached_property
    def stores(self) -> dict[str, Stores]:
        return {
            name: host.stores
            for name, host in self.hosts.items()
            if host.stores
        }

    @cached_property
    def inventory_names(self) -> dict[str, str]:
        """Return the inventory's name of each host, by the names that the host has for itself."""
        names: dict[str, str] = {}
        for host, facts in self.facts.items():
            names.update(dict.fromkeys([*facts.names, host], host))
        return names

    def name_of(self, host: str | None) -> str | None:
        """Return the inventory's name of a host by one of its own names."""
        return self.inventory_names.get(host, host) if host else None

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Return the host that has each address."""
        found: dict[str, str] = {}
        for host, facts in self.facts.items():
            found.update(dict.fromkeys(facts.addresses, host))
        return found

    def host_at(self, address: str) -> str | None:
        return self.addresses.get(address)

    def why_not_running(self, component: str, host: str | None) -> str | None:
        """Return the state of a component's unit on a host; None if it runs, or is not known."""
        facts = self.facts.get(host or "")
        if facts is None:
            return None
        for unit in facts.services:
            if unit.component == component and unit.state not in AT_WORK:
                return unit.state
        return None

    @cached_property
    def guest_steps(self) -> set[str]:
        """Return the steps that the guest shows on its console."""
        guest = (
            self.record.stage_or_skipped(StageName.METADATA).details.get(
                "guest"
            )
            or {}
        )
        return {step["step"] for step in guest.get("steps") or []}

    @property
    def is_of_others(self) -> bool:
        """Return whether the server was made by others, so that its console was not followed."""
        return (
            self.record.operation is not None
            or self.record.diagnosis is not None
        )

    @property
    def has_config_drive(self) -> bool:
        instance = self.instance
        return instance is not None and instance.server.config_drive

    @property
    def guest_asked_for_lease(self) -> bool:
        return "dhcp_start" in self.guest_steps

    @property
    def guest_has_lease(self) -> bool:
        """Return whether the guest has an address: by its console, or by what dnsmasq keeps if nobody reads that."""
        if not self.is_of_others:
            return not self.guest_steps.isdisjoint(ADDRESSED)
        served = (self.of_port(facts.dhcp) for facts in self.facts.values())
        return any(service.leases for service in filter(None, served))

    def host_of(self, name: str | None) -> Host:
        """Return a host by its name; of one that is not known, an empty one."""
        return self.hosts.get(name or "", NO_HOST)

    def facts_of(self, host: str | None) -> Facts:
        """Return the facts of a host; of one that was not read, empty ones."""
        return self.facts.get(host or "", NO_FACTS)

    def of_port(self, by_port: Mapping[str, T] | None) -> T | None:
        """Return what facts have of the instance's port."""
        return (by_port or {}).get(self.port_id or "")

    def stores_of(self, host: str | None) -> Stores:
        """Return the stores of a host; of one that was not read, empty ones."""
        return self.stores.get(host or "", Stores())

    def addresses_of_links(self, host: str | None) -> set[str]:
        """Return the addresses of a host's own links; none if they were not read."""
        links = self.stores_of(host).links or ()
        return set(chain.from_iterable(link.addresses for link in links))

    def switch(self, host: str | None) -> Switch | None:
        return self.stores_of(host).switch

    @cached_property
    def switches(self) -> dict[str, Switch]:
        return {
            name: stores.switch
            for name, stores in self.stores.items()
            if stores.switch
        }

    def interface(self, host: str | None) -> SwitchInterface | None:
        """Return the interface of the instance's port on a host."""
        return self.of_port(self.facts_of(host).interfaces)

    @property
    def is_in_domain(self) -> bool:
        """Return whether libvirt has the port in a domain that runs, so that the switch must have it, too."""
        domain = self.facts_of(self.host).domain
        if self.port is None or domain is None:
            return False
        # libvirt takes the interfaces of a domain that has ended out of the switch.
        if domain.state is not None and domain.state.name == SHUT_OFF:
            return False
        return self.port.mac in [
            interface.mac for interface in domain.interfaces
        ]

    def trace(self, packet: str) -> Trace | None:
        """Return the trace of a packet of the instance's port on its host."""
        return self.trace_on(self.host, self.port_id, packet)

    def trace_on(
        self, host: str | None, port: str | None, packet: str
    ) -> Trace | None:
        """Return the trace of a packet of a port on a host."""
        return trace_in(self.stores_of(host).traces, port, packet)

    def logical_trace(
        self, packet: str, port: str | None = None
    ) -> Trace | None:
        """Return the trace of a packet of a port, by default the instance's, through its network in OVN."""
        return trace_in(
            self.databases.traces if self.databases else None,
            port or self.port_id,
            packet,
        )

    @cached_property
    def database_host(self) -> str | None:
        """Return the host of OVN's databases. Of several the active one counts."""
        found = {
            name: stores.ovn
            for name, stores in self.stores.items()
            if stores.ovn
        }
        return min(
            found,
            key=lambda name: found[name].northbound != "active",
            default=None,
        )

    @property
    def databases(self) -> OvnDatabases | None:
        return self.stores_of(self.database_host).ovn

    @cached_property
    def chassis(self) -> tuple[Chassis, ...]:
        return (self.databases.chassis if self.databases else None) or ()

    @property
    def gateways(self) -> tuple[Chassis, ...]:
        """Return the chassis on which routers may be placed: those that are meant for it, or all."""
        meant = tuple(
            chassis for chassis in self.chassis if chassis.is_gateway
        )
        return meant or self.chassis

    def others(self, chassis: Chassis) -> list[Chassis]:
        return [other for other in self.chassis if other is not chassis]

    @property
    def is_on_physical_network(self) -> bool:
        """Return whether a physical network carries the port's network, and not tunnels."""
        return self.network_or_empty.is_physical

    def chassis_of(self, host: str | None) -> list[Chassis]:
        """Return the chassis that have registered with the name of a host."""
        return [
            chassis
            for chassis in self.chassis
            if host is not None and self.name_of(chassis.host) == host
        ]

    @cached_property
    def ovn_port(self) -> OvnPort | None:
        """Return the port in OVN's databases, as the first host that has these shows it."""
        found = [self.of_port(facts.ovn) for facts in self.facts.values()]
        return next(filter(None, found), None)

    @property
    def in_ovn(self) -> OvnPort:
        """Return the port in OVN's databases; an empty one if they do not have it."""
        return self.ovn_port or NO_OVN_PORT

    @property
    def logical_port(self) -> LogicalPort | None:
        """Return the port's row in the northbound database."""
        return self.in_ovn.logical

    @property
    def binding(self) -> PortBinding | None:
        """Return the port's row in the southbound database."""
        return self.in_ovn.binding

    @property
    def routers(self) -> Mapping[str, OvnRouter]:
        """Return the routers of the instance's network in OVN's databases, by their ids."""
        return self.in_ovn.routers or {}

    def hangs(self, host: str | None, what: str) -> bool:
        """Return whether a host was asked for something, and nothing answered in time."""
        return any(entry.kind == HUNG for entry in self.unread(host, what))

    def is_unread(self, host: str | None, what: str) -> bool:
        """Return whether something could not be read on a host."""
        return bool(self.unread(host, what))

    def unread(self, host: str | None, what: str) -> list[Unread]:
        return [
            entry for entry in self.host_of(host).unread if entry.what == what
        ]


def trace_in(
    traces: tuple[Trace, ...] | None, port: str | None, packet: str
) -> Trace | None:
    wanted = (port, packet)
    return next(
        (
            trace
            for trace in traces or ()
            if (trace.port, trace.packet) == wanted
        ),
        None,
    )


def typed_facts(host: Host) -> Facts | None:
    """Return the facts of a host; None if there are none, or those that another version has written."""
    if not host.facts:
        return None
    try:
        return codec.from_json(Facts, host.facts)
    except codec.MalformedError:
        return None


def names_of_port(port: Port | None) -> dict[str, str | None]:
    """Return the names that commands have for a port and its first addresses."""
    if port is None:
        return {}
    return {
        "port": port.id,
    }


def names_of_instance(
    instance: DescribedInstance | None,
) -> dict[str, str | None]:
    """Return the names that commands have for an instance and its image."""
    if instance is None:
        return {}
    return {
        "server": instance.server.id,
        "image": instance.image.id if instance.image else None,
    }
