#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cloud_info
short_description: Checks the health of a lab's cloud
version_added: 0.1.0
description:
  - Asks every endpoint of the catalogue for an answer, and the cloud for its services and agents, and lists all
    problems.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
extends_documentation_fragment: [stackproof.lab._lab.cloud, stackproof.lab._lab.reads]
options:
  workers:
    description: Services and agents that must be alive, as dictionaries with C(binary) and C(host).
    type: list
    elements: dict
    default: []
  images:
    description: Names of images that must be active.
    type: list
    elements: str
    default: []
  timeout:
    description: How long to wait for all checks to pass, in seconds. With V(0) it checks once.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Wait for the computes
  stackproof.lab.cloud_info:
    config: .lab/clouds.yaml
    cloud: lab-admin
    workers:
      - {binary: nova-compute, host: compute1}
    timeout: 60
"""

RETURN = r"""
problems:
  description: The problems, one sentence each.
  returned: success
  type: list
  elements: str
endpoints:
  description: The public endpoints, as C(type) and C(url).
  returned: success
  type: list
  elements: dict
workers:
  description: How many services and agents are alive.
  returned: success
  type: int
"""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.lab.plugins.module_utils._cloud import (
    CLOUD_ERRORS,
    HAS_SDK,
    connect,
)

# Neutron's agents report every 30 seconds, the others every 10.
FRESH = 45
# A cloud without volumes has no service of these types.
VOLUMES = {"block-storage", "volumev3"}


# The name of a program, and the host that it runs on
Worker = tuple[str, str]


def endpoints_of(connection: Any) -> list[dict[str, str]]:
    """Return the public endpoints in the token's catalogue."""
    endpoints: list[dict[str, str]] = []
    for service in connection.session.auth.get_access(connection.session).service_catalog.catalog:
        urls = [endpoint["url"] for endpoint in service["endpoints"] if endpoint["interface"] == "public"]
        endpoints += [{"type": service["type"], "url": url} for url in urls]
    return endpoints


def is_fresh(heartbeat: str | None, now: datetime) -> bool:
    """Return whether a worker has reported itself lately.

    The services' own limits are longer than a restart of the lab.
    """
    if not heartbeat:
        return False
    reported = datetime.fromisoformat(heartbeat).replace(tzinfo=UTC)
    return (now - reported).total_seconds() < FRESH


def alive_workers(connection: Any, types: set[str]) -> set[Worker]:
    """Return all workers that have reported themselves alive lately. types: those of the endpoints."""
    now = datetime.now(UTC)
    reports = [(entry.binary, entry.host, entry.updated_at) for entry in connection.compute.services()]
    reports += [(entry.binary, entry.host, entry.last_heartbeat_at) for entry in connection.network.agents()]
    if VOLUMES & types:
        # A volume service has the name of its back end after an @.
        services = connection.block_storage.services()
        reports += [(entry.binary, entry.host.partition("@")[0], entry.updated_at) for entry in services]
    return {(binary, host) for binary, host, heartbeat in reports if is_fresh(heartbeat, now)}


def has_room(pool: Any) -> bool:
    """Return whether a volume fits. A back end that does not know how much it has left answers with a word."""
    free = pool.capabilities.get("free_capacity_gb", 0)
    return isinstance(free, str) or free > 0


def without_room(connection: Any, alive: Collection[Worker]) -> list[str]:
    """Return a problem for each back end of volumes in which the scheduler would put none.

    A back end reports itself once a minute, and the first time maybe before Ceph knows how much it has left.
    """
    pools = [pool for pool in connection.block_storage.backend_pools() if has_room(pool)]
    taking = {pool.name.partition("@")[0] for pool in pools}
    hosts = sorted(host for binary, host in alive if binary == "cinder-volume" and host not in taking)
    return [f"the scheduler of volumes knows no room on {host}" for host in hosts]


@dataclass
class Health:
    """The problems of a cloud, its endpoints, and the number of living workers."""

    problems: list[str]
    endpoints: list[dict[str, str]]
    workers: int = 0


def examine(connection: Any, params: Mapping[str, Any]) -> Health:
    health = Health([], [])
    try:
        health.endpoints = endpoints_of(connection)
        health.problems += broken_endpoints(connection, health.endpoints)
        types = {endpoint["type"] for endpoint in health.endpoints}
        alive = alive_workers(connection, types)
        health.workers = len(alive)
        if VOLUMES & types:
            health.problems += without_room(connection, alive)
        health.problems += missing_workers(params["workers"], alive)
        health.problems += without_cell(connection, params["workers"])
        active = {image.name for image in connection.image.images() if image.status == "active"}
        health.problems += [f"the image {name} is not active" for name in params["images"] if name not in active]
    except CLOUD_ERRORS as exc:
        health.problems.append(f"the cloud does not answer: {exc}")
    return health


def broken_endpoints(connection: Any, endpoints: Collection[Mapping[str, str]]) -> Iterator[str]:
    for endpoint in endpoints:
        root = "/".join(endpoint["url"].split("/")[:3])
        answer = connection.session.get(root, authenticated=False, raise_exc=False, timeout=10)
        # A service's root answers with its versions (200 or 300); the object store asks for a token first.
        if answer.status_code >= 500:
            yield f"{endpoint['type']} at {root} answers {answer.status_code}"


def missing_workers(workers: Collection[Mapping[str, str]], alive: Collection[Worker]) -> Iterator[str]:
    for worker in workers:
        if (worker["binary"], worker["host"]) not in alive:
            yield f"{worker['binary']} on {worker['host']} is not alive"


def without_cell(connection: Any, workers: Collection[Mapping[str, str]]) -> list[str]:
    """Return a problem for each compute host without a cell.

    Until Nova has put a host into a cell, it shows no hypervisor for it, and builds no instance there.
    """
    hypervisors = connection.compute.hypervisors(details=True)
    in_cells = {hypervisor.service_details["host"] for hypervisor in hypervisors}
    computes = [worker["host"] for worker in workers if worker["binary"] == "nova-compute"]
    return [f"{host} is in no cell of nova yet" for host in computes if host not in in_cells]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "path", "required": True},
            "cloud": {"type": "str", "required": True},
            "workers": {"type": "list", "elements": "dict", "default": []},
            "images": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    if not HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    params = module.params
    deadline = time.monotonic() + params["timeout"]
    try:
        connection = connect(params["config"], params["cloud"], timeout=20)
    except CLOUD_ERRORS as exc:
        module.fail_json(msg=f"{params['config']} cannot be used: {exc}")
    while True:
        health = examine(connection, params)
        if not health.problems or time.monotonic() > deadline:
            break
        time.sleep(1)
    module.exit_json(changed=False, problems=health.problems, endpoints=health.endpoints, workers=health.workers)


if __name__ == "__main__":
    main()
