#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: load
short_description: 'Many instances at the same time: begins a load, or ends it with a verdict on the whole'
version_added: 0.3.0
description:
  - A load is many runs, so many of them at the same time. The module does not do the runs.
  - At the begin it makes the directory C(load-<id>) with the record C(load.json), and returns the runs to be done. It
    refuses a load for which O(checks) say that a quota leaves no room.
  - At the end it reads the records of the runs, tells how long each stage and each step took and how that grew with
    the number at once, judges the whole, and writes C(load.html).
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  state:
    description: Whether the load is begun or ended.
    type: str
    choices: [begun, finished]
    required: true
  runs:
    description: Folder of all runs.
    type: path
    required: true
  load_id:
    description: Name of the load, 3 to 34 small letters, digits and hyphens. By default one out of time and chance.
    type: str
  instances:
    description: How many instances there are, at each level of a ramp.
    type: int
    default: 10
  at_once:
    description: How many of them may be there at the same time.
    type: int
    default: 4
  ramp:
    description: Several values of O(at_once), one after the other, such as V([1, 2, 4, 8]).
    type: list
    elements: int
    default: []
  rate:
    description: How many instances begin in a minute. Without it each one begins as soon as it has a turn.
    type: float
  checks:
    description: The checks of M(stackproof.provision.preflight).
    type: list
    elements: dict
    default: []
  thresholds:
    description: Limits on the record of the load, as O(stackproof.provision.report#module:thresholds) has for a run.
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
    description: Folder of the templates of the pages, which the role report has. No page is written without it.
    type: path
  enforce:
    description: Whether the module fails unless the verdict is a pass.
    type: bool
    default: true
notes:
  - The playbook C(stackproof.provision.load) does the runs between begin and end.
seealso:
  - module: stackproof.provision.preflight
    description: Looks at the cloud before a load.
  - module: stackproof.provision.load_turn
    description: Says when an instance may begin.
"""

EXAMPLES = r"""
- name: Begin a load of 30 instances, 10 at once
  stackproof.provision.load:
    state: begun
    cloud: mycloud
    runs: ./runs
    instances: 30
    at_once: 10
  register: load

- name: End it
  stackproof.provision.load:
    state: finished
    runs: ./runs
    load_id: "{{ load.load_id }}"
"""

RETURN = r"""
load_id:
  description: Name of the load.
  returned: success
  type: str
  sample: 20261125-195326-49a722
directory:
  description: Directory of the load.
  returned: success
  type: str
  sample: /home/operator/runs/load-20261125-195326-49a722
levels:
  description: How many instances may be there at once, level after level.
  returned: success
  type: list
  elements: int
  sample: [10]
targets:
  description: Each instance with its C(key), C(run_id), C(at_once), C(before) and C(after_s).
  returned: success
  type: list
  elements: dict
  sample:
    - {key: '01', run_id: 20261125-195326-49a722-01, at_once: 10, before: 0, after_s: 0.0}
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

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import connection
from ansible_collections.stackproof.provision.plugins.module_utils._judge import thresholds
from ansible_collections.stackproof.provision.plugins.module_utils._load import files, text
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import failing
from ansible_collections.stackproof.provision.plugins.module_utils._report import frame


def begin(module):
    record, directory, targets = files.begin(module.params, module.check_mode)
    about = {"load_id": record["load_id"], "directory": directory, "levels": record["plan"]["levels"]}
    module.exit_json(changed=True, targets=targets, **about)


def end(module):
    if module.check_mode:
        module.exit_json(changed=False, verdict={}, summary=[])
    record, directory, changed = files.end(module.params)
    verdict = record["verdict"]
    about = {"load_id": record["load_id"], "directory": directory, "levels": record["plan"]["levels"]}
    result = {"changed": changed, **about, "verdict": verdict, "summary": text.summary(record, directory)}
    if module.params["enforce"] and verdict["result"] != "pass":
        module.fail_json(msg=verdict["reason"], **result)
    module.exit_json(**result)


STATES = {"begun": begin, "finished": end}


def main():
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            **thresholds.OPTIONS,
            "state": {"type": "str", "choices": [*STATES], "required": True},
            "runs": {"type": "path", "required": True},
            "load_id": {"type": "str"},
            "instances": {"type": "int", "default": 10},
            "at_once": {"type": "int", "default": 4},
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
    with failing(module, f"writing the record of the load in {params['runs']}"):
        STATES[params["state"]](module)


if __name__ == "__main__":
    main()
