# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of the modules that follow a run through flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from .._model.flow_definition import Flow
from .._record import run
from .._record.errors import failing
from . import flow

# The option that both modules have
REMOVAL = {"removal": {"type": "bool", "default": False}}


def main(
    options: dict[str, Any],
    act: Callable[[run.Run, list[Flow], AnsibleModule], dict[str, Any]],
) -> None:
    """Run act(run, flows, module) and exit with its result."""
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "flows": {"type": "list", "elements": "path", "required": True},
            **options,
        },
        supports_check_mode=True,
    )
    if not flow.HAS_LIBRARIES:
        module.fail_json(msg=missing_required_lib("jmespath and PyYAML"))
    directory = module.params["run_dir"]
    with failing(module, f"following the run in {directory}"):
        flows = list(map(flow.load, module.params["flows"]))
        result = act(run.Run(directory), flows, module)
    module.exit_json(**result)
