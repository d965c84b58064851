#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: load
short_description: 'Many instances in parallel: starts a load test, or ends it with one verdict'
version_added: 1.0.0
description:
  - A load test is many runs, with up to O(parallel) of them in parallel. A playbook does the runs.
  - At the start it creates the directory C(load-<id>) with the record C(load.json), and returns the runs to do. It
    refuses a load test if O(checks) show that a quota leaves no room.
  - At the end it reads the records of the runs, computes how long each stage and each step took and how that grew with
    the number of parallel instances, gives one verdict, and writes C(load.html).
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  state:
    description: Whether to start or to end the load test.
    type: str
    choices: [begun, finished]
    required: true
  runs:
    description: Folder of all runs.
    type: path
    required: true
  load_id:
    description: Name of the load test, 3 to 34 lowercase letters, digits and hyphens. Generated from the time and a
      random part by default.
    type: str
  instances:
    description: How many instances there are, at each level of a ramp.
    type: int
    default: 10
  parallel:
    description: How many instances may exist in parallel.
    type: int
    default: 4
  ramp:
    description: Several values of O(parallel), one after the other, such as V([1, 2, 4, 8]).
    type: list
    elements: int
    default: []
  rate:
    description: How many instances start per minute. By default each one starts as soon as a turn is free.
    type: float
  checks:
    description: The checks of M(stackproof.provision.preflight).
    type: list
    elements: dict
    default: []
  thresholds:
    description: Limits on the record of the load test, in the form of O(stackproof.provision.report#module:thresholds).
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the limit.
        type: str
        required: true
      query:
        description: JMESPath expression that finds a number in C(load.json).
        type: str
        required: true
      min:
        description: The least value.
        type: float
      max:
        description: The greatest value.
        type: float
  templates:
    description: Folder with the templates of the pages. The role report has it. Without it no page is written.
    type: path
  enforce:
    description: Whether the module fails unless the verdict is a pass.
    type: bool
    default: true
notes:
  - The playbook C(stackproof.provision.load) does the runs between start and end.
seealso:
  - module: stackproof.provision.preflight
    description: Checks the cloud before a load test.
  - module: stackproof.provision.load_turn
    description: Decides when an instance may start.
"""

EXAMPLES = r"""
- name: Start a load test of 30 instances, 10 in parallel
  stackproof.provision.load:
    state: begun
    cloud: mycloud
    runs: ./runs
    instances: 30
    parallel: 10
  register: load

- name: End it
  stackproof.provision.load:
    state: finished
    runs: ./runs
    load_id: "{{ load.load_id }}"
"""

RETURN = r"""
load_id:
  description: Name of the load test.
  returned: success
  type: str
  sample: 20261125-195326-49a722
directory:
  description: Directory of the load test.
  returned: success
  type: str
  sample: /home/operator/runs/load-20261125-195326-49a722
levels:
  description: How many instances may exist in parallel, level after level.
  returned: success
  type: list
  elements: int
  sample: [10]
targets:
  description: Each instance with its C(key), C(run_id), C(parallel), C(before) and C(after_s).
  returned: success
  type: list
  elements: dict
  sample:
    - {key: '01', run_id: 20261125-195326-49a722-01, parallel: 10, before: 0, after_s: 0.0}
verdict:
  description: The C(result) and the C(reason).
  returned: when O(state=finished)
  type: dict
summary:
  description: Lines for a reader.
  returned: when O(state=finished)
  type: list
  elements: str
"""

import dataclasses
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    thresholds,
)
from ansible_collections.stackproof.provision.plugins.module_utils._load import (
    files,
    text,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.load import (
    LoadTest,
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


def result_of(test: LoadTest, directory: str) -> dict[str, Any]:
    return {
        "load_id": test.load_id,
        "directory": directory,
        "levels": [*test.plan.levels],
    }


def begin(module: AnsibleModule) -> None:
    test, directory, targets = files.begin(module.params, module.check_mode)
    module.exit_json(
        changed=True,
        targets=list(map(dataclasses.asdict, targets)),
        **result_of(test, directory),
    )


def end(module: AnsibleModule) -> None:
    if module.check_mode:
        module.exit_json(changed=False, verdict={}, summary=[])
    test, directory, changed = files.end(module.params)
    result = {"changed": changed, **result_of(test, directory)}
    result.update(
        verdict=codec.to_json(test.verdict),
        summary=text.summary(test, directory),
    )
    if module.params["enforce"] and test.verdict.result is not Result.PASS:
        module.fail_json(msg=test.verdict.reason, **result)
    module.exit_json(**result)


STATES = {"begun": begin, "finished": end}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            **thresholds.OPTIONS,
            "state": {"type": "str", "choices": [*STATES], "required": True},
            "runs": {"type": "path", "required": True},
            "load_id": {"type": "str"},
            "instances": {"type": "int", "default": 10},
            "parallel": {"type": "int", "default": 4},
            "ramp": {"type": "list", "elements": "int", "default": []},
            "rate": {"type": "float"},
            "checks": {"type": "list", "elements": "dict", "default": []},
            "templates": {"type": "path"},
            "enforce": {"type": "bool", "default": True},
        },
        required_if=[("state", "finished", ["load_id"])],
        supports_check_mode=True,
    )
    params = module.params
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    if not thresholds.HAS_JMESPATH:
        module.fail_json(msg=missing_required_lib("jmespath"))
    if params["templates"] and not frame.HAS_JINJA2:
        module.fail_json(msg=missing_required_lib("jinja2"))
    with failing(
        module, f"writing the record of the load test in {params['runs']}"
    ):
        STATES[params["state"]](module)


if __name__ == "__main__":
    main()
