#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnosis
short_description: 'Diagnosis by logs: judges a boot or other requests, and writes the record'
version_added: 0.1.0
description:
  - Follows a boot through the flows, and finds the step and the service that failed.
  - Judges any other request on its own, by the answers to it, the component at which it failed, and the errors that
    services logged for it. Requests with the same cause are grouped.
  - Creates a directory with C(run.json) and C(events.jsonl), like that of a run. The record has a part C(diagnosis).
  - M(stackproof.provision.report) writes the files for readers from it.
extends_documentation_fragment: [stackproof.provision._attributes.writes]
options:
  bundle:
    description: The C(bundle) that M(stackproof.provision.bundle_info) has returned.
    type: dict
    required: true
  flows:
    description:
      - Files of flows, as C(docs/flows.md) describes them.
      - The boot is judged by the flow with C(judged), or else by the first.
    type: list
    elements: path
    required: true
  diagnoses:
    description: Folder of all diagnoses.
    type: path
    required: true
  quotes:
    description:
      - Whether the record keeps the log line that shows the cause best, masked and cut to 300 characters.
    type: bool
    default: true
requirements:
  - python >= 3.11
  - jmespath >= 1.0
author: stackproof contributors (@stackproof)
notes:
  - The role P(stackproof.provision.diagnosis#role) and the playbook C(stackproof.provision.diagnose) use it.
seealso:
  - module: stackproof.provision.bundle_info
    description: Reads the logs.
  - module: stackproof.provision.report
    description: Writes the files for readers.
"""

EXAMPLES = r"""
- name: Judge what was found
  stackproof.provision.diagnosis:
    bundle: "{{ read.bundle }}"
    flows: [boot.yml]
    diagnoses: ./diagnoses
"""

RETURN = r"""
directory:
  description: Directory of the diagnosis.
  returned: success
  type: str
  sample: /home/operator/diagnoses/20261122-195334-df2d10
verdict:
  description: Result, step, component, host and reason, the evidence, and the other suspects.
  returned: success
  type: dict
  sample:
    result: fail
    stage: boot
    reason: >-
      boot: nova-compute (compute1): its step 13 did not happen, for no known reason. Step 13 (Subscribe new instance
      request) did not happen. Last seen: step 12 (rpc.cast to launch instance), 3.2 s after the start. Stage error:
      the logs do not show that Nova built the server 08892fb7-48fe-4dfb-bb03-85a445d2b1cb.
    step: '13'
    component: nova-compute
    host: compute1
    last_seen:
      id: '12'
      message: rpc.cast to launch instance
      at: '2026-11-21T17:10:00.775000+00:00'
      host: controller1
    evidence: ['nova-compute: its step 13 did not happen, for no known reason']
    headline: 'nova-compute (compute1): its step 13 did not happen, for no known reason'
    missing_step: step 13 (Subscribe new instance request) did not happen
    confidence: 0.695
    quote: null
    quote_source: null
    connection: null
    explains: []
    unexplained: []
    dependencies: []
    path:
      - source: {component: nova-compute, host: compute1}
        target: null
        evidence: step 13 did not happen
    next: null
    alternatives:
      - component: nova-api
        host: controller1
        weight: 1.15
        evidence: ['nova-api: its step 58 did not happen, for no known reason']
        confidence: 0.011
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import (
    diagnosis,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.bundle import (
    from_result,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    flow,
    follow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.bundle import (
    Bundle,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    begin,
    new_run_id,
    write_whole,
)


def bundle_in(data: dict[str, Any]) -> Bundle:
    try:
        return from_result(data)
    except ValueError as exc:
        hint = "Give what stackproof.provision.bundle_info returned as bundle."
        raise StageError("invalid", str(exc), hint=hint) from None


def file(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    flows = list(map(flow.load, params["flows"]))
    record, events = diagnosis.record_of(
        bundle_in(params["bundle"]), flows, new_run_id(), params["quotes"]
    )
    directory = None
    if not check_mode:
        run, _new = begin(params["diagnoses"], record.run_id, record.cloud)
        with run.alone():
            run.record, directory = record, run.directory
            run.save()
            lines = "".join(
                f"{line}\n" for line in follow.lines(follow.kept(events))
            )
            write_whole(run.path("events.jsonl"), lines)
    return {
        "changed": True,
        "directory": directory,
        "verdict": codec.to_json(record.verdict),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "bundle": {"type": "dict", "required": True},
            "flows": {"type": "list", "elements": "path", "required": True},
            "diagnoses": {"type": "path", "required": True},
            "quotes": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    if not flow.HAS_LIBRARIES:
        module.fail_json(msg=missing_required_lib("jmespath and PyYAML"))
    with failing(
        module, f"filing the diagnosis in {module.params['diagnoses']}"
    ):
        result = file(module.params, module.check_mode)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
