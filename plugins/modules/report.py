#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: 'End of a run: its verdict, and its files for readers'
version_added: 0.1.0
description:
  - Judges the run, applies limits, compares with earlier runs, and writes C(junit.xml) and C(metrics.prom).
  - With O(template) it also writes C(report.html), one page for a browser that needs nothing else.
  - A finished run keeps its verdict. Only its files are written again.
  - If the server of the run is kept, its verdict is written into the description of the server, from version 2.19 of
    the compute API on. If that fails, the summary has the reason, and the run keeps its verdict.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.thresholds
  - stackproof.provision._attributes.writes
options:
  run_dir:
    description: Directory of the run.
    type: path
    required: true
  history:
    description: How many earlier runs of the same cloud to compare with.
    type: int
    default: 20
  enforce:
    description: Whether the module fails unless the verdict is a pass.
    type: bool
    default: true
  end:
    description: Whether to end a run that has not finished. With V(false) such a run is refused, and nothing is
      written.
    type: bool
    default: true
  broke_off:
    description: The part after the stages that was not done, and the reason. Such a run is incomplete, which is not a
      pass.
    type: str
  template:
    description: The Jinja2 template of C(report.html). The role report has it. Without it no page is written.
    type: path
  archive:
    description: Whether to write an archive of the run beside its directory, with its record, its page, C(junit.xml),
      an inventory of versions and of what was not checked, and the digest of each file.
    type: bool
    default: false
    version_added: 1.0.0
  otlp_endpoint:
    description:
      - Where to send the run as OpenTelemetry spans by HTTP, such as V(http://localhost:4318/v1/traces).
      - If the endpoint rejects them, the module warns and does not fail.
    type: str
requirements:
  - jmespath >= 1.0
  - jinja2 >= 3.1, for the page
notes:
  - The role P(stackproof.provision.report#role) has the template of the page. The playbook
    C(stackproof.provision.report) writes the files of a finished run again.
seealso:
  - module: stackproof.provision.run
    description: Starts a run.
  - module: stackproof.provision.cleanup
    description: Removes the resources of the run, before its end.
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
  description: Path of the page, if there is one.
  returned: success
  type: str
  sample: /home/operator/runs/20261121-065105-bdb5f5/report.html
archive:
  description: Path of the archive, if there is one.
  returned: success
  type: str
  sample: /home/operator/runs/20261121-065105-bdb5f5.tar.gz
verdict:
  description: Result, stage and reason; for a failure also step, component, host, evidence and what to do next.
  returned: always
  type: dict
  sample:
    result: pass
    stage: null
    step: null
    component: null
    host: null
    reason: 'The cloud provisions an instance: active after 13.6 s, and the guest has its metadata.'
    last_seen: null
    evidence: []
    headline: null
    missing_step: null
    confidence: null
    quote: null
    quote_source: null
    connection: null
    explains: []
    unexplained: []
    dependencies: []
    path: []
    next: null
    alternatives: []
summary:
  description: Lines for a reader.
  returned: always
  type: list
  elements: str
  sample:
    - ''
    - Run 20261121-065105-bdb5f5 on lab, 2026-11-21T06:51:05 UTC to 06:51:47
    - ''
    - '  stage      result   seconds'
    - '  auth       ok           0.4'
    - '  image      ok           0.0'
    - '  network    ok           0.4'
    - '  volume     ok           0.4'
    - '  boot       ok          13.9'
    - '  metadata   ok           4.7'
    - ''
    - '  slowest requests'
    - '     0.53   metadata: POST /v2.1/servers/61799abb-a812-4d08-917c-b88e67d8a081/action'
    - '     0.52   metadata: POST /v2.1/servers/61799abb-a812-4d08-917c-b88e67d8a081/action'
    - '     0.52   metadata: POST /v2.1/servers/61799abb-a812-4d08-917c-b88e67d8a081/action'
    - ''
    - '  created 5, deleted 5, left 0'
    - ''
    - '  PASS: The cloud provisions an instance: active after 13.6 s, and the guest has its metadata.'
    - '  files: /home/operator/runs/20261121-065105-bdb5f5'
    - ''
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    without_credentials,
)
from ansible_collections.stackproof.provision.plugins.module_utils._end import (
    description,
    finish,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    thresholds,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import (
    Record,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    Result,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    MALFORMED,
    StageError,
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report import (
    frame,
    otlp,
    text,
)
from ansible_collections.stackproof.provision.plugins.module_utils._runs import (
    archive,
)

# What a part of a record may raise that is of an unknown form
NOT_UNDERSTOOD: tuple[type[Exception], ...] = (*MALFORMED, *frame.UNDEFINED)
HINT = (
    "Render the record as this version wrote it. If nobody has changed it, please report this, with the output of "
    "ANSIBLE_DISPLAY_TRACEBACK=error ansible-playbook."
)


def check_finished(run: Run) -> None:
    if run.record.finished is None:
        hint = "The playbook that began it ends it; if that is gone, the playbook cleanup does."
        raise StageError(
            "conflict",
            f"the run {run.id} has not finished, so there is nothing to render yet",
            hint=hint,
        )


def sentence(why: str | None) -> str | None:
    return (
        f"All stages worked, but not all was done after them. {why.rstrip('.')}."
        if why
        else None
    )


def write(run: Run, params: Mapping[str, Any]) -> bool:
    """End the run if it has not finished, and write its files. Return whether it was ended."""
    with run.alone():
        earlier = finish.earlier_of(run, params["history"])
        unfinished = run.record.finished is None
        if unfinished:
            finish.finish(
                run,
                earlier,
                params["thresholds"],
                sentence(params["broke_off"]),
            )
            description.describe(run, params)
        finish.render(run, params["template"], earlier)
        if params["archive"]:
            archive.write_run(run.directory)
    return unfinished


@contextlib.contextmanager
def reading(run: Run) -> Iterator[None]:
    """Name the part of a record that cannot be rendered because it is not understood: anybody may have changed it."""
    try:
        yield
    except NOT_UNDERSTOOD as exc:
        message = f"{run.path('run.json')} has a part of an unknown form: {type(exc).__name__}: {exc}"
        raise StageError("malformed", message, hint=HINT) from exc


def result_of(run: Run, changed: bool) -> dict[str, Any]:
    page_path = run.path(text.PAGE)
    archive_path = archive.path_of(run.directory)
    return {
        "changed": changed,
        "verdict": codec.to_json(run.record.verdict),
        "summary": text.summary(run.record, run.directory),
        "page": page_path if os.path.exists(page_path) else None,
        "archive": archive_path if os.path.exists(archive_path) else None,
    }


def send(module: AnsibleModule, record: Record, endpoint: str) -> None:
    # The import takes a tenth of a second, and most runs send nothing.
    from ansible.module_utils.urls import open_url  # noqa: PLC0415

    headers = {"Content-Type": "application/json"}
    spans = json.dumps(otlp.spans(record))
    try:
        open_url(
            endpoint, data=spans, headers=headers, method="POST", timeout=10
        ).close()
    except Exception as exc:  # whatever is wrong there, or with the address, the run has its verdict
        module.warn(
            f"{without_credentials(endpoint)} did not take the spans of the run: {without_credentials(str(exc))}"
        )


def check_libraries(module: AnsibleModule) -> None:
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    if not thresholds.HAS_JMESPATH:
        module.fail_json(msg=missing_required_lib("jmespath"))
    if module.params["template"] and not frame.HAS_JINJA2:
        module.fail_json(msg=missing_required_lib("jinja2"))


def did_not_pass(record: Record) -> bool:
    """Return whether a run did not pass. A diagnosis has done its work, whatever it has found."""
    return (
        record.operation is None and record.verdict.result is not Result.PASS
    )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            **thresholds.OPTIONS,
            "run_dir": {"type": "path", "required": True},
            "history": {"type": "int", "default": 20},
            "enforce": {"type": "bool", "default": True},
            "end": {"type": "bool", "default": True},
            "broke_off": {"type": "str"},
            "template": {"type": "path"},
            "archive": {"type": "bool", "default": False},
            "otlp_endpoint": {"type": "str"},
        },
        supports_check_mode=True,
    )
    params = module.params
    connection.hide_only_secrets(module)
    check_libraries(module)
    if module.check_mode and not os.path.exists(
        os.path.join(params["run_dir"], "run.json")
    ):
        module.exit_json(changed=False, verdict={}, summary=[])
    with failing(module, f"writing the report into {params['run_dir']}"):
        run = Run(params["run_dir"], recover=params["end"])
        with reading(run):
            if not params["end"]:
                check_finished(run)
            result = result_of(
                run, not module.check_mode and write(run, params)
            )
        if module.check_mode:
            module.exit_json(**result)
        if params["otlp_endpoint"]:
            send(module, run.record, params["otlp_endpoint"])
    if params["enforce"] and did_not_pass(run.record):
        module.fail_json(msg=run.record.verdict.reason, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
