# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks a cloud what is looked at before a sweep."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from .._cloud import connection
from .._cloud.errors import CLOUD_ERRORS, explain
from .._record import clock, waiting
from .._record.errors import STRANGE, StageError
from . import preflight

# Not to be told is no sign of illness.
UNTOLD = ("forbidden", "unauthorized", "not_found")
ENDPOINT_SECONDS = 10
ENDPOINTS_AT_ONCE = 8


class Look:
    """All looks at one cloud. What a service does not tell is a check of its own."""

    def __init__(self, params):
        self.params, self.checks, self.samples, self.services = params, [], [], []
        self.deadline = waiting.Deadline(params["timeout"])
        self.cloud = self.connect(params)
        theirs = {**params, "cloud": params["admin_cloud"], "_cloud": None, "auth": None}
        self.admin = self.connect(theirs) if params["admin_cloud"] else self.cloud

    def connect(self, params):
        return connection.connect(params, [], self.samples, self.deadline)

    def now(self):
        """The cloud's time, by its answers: heartbeats are stamped with that, not with ours."""
        return time.time() + (clock.clock_difference(self.samples) or {"offset_s": 0})["offset_s"]

    def attempt(self, what, component, look):
        try:
            self.checks += look()
        except (*CLOUD_ERRORS, *STRANGE, StageError) as exc:
            error = explain(exc, f"asking for {what}")
            status = "unreadable" if error["kind"] in UNTOLD else "failed"
            self.checks.append(preflight.check(f"{component} tells {what}", component, status, error["message"]))

    def nova(self):
        self.services = connection.answer_of(self.admin.compute.get("/os-services"))["services"]
        return self.alive(self.services, "nova")

    def alive(self, services, component):
        return [preflight.service_check(one, component, self.now(), self.params["heartbeat"]) for one in services]

    def hypervisors(self):
        known = connection.answer_of(self.admin.compute.get("/os-hypervisors/detail"))["hypervisors"]
        return preflight.mapped_checks(preflight.compute_hosts(self.services)[0], known)

    def neutron(self):
        agents = connection.answer_of(self.admin.network.get("/agents"))["agents"]
        return preflight.agent_checks(agents, self.now(), self.params["heartbeat"])

    def cinder(self):
        return self.alive(connection.answer_of(self.admin.block_storage.get("/os-services"))["services"], "cinder")

    def endpoints(self):
        access = self.cloud.session.auth.get_access(self.cloud.session)
        region = self.cloud.config.get_region_name()
        found = {}
        for entry in access.service_catalog.catalog:
            for one in entry["endpoints"]:
                if not region or one.get("region") in (None, region):
                    found.setdefault((entry["type"], one["url"]), []).append(one["interface"])
        # Those that nobody answers take their time, which is then that of one and not of all of them.
        with ThreadPoolExecutor(ENDPOINTS_AT_ONCE) as pool:
            said = list(pool.map(self.answer, [url for _service, url in found]))
        answers = [(service, kinds, url, *one) for ((service, url), kinds), one in zip(found.items(), said)]
        return preflight.endpoint_checks(answers, self.cloud.config.get_interface() or "public")

    def answer(self, url):
        """(status, why there is none) of an endpoint, without a token."""
        options = {"authenticated": False, "raise_exc": False, "timeout": ENDPOINT_SECONDS, "repeat": False}
        try:
            return self.cloud.session.get(url, **options).status_code, None
        except CLOUD_ERRORS as exc:
            return None, " ".join(str(exc).split())[:200]

    def flavor(self):
        name, compute = self.params["flavor"], self.cloud.compute
        found = compute.find_flavor(name, ignore_missing=False) if name else None
        found = found or min(compute.flavors(), key=lambda one: (one.ram, one.vcpus))
        return {"vcpus": found.vcpus, "ram": found.ram}

    def at_once(self):
        found, _left_out = preflight.compute_hosts(self.services)
        hosts = found if self.params["hosts"] is None else self.params["hosts"]
        return preflight.most_at_once(self.params["at_once"], hosts, self.params["values"])

    def quotas(self, component):
        needed = preflight.needs(self.at_once(), self.flavor(), self.params)
        if component == "neutron":
            path = f"/quotas/{self.cloud.current_project_id}/details.json"
            known = preflight.detailed(connection.answer_of(self.cloud.network.get(path))["quota"])
        else:
            proxy = self.cloud.compute if component == "nova" else self.cloud.block_storage
            names = preflight.NOVA_LIMITS if component == "nova" else preflight.CINDER_LIMITS
            known = preflight.absolute(connection.answer_of(proxy.get("/limits"))["limits"]["absolute"], names)
        return preflight.quota_checks(component, needed, known)

    def all(self):
        with_volume = self.params["volume"] != "none"
        self.attempt("its services", "nova", self.nova)
        self.attempt("its hypervisors", "nova", self.hypervisors)
        self.attempt("its agents", "neutron", self.neutron)
        if with_volume:
            self.attempt("its services", "cinder", self.cinder)
        for component in ("nova", "neutron", *(["cinder"] if with_volume else [])):
            self.attempt("the quotas", component, lambda of=component: self.quotas(of))
        # Internal ones may be out of reach from here, and must not take the time of the others.
        self.attempt("the endpoints", "keystone", self.endpoints)
        return self.checks
