#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Ends a run with its verdict, and renders its record
version_added: 0.1.0
description:
  - Judges the run, applies limits, compares with earlier runs, and writes C(junit.xml) and C(metrics.prom).
  - With O(template) it also writes C(report.html), one page for a browser that needs nothing else.
  - A finished run keeps its verdict, and is only rendered again.
extends_documentation_fragment:
  - stackproof.provision._stage.thresholds
  - stackproof.provision._stage.attributes
options:
  run_dir:
    description: Directory of the run.
    type: path
    required: true
  history:
    description: How many earlier runs of the same cloud this one is compared with.
    type: int
    default: 20
  enforce:
    description: Whether the module fails unless the verdict is a pass.
    type: bool
    default: true
  end:
    description: Whether a run that has not finished is ended. Without it such a run is refused, and nothing is written.
    type: bool
    default: true
  broke_off:
    description: What was not done after the stages, and why. Such a run is incomplete, which is no pass.
    type: str
  template:
    description: The Jinja2 template of C(report.html), which the role report has. No page is written without it.
    type: path
  otlp_endpoint:
    description:
      - Where to send the run as OpenTelemetry spans by HTTP, such as V(http://localhost:4318/v1/traces).
      - An endpoint that does not take them is a warning, and no failure.
    type: str
requirements:
  - python >= 3.11
  - jmespath >= 1.0
  - jinja2 >= 3.1, for the page
author: stackproof contributors (@stackproof)
"""

EXAMPLES = r"""
- name: End the run
  stackproof.provision.report:
    run_dir: "{{ run.directory }}"
    thresholds:
      - name: seconds of the boot
        query: stages[?stage=='boot'] | [0].duration_s
        max: 60
"""

RETURN = r"""
page:
  description: Where the page is, if there is one.
  returned: success
  type: str
verdict:
  description: Result, stage and reason.
  returned: always
  type: dict
summary:
  description: Lines for a reader.
  returned: always
  type: list
  elements: str
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import without_credentials
from ansible_collections.stackproof.provision.plugins.module_utils._end import finish
from ansible_collections.stackproof.provision.plugins.module_utils._judge import thresholds
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError, failing
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import Run
from ansible_collections.stackproof.provision.plugins.module_utils._report import otlp, page, text


def check_finished(run):
    if run.record["finished"] is None:
        hint = "The playbook that began it ends it; if that is gone, the playbook cleanup does."
        raise StageError("conflict", f"the run {run.id} has not finished, so there is nothing to render yet", hint=hint)


def sentence(why):
    return f"All stages worked, but not all was done after them. {why.rstrip('.')}." if why else None


def send(module, record, endpoint):
    # It takes a tenth of a second to load, and most runs send nothing: verify is measured against a bare script.
    from ansible.module_utils.urls import fetch_url  # noqa: PLC0415

    data = json.dumps(otlp.spans(record))
    headers = {"Content-Type": "application/json"}
    _answer, info = fetch_url(module, endpoint, data=data, headers=headers, method="POST", timeout=10)
    if info["status"] not in (200, 202):
        module.warn(f"{without_credentials(endpoint)} did not take the spans of the run: {info['msg']}")


def main():
    module = AnsibleModule(
        argument_spec={
            **thresholds.OPTIONS,
            "run_dir": {"type": "path", "required": True},
            "history": {"type": "int", "default": 20},
            "enforce": {"type": "bool", "default": True},
            "end": {"type": "bool", "default": True},
            "broke_off": {"type": "str"},
            "template": {"type": "path"},
            "otlp_endpoint": {"type": "str"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if not thresholds.HAS_JMESPATH:
        module.fail_json(msg=missing_required_lib("jmespath"))
    if params["template"] and not page.HAS_JINJA2:
        module.fail_json(msg=missing_required_lib("jinja2"))
    if module.check_mode and not os.path.exists(os.path.join(params["run_dir"], "run.json")):
        module.exit_json(changed=False, verdict={}, summary=[])
    with failing(module, f"writing the report into {params['run_dir']}"):
        run = Run(params["run_dir"])
        if not params["end"]:
            check_finished(run)
        changed = run.record["finished"] is None and not module.check_mode
        if not module.check_mode:
            with run.alone():
                if changed:
                    finish.finish(run, params["thresholds"], params["history"], sentence(params["broke_off"]))
                finish.render(run, params["template"], params["history"])
        result = {
            "changed": changed,
            "verdict": run.record["verdict"],
            "summary": text.summary(run.record, run.directory),
            "page": run.path(text.PAGE) if os.path.exists(run.path(text.PAGE)) else None,
        }
        if params["otlp_endpoint"] and not module.check_mode:
            send(module, run.record, params["otlp_endpoint"])
    if params["enforce"] and not module.check_mode and run.record["verdict"]["result"] != "pass":
        module.fail_json(msg=run.record["verdict"]["reason"], **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
