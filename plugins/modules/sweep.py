#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sweep
short_description: 'Many runs: starts a sweep, ends it with one verdict, or combines several'
version_added: 0.1.0
description:
  - A sweep is a run on every compute host, with every value of an option, or both. A playbook does the runs.
  - At the start it creates the directory C(sweep-<id>) with the record C(sweep.json), and returns the runs to do.
  - At the end it reads the records of the runs, finds slow stages, gives one verdict, and writes C(junit.xml) and
    C(sweep.html).
  - Several control nodes may do the slices of a sweep in parallel. Their records are combined into one.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  state:
    description: Whether to start or to end the sweep, or to combine several.
    type: str
    choices: [begun, finished, combined]
    required: true
  runs:
    description: Folder of all runs.
    type: path
    required: true
  sweep_id:
    description:
      - Name of the sweep, 3 to 31 lowercase letters, digits and hyphens. Generated from the time and a random part by
        default.
      - A slice has its own part in its name, such as C(nightly-3of10).
    type: str
  slice:
    description: The part of the targets that this sweep covers, such as V(3/10). Each target is in exactly one slice.
    type: str
    version_added: 0.2.0
  directories:
    description: The sweeps to combine, each the directory of a sweep or a folder of runs that contains sweeps.
    type: list
    elements: path
    version_added: 0.2.0
  hosts:
    description: The compute hosts to provision on.
    type: list
    elements: str
    default: []
  dataplane:
    description: Whether each target has a second guest, on another host.
    type: bool
    default: false
    version_added: 1.0.0
  peers:
    description: With O(dataplane), with how many hosts behind it, in a ring, each host has a target of its own.
    type: int
    default: 1
    version_added: 1.0.0
  values:
    description: Further values to vary, as lists by the names C(network), C(volume_type) and C(zone).
    type: dict
    default: {}
  checks:
    description: The checks of M(stackproof.provision.preflight).
    type: list
    elements: dict
    default: []
  excluded:
    description: The compute hosts that are excluded, each with its C(host) and the C(reason).
    type: list
    elements: dict
    default: []
  parallel:
    description: The largest number of parallel runs.
    type: int
    default: 4
  level:
    description: Name of the level that the variables of all runs are of. It goes into the record.
    type: str
    version_added: 1.0.0
  slow_times:
    description: A stage is slow if it took more than this many times the median over all targets.
    type: float
    default: 3
  slow_seconds:
    description: A stage is slow only if it took at least this many seconds longer than the median.
    type: float
    default: 5
  templates:
    description: Folder with the templates of the pages. The role report has it. Without it no page is written.
    type: path
  archive:
    description: Whether to write an archive of the sweep and of its runs beside its directory, with the records, the
      pages, C(junit.xml), an inventory of versions and of what was not checked, and the digest of each file. Not with
      O(state=begun).
    type: bool
    default: false
    version_added: 1.0.0
  enforce:
    description: Whether the module fails unless the verdict is a pass.
    type: bool
    default: true
notes:
  - The playbook C(stackproof.provision.acceptance) does the runs between start and end.
seealso:
  - module: stackproof.provision.preflight
    description: Checks the cloud before a sweep.
  - module: stackproof.provision.sweep_turn
    description: Limits how many targets run in parallel.
"""

EXAMPLES = r"""
- name: Start a sweep over two hosts
  stackproof.provision.sweep:
    state: begun
    cloud: mycloud-admin
    runs: ./runs
    hosts: [compute1, compute2]
  register: sweep

- name: End it
  stackproof.provision.sweep:
    state: finished
    runs: ./runs
    sweep_id: "{{ sweep.sweep_id }}"

- name: Combine the slices of several control nodes
  stackproof.provision.sweep:
    state: combined
    runs: ./runs
    directories: [./from-node1/runs, ./from-node2/runs]
"""

RETURN = r"""
sweep_id:
  description: Name of the sweep.
  returned: success
  type: str
  sample: 20261122-195326-49a722
directory:
  description: Directory of the sweep.
  returned: success
  type: str
  sample: /home/operator/runs/sweep-20261122-195326-49a722
targets:
  description: Each target with its C(name), C(key), C(run_id), C(host), C(network), C(volume_type) and C(zone).
  returned: success
  type: list
  elements: dict
  sample:
    - {name: c1, key: c1, run_id: 20261122-195326-49a722-c1, host: c1, network: null, volume_type: null, zone: null}
    - {name: c2, key: c2, run_id: 20261122-195326-49a722-c2, host: c2, network: null, volume_type: null, zone: null}
verdict:
  description: The C(result), the C(reason), and the C(hosts) that did not pass.
  returned: when O(state=finished) or O(state=combined)
  type: dict
  sample:
    result: fail
    reason: >-
      1 of 2 targets did not pass. c2: boot: creating the server stackproof-20261121-065322-ce7f74-server: the cloud
      said (403): Policy doesn't allow compute:servers:create:requested_destination to be performed (request
      req-65f692c2-20f2-43a4-b8df-ab9e905dace8). The user's role in this project does not allow this: look at its
      roles and at the service's policy.
    hosts: [c2]
summary:
  description: Lines for a reader.
  returned: when O(state=finished) or O(state=combined)
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    Sweep,
    Target,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    Result,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report import (
    frame,
)
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import (
    files,
    render,
    targets,
)

TARGET_KEYS = (
    "name", "key", "run_id", "host", "second_host", *targets.DIMENSIONS,
)  # fmt: skip


def in_short(target: Target) -> dict[str, Any]:
    return {name: getattr(target, name) for name in TARGET_KEYS}


def result_of(sweep: Sweep, directory: str, changed: bool) -> dict[str, Any]:
    return {
        "changed": changed,
        "sweep_id": sweep.sweep_id,
        "directory": directory,
        "targets": list(map(in_short, sweep.targets)),
    }


def begin(module: AnsibleModule) -> None:
    sweep, directory = files.begin(module.params, module.check_mode)
    module.exit_json(**result_of(sweep, directory, True))


def end(module: AnsibleModule) -> None:
    if module.check_mode:
        module.exit_json(changed=False, verdict={}, summary=[])
    report(module, *files.end(module.params))


def combine(module: AnsibleModule) -> None:
    if module.check_mode:
        module.exit_json(changed=False, verdict={}, summary=[])
    report(module, *files.combined(module.params), True)


def report(
    module: AnsibleModule, sweep: Sweep, directory: str, changed: bool
) -> None:
    result = result_of(sweep, directory, changed)
    result.update(
        verdict=codec.to_json(sweep.verdict),
        summary=render.summary(sweep, directory),
    )
    if module.params["enforce"] and sweep.verdict.result is not Result.PASS:
        module.fail_json(msg=sweep.verdict.reason, **result)
    module.exit_json(**result)


STATES = {"begun": begin, "finished": end, "combined": combine}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "state": {"type": "str", "choices": [*STATES], "required": True},
            "runs": {"type": "path", "required": True},
            "sweep_id": {"type": "str"},
            "slice": {"type": "str"},
            "directories": {"type": "list", "elements": "path"},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "dataplane": {"type": "bool", "default": False},
            "peers": {"type": "int", "default": 1},
            "values": {"type": "dict", "default": {}},
            "checks": {"type": "list", "elements": "dict", "default": []},
            "excluded": {"type": "list", "elements": "dict", "default": []},
            "parallel": {"type": "int", "default": 4},
            "level": {"type": "str"},
            "slow_times": {"type": "float", "default": 3},
            "slow_seconds": {"type": "float", "default": 5},
            "templates": {"type": "path"},
            "archive": {"type": "bool", "default": False},
            "enforce": {"type": "bool", "default": True},
        },
        required_if=[
            ("state", "finished", ["sweep_id"]),
            ("state", "combined", ["directories"]),
        ],
        supports_check_mode=True,
    )
    params = module.params
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    if params["templates"] and not frame.HAS_JINJA2:
        module.fail_json(msg=missing_required_lib("jinja2"))
    with failing(
        module, f"writing the record of the sweep in {params['runs']}"
    ):
        STATES[params["state"]](module)


if __name__ == "__main__":
    main()
