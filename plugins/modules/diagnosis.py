#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnosis
short_description: Judges a boot by collected logs, and files the record
version_added: 0.1.0
description:
  - Follows a boot that was found in logs through the flows, and says which step and which service failed.
  - Makes a directory with C(run.json) and C(events.jsonl), as a run has one. The record has a part C(diagnosis).
  - M(stackproof.provision.report) writes the files for readers out of it.
options:
  bundle:
    description: What M(stackproof.provision.bundle_info) has returned.
    type: dict
    required: true
  flows:
    description:
      - Files of flows, as C(docs/flows.md) describes them.
      - The boot is judged by C(modern), or by the first where that is not among them.
    type: list
    elements: path
    required: true
  diagnoses:
    description: Folder of all diagnoses.
    type: path
    required: true
requirements:
  - python >= 3.11
  - jmespath >= 1.0
author: stackproof contributors (@stackproof)
attributes:
  check_mode:
    description: In check mode nothing is written.
    support: full
"""

EXAMPLES = r"""
- name: Judge the boot
  stackproof.provision.diagnosis:
    bundle: "{{ read.bundle }}"
    flows: [ops_guide.yml]
    diagnoses: ./diagnoses
"""

RETURN = r"""
directory:
  description: Directory of the diagnosis.
  returned: success
  type: str
verdict:
  description: Result, step, component, host and reason.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import diagnosis
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow, follow
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import failing
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import begin, new_run_id, write_whole


def file(params, check_mode):
    flows = [flow.load(path) for path in params["flows"]]
    record, events = diagnosis.record_of(params["bundle"], flows, new_run_id())
    directory = None
    if not check_mode:
        run, _new = begin(params["diagnoses"], record["run_id"], record["cloud"])
        with run.alone():
            run.record, directory = record, run.directory
            run.save()
            lines = "".join(f"{line}\n" for line in follow.lines(follow.of_run(events)))
            write_whole(run.path("events.jsonl"), lines)
    return {"changed": True, "directory": directory, "verdict": record["verdict"]}


def main():
    module = AnsibleModule(
        argument_spec={
            "bundle": {"type": "dict", "required": True},
            "flows": {"type": "list", "elements": "path", "required": True},
            "diagnoses": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    if not flow.HAS_LIBRARIES:
        module.fail_json(msg=missing_required_lib("jmespath and PyYAML"))
    with failing(module, f"filing the diagnosis in {module.params['diagnoses']}"):
        result = file(module.params, module.check_mode)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
