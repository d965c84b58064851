#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: journey
short_description: 'Eighth stage of a run: operations on the server after its boot'
version_added: 1.0.0
description:
  - Does one operation after the other with the first server, such as a reboot, a resize or a live migration, and waits
    until it is as it should be and the second guest has an answer of it again.
  - Of each operation the record has its seconds, whether the server moved, and how many packets of the second guest
    were lost. The second guest sends five in a second.
  - The stage dataplane of the same run makes the second guest, with the same operations in its option C(journey).
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  journey:
    description:
      - The operations, in their order. Those with two actions, such as V(stop), do both. V(resize) confirms, and
        V(resize_revert) reverts.
      - Most clouds allow only administrators V(migrate), V(live_migrate) and V(evacuate).
      - V(boot_snapshot) makes an image of the server while it is off, and boots a third guest from that.
    type: list
    elements: str
    choices:
      [reboot, hard_reboot, stop, pause, suspend, shelve, snapshot,
       rebuild, resize, resize_revert, migrate, live_migrate, evacuate,
       boot_snapshot, extend_volume, reattach_volume]
    default: []
  evacuate_from:
    description:
      - Compute host that the operator takes down while V(evacuate) waits for it, and back into service after it. It has
        to be that of the server.
    type: str
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 900
notes:
  - The role P(stackproof.provision.journey#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.dataplane
    description: The stage before.
  - module: stackproof.provision.report
    description: Ends the run.
  - module: stackproof.provision.cleanup
    description: Removes the resources of the stages.
"""

EXAMPLES = r"""
- name: Reboot the server and move it while it runs
  stackproof.provision.journey:
    run_dir: "{{ run.directory }}"
    journey: [reboot, live_migrate]
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
      sample: journey
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-27T21:42:21.876729+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-27T21:43:22.311400+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 60.434671
    resources:
      description: The image of a snapshot, and the third server that was booted from it.
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
          path: /v2.1/servers/0c02b187-3eec-45f3-af10-870926bf809c/action
          status: 202
          request_id: req-798ade45-70a5-4032-9bc4-6db2d3782e71
          started: '2026-11-27T21:42:23.690113+00:00'
          seconds: 7.089123
    waits:
      description: The states of the server and of images, and the answers to the second guest.
      returned: always
      type: list
      elements: dict
      sample:
        - awaited: an answer of the first guest to the second one
          started: '2026-11-27T21:42:48.123250+00:00'
          seconds: 1.592783
          states:
            - {state: 0 signs of life, at: '2026-11-27T21:42:48.691432+00:00', after_s: 0.568137, resolution_s: null}
            - {state: 1 signs of life, at: '2026-11-27T21:42:49.716072+00:00', after_s: 1.592783, resolution_s: 1.593}
          resolution_s: 1.593
          polls: 2
    details:
      description:
        - The operations in their order, each with its seconds, its hosts, and the packets that were lost.
        - One that failed has C(failed), the event of the compute service that failed, with its reason in C(error) where
          that is shown.
      returned: always
      type: dict
      sample:
        request_id: req-0a298aa7-7841-4152-a136-b68d57c7754e
        legs:
          - operation: live_migrate
            status: ok
            request_id: req-798ade45-70a5-4032-9bc4-6db2d3782e71
            seconds: 25.492232
            host_before: compute1
            host_after: compute2
            moved: true
            lost: 0
            outage_s: 0.0
          - operation: resize
            status: ok
            request_id: req-0a298aa7-7841-4152-a136-b68d57c7754e
            seconds: 32.921839
            host_before: compute2
            host_after: compute1
            moved: true
            lost: 93
            outage_s: 18.6
error:
  description:
    - The operation, the action, and what to check next.
    - C(kind) is one of V(operation_failed), V(not_moved), V(not_down), V(not_back) and V(no_answer), one of the stage
      metadata if a third guest does not get as far as the first one did, or one that all stages have.
  returned: failure
  type: dict
  sample:
    kind: invalid
    message: >-
      asking for resize of the server stackproof-20261127-214127-39a550-server: the cloud answered (400): When resizing,
      instances must change flavor! (request req-046c14df-3794-4d1d-9fc0-cd159a2a58cd)
    resource: null
    answer: When resizing, instances must change flavor!
    status: 400
    request_id: req-046c14df-3794-4d1d-9fc0-cd159a2a58cd
    hint: Look at the values given.
    details: {}
"""

from dataclasses import replace
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    dataplane,
    guest,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.console import (
    console_pace,
    read_console,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.journey import (
    OPERATIONS,
    Traveller,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    servers,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    NO_ANSWER,
    JourneyDetails,
    Leg,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import (
    Resource,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
    StageStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import (
    Stopwatch,
    now,
    seconds_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    DeadlinePassed,
    StageError,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    Look,
)

NEEDS = "Run all stages of this run with stackproof_dataplane and stackproof_journey."


def both_servers(stage: Stage[JourneyDetails]) -> tuple[Resource, Resource]:
    first, second = stage.resource("server"), stage.resource("second_server")
    if first is None or second is None:
        raise StageError(
            "invalid",
            "there are no two guests, one of which watches the other",
            hint=NEEDS,
        )
    return first, second


class Watcher:
    """The second guest, which sends the first one packets all the time."""

    def __init__(self, stage: Stage[JourneyDetails], second: Resource) -> None:
        self.stage = stage
        self.second = second
        self.nonce = guest.nonces(
            stage.run.id, stage.run.record.started
        ).user_data

    def signs(self) -> list[int]:
        """Return how many packets were lost before each of its signs of life so far."""
        return dataplane.losses(
            read_console(self.stage.cloud.compute, self.second.id), self.nonce
        )

    def await_answer(self, seen: int) -> list[int]:
        """Return all signs, once there is one more than those that were seen."""

        def look() -> Look:
            signs = self.signs()
            return (
                len(signs) > seen,
                f"{len(signs) - seen} signs of life",
                signs,
            )

        try:
            found: list[int] = self.stage.wait(
                "an answer of the first guest to the second one",
                look,
                console_pace,
            )
        except DeadlinePassed:
            message = "the first guest does not answer the second one after the operation"
            hint = "Look at the port of the first server on its host, and at its console."
            raise StageError(NO_ANSWER, message, hint=hint) from None
        return found


def travel(
    stage: Stage[JourneyDetails],
    operation: str,
    server: Traveller,
    watcher: Watcher,
) -> None:
    """Do an operation. The details have its leg, also if it fails."""
    watch = Stopwatch()
    server.begin()
    signs = watcher.await_answer(len(watcher.signs()))
    leg = Leg(
        operation,
        StageStatus.FAILED,
        host_before=server.before.get("OS-EXT-SRV-ATTR:host"),
    )
    legs = stage.details.legs
    stage.details = replace(stage.details, legs=(*legs, leg))
    started = seconds_of(now())
    try:
        OPERATIONS[operation](server)
    finally:
        leg = replace(
            leg,
            request_id=server.request_id,
            actions=tuple(server.actions),
            started=started,
            seconds=watch.seconds() - server.idle_s,
            failed=server.failed,
        )
        stage.details = replace(
            stage.details,
            legs=(*legs, leg),
            request_id=server.boot_request or server.request_id,
        )
    after = servers.read(server.nova, server.id)
    # A sign may be of before the end of the operation, and the one behind it is not.
    later = watcher.await_answer(len(watcher.signs()))
    lost = sum(later[len(signs) :])
    leg = replace(
        leg,
        status=StageStatus.OK,
        host_after=after.get("OS-EXT-SRV-ATTR:host"),
        moved=server.before.get("hostId") != after.get("hostId"),
        lost=lost,
        outage_s=round(lost * dataplane.INTERVAL_S, 1),
    )
    stage.details = replace(stage.details, legs=(*legs, leg))


def act(stage: Stage[JourneyDetails]) -> StageStatus | None:
    if not stage.params["journey"]:
        stage.details = replace(
            stage.details, reason="no operation is asked for"
        )
        return StageStatus.SKIPPED
    if stage.check:
        return None
    first, second = both_servers(stage)
    server, watcher = Traveller(stage, first), Watcher(stage, second)
    for operation in stage.params["journey"]:
        travel(stage, operation, server, watcher)
    return None


def main() -> None:
    options: dict[str, Any] = {
        "journey": {
            "type": "list",
            "elements": "str",
            "choices": stage_options.OPERATIONS,
            "default": [],
        },
        "evacuate_from": {"type": "str"},
    }
    run_stage(StageName.JOURNEY, act, JourneyDetails(), options, timeout=900)


if __name__ == "__main__":
    main()
