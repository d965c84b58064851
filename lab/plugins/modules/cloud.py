#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cloud
short_description: Fills a new cloud, so that a user can boot an instance
version_added: 0.1.0
description:
  - Makes the roles, domains, projects, users, catalogue, flavors, volume types, external network and images of a lab in
    one process. It makes only those that are missing, and leaves the others as they are.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
extends_documentation_fragment: [stackproof.lab._lab.cloud]
options:
  roles:
    description: Names of roles.
    type: list
    elements: str
    default: []
  domains:
    description: Domains, as dictionaries with C(name) and C(config) (of the identity back end, may be empty).
    type: list
    elements: dict
    default: []
  projects:
    description: Names of projects in the domain Default.
    type: list
    elements: str
    default: []
  users:
    description:
      - Users, as dictionaries with C(name), C(domain), C(project), C(roles) and C(password). A user without a password
        must exist already, like a user in a directory.
    type: list
    elements: dict
    default: []
  services:
    description: The catalogue, as dictionaries with C(name), C(type) and C(url).
    type: list
    elements: dict
    default: []
  flavors:
    description: Flavors, as dictionaries with C(name), C(vcpus), C(ram) and C(disk).
    type: list
    elements: dict
    default: []
  volume_types:
    description:
      - Volume types, as dictionaries with C(name), C(backend), C(specs) and C(cipher). With a cipher, their
        volumes are encrypted by LUKS.
    type: list
    elements: dict
    default: []
  networks:
    description:
      - External flat networks, as dictionaries with C(name), C(physical_network), C(cidr), C(first) and C(last).
    type: list
    elements: dict
    default: []
  images:
    description: Public raw images, as dictionaries with C(name), C(file) and C(store).
    type: list
    elements: dict
    default: []
  timeout:
    description: How long to wait for a service that does not answer yet, in seconds.
    type: int
    default: 120
attributes:
  check_mode:
    description: Not supported.
    support: none
"""

EXAMPLES = r"""
- name: A flavor and an image
  stackproof.lab.cloud:
    config: .lab/clouds.yaml
    cloud: lab-admin
    flavors:
      - {name: probe, vcpus: 1, ram: 128, disk: 1}
    images:
      - {name: probe, file: .lab/probe.raw, store: ceph}
"""

RETURN = r"""
made:
  description: The kind and name of each thing that was made.
  returned: success
  type: list
  elements: str
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.lab.plugins.module_utils._cloud import (
    CLOUD_ERRORS,
    HAS_SDK,
    SDKException,
    connect,
    raise_from_response,
)


def differs(config: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the configuration of a domain has other values than wanted. Passwords are not compared."""
    for group, options in wanted.items():
        there = config.get(group, {})
        known = {option: value for option, value in options.items() if option != "password"}
        if any(str(there.get(option)) != str(value) for option, value in known.items()):
            return True
    return False


class Cloud:
    """One connection, and a list of all that was made with it."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params = params
        self.made: list[str] = []
        self.connection = connect(params["config"], params["cloud"], timeout=60)

    def note(self, kind: str, name: str) -> None:
        self.made.append(f"{kind} {name}")

    def ensure(
        self, kind: str, wanted: Iterable[str], existing: Iterable[Any], create: Callable[[str], Any]
    ) -> dict[str, Any]:
        """Create every wanted name that does not exist; return name to object for all."""
        items = {item.name: item for item in existing}
        for name in wanted:
            if name not in items:
                items[name] = create(name)
                self.note(kind, name)
        return items

    def identity(self) -> None:
        identity = self.connection.identity
        roles = self.ensure(
            "role", self.params["roles"], identity.roles(), lambda name: identity.create_role(name=name)
        )
        domains = self.ensure(
            "domain",
            [domain["name"] for domain in self.params["domains"]],
            identity.domains(),
            lambda name: identity.create_domain(name=name, is_enabled=True),
        )
        for domain in self.params["domains"]:
            self.domain_config(domains[domain["name"]], domain["config"])
        projects = self.ensure(
            "project",
            self.params["projects"],
            identity.projects(),
            lambda name: identity.create_project(name=name, domain_id="default"),
        )
        for user in self.params["users"]:
            self.user(user, domains[user["domain"]].id, projects[user["project"]], roles)

    def domain_config(self, domain: Any, wanted: Mapping[str, Mapping[str, Any]] | None) -> None:
        """Tell Keystone where the users of a domain are. It never returns passwords, so they are not compared."""
        if not wanted:
            return
        path = f"/domains/{domain.id}/config"
        have = self.connection.identity.get(path)
        if have.status_code == 404:
            raise_from_response(self.connection.identity.put(path, json={"config": wanted}))
            self.note("domain config", domain.name)
            return
        raise_from_response(have)
        if differs(have.json()["config"], wanted):
            raise_from_response(self.connection.identity.patch(path, json={"config": wanted}))
            self.note("domain config", domain.name)

    def user(self, wanted: Mapping[str, Any], domain_id: str, project: Any, roles: Mapping[str, Any]) -> None:
        identity = self.connection.identity
        user = next(iter(identity.users(name=wanted["name"], domain_id=domain_id)), None)
        if not user and wanted.get("password"):
            user = identity.create_user(name=wanted["name"], domain_id=domain_id, password=wanted["password"])
            self.note("user", wanted["name"])
        if not user:
            raise SDKException(f"there is no user {wanted['name']} in the domain {wanted['domain']}")
        granted = {
            assignment.role["id"]
            for assignment in identity.role_assignments(user_id=user.id, scope_project_id=project.id)
        }
        for name in wanted["roles"]:
            if roles[name].id not in granted:
                identity.assign_project_role_to_user(project, user, roles[name])
                self.note("role of a user", f"{name} for {wanted['name']}")

    def catalogue(self) -> None:
        identity = self.connection.identity
        services = {service.type: service for service in identity.services()}
        endpoints = {(entry.service_id, entry.interface): entry for entry in identity.endpoints()}
        for wanted in self.params["services"]:
            service = services.get(wanted["type"])
            if not service:
                service = identity.create_service(name=wanted["name"], type=wanted["type"])
                self.note("service", wanted["type"])
            for interface in ("public", "internal", "admin"):
                endpoint = endpoints.get((service.id, interface))
                if not endpoint:
                    identity.create_endpoint(
                        service_id=service.id, interface=interface, url=wanted["url"], region_id="RegionOne"
                    )
                    self.note("endpoint", f"{wanted['type']} {interface}")

    def compute(self) -> None:
        flavors = {flavor["name"]: flavor for flavor in self.params["flavors"]}
        self.ensure(
            "flavor",
            flavors,
            self.connection.compute.flavors(),
            lambda name: self.connection.compute.create_flavor(**flavors[name]),
        )

    def volume(self) -> None:
        volume = self.connection.block_storage
        wanted = {kind["name"]: kind for kind in self.params["volume_types"]}
        self.ensure("volume type", wanted, volume.types(), lambda name: self.volume_type(**wanted[name]))

    def volume_type(
        self, name: str, backend: str, specs: dict[str, str] | None = None, cipher: str | None = None
    ) -> Any:
        volume = self.connection.block_storage
        made = volume.create_type(name=name, extra_specs={"volume_backend_name": backend, **(specs or {})})
        if cipher:
            encryption = {"provider": "luks", "cipher": cipher, "key_size": 256, "control_location": "front-end"}
            try:
                volume.create_type_encryption(made, **encryption)
            except CLOUD_ERRORS:
                # It would be taken for whole by the next attempt.
                volume.delete_type(made)
                raise
        return made

    def network(self) -> None:
        network = self.connection.network
        for wanted in self.params["networks"]:
            external = network.find_network(wanted["name"])
            if not external:
                external = network.create_network(
                    name=wanted["name"],
                    is_router_external=True,
                    provider_network_type="flat",
                    provider_physical_network=wanted["physical_network"],
                )
                self.note("network", wanted["name"])
            if not next(iter(network.subnets(network_id=external.id)), None):
                network.create_subnet(
                    name=wanted["name"],
                    network_id=external.id,
                    ip_version=4,
                    cidr=wanted["cidr"],
                    # The lab must not reach anything beyond this network.
                    gateway_ip=None,
                    is_dhcp_enabled=False,
                    allocation_pools=[{"start": wanted["first"], "end": wanted["last"]}],
                )
                self.note("subnet", wanted["name"])

    def image(self) -> None:
        service = self.connection.image
        for wanted in self.params["images"]:
            images = list(service.images(name=wanted["name"]))
            if any(image.status == "active" for image in images):
                continue
            for image in images:
                service.delete_image(image)
            image = service.post(
                "/images",
                json={
                    "name": wanted["name"],
                    "disk_format": "raw",
                    "container_format": "bare",
                    "visibility": "public",
                },
            )
            raise_from_response(image)
            with open(wanted["file"], "rb") as data:
                uploaded = service.put(
                    f"/images/{image.json()['id']}/file",
                    headers={"Content-Type": "application/octet-stream", "X-Image-Meta-Store": wanted["store"]},
                    data=data,
                )
            raise_from_response(uploaded)
            self.note("image", wanted["name"])


EXPECTED: tuple[type[Exception], ...] = (*CLOUD_ERRORS, OSError)
# The parts of the cloud with their options, in the order in which the parts need each other
PARTS = {
    "identity": ("roles", "domains", "projects", "users"),
    "catalogue": ("services",),
    "compute": ("flavors",),
    "volume": ("volume_types",),
    "network": ("networks",),
    "image": ("images",),
}


def retried(cloud: Cloud, part: str, deadline: float) -> None:
    """Make a part of the cloud, again and again until it succeeds; each part can be repeated.

    A service that has just been started may refuse, fail or not know its users yet.
    """
    while True:
        try:
            getattr(cloud, part)()
            return
        except CLOUD_ERRORS:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def main() -> None:
    lists = ("domains", "users", "services", "flavors", "volume_types", "networks", "images")
    names = ("roles", "projects")
    spec: dict[str, dict[str, Any]] = {name: {"type": "list", "elements": "dict", "default": []} for name in lists}
    spec.update({name: {"type": "list", "elements": "str", "default": []} for name in names})
    spec["users"]["no_log"] = True
    spec["domains"]["no_log"] = True
    module = AnsibleModule(
        argument_spec=dict(
            spec,
            config={"type": "path", "required": True},
            cloud={"type": "str", "required": True},
            timeout={"type": "int", "default": 120},
        ),
    )
    if not HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    deadline = time.monotonic() + module.params["timeout"]
    part = "connection"
    made: list[str] = []
    try:
        cloud = Cloud(module.params)
        made = cloud.made
        for part, options in PARTS.items():
            # A part without anything to make may not run yet.
            if any(module.params[option] for option in options):
                retried(cloud, part, deadline)
    except EXPECTED as exc:
        module.fail_json(
            msg=f"The cloud's {part} could not be set up within {module.params['timeout']} s: {exc}",
            made=made,
        )
    module.exit_json(changed=bool(made), made=made)


if __name__ == "__main__":
    main()
