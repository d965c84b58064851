#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dataplane
short_description: 'Seventh stage of a run: checks the paths between two guests'
version_added: 1.0.0
description:
  - Boots a second server, on another host if the cloud can, and reads on both consoles what the guests found on their
    way to each other, in both directions.
  - The guests send pings, look for the largest packet that passes, connect to a TCP port that the security group opens
    and to one that it does not open, and resolve a name. A volume goes
    from one to the other and back, and this machine logs in to the first one by ssh.
  - The stages network and boot need C(dataplane), too; with it they make the second port and the server group.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  dataplane:
    description: Whether the stage is asked for; without it the stage is skipped.
    type: bool
    default: false
  guest:
    description: How the guests are checked. With V(none) they are not checked, and the stage is skipped.
    type: str
    choices: [console, none]
    default: console
  availability_zone:
    description: The zone of the second server.
    type: str
  journey:
    description: The operations of the stage journey; with any, the second guest watches the first one from here on.
    type: list
    elements: str
    choices:
      [reboot, hard_reboot, stop, pause, suspend, shelve, snapshot,
       rebuild, resize, resize_revert, migrate, live_migrate, evacuate,
       boot_snapshot, extend_volume, reattach_volume]
    default: []
  second_host:
    description:
      - Name of the compute host for the second server. Most clouds allow only administrators to choose it.
      - By default it is another one than that of the first server, if the cloud can.
    type: str
  dataplane_name:
    description:
      - The name of a host that both guests are to resolve.
      - By default the second guest resolves that of the first one, if the cloud has internal DNS.
    type: str
  dataplane_volume:
    description:
      - Whether the first guest writes to the run's volume, and the second one reads it after it was detached from the
        first and attached to the second. Then the first guest gets it back.
    type: bool
    default: true
  dataplane_login:
    description:
      - Whether this machine logs in to the first guest at its floating IP, by ssh with the key pair that the stage boot
        has made. The private key is deleted afterwards.
    type: bool
    default: true
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
notes:
  - The role P(stackproof.provision.dataplane#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.metadata
    description: The stage before.
  - module: stackproof.provision.journey
    description: The stage after, if it is asked for.
  - module: stackproof.provision.cleanup
    description: Removes the resources of the stages.
"""

EXAMPLES = r"""
- name: Check the paths between two guests
  stackproof.provision.dataplane:
    run_dir: "{{ run.directory }}"
    dataplane: true
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
      sample: dataplane
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-27T20:42:39.952371+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-27T20:43:12.690512+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 32.738141
    resources:
      description: The second server.
      returned: always
      type: list
      elements: dict
      sample:
        - kind: second_server
          id: e95d1944-6c69-473f-abdd-67eeba79aa4c
          name: stackproof-20261127-204155-1c35c2-second-server
          created: true
    calls:
      description: Every request with method, service, path, status, seconds and request id.
      returned: always
      type: list
      elements: dict
      sample:
        - method: POST
          service: compute
          host: 10.71.16.12:8774
          path: /v2.1/servers
          status: 202
          request_id: req-2b541667-a288-4c3d-bf43-218a97f61202
          started: '2026-11-27T20:42:40.031861+00:00'
          seconds: 0.712304
    waits:
      description: The states of the second server, and how far both guests were.
      returned: always
      type: list
      elements: dict
      sample:
        - awaited: the guests to show the paths between them
          started: '2026-11-27T20:42:56.117735+00:00'
          seconds: 16.550929
          states:
            - state: 'first: nothing yet, second: nothing yet'
              at: '2026-11-27T20:42:57.722555+00:00'
              after_s: 1.604794
              resolution_s: null
          resolution_s: 5.736
          polls: 4
    details:
      description: The second server, whether it is on another host, and what each guest found.
      returned: always
      type: dict
      sample:
        request_id: req-2b541667-a288-4c3d-bf43-218a97f61202
        spread: true
        checks:
          - check: size
            source: first
            target: second
            status: ok
            text: packets of 1500 bytes pass, as its interface sends them
            value: 1500.0
            expected: 1500.0
          - check: shut
            source: second
            target: first
            status: ok
            text: TCP port 4022, which the security group does not open, is silent
            seconds: 5.04
            value: 4022.0
          - check: name
            source: second
            target: first
            status: ok
            text: host-192-168-222-202.openstacklocal resolves to 192.168.222.202 by 192.168.222.2
            seconds: 0.15
          - check: login
            source: client
            target: first
            status: ok
            text: >-
              logged in as root with the key pair of the run; the guest calls itself
              stackproof-20261128-090515-ad0aa8-server.novalocal
            seconds: 0.335122
          - check: volume
            source: first
            target: second
            status: ok
            text: the volume came with what was written to it (1 MiB, SHA-256 89d41c8b9918...)
            seconds: 31.076248
error:
  description:
    - The action, the resource, and what to check next.
    - C(kind) is one of V(no_paths), V(path_lost), V(path_narrow), V(path_shut), V(path_open), V(no_ipv6),
      V(path6_lost), V(name_unresolved), V(no_login), V(volume_differs) and V(volume_unread), or one of the stage
      metadata if the second guest does not get as far as the first one did, or one that all stages have.
  returned: failure
  type: dict
  sample:
    kind: path_narrow
    message: 'from the first guest to the second: packets over 1400 bytes are lost; its interface sends 1500'
    resource: null
    answer: null
    status: null
    request_id: null
    hint: >-
      Compare the MTU of the network with that of each interface between both hosts, with the header of the tunnel:
      ip -statistics link show.
    details: {}
"""

import uuid
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    dataplane,
    guest,
    handover,
    login,
    resolving,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.booting import (
    JsonObject,
    describe,
    make_server,
    ports_of,
    proof_of,
    wait_until_active,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.console import (
    console_pace,
    read_console,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Named,
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    FIRST,
    SECOND,
    BootDetails,
    DataplaneDetails,
    PathCheck,
    Server,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    CheckStatus,
    StageName,
    StageStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    DeadlinePassed,
    StageError,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    Look,
)

ONE_HOST = "the cloud has put both servers on one host, so no path between hosts was checked"


def request_of(stage: Stage[DataplaneDetails]) -> JsonObject:
    """Return the request that makes the second server: as the first one, without its volume."""
    # Before the script, which would only complain of addresses.
    port = stage.needed("second_port").id
    paths = dataplane.script_for(stage, SECOND, errand_for(stage))
    server: JsonObject = {
        "name": f"{stage.run.mark}-second-server",
        "flavorRef": stage.needed("flavor").id,
        "imageRef": stage.needed("image").id,
        **proof_of(stage.run, paths),
        "networks": [{"port": port}],
    }
    if stage.params["availability_zone"]:
        server["availability_zone"] = stage.params["availability_zone"]
    if stage.params["second_host"]:
        server["host"] = stage.params["second_host"]
    return {
        "server": server,
        "os:scheduler_hints": {"group": stage.needed("server_group").id},
    }


def errand_for(stage: Stage[DataplaneDetails]) -> dataplane.Errand:
    """Return what the second guest is to try: it may resolve the name of the first one, as that has its port."""
    errand = dataplane.errand_for(stage, SECOND)
    volume = handover.volume_for(
        stage, stage.details_of(StageName.BOOT, BootDetails).attach
    )
    return replace(
        errand,
        name=errand.name or resolving.of_first_guest(stage),
        volume=volume.id if volume else None,
        watches=bool(stage.params["journey"]),
    )


def boot_second(stage: Stage[DataplaneDetails]) -> Named:
    """Make the second server, and wait until it is active."""
    request = request_of(stage)
    stage.details = replace(stage.details, request_id=f"req-{uuid.uuid4()}")
    headers = {"X-OpenStack-Request-ID": stage.details.request_id}
    second = make_server(
        stage, "second_server", request, headers, stage.params["second_host"]
    )
    active = wait_until_active(stage, second)
    server = describe(active, ports_of(stage, second))
    first = stage.details_of(StageName.BOOT, BootDetails).server
    spread = None if first is None else are_apart(first, server)
    stage.details = replace(
        stage.details,
        server=server,
        spread=spread,
        reason=ONE_HOST if spread is False else None,
    )
    return second


def are_apart(first: Server, second: Server) -> bool | None:
    """Return whether two servers are on two hosts, if the cloud shows that: at least by a hash of the host's name."""
    names = first.host_id, second.host_id
    return None if None in names else first.host_id != second.host_id


def follow_paths(
    stage: Stage[DataplaneDetails], servers: dict[str, str]
) -> None:
    """Wait until both guests have shown all, or one of them that a path fails. servers: guest to id."""
    nova = stage.cloud.compute
    nonces = guest.nonces(stage.run.id, stage.run.record.started)
    shown: dict[str, dataplane.Shown] = {}
    consoles: dict[str, str] = {}

    def look() -> Look:
        for name, identity in servers.items():
            if name not in shown or not shown[name].ended:
                consoles[name] = read_console(nova, identity)
                shown[name] = dataplane.read(
                    consoles[name], name, nonces.user_data
                )
        stage.details = replace(
            stage.details, checks=checks_of(shown.values())
        )
        return dataplane.is_decided(shown), dataplane.progress(shown), None

    try:
        stage.wait(
            "the guests to show the paths between them", look, console_pace
        )
    except DeadlinePassed:
        second = guest.read(consoles.get(SECOND, ""), nonces)
        if not guest.is_proved(second):
            stage.details = replace(stage.details, guest=second)
            raise guest.unproved(
                "the second server", second, servers[SECOND], nonces
            ) from None
        raise unfinished(shown) from None


def checks_of(shown: Iterable[dataplane.Shown]) -> tuple[PathCheck, ...]:
    return tuple(chain.from_iterable(map(dataplane.checks_of, shown)))


def unfinished(shown: dict[str, dataplane.Shown]) -> StageError:
    missing = [
        name for name, guest_shown in shown.items() if not guest_shown.ended
    ]
    message = f"the {' and the '.join(missing)} guest did not show the end of its checks"
    hint = "Read its console: openstack console log show. The image needs a program that runs user data, and ping."
    return StageError("no_paths", message, hint=hint)


def note_unasked(stage: Stage[DataplaneDetails]) -> None:
    """Say what the guests were not asked for, as the cloud and the user gave nothing to ask for."""
    if resolving.CHECK not in {
        check.check for check in stage.details.checks or ()
    }:
        note(stage, resolving.unasked(SECOND))


def act(stage: Stage[DataplaneDetails]) -> StageStatus | None:
    if not stage.params["dataplane"] or stage.params["guest"] == "none":
        stage.details = replace(
            stage.details, reason="the guests are not to be asked"
        )
        return StageStatus.SKIPPED
    stage_options.check(
        {"stackproof_dataplane_name": stage.params["dataplane_name"]}
    )
    if stage.check:
        return None
    try:
        check_guests(stage)
    finally:
        stage.run.forget_login_key()
    return None


def check_guests(stage: Stage[DataplaneDetails]) -> None:
    first = stage.needed("server").id
    second = boot_second(stage)
    follow_paths(stage, {FIRST: first, SECOND: second.id})
    note_unasked(stage)
    must_hold(stage)
    nonce = guest.nonces(stage.run.id, stage.run.record.started).user_data
    note(
        stage,
        login.check(stage, nonce, first, dataplane.opens(stage, login.PORT)),
    )
    must_hold(stage)
    note(stage, handover.check(stage, nonce, first, second.id))
    must_hold(stage)


def note(stage: Stage[DataplaneDetails], check: PathCheck) -> None:
    stage.details = replace(
        stage.details, checks=(*(stage.details.checks or ()), check)
    )


def must_hold(stage: Stage[DataplaneDetails]) -> None:
    """Raise the error of the checks that failed, if any did."""
    failed = [
        check
        for check in stage.details.checks or ()
        if check.status == CheckStatus.FAILED
    ]
    if failed:
        raise dataplane.failure_of(failed)


def main() -> None:
    options = {
        "dataplane": {"type": "bool", "default": False},
        "guest": {
            "type": "str",
            "choices": stage_options.GUESTS,
            "default": "console",
        },
        "availability_zone": {"type": "str"},
        "second_host": {"type": "str"},
        "dataplane_name": {"type": "str"},
        "dataplane_volume": {"type": "bool", "default": True},
        "dataplane_login": {"type": "bool", "default": True},
        "journey": {
            "type": "list",
            "elements": "str",
            "choices": stage_options.OPERATIONS,
            "default": [],
        },
    }
    run_stage(
        StageName.DATAPLANE, act, DataplaneDetails(), options, timeout=300
    )


if __name__ == "__main__":
    main()
