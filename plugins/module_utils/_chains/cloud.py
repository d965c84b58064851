# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run's record knows of the cloud, in the form in which the checks of links ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .._match import places
from .._model import codec
from .._model.facts import Facts, LogicalPort, OvnPort, OvnRouter, PortBinding, SwitchInterface
from .._model.host import Host, Unread
from .._model.instance import DescribedInstance, Network, Port, ServingPort
from .._model.record import Record
from .._model.stores import Chassis, OvnDatabases, Stores, Switch, Trace
from .._model.words import StageName

# The kind of a command that did not end in time
HUNG = "hung"
# The states of units that do their work, or begin to as soon as somebody needs them
AT_WORK = ("running", "on demand")
# A network is carried by a physical network of one of these kinds, or in tunnels.
PHYSICAL = ("flat", "vlan")


class Names(dict[str, str]):
    """The names in a command. One that is not known stays a place to fill in."""

    def __missing__(self, name: str) -> str:
        return f"<{name}>"


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
        return self.instance.ports[0] if self.instance and self.instance.ports else None

    @property
    def port_id(self) -> str | None:
        return self.port.id if self.port else None

    @cached_property
    def network(self) -> Network | None:
        return self.instance.network_of(self.port) if self.instance and self.port else None

    def serving(self, owner: str) -> list[ServingPort]:
        """Return the ports by which a service, such as DHCP, is on the instance's network."""
        ports = self.network.serving if self.network else ()
        return [port for port in ports if port.owner == owner]

    @property
    def wants_dhcp(self) -> bool:
        subnets = self.network.subnets if self.network else ()
        return any(subnet.dhcp and subnet.version == 4 for subnet in subnets)

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
        failed = {error.host for error in self.record.errors or () if error.own and error.service == "nova-compute"}
        return failed.pop() if len(failed) == 1 else None

    @cached_property
    def names(self) -> Names:
        """Return the names that commands have in braces."""
        known = {
            "port": self.port_id,
            "mac": self.port.mac if self.port else None,
            "network": self.network.id if self.network else None,
            "server": self.instance.server.id if self.instance else None,
            "host": self.host,
        }
        return Names({name: value for name, value in known.items() if value is not None})

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return {host.host: host for host in self.record.hosts}

    @cached_property
    def facts(self) -> dict[str, Facts]:
        """Return the facts of the hosts that were read."""
        return {name: codec.from_json(Facts, host.facts) for name, host in self.hosts.items() if host.facts}

    @cached_property
    def stores(self) -> dict[str, Stores]:
        return {name: host.stores for name, host in self.hosts.items() if host.stores}

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
        units = facts.services if facts else ()
        states = [unit.state for unit in units if unit.component == component]
        return next((state for state in states if state not in AT_WORK), None)

    @cached_property
    def guest_steps(self) -> set[str]:
        """Return the steps that the guest shows on its console."""
        stage = self.record.stage(StageName.METADATA)
        guest = (stage.details.get("guest") if stage else None) or {}
        return {step["step"] for step in guest.get("steps") or []}

    @property
    def guest_asked_for_lease(self) -> bool:
        return "dhcp_start" in self.guest_steps

    @property
    def guest_has_lease(self) -> bool:
        return "lease" in self.guest_steps

    def stores_of(self, host: str | None) -> Stores:
        """Return the stores of a host; of one that was not read, empty ones."""
        return self.stores.get(host or "", Stores())

    def switch(self, host: str | None) -> Switch | None:
        return self.stores_of(host).switch

    @cached_property
    def switches(self) -> dict[str, Switch]:
        return {name: stores.switch for name, stores in self.stores.items() if stores.switch}

    def interface(self, host: str | None) -> SwitchInterface | None:
        """Return the interface of the instance's port on a host."""
        facts = self.facts.get(host or "")
        interfaces = (facts.interfaces if facts else None) or {}
        return interfaces.get(self.port.id) if self.port else None

    @property
    def is_in_domain(self) -> bool:
        """Return whether libvirt has the port in the instance's domain, so that the switch must have it, too."""
        facts = self.facts.get(self.host or "")
        if self.port is None or facts is None or facts.domain is None:
            return False
        return self.port.mac in [interface.mac for interface in facts.domain.interfaces]

    def trace(self, packet: str) -> Trace | None:
        """Return the trace of a packet of the instance's port on its host."""
        traces = self.stores_of(self.host).traces or ()
        wanted = (self.port_id, packet)
        return next((trace for trace in traces if (trace.port, trace.packet) == wanted), None)

    @cached_property
    def database_host(self) -> str | None:
        """Return the host of OVN's databases. Of several the active one counts."""
        found = {name: stores.ovn for name, stores in self.stores.items() if stores.ovn}
        active = [name for name, databases in found.items() if databases.northbound == "active"]
        return next(iter([*active, *found]), None)

    @property
    def databases(self) -> OvnDatabases | None:
        return self.stores_of(self.database_host).ovn

    @cached_property
    def chassis(self) -> tuple[Chassis, ...]:
        return (self.databases.chassis if self.databases else None) or ()

    def others(self, chassis: Chassis) -> list[Chassis]:
        return [other for other in self.chassis if other is not chassis]

    @property
    def is_on_physical_network(self) -> bool:
        """Return whether a physical network carries the port's network, and not tunnels."""
        return self.network is not None and self.network.kind in PHYSICAL

    def chassis_of(self, host: str | None) -> list[Chassis]:
        """Return the chassis that have registered with the name of a host."""
        return [chassis for chassis in self.chassis if host is not None and self.name_of(chassis.host) == host]

    @cached_property
    def ovn_port(self) -> OvnPort | None:
        """Return the port in OVN's databases, as the first host that has these shows it."""
        if self.port is None:
            return None
        for facts in self.facts.values():
            found = (facts.ovn or {}).get(self.port.id)
            if found is not None:
                return found
        return None

    @property
    def logical_port(self) -> LogicalPort | None:
        """Return the port's row in the northbound database."""
        return self.ovn_port.logical if self.ovn_port else None

    @property
    def binding(self) -> PortBinding | None:
        """Return the port's row in the southbound database."""
        return self.ovn_port.binding if self.ovn_port else None

    @property
    def routers(self) -> Iterator[tuple[str, OvnRouter]]:
        """Yield the routers of the instance's network in OVN's databases."""
        if self.ovn_port is not None:
            yield from (self.ovn_port.routers or {}).items()

    def hangs(self, host: str | None, what: str) -> bool:
        """Return whether a host was asked for something, and nothing answered in time."""
        return any(entry.kind == HUNG for entry in self.unread(host, what))

    def is_unread(self, host: str | None, what: str) -> bool:
        """Return whether something could not be read on a host."""
        return bool(self.unread(host, what))

    def unread(self, host: str | None, what: str) -> list[Unread]:
        found = self.hosts.get(host or "")
        return [entry for entry in found.unread if entry.what == what] if found else []
