# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a cloud for the answers that the preflight checks are about."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .._cloud import connection
from .._cloud.errors import CLOUD_ERRORS, explain
from .._cloud.transport import RedirectedError
from .._collect.api.capacity import Instance, of_instance
from .._model.sweep import PreflightCheck, PreflightStatus
from .._record import clock, waiting
from .._record.errors import MALFORMED, StageError
from . import preflight, preflight_capacity
from .preflight import Answer, Demand, EndpointAnswer, Quotas
from .targets import Values

EXPECTED: tuple[type[BaseException], ...] = (
    *CLOUD_ERRORS,
    *MALFORMED,
    StageError,
)
# A service that refuses to answer this user may be healthy.
REFUSED = ("forbidden", "unauthorized", "not_found")
ENDPOINT_SECONDS = 10
PARALLEL_ENDPOINTS = 8
# In characters
LONGEST_REASON = 200


@dataclass(frozen=True)
class Wanted:
    """What the runs after the preflight will make, and how the cloud is asked.

    parallel: how many runs there may be in parallel. instances: how many there are, if that is known.
    hosts: None for all that are found. zone: None for any. attach: when the volume is attached; root boots from it.
    heartbeat: how old a report may be, in seconds; None trusts the cloud.
    """

    admin_cloud: str | None
    parallel: int
    instances: int | None
    hosts: Sequence[str] | None
    values: Values
    flavor: str | None
    zone: str | None
    network: str | None
    volume: str
    volume_size: int
    attach: str
    floating_ip: bool
    heartbeat: float | None
    timeout: float

    @property
    def with_volume(self) -> bool:
        return self.volume != "none"

    @property
    def boots_from_volume(self) -> bool:
        return self.with_volume and self.attach == "root"

    @property
    def zones(self) -> Sequence[str | None]:
        return self.values.get("zone") or [self.zone]

    @property
    def makes_network(self) -> bool:
        return not (self.network or self.values.get("network"))


class Look:
    """All checks of one cloud. An answer that a service does not give is a check of its own."""

    def __init__(self, params: Mapping[str, Any], wanted: Wanted) -> None:
        self.wanted = wanted
        self.checks: list[PreflightCheck] = []
        self.samples: list[Any] = []
        self.services: list[Answer] = []
        self.deadline = waiting.Deadline(wanted.timeout)
        self.cloud = self.admin = self.connect(params)
        if wanted.admin_cloud:
            self.admin = self.connect(connection.as_admin(params))

    def connect(self, params: Mapping[str, Any]) -> Any:
        return connection.connect(params, [], self.samples, self.deadline)

    def now(self) -> float:
        """Return the cloud's time, by its answers, as heartbeats have the time of the cloud."""
        return time.time() + float(
            (clock.clock_difference(self.samples) or {"offset_s": 0})[
                "offset_s"
            ]
        )

    def attempt(
        self,
        subject: str,
        component: str,
        look: Callable[[], list[PreflightCheck]],
    ) -> None:
        try:
            self.checks += look()
        except EXPECTED as exc:
            error = explain(exc, f"asking for {subject}")
            status = (
                PreflightStatus.UNREADABLE
                if error["kind"] in REFUSED
                else PreflightStatus.FAILED
            )
            self.checks.append(
                preflight.api_check(
                    subject, component, status, error["message"]
                )
            )

    def nova(self) -> list[PreflightCheck]:
        self.services = connection.answer_of(
            self.admin.compute.get("/os-services")
        )["services"]
        return self.alive(self.services, "nova")

    def alive(
        self, services: Sequence[Answer], component: str
    ) -> list[PreflightCheck]:
        now = self.now()
        return [
            preflight.service_check(
                service, component, now, self.wanted.heartbeat
            )
            for service in services
        ]

    def hypervisors(self) -> list[PreflightCheck]:
        hypervisors = connection.answer_of(
            self.admin.compute.get("/os-hypervisors/detail")
        )["hypervisors"]
        hosts, _excluded = preflight.compute_hosts(self.services)
        return preflight.mapped_checks(hosts, hypervisors)

    def neutron(self) -> list[PreflightCheck]:
        agents = connection.answer_of(self.admin.network.get("/agents"))[
            "agents"
        ]
        return preflight.agent_checks(
            agents, self.now(), self.wanted.heartbeat
        )

    def cinder(self) -> list[PreflightCheck]:
        return self.alive(
            connection.answer_of(self.admin.block_storage.get("/os-services"))[
                "services"
            ],
            "cinder",
        )

    def endpoints(self) -> list[PreflightCheck]:
        interfaces = self.interfaces()
        # Endpoints that do not answer take until their timeout; asked together they take it once.
        with ThreadPoolExecutor(PARALLEL_ENDPOINTS) as pool:
            answers = list(
                pool.map(self.answer, [url for _service, url in interfaces])
            )
        wanted = connection.interfaces_of(self.cloud)
        checks = []
        for ((service, url), names), (status, reason) in zip(
            interfaces.items(), answers
        ):
            checks.append(
                preflight.endpoint_check(
                    EndpointAnswer(service, names, url, status, reason), wanted
                )
            )
        return checks

    def interfaces(self) -> dict[tuple[str, str], list[str]]:
        """Return the interfaces of the endpoints in our region, by service and URL, from the catalog."""
        access = self.cloud.session.auth.get_access(self.cloud.session)
        region = self.cloud.config.get_region_name()
        interfaces: dict[tuple[str, str], list[str]] = {}
        for entry in access.service_catalog.catalog:
            for endpoint in entry["endpoints"]:
                if not region or endpoint.get("region") in (None, region):
                    interfaces.setdefault(
                        (entry["type"], endpoint["url"]), []
                    ).append(endpoint["interface"])
        return interfaces

    def answer(self, url: str) -> tuple[int | None, str | None]:
        """Return the status of an endpoint, or the reason why there is no answer. It is asked without a token."""
        options = {
            "authenticated": False,
            "raise_exc": False,
            "timeout": ENDPOINT_SECONDS,
            "repeat": False,
        }
        try:
            return self.cloud.session.get(url, **options).status_code, None
        except RedirectedError as exc:
            return exc.status, None  # that is an answer, too
        except CLOUD_ERRORS as exc:
            return None, " ".join(str(exc).split())[:LONGEST_REASON]

    def demand(self) -> Demand:
        flavor = self.flavor()
        return Demand(
            parallel=self.parallel(),
            vcpus=flavor.vcpus,
            ram=flavor.ram,
            makes_network=self.wanted.makes_network,
            volume_gb=self.wanted.volume_size
            if self.wanted.with_volume
            else None,
            floating_ip=self.wanted.floating_ip,
        )

    def flavor(self) -> Any:
        """Return the flavor of the instances; without a name the smallest one."""
        compute = self.cloud.compute
        if self.wanted.flavor:
            return compute.find_flavor(
                self.wanted.flavor, ignore_missing=False
            )
        return min(
            compute.flavors(), key=lambda flavor: (flavor.ram, flavor.vcpus)
        )

    def parallel(self) -> int:
        if self.wanted.instances:
            return min(self.wanted.parallel, self.wanted.instances)
        hosts = self.wanted.hosts
        if hosts is None:
            hosts, _excluded = preflight.compute_hosts(self.services)
        return preflight.most_parallel(
            self.wanted.parallel, hosts, self.wanted.values
        )

    def capacity(self) -> list[PreflightCheck]:
        """Return the checks that the flavor fits: on each host that gets an instance, or on any if Nova chooses."""
        checks: list[PreflightCheck] = []
        flavor = self.flavor()
        for zone in self.wanted.zones:
            instance = Instance(
                flavor=flavor.id,
                zone=zone,
                from_volume=self.wanted.boots_from_volume,
                count=self.parallel(),
            )
            capacity = of_instance(self.admin, instance)
            hosts = self.targets()
            if hosts:
                checks += preflight_capacity.checks_of_hosts(capacity, hosts)
            else:
                checks += preflight_capacity.checks_of_cloud(capacity)
        return checks

    def targets(self) -> Sequence[str]:
        """Return the hosts that get an instance each; none if Nova chooses the hosts."""
        if self.wanted.instances:
            return []
        if self.wanted.hosts is not None:
            return self.wanted.hosts
        hosts, _excluded = preflight.compute_hosts(self.services)
        return hosts

    def quota_checks(self, component: str) -> list[PreflightCheck]:
        needed = preflight.needs(self.demand())
        return preflight.quota_checks(
            component, needed, self.quotas(component)
        )

    def quotas(self, component: str) -> Quotas:
        if component == "neutron":
            path = f"/quotas/{self.cloud.current_project_id}/details.json"
            return preflight.detailed(
                connection.answer_of(self.cloud.network.get(path))["quota"]
            )
        if component == "nova":
            return preflight.absolute(
                self.limits(self.cloud.compute), preflight.NOVA_LIMITS
            )
        return preflight.absolute(
            self.limits(self.cloud.block_storage), preflight.CINDER_LIMITS
        )

    @staticmethod
    def limits(proxy: Any) -> Mapping[str, int]:
        limits: Mapping[str, int] = connection.answer_of(proxy.get("/limits"))[
            "limits"
        ]["absolute"]
        return limits

    def all(self) -> list[PreflightCheck]:
        self.attempt("its services", "nova", self.nova)
        self.attempt("its hypervisors", "nova", self.hypervisors)
        self.attempt("its agents", "neutron", self.neutron)
        components = ["nova", "neutron"]
        if self.wanted.with_volume:
            self.attempt("its services", "cinder", self.cinder)
            components.append("cinder")
        for component in components:
            self.attempt(
                "the quotas",
                component,
                functools.partial(self.quota_checks, component),
            )
        self.attempt("what its hosts have left", "nova", self.capacity)
        # Last, as internal endpoints may be out of reach from here, and must not take the time of the other checks.
        self.attempt("the endpoints", "keystone", self.endpoints)
        return self.checks
