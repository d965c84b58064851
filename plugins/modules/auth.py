#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: auth
short_description: 'First stage of a run: gets a token and checks the service catalog'
version_added: 0.1.0
description:
  - Authenticates and records scope, roles, expiry and catalog of the token, but never the token.
  - Reads the version document of every service that the run will use, and measures the offset of the cloud's clock.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  services:
    description: The services that the run will use, by their type in the service catalog.
    type: list
    elements: str
    default: [identity, image, network, block-storage, compute]
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 60
notes:
  - The role P(stackproof.provision.auth#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.run
    description: Starts the run.
  - module: stackproof.provision.image
    description: The next stage.
"""

EXAMPLES = r"""
- name: Authenticate
  stackproof.provision.auth:
    cloud: mycloud
    run_dir: "{{ run.directory }}"
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
      sample: auth
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-21T15:27:48.837512+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-21T15:27:49.283536+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 0.446026
    resources:
      description: Empty, as this stage creates and chooses nothing.
      returned: always
      type: list
      elements: dict
      sample: []
    calls:
      description: Every request with method, service, path, status, seconds and request id.
      returned: always
      type: list
      elements: dict
      sample:
        - method: POST
          service: identity
          host: 10.71.16.12:5000
          path: /v3/auth/tokens
          status: 201
          request_id: req-cca45126-30ca-4e6e-99a7-6377b3ea65a3
          started: '2026-11-21T15:27:48.870679+00:00'
          seconds: 0.279535
    waits:
      description: Empty, as this stage waits for nothing.
      returned: always
      type: list
      elements: dict
      sample: []
    details:
      description: User, project, roles, expiry, services with their versions, and the offset of the cloud's clock.
      returned: always
      type: dict
      sample:
        user: lab
        user_domain: Default
        project: lab
        project_id: 94b64eb11bf148c5b5b96b2e972f44df
        project_domain: Default
        roles: [member, reader]
        issued: '2026-11-21T15:27:49+00:00'
        expires: '2026-11-21T16:27:49+00:00'
        region: RegionOne
        token: fernet
        services:
          - service: identity
            url: http://10.71.16.12:5000/v3/
            version: '3.14'
            min_microversion: null
            max_microversion: null
          - service: image
            url: http://10.71.16.12:9292/v2/
            version: '2.17'
            min_microversion: null
            max_microversion: null
        clock: {offset_s: 0.343, error_s: 0.502, answers: 1, consistent: true}
error:
  description: The kind of the failure, the action, the resource, the answer of the cloud, and what to check next.
  returned: failure
  type: dict
  sample:
    kind: catalog
    message: >-
      the catalogue has no service dns; it has block-storage, compute, identity, image, network, object-store,
      placement
    resource: dns
    answer: null
    status: null
    request_id: null
    hint: 'Look at the service catalogue: openstack catalog list.'
    details: {}
"""

from dataclasses import replace
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.catalog import (
    Endpoints,
    offered_in,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.credentials import (
    kind_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    CLOUD_ERRORS,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.transport import (
    SSL_ERROR,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    AuthDetails,
    ClockDifference,
    ServiceVersion,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import (
    Call,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    clock,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)

# Clouds have Cinder under any of these names.
VOLUMES = "block-storage"
OTHER_NAMES = {VOLUMES: (VOLUMES, "volumev3", "block-store")}
WITHOUT_VOLUME = (
    "If this cloud offers no volumes, verify it without one: stackproof_volume=none. "
    "Otherwise look at the service catalogue: openstack catalog list."
)


def token_details(access: Any, region: str | None) -> AuthDetails:
    """Return the facts about the token, without the token itself."""
    return AuthDetails(
        user=access.username,
        user_domain=access.user_domain_name,
        project=access.project_name,
        project_id=access.project_id,
        project_domain=access.project_domain_name,
        roles=tuple(sorted(access.role_names)),
        issued=access.issued.isoformat() if access.issued else None,
        expires=access.expires.isoformat() if access.expires else None,
        region=region,
        catalog=offered_in(access, region),
    )


def check_catalogue(
    access: Any, wanted: list[str], interfaces: list[str]
) -> None:
    """Refuse a catalogue without the wanted services, or without an interface that may be used."""
    offered = {
        entry["type"]: entry["endpoints"]
        for entry in access.service_catalog.catalog
    }
    for service in wanted:
        names = [
            name
            for name in OTHER_NAMES.get(service, (service,))
            if name in offered
        ]
        if not names:
            message = f"the catalogue has no service {service}; it has {', '.join(sorted(offered)) or 'none'}"
            hint = WITHOUT_VOLUME if service == VOLUMES else None
            raise StageError("catalog", message, resource=service, hint=hint)
        check_interfaces(service, offered[names[0]], interfaces)


def check_interfaces(
    service: str, endpoints: Endpoints, interfaces: list[str]
) -> None:
    offered = {endpoint["interface"] for endpoint in endpoints}
    if not offered.intersection(interfaces):
        others = ", ".join(sorted(offered)) or "no other"
        message = f"the service {service} has no {' or '.join(interfaces)} endpoint; it has {others}"
        raise StageError("catalog", message, resource=service)


def check_answered(service: str, calls: list[Call]) -> None:
    """Refuse a service without an answer: the client then takes a version from the URL, which proves nothing."""
    if not calls or any(call.status and call.status < 500 for call in calls):
        return
    last = calls[-1]
    why = last.error
    if last.status:
        why = f"the answer was {last.status}"
    # Of a certificate: a handshake that fails has words of its own.
    kind = "tls" if why == SSL_ERROR else "unreachable"
    raise StageError(
        kind, f"the service {service} does not answer: {why}", resource=service
    )


def proxy_of(cloud: Any, service: str) -> Any:
    name = next(
        (name for name, others in OTHER_NAMES.items() if service in others),
        service,
    )
    proxy = getattr(cloud, name.replace("-", "_"), None)
    if proxy is None:
        hint = (
            "Leave it out of stackproof_services: openstacksdk cannot ask it."
        )
        raise StageError(
            "invalid",
            f"the SDK does not know the service {service}",
            resource=service,
            hint=hint,
        )
    return proxy


def version_of(stage: Stage[AuthDetails], service: str) -> ServiceVersion:
    """Return the versions in a service's version document."""
    before = len(stage.calls)
    try:
        proxy = proxy_of(stage.cloud, service)
        data = proxy.get_endpoint_data()
    except CLOUD_ERRORS:
        check_answered(service, stage.calls[before:])
        raise
    check_answered(service, stage.calls[before:])
    if data is None:
        message = f"the service {service} at {proxy.get_endpoint()} has no version document that can be read"
        hint = "Check whether the service runs behind this address."
        raise StageError("catalog", message, resource=service, hint=hint)
    return ServiceVersion(
        service=service,
        url=data.url,
        version=dotted(data.api_version),
        min_microversion=dotted(data.min_microversion),
        max_microversion=dotted(data.max_microversion),
    )


def dotted(version: tuple[int, ...] | None) -> str | None:
    return ".".join(map(str, version)) if version else None


def clock_of(stage: Stage[AuthDetails]) -> ClockDifference | None:
    difference = clock.clock_difference(stage.samples)
    return (
        None
        if difference is None
        else codec.from_json(ClockDifference, difference)
    )


def act(stage: Stage[AuthDetails]) -> None:
    cloud, wanted = stage.cloud, stage.params["services"]
    stage.begin(f"getting a token for {cloud.config.name or 'the cloud'}")
    access = cloud.session.auth.get_access(cloud.session)
    stage.details = token_details(access, cloud.config.get_region_name())
    if not access.project_id:
        raise StageError(
            "config",
            "the token has no project",
            hint="Name a project in clouds.yaml.",
        )
    stage.details = replace(stage.details, token=kind_of(access.auth_token))
    check_catalogue(access, wanted, connection.interfaces_of(cloud))
    services: tuple[ServiceVersion, ...] = ()
    stage.details = replace(stage.details, services=services)
    for service in wanted:
        stage.begin(f"reading the versions of the service {service}")
        services = (*services, version_of(stage, service))
        stage.details = replace(stage.details, services=services)
    stage.details = replace(stage.details, clock=clock_of(stage))


def main() -> None:
    options = {
        "services": {
            "type": "list",
            "elements": "str",
            "default": [
                "identity",
                "image",
                "network",
                "block-storage",
                "compute",
            ],
        },
    }
    run_stage(StageName.AUTH, act, AuthDetails(), options, timeout=60)


if __name__ == "__main__":
    main()
