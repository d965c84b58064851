#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sweep
short_description: Begins a sweep of many runs, or ends it with a verdict on the whole
version_added: 0.1.0
description:
  - A sweep is a run on every compute host, with every value of something, or both. The runs are done by others.
  - At its begin it makes the directory C(sweep-<id>) with the record C(sweep.json) and says which runs there are to be.
  - At its end it reads what came of the runs, finds what was slow, judges the whole, and writes C(junit.xml) and
    C(sweep.html).
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.attributes
options:
  state:
    description: Whether the sweep is begun or ended.
    type: str
    choices: [begun, finished]
    required: true
  runs:
    description: Folder of all runs.
    type: path
    required: true
  sweep_id:
    description: Name of the sweep, 3 to 31 small letters, digits and hyphens. By default one out of time and chance.
    type: str
  hosts:
    description: The compute hosts to provision on.
    type: list
    elements: str
    default: []
  values:
    description: What is varied besides, as lists by the names C(network), C(volume_type) and C(zone).
    type: dict
    default: {}
  checks:
    description: What M(stackproof.provision.preflight) found.
    type: list
    elements: dict
    default: []
  left_out:
    description: The compute hosts that are left out, and why.
    type: list
    elements: dict
    default: []
  at_once:
    description: How many runs there are at the same time.
    type: int
    default: 4
  slow_times:
    description: A stage that took more than so many times the median over all targets is said to be slow.
    type: float
    default: 3
  slow_seconds:
    description: The least that it must have taken longer than the median, in seconds.
    type: float
    default: 5
  templates:
    description: Folder of the templates of the pages, which the role report has. No page is written without it.
    type: path
  enforce:
    description: Whether the module fails unless the verdict is a pass.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Begin a sweep over two hosts
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
"""

RETURN = r"""
sweep_id:
  description: Name of the sweep.
  returned: success
  type: str
directory:
  description: Directory of the sweep.
  returned: success
  type: str
targets:
  description: Each target with its C(name), C(key), C(run_id), C(host), C(network), C(volume_type) and C(zone).
  returned: success
  type: list
  elements: dict
verdict:
  description: The C(result), the C(reason), and the C(hosts) that are not well.
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
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import failing
from ansible_collections.stackproof.provision.plugins.module_utils._report import page
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import files, render, sweep

HAS = ("name", "key", "run_id", "host", *sweep.DIMENSIONS)


def main():
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "state": {"type": "str", "choices": ["begun", "finished"], "required": True},
            "runs": {"type": "path", "required": True},
            "sweep_id": {"type": "str"},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "values": {"type": "dict", "default": {}},
            "checks": {"type": "list", "elements": "dict", "default": []},
            "left_out": {"type": "list", "elements": "dict", "default": []},
            "at_once": {"type": "int", "default": 4},
            "slow_times": {"type": "float", "default": 3},
            "slow_seconds": {"type": "float", "default": 5},
            "templates": {"type": "path"},
            "enforce": {"type": "bool", "default": True},
        },
        required_if=[("state", "finished", ["sweep_id"])],
        supports_check_mode=True,
    )
    params = module.params
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    if params["templates"] and not page.HAS_JINJA2:
        module.fail_json(msg=missing_required_lib("jinja2"))
    changed, result = True, {}
    with failing(module, f"writing the record of the sweep in {params['runs']}"):
        if params["state"] == "begun":
            record, directory = files.begin(params, module.check_mode)
        elif module.check_mode:
            module.exit_json(changed=False, verdict={}, summary=[])
        else:
            record, directory, changed = files.end(params)
            summary = render.summary(record, directory)
            result = {"verdict": record["verdict"], "summary": summary}
    targets = [{name: one[name] for name in HAS} for one in record["targets"]]
    result.update(changed=changed, sweep_id=record["sweep_id"], directory=directory, targets=targets)
    if params["state"] == "finished" and params["enforce"] and record["verdict"]["result"] != "pass":
        module.fail_json(msg=record["verdict"]["reason"], **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
