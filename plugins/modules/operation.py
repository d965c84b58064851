#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: operation
short_description: 'Used by diagnose: reads from a live cloud how something was made, and begins a diagnosis of it'
version_added: 1.0.0
description:
  - Reads a server, a volume or an image from the API, with what the cloud has recorded of its creation. That becomes
    the stages of a run in the record of a new diagnosis. Then the hosts are read, and it is judged like a run.
  - Nothing is changed on the cloud. Its only requests besides GET are those for tokens.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  server_id:
    description: Id of a server. One of these four is needed.
    type: str
  resource_id:
    description:
      - Id of a server, a volume or an image, or of a port, a floating IP, a network or a router that a server uses.
    type: str
  request_id:
    description: Id of a request about a server or a volume, as Nova and Cinder know it.
    type: str
  error:
    description: The error that a client has printed. The last id of a request in it counts.
    type: str
  since:
    description:
      - Start of the time range whose logs are read on the hosts, such as V(2026-11-21T14:40:00Z). Without a zone it is
        in UTC. By default it is when the operation began.
      - If the range leaves out a part of the operation, no step counts as missing.
    type: str
  until:
    description: End of that time range. By default it is a minute after the operation ended, or now.
    type: str
  diagnoses:
    description: Folder of all diagnoses. The new one gets a folder there.
    type: path
    required: true
  admin_cloud:
    description: Name of a cloud in C(clouds.yaml) with an administrator's rights, to see the servers of all projects.
    type: str
  baseline:
    description:
      - The directory of a run that passed on this cloud, or logs of a time when all worked, packed or not. Errors that
        are in them, too, explain nothing.
      - Of a run, so do the services that did not run then, the checks of Ceph that were not passed, and the files of
        settings that were changed before. A run that did not pass is refused.
    type: path
  services:
    description: The names of the logs in O(baseline), as M(stackproof.provision.bundle_info) takes them.
    type: list
    elements: dict
    default: []
  time_zone:
    description: Zone of the logs in O(baseline), where their directory does not have it.
    type: str
    default: UTC
  time_zones:
    description: The same for single hosts, by name.
    type: dict
    default: {}
  timeout:
    description: How long all of it may take, in seconds.
    type: float
    default: 30
seealso:
  - module: stackproof.provision.instance
    description: Reads what the hosts of a server must agree with.
"""

EXAMPLES = r"""
- name: Begin a diagnosis of a server
  stackproof.provision.operation:
    cloud: mycloud
    server_id: 4798a21e-4aff-4a2f-9b6e-325ca47ee2d3
    diagnoses: ./diagnoses
  register: begun
"""

RETURN = r"""
run_id:
  description: Id of the diagnosis.
  returned: success
  type: str
  sample: 20261127-054109-a3dbae
directory:
  description: Its directory.
  returned: success
  type: str
  sample: /home/operator/diagnoses/20261127-054109-a3dbae
finished:
  description: Always false; a diagnosis that has just begun is not finished.
  returned: success
  type: bool
  sample: false
"""

import os
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.catalog import (
    offered_in,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.credentials import (
    kind_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    explain,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import (
    operation as operation_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import (
    live,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.baseline import (
    LogNames,
    baseline_in,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.question import (
    range_given,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.baseline import (
    Baseline,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    AuthDetails,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.operation import (
    Operation,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import (
    now,
    seconds_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import (
    bounded_copy,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
    begin,
    new_run_id,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    Deadline,
)

ASKED_BY = ("server_id", "resource_id", "request_id", "error")


# What to do instead of a diagnosis of nothing, and of a time range alone
NO_ID = "Give stackproof_server_id, stackproof_resource_id or stackproof_request_id, or logs as stackproof_bundle."
RANGE = "With stackproof_stuck=true, what failed in a time range is listed, with the commands that diagnose it."


def is_range(params: dict[str, Any]) -> bool:
    return bool(params["since"] or params["until"])


def asked_for(params: dict[str, Any]) -> tuple[str, str]:
    """Return the option that names what was asked about, and its value."""
    named = [(name, params[name]) for name in ASKED_BY if params[name]]
    if not named:
        raise StageError(
            "invalid",
            "it is not said what to diagnose",
            hint=RANGE if is_range(params) else NO_ID,
        )
    return named[0]


def baseline_of(params: dict[str, Any]) -> Baseline | None:
    """Return what there was while all worked, if it was given."""
    if not params["baseline"]:
        return None
    names = LogNames(
        params["services"], params["time_zone"], params["time_zones"]
    )
    return baseline_in(os.path.abspath(params["baseline"]), names)


def doubt_on(baseline: Baseline | None, cloud: str | None) -> str | None:
    """Return that a baseline may be of another cloud. It is no proof: one cloud may have several names."""
    if baseline is None or baseline.cloud in (None, cloud):
        return None
    return f"stackproof_baseline: the run {baseline.source} is of the cloud {baseline.cloud}, not of {cloud}"


def begun(
    params: dict[str, Any], run_id: str, baseline: Baseline | None
) -> Run:
    """Begin a diagnosis with what the cloud has recorded."""
    whose = connection.as_admin(params) if params["admin_cloud"] else params
    cloud = connection.connect(whose, [], [], Deadline(params["timeout"]))
    kind, identity = asked_for(params)
    find = (
        operation_module.find_request
        if kind in ("request_id", "error")
        else operation_module.find
    )
    found = find(cloud, identity)
    since, until = range_given(params["since"], params["until"])
    operation = Operation(
        asked=seconds_of(now()),
        query={kind: identity},
        since=since,
        until=until,
    )
    access = cloud.session.auth.get_access(cloud.session)
    auth = AuthDetails(
        token=kind_of(access.auth_token),
        catalog=offered_in(access, cloud.config.get_region_name()),
    )
    run, _new = begin(
        params["diagnoses"], run_id, connection.cloud_name(params)
    )
    record = replace(run.record, baseline=baseline)
    run.record = live.record_of(record, bounded_copy(found), operation, auth)
    run.save()
    return run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            **{name: {"type": "str"} for name in ASKED_BY},
            "since": {"type": "str"},
            "until": {"type": "str"},
            "diagnoses": {"type": "path", "required": True},
            "admin_cloud": {"type": "str"},
            "baseline": {"type": "path"},
            "services": {"type": "list", "elements": "dict", "default": []},
            "time_zone": {"type": "str", "default": "UTC"},
            "time_zones": {"type": "dict", "default": {}},
            "timeout": {"type": "float", "default": 30},
        },
        mutually_exclusive=[ASKED_BY],
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    params, run_id = module.params, new_run_id()
    with failing(
        module, "reading from the cloud what was asked about", explain
    ):
        asked_for(params)
        range_given(params["since"], params["until"])
        baseline = baseline_of(params)
        if module.check_mode:
            directory = os.path.join(params["diagnoses"], run_id)
            module.exit_json(
                changed=True,
                run_id=run_id,
                directory=directory,
                finished=False,
            )
        run = begun(params, run_id, baseline)
    doubt = doubt_on(baseline, run.record.cloud)
    if doubt:
        module.warn(doubt)
    module.exit_json(
        changed=True, run_id=run.id, directory=run.directory, finished=False
    )


if __name__ == "__main__":
    main()
