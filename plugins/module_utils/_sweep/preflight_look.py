# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks a cloud for the answers that are checked before a sweep."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from .._cloud import connection
from .._cloud.errors import CLOUD_ERRORS, explain
from .._cloud.transport import RedirectedError
from .._record import clock, waiting
from .._record.errors import MALFORMED, StageError
from . import preflight

# A service that refuses to answer this user may be well.
REFUSED = ("forbidden", "unauthorized", "not_found")
ENDPOINT_SECONDS = 10
ENDPOINTS_AT_ONCE = 8


class Look:
    """All checks of one cloud. An answer that a service does not give is a check of its own."""

    def __init__(self, params):
        self.params = params
        self.checks, self.samples, self.services = [], [], []
        self.deadline = waiting.Deadline(params["timeout"])
        self.cloud = self.admin = self.connect(params)
        if params["admin_cloud"]:
            self.admin = self.connect(connection.as_admin(params))

    def connect(self, params):
        return connection.connect(params, [], self.samples, self.deadline)

    def now(self):
        """The cloud's time, by its answers, as heartbeats have the time of the cloud."""
        return time.time() + (clock.clock_difference(self.samples) or {"offset_s": 0})["offset_s"]

    def attempt(self, subject, component, look):
        try:
            self.checks += look()
        except (*CLOUD_ERRORS, *MALFORMED, StageError) as exc:
            error = explain(exc, f"asking for {subject}")
            status = "unreadable" if error["kind"] in REFUSED else "failed"
            self.checks.append(preflight.check(f"{component} tells {subject}", component, status, error["message"]))

    def nova(self):
        self.services = connection.answer_of(self.admin.compute.get("/os-services"))["services"]
        return self.alive(self.services, "nova")

    def alive(self, services, component):
        now, most = self.now(), self.params["heartbeat"]
        return [preflight.service_check(service, component, now, most) for service in services]

    def hypervisors(self):
        hypervisors = connection.answer_of(self.admin.compute.get("/os-hypervisors/detail"))["hypervisors"]
        hosts, _left_out = preflight.compute_hosts(self.services)
        return preflight.mapped_checks(hosts, hypervisors)

    def neutron(self):
        agents = connection.answer_of(self.admin.network.get("/agents"))["agents"]
        return preflight.agent_checks(agents, self.now(), self.params["heartbeat"])

    def cinder(self):
        return self.alive(connection.answer_of(self.admin.block_storage.get("/os-services"))["services"], "cinder")

    def endpoints(self):
        interfaces = self.interfaces()
        # Endpoints that do not answer take until their timeout; asked together they take it once.
        with ThreadPoolExecutor(ENDPOINTS_AT_ONCE) as pool:
            answers = list(pool.map(self.answer, [url for _service, url in interfaces]))
        asked = [(service, names, url, *answer) for ((service, url), names), answer in zip(interfaces.items(), answers)]
        return preflight.endpoint_checks(asked, connection.interfaces_of(self.cloud))

    def interfaces(self):
        """{(service, URL): its interfaces} of the endpoints in our region, out of the catalogue."""
        access = self.cloud.session.auth.get_access(self.cloud.session)
        region = self.cloud.config.get_region_name()
        interfaces = {}
        for entry in access.service_catalog.catalog:
            for endpoint in entry["endpoints"]:
                if not region or endpoint.get("region") in (None, region):
                    interfaces.setdefault((entry["type"], endpoint["url"]), []).append(endpoint["interface"])
        return interfaces

    def answer(self, url):
        """(status, None) or (None, why there is no answer) of an endpoint, asked without a token."""
        options = {"authenticated": False, "raise_exc": False, "timeout": ENDPOINT_SECONDS, "repeat": False}
        try:
            return self.cloud.session.get(url, **options).status_code, None
        except RedirectedError as exc:
            return exc.status, None  # that is an answer, too
        except CLOUD_ERRORS as exc:
            return None, " ".join(str(exc).split())[:200]

    def flavor(self):
        name, compute = self.params["flavor"], self.cloud.compute
        flavor = compute.find_flavor(name, ignore_missing=False) if name else None
        flavor = flavor or min(compute.flavors(), key=lambda flavor: (flavor.ram, flavor.vcpus))
        return {"vcpus": flavor.vcpus, "ram": flavor.ram}

    def at_once(self):
        if self.params["instances"]:
            return min(self.params["at_once"], self.params["instances"])
        hosts = self.params["hosts"]
        if hosts is None:
            hosts, _left_out = preflight.compute_hosts(self.services)
        return preflight.most_at_once(self.params["at_once"], hosts, self.params["values"])

    def quotas(self, component):
        needed = preflight.needs(self.at_once(), self.flavor(), self.params)
        if component == "neutron":
            path = f"/quotas/{self.cloud.current_project_id}/details.json"
            quotas = preflight.detailed(connection.answer_of(self.cloud.network.get(path))["quota"])
        elif component == "nova":
            quotas = preflight.absolute(self.limits(self.cloud.compute), preflight.NOVA_LIMITS)
        else:
            quotas = preflight.absolute(self.limits(self.cloud.block_storage), preflight.CINDER_LIMITS)
        return preflight.quota_checks(component, needed, quotas)

    @staticmethod
    def limits(proxy):
        return connection.answer_of(proxy.get("/limits"))["limits"]["absolute"]

    def all(self):
        with_volume = self.params["volume"] != "none"
        self.attempt("its services", "nova", self.nova)
        self.attempt("its hypervisors", "nova", self.hypervisors)
        self.attempt("its agents", "neutron", self.neutron)
        if with_volume:
            self.attempt("its services", "cinder", self.cinder)
        for component in ("nova", "neutron", *(["cinder"] if with_volume else [])):
            self.attempt("the quotas", component, lambda of=component: self.quotas(of))
        # Last, as internal endpoints may be out of reach from here, and must not take the time of the other checks.
        self.attempt("the endpoints", "keystone", self.endpoints)
        return self.checks
