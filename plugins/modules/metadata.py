#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metadata
short_description: 'Sixth stage of a run: checks the guest''s metadata'
version_added: 0.1.0
description:
  - Reads the console until the guest has shown that it read the server's metadata and its user data.
  - Then adds the ends of the compute service's events to the record of the stage boot, which did not wait for them.
  - With a floating IP, also sends the guest a ping and opens a TCP connection.
  - It distinguishes no console output, no lease, no metadata, wrong metadata and no user data.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  guest:
    description:
      - How the guest is checked. With V(none) it is not checked, the stage is skipped, and the verdict says so. Use
        that for instances without a guest, such as those of nova's fake driver.
    type: str
    choices: [console, none]
    default: console
  router:
    description:
      - Whether a network that the run created gets a router if the guest has no route to the metadata service.
        V(auto) and V(always) are the same here.
      - A network without a router has metadata with OVN, or if its DHCP agent has C(enable_isolated_metadata). A user
        of the cloud cannot see that beforehand.
    type: str
    choices: [auto, always, never]
    default: auto
  tcp_port:
    description: The guest's TCP port to connect to. A refused connection proves that the guest is reachable, too.
    type: int
    default: 22
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
notes:
  - The role P(stackproof.provision.metadata#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.boot
    description: The stage before.
  - module: stackproof.provision.dataplane
    description: The stage after, if it is asked for.
  - module: stackproof.provision.cleanup
    description: Removes the resources of the stages.
"""

EXAMPLES = r"""
- name: Check the guest
  stackproof.provision.metadata:
    run_dir: "{{ run.directory }}"
    timeout: 600
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
      sample: metadata
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-21T15:28:18.618378+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-21T15:28:26.857479+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 8.239095
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
          service: compute
          host: 10.71.16.12:8774
          path: /v2.1/servers/89ed9d85-f672-4d0b-887e-ac18d04bd01c/action
          status: 200
          request_id: req-b9fa338b-718e-4b41-a3ee-90fd47a3f238
          started: '2026-11-21T15:28:18.661316+00:00'
          seconds: 0.574317
    waits:
      description: The steps of the guest as its console showed them, and the answers to ping and TCP.
      returned: always
      type: list
      elements: dict
      sample:
        - awaited: the guest to show that it read metadata and user data
          started: '2026-11-21T15:28:18.660382+00:00'
          seconds: 8.18265
          states: [{state: both read, at: '2026-11-21T15:28:26.843062+00:00', after_s: 8.18265, resolution_s: 1.358}]
          resolution_s: 1.358
          polls: 10
    details:
      description: The guest's steps with its own times, and the answers to ping and TCP.
      returned: always
      type: dict
      sample:
        guest:
          lines: 10
          steps:
            - {step: kernel, uptime: 3.6}
            - {step: dhcp_start, uptime: 3.87}
            - {step: disks, uptime: 4.39}
            - {step: lease, uptime: 4.44, address: 192.168.222.54, server: 192.168.222.2}
            - step: metadata
              uptime: 5.77
              attempts: 1
              http_status: 200
              name: stackproof-20261121-152747-af4099-server
            - {step: user_data, uptime: 6.87, http_status: 200}
            - {step: user_data_exit, uptime: 8.1}
            - {step: ready, uptime: 8.1}
          lease: 192.168.222.54
          metadata: true
          user_data: true
          own: {uptime: 7.95, user_data: 0b4ac3142912f393b17da5176d7a7919, metadata: 491e610c26857496d98ac232622159a6}
          lease_request: true
          uuid: 89ed9d85-f672-4d0b-887e-ac18d04bd01c
          nonce: 491e610c26857496d98ac232622159a6
        lease_is_port_address: true
        reached:
          address: 10.71.17.82
          ping: {status: answered, text: echo reply, seconds: 0.006343}
          tcp: {status: answered, text: port 80 is open, seconds: 0.006055}
error:
  description:
    - The action, the resource, and what to check next.
    - C(kind) is one of V(no_console), V(no_lease), V(no_metadata), V(wrong_metadata), V(no_user_data), V(no_proof) and
      V(unreachable), or of those that all stages have.
  returned: failure
  type: dict
  sample:
    kind: no_lease
    message: 'the server stackproof-20261121-171658-3a3251-server: the guest asked for a lease and got none'
    resource: stackproof-20261121-171658-3a3251-server
    answer: null
    status: null
    request_id: null
    hint: >-
      Look at the port's binding. With agents, look at the DHCP agent of the network, its dnsmasq, and the way between
      compute host and network host; with OVN, at ovn-controller on the compute host.
    details: {}
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    boot_events,
    guest,
    networking,
    proof,
    reach,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    CLOUD_ERRORS,
    explain,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    Attempt,
    BootDetails,
    GuestReport,
    MetadataDetails,
    NetworkDetails,
    Reached,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import (
    Resource,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    AttemptStatus,
    StageName,
    StageStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    errors,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    DeadlinePassed,
    StageError,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    Look,
)

# The owner of the port by which OVN serves the metadata of a network
OVN_METADATA = "network:distributed"
NO_ROUTER = "The guest finds nobody who routes to its metadata."


def follow_guest(
    stage: Stage[MetadataDetails], server: Resource, nonces: guest.Nonces
) -> GuestReport:
    """Wait for the guest's proof, and return it. The details have what it showed, however the wait ends."""

    def failure(seen: GuestReport) -> StageError:
        return finding(stage, seen, server, nonces)

    def note(seen: GuestReport) -> None:
        stage.details = replace(stage.details, guest=seen)
        if guest.is_stranded(seen) and stage.details.reason is None:
            reason = give_router(stage)
            stage.details = replace(stage.details, reason=reason)
        if guest.is_wrong(seen, server.id, nonces):
            raise failure(seen)

    # A guest that reads its metadata over IPv6 has to get the lease of its port all the same.
    has_ipv4 = any(":" not in address for address in fixed_ips_of(stage))

    def is_enough(seen: GuestReport) -> bool:
        return guest.is_proved(seen) and not (
            has_ipv4 and guest.lacks_lease(seen)
        )

    return proof.follow(
        stage, server.id, nonces, "the guest", failure, note, is_enough
    )


def has_ovn_metadata(stage: Stage[MetadataDetails], network: Resource) -> bool:
    """Return whether OVN serves the metadata of a network. A cloud that ignores filters lists all ports."""
    ports = stage.cloud.network.ports(
        network_id=network.id, device_owner=OVN_METADATA
    )
    return any(
        port.network_id == network.id and port.device_owner == OVN_METADATA
        for port in ports
    )


def give_router(stage: Stage[MetadataDetails]) -> str:
    """Give the run's own network a router, if nothing there routes to the metadata. Return what became of that."""
    network, subnet = stage.resource("network"), stage.resource("subnet")
    if stage.params["router"] == "never" or stage.resource("router"):
        return NO_ROUTER
    if network is None or subnet is None or not subnet.created:
        return NO_ROUTER
    try:
        if has_ovn_metadata(stage, network):
            return "The guest finds nobody who routes to its metadata, which OVN should do."
        stage.say("the guest finds nobody who routes to its metadata")
        router = networking.make_router(stage)
        networking.add_interface(stage, "router_interface", router, subnet.id)
    except CLOUD_ERRORS as exc:
        return f"The guest needs a router for its metadata: {errors.sentence(explain(exc, 'making one'))}"
    return "A router was made: the guest found nobody who routes to its metadata, so the DHCP agent serves none."


def finding(
    stage: Stage[MetadataDetails],
    seen: GuestReport,
    server: Resource,
    nonces: guest.Nonces,
) -> StageError:
    kind, message, hint = guest.finding(seen, server.id, nonces)
    hint = f"{hint} {stage.details.reason or ''}".strip()
    return StageError(
        kind,
        f"the server {server.name}: {message}",
        resource=server.name,
        hint=hint,
    )


def reach_guest(
    stage: Stage[MetadataDetails], address: str, port: int
) -> None:
    """Try ping and TCP from here. The details say so if this machine may not send one of them."""
    stage.begin(f"reaching the guest at {address}")
    stage.details = replace(stage.details, reached=Reached(address))
    try:
        reach_by(stage, "ping", address, lambda: reach.ping(address))
        reach_by(stage, "tcp", address, lambda: reach.tcp(address, port))
    finally:
        note_attempt(stage, mac=reach.mac_of(address))


def reach_by(
    stage: Stage[MetadataDetails],
    way: str,
    address: str,
    attempt: Callable[[], Attempt],
) -> None:
    """Try one way to the guest until it answers."""
    try:
        stage.wait(
            f"an answer of {address} by {way}",
            functools.partial(look_by, stage, way, attempt),
        )
    except DeadlinePassed:
        message = f"the guest is up, but {address} does not answer {way}"
        hint = "Look at the security group, the router's gateway and the L3 agent, and this machine's way there."
        raise StageError(
            "unreachable", message, resource=address, hint=hint
        ) from None


def look_by(
    stage: Stage[MetadataDetails], way: str, attempt: Callable[[], Attempt]
) -> Look:
    outcome = attempt()
    note_attempt(stage, **{way: outcome})
    return outcome.status != AttemptStatus.SILENT, outcome.text, outcome


def note_attempt(stage: Stage[MetadataDetails], **changes: Any) -> None:
    if stage.details.reached is not None:
        stage.details = replace(
            stage.details, reached=replace(stage.details.reached, **changes)
        )


def fixed_ips_of(stage: Stage[MetadataDetails]) -> tuple[str, ...]:
    server = stage.details_of(StageName.BOOT, BootDetails).server
    return server.fixed_ips if server else ()


def act(stage: Stage[MetadataDetails]) -> StageStatus | None:
    run = stage.run
    stage_options.check({"stackproof_tcp_port": stage.params["tcp_port"]})
    if stage.params["guest"] == "none":
        stage.details = replace(
            stage.details, reason="the guest is not to be asked"
        )
        if not stage.check:
            boot_events.complete(stage)
        return StageStatus.SKIPPED
    if stage.check:
        return None
    server = stage.resource("server")
    if server is None:
        raise StageError(
            "invalid",
            "there is no server yet",
            hint="Run the stage boot of this run first.",
        )
    try:
        seen = follow_guest(
            stage, server, guest.nonces(run.id, run.record.started)
        )
    finally:
        boot_events.complete(stage)
    matches = guest.lease_matches(seen, fixed_ips_of(stage))
    stage.details = replace(stage.details, lease_is_port_address=matches)
    address = stage.details_of(StageName.NETWORK, NetworkDetails).floating_ip
    if address:
        reach_guest(stage, address, stage.params["tcp_port"])
    return None


def main() -> None:
    options = {
        "guest": {
            "type": "str",
            "choices": stage_options.GUESTS,
            "default": "console",
        },
        "router": {
            "type": "str",
            "choices": stage_options.ROUTERS,
            "default": "auto",
        },
        "tcp_port": {"type": "int", "default": 22},
    }
    run_stage(StageName.METADATA, act, MetadataDetails(), options, timeout=300)


if __name__ == "__main__":
    main()
