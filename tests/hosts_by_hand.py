# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute hosts that are made by hand, and a cloud that answers about them as Nova and Placement do.

The answers have the form of the services' API references. They are to be replaced by recordings (make recordings) of:
/os-services (2.69), /os-hypervisors/detail (2.53), /os-aggregates (2.41), /flavors/ID (2.61), /os-migrations (2.59);
/resource_providers with inventories, usages, traits, aggregates, allocations; /allocation_candidates (1.36), also with
a trait that Placement does not know (400) and in a version that it does not know (406); /scheduler-stats/get_pools;
/network-ip-availabilities/ID.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

import requests
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import capacity as module
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import Capacity

Json = dict[str, Any]
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def id_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def inventory(total: int, used: int = 0, **more: Any) -> Json:
    about: Json = {"total": total, "reserved": 0, "allocation_ratio": 1.0, "max_unit": total, "used": used}
    return {"min_unit": 1, "step_size": 1, **about, **more}


def usual(**more: Any) -> Json:
    """Return the inventories of a host with 8 VCPUs, 8 GB of memory and 100 GB of disk."""
    return {"VCPU": inventory(8), "MEMORY_MB": inventory(8192), "DISK_GB": inventory(100), **more}


@dataclass(frozen=True)
class Host:
    """A compute host. providers: name to id of its resource providers. holds: consumer to what it holds."""

    name: str
    inventories: Json = field(default_factory=usual)
    traits: tuple[str, ...] = ()
    service: Json = field(default_factory=dict)
    has_service: bool = True
    has_hypervisor: bool = True
    zone: str = "nova"
    providers: dict[str, str] | None = None
    holds: Json = field(default_factory=dict)

    @property
    def own_providers(self) -> dict[str, str]:
        return {self.name: id_of(self.name)} if self.providers is None else self.providers


@dataclass
class Cloud:
    """A cloud with these hosts. failing: paths that are answered with a status. oldest: refuse newer versions."""

    hosts: list[Host]
    flavor: Json = field(default_factory=dict)
    properties: Json = field(default_factory=dict)
    aggregates: list[Json] = field(default_factory=list)
    failing: dict[str, int] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)
    servers: list[str] = field(default_factory=list)
    pools: list[Json] = field(default_factory=list)
    types: list[Json] = field(default_factory=list)
    quotas: Json = field(default_factory=dict)
    volumes: Json = field(default_factory=dict)
    current_project_id = "p1"
    asked: list[tuple[str, str, Json]] = field(default_factory=list)

    @property
    def compute(self) -> Proxy:
        return Proxy(self, "compute")

    @property
    def placement(self) -> Proxy:
        return Proxy(self, "placement")

    @property
    def image(self) -> Proxy:
        return Proxy(self, "image")

    @property
    def block_storage(self) -> Proxy:
        return Proxy(self, "block_storage")

    @property
    def network(self) -> Proxy:
        return Proxy(self, "network")

    def answer(self, path: str, query: Json) -> tuple[int, Json]:
        for part, status in self.failing.items():
            if part in path:
                return status, {"error": {"message": f"{part} failed"}}
        parts = path.strip("/").split("/")
        found: tuple[int, Json] = getattr(self, f"get_{parts[0].replace('-', '_')}")(parts, query)
        return found

    # Nova

    def get_flavors(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        usual_flavor = {"name": "small", "vcpus": 1, "ram": 1024, "disk": 10, "swap": "", "extra_specs": {}}
        return 200, {"flavor": {**usual_flavor, **self.flavor}}

    def get_os_services(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        services = [{"binary": "nova-scheduler", "host": "ctl", "zone": "internal", "state": "up", "status": "enabled"}]
        for host in self.hosts:
            if host.has_service:
                about = {"state": "up", "status": "enabled", "disabled_reason": None, "forced_down": False}
                services.append(
                    {"binary": "nova-compute", "host": host.name, "zone": host.zone, **about, **host.service}
                )
        return 200, {"services": services}

    def get_os_hypervisors(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        known = [host for host in self.hosts if host.has_hypervisor and host.has_service]
        hypervisors = [
            {"id": id_of(host.name), "hypervisor_hostname": host.name, "service": {"host": host.name}} for host in known
        ]
        return 200, {"hypervisors": hypervisors}

    def get_os_aggregates(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, {"aggregates": self.aggregates}

    def get_os_migrations(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, {"migrations": [{"uuid": id_of("migration")}]}

    def get_servers(self, parts: list[str], _query: Json) -> tuple[int, Json]:
        if len(parts) == 1:
            return 200, {"servers": [{"id": server} for server in self.servers]}
        return (200, {"server": {}}) if parts[1] in self.servers else (404, {"itemNotFound": {"message": "gone"}})

    # Glance, Cinder, Neutron

    def get_images(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, self.properties

    def get_types(self, parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, {"volume_type": self.types[0]} if len(parts) > 1 else {"volume_types": self.types}

    def get_scheduler_stats(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, {"pools": self.pools}

    def get_volumes(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, self.volumes

    def get_quotas(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, {"quota": self.quotas}

    def get_network_ip_availabilities(self, _parts: list[str], _query: Json) -> tuple[int, Json]:
        return 200, {"network_ip_availability": {"network_name": "lan", "total_ips": 253, "used_ips": 253}}

    # Placement

    def owners(self) -> dict[str, tuple[str, Host]]:
        """Return the name and the host of each resource provider."""
        found = {}
        for host in self.hosts:
            for name, identity in host.own_providers.items():
                found[identity] = (name, host)
        return found

    def get_resource_providers(self, parts: list[str], query: Json) -> tuple[int, Json]:
        owners = self.owners()
        if len(parts) == 1:
            wanted = query.get("required")
            if wanted and wanted.startswith("CUSTOM_UNKNOWN"):
                return 400, {"errors": [{"detail": f"No such trait(s): {wanted}."}]}
            shown = [pair for pair in owners.items() if wanted is None or wanted in pair[1][1].traits]
            providers = [{"uuid": key, "name": name, "root_provider_uuid": key} for key, (name, _host) in shown]
            return 200, {"resource_providers": providers}
        _name, host = owners[parts[1]]
        inventories = {name: {**data} for name, data in host.inventories.items()}
        answers: Json = {
            "usages": {name: data.pop("used") for name, data in inventories.items()},
            "inventories": inventories,
            "traits": list(host.traits),
            "aggregates": [],
            "allocations": {consumer: {"resources": held} for consumer, held in host.holds.items()},
        }
        return 200, {parts[2]: answers[parts[2]]}

    def get_allocation_candidates(self, _parts: list[str], query: Json) -> tuple[int, Json]:
        if "CUSTOM_UNKNOWN" in query.get("required", ""):
            return 400, {"errors": [{"detail": "No such trait(s): CUSTOM_UNKNOWN."}]}
        offered = [(key, host) for key, (_name, host) in self.owners().items() if self.offers(key, host, query)]
        requests_ = [{"allocations": {key: {"resources": {}}}} for key, _host in offered]
        summaries = {key: {"root_provider_uuid": key, "resources": {}, "traits": []} for key, _host in offered}
        return 200, {"allocation_requests": requests_[: int(query["limit"])], "provider_summaries": summaries}

    def offers(self, identity: str, host: Host, query: Json) -> bool:
        """Return whether Placement offers a host, by its own rules."""
        if query.get("in_tree") not in (None, identity):
            return False
        members = [found for found in self.aggregates if host.name in found["hosts"]]
        wanted = query.get("member_of", "").removeprefix("in:").split(",")
        if wanted != [""] and not {found["uuid"] for found in members} & set(wanted):
            return False
        traits = [trait for name, text in query.items() if name.startswith("required") for trait in text.split(",")]
        if any((trait.lstrip("!") in host.traits) == trait.startswith("!") for trait in traits):
            return False
        amounts = [pair for name, text in query.items() if name.startswith("resources") for pair in text.split(",")]
        return all(has_room(host.inventories, *pair.split(":")) for pair in amounts)


def has_room(inventories: Json, name: str, amount: str) -> bool:
    data, wanted = inventories.get(name), int(amount)
    if data is None or not data["min_unit"] <= wanted <= data["max_unit"] or wanted % data["step_size"]:
        return False
    return bool(data["used"] + wanted <= int((data["total"] - data["reserved"]) * data["allocation_ratio"]))


@dataclass
class Proxy:
    """A service of the cloud, as the SDK has it."""

    cloud: Cloud
    service: str

    def get(self, path: str, params: Json | None = None, microversion: str | None = None) -> requests.Response:
        query = dict(params or {})
        self.cloud.asked.append((self.service, path, query))
        newest = self.cloud.newest.get(self.service)
        if newest and microversion and numbers(microversion) > numbers(newest):
            return response(406, {"computeFault": {"message": f"Minimum is 2.1 and maximum is {newest}."}})
        return response(*self.cloud.answer(path, query))


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def response(status: int, body: Json) -> requests.Response:
    made = requests.Response()
    made.status_code, made._content = status, json.dumps(body).encode()
    made.headers["content-type"] = "application/json"
    made.url, made.request = "http://cloud/", requests.Request("GET", "http://cloud/").prepare()
    return made


def host(name: str = "compute1", **more: Any) -> Host:
    return Host(name, **more)


def hosts(number: int, **more: Any) -> list[Host]:
    return [Host(f"compute{count}", **more) for count in range(1, number + 1)]


def disabled(made: Host, reason: str | None = "maintenance") -> Host:
    traits = (*made.traits, "COMPUTE_STATUS_DISABLED")
    return replace(made, service={"status": "disabled", "disabled_reason": reason}, traits=traits)


def down(made: Host, **more: Any) -> Host:
    return replace(made, service={"state": "down", "updated_at": "2026-11-21T17:04:31.000000", **more})


def capacity_of(cloud: Any, **more: Any) -> Capacity:
    """Return what a cloud has for an instance of its flavor."""
    return module.of_instance(cloud, module.Instance(**{"flavor": "f1", "image": "i1", **more}))
