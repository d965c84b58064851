#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: 'Start of a run: creates its directory and its record, and watches it'
version_added: 0.1.0
description:
  - Creates the directory of a run with its record C(run.json) and its ledger. The cloud is not contacted.
  - From then on a small process watches the run. If C(ansible-playbook) ends before the run is finished, this process
    removes the resources of the run, unless O(keep) keeps them, and completes the record.
extends_documentation_fragment:
  - stackproof.provision._stage.thresholds
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  runs:
    description: Folder of all runs.
    type: path
    required: true
  run_id:
    description:
      - Name of the run, 3 to 40 lowercase letters, digits and hyphens. Generated from the time and a random part by
        default.
      - With the name of an earlier run and its directory, nothing new is created, and the first records stay. Without
        that directory, the run fails as soon as it finds a resource of that name on the cloud. It does not touch that
        resource.
    type: str
  keep:
    description: When the watching process keeps the resources of the run.
    type: str
    choices: [never, on_failure, always]
    default: never
  watch:
    description: Whether a process watches the run.
    type: bool
    default: true
  flows:
    description:
      - Files of flows that the run will be followed through. An invalid one fails the run before anything is created.
    type: list
    elements: path
    default: []
  level:
    description: Name of the level that the variables of the run are of. It goes into the record.
    type: str
    version_added: 1.0.0
  left_out:
    description: The parts of the level that the run leaves out, each with its C(part), and with C(needs), the variable
      that is not set.
    type: list
    elements: dict
    default: []
    version_added: 1.0.0
  cleanup_timeout:
    description: How long the removal by the watching process may take, in seconds.
    type: float
    default: 300
  _controller:
    description: The process to watch. The collection sets it.
    type: int
  _collection:
    description: The version of the collection. The collection sets it.
    type: str
notes:
  - The playbooks C(stackproof.provision.verify) and C(stackproof.provision.acceptance) start with it.
seealso:
  - module: stackproof.provision.auth
    description: The first stage.
  - module: stackproof.provision.cleanup
    description: Removes the resources of the run.
  - module: stackproof.provision.report
    description: Ends the run.
"""

EXAMPLES = r"""
- name: Start a run
  stackproof.provision.run:
    cloud: mycloud
    runs: ./runs
  register: run
"""

RETURN = r"""
run_id:
  description: Name of the run.
  returned: success
  type: str
  sample: 20261121-065813-30e86c
directory:
  description: Directory of the run.
  returned: success
  type: str
  sample: /home/operator/runs/20261121-065813-30e86c
watched:
  description: Whether a process watches the run. This needs Linux, and the module must run on the machine of the
    playbook.
  returned: success
  type: bool
  sample: true
finished:
  description: Whether the run had already ended. Its records stay, so the hosts need not be read again.
  returned: success
  type: bool
  sample: false
"""

import os
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from ansible.module_utils import ansible_release
from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._end import (
    watchdog,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    thresholds,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    flow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.inventory import (
    Tools,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.level import (
    RunLevel,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    waiting,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
    begin,
    check_id,
    new_run_id,
)


def check_libraries(module: AnsibleModule) -> None:
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    if not thresholds.HAS_JMESPATH:
        module.fail_json(msg=missing_required_lib("jmespath"))


def check_options(params: Mapping[str, Any]) -> None:
    """Refuse options that would fail only at the end of the run."""
    waiting.timeout_of(params["cleanup_timeout"], "cleanup_timeout")
    thresholds.check_expressions(params["thresholds"])
    for path in params["flows"]:
        flow.load(path)


def level_of(params: Mapping[str, Any]) -> RunLevel | None:
    if params["level"] is None:
        return None
    return codec.from_json(
        RunLevel,
        {"name": params["level"], "left_out": params["left_out"]},
        "level",
    )


def tools_of(params: Mapping[str, Any]) -> Tools:
    """Return the versions of the programs that do the run. The SDK is not loaded for its own."""
    try:
        sdk = metadata.version("openstacksdk")
    except metadata.PackageNotFoundError:
        sdk = None
    return Tools(
        params["_collection"],
        ansible_release.__version__,
        platform.python_version(),
        sdk,
    )


def check_unwatched(run: Run) -> None:
    """Refuse a run on which another process works."""
    if watchdog.is_watched(run):
        hint = "Wait until it ends, or use another run_id."
        raise StageError(
            "conflict",
            f"another process works on the run {run.id}",
            resource=run.id,
            hint=hint,
        )


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            **thresholds.OPTIONS,
            "runs": {"type": "path", "required": True},
            "run_id": {"type": "str"},
            "keep": {
                "type": "str",
                "choices": ["never", "on_failure", "always"],
                "default": "never",
            },
            "watch": {"type": "bool", "default": True},
            "flows": {"type": "list", "elements": "path", "default": []},
            "level": {"type": "str"},
            "left_out": {"type": "list", "elements": "dict", "default": []},
            "cleanup_timeout": {"type": "float", "default": 300},
            "_controller": {"type": "int"},
            "_collection": {"type": "str"},
        },
        supports_check_mode=True,
    )
    params = module.params
    connection.hide_only_secrets(module)
    check_libraries(module)
    run_id = params["run_id"] or new_run_id()
    with failing(module, f"beginning the run {run_id} in {params['runs']}"):
        check_options(params)
        check_id(run_id)
        if module.check_mode:
            directory = os.path.join(params["runs"], run_id)
            module.exit_json(
                changed=True,
                run_id=run_id,
                directory=directory,
                watched=False,
                finished=False,
            )
        run, new = begin(
            params["runs"],
            run_id,
            connection.cloud_name(params),
            level_of(params),
            tools_of(params),
        )
        finished = run.record.finished is not None
        if not finished:
            check_unwatched(run)
        wanted = params["watch"] and params["_controller"] and not finished
        watched = bool(wanted) and watchdog.watch(
            run, params, params["_controller"]
        )
    module.exit_json(
        changed=new,
        run_id=run.id,
        directory=run.directory,
        watched=watched,
        finished=finished,
    )


if __name__ == "__main__":
    main()
