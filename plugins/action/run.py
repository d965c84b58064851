# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module that begins a run, and tells what an interruption of the run means.

This file has the name of its module. Therefore Ansible's first process loads it, and with it the SDK: the modules of
the run's stages are forks of that process. Ansible's workers would each load a plugin with another name for themselves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ansible_collections.stackproof.provision.plugins.action import local
from ansible_collections.stackproof.provision.plugins.plugin_utils._version import (
    collection_version,
)


class ActionModule(local.ActionModule):
    def arguments(
        self, module: str, task_vars: Mapping[str, Any]
    ) -> dict[str, Any]:
        args = super().arguments(module, task_vars)
        args["_collection"] = collection_version()
        if self._connection.transport == "local":
            # The process that the run's watch waits for
            args["_controller"] = os.getppid()
        return args

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        # Of many runs at once, each says only how it ended.
        if (task_vars or {}).get("stackproof_target"):
            return result
        if result.get("watched"):
            kept = self._task.args.get("keep", "never") != "never"
            promise = (
                "its resources stay"
                if kept
                else "its resources are still removed"
            )
            local.tell(
                f"  Run {result['run_id']}. If it is interrupted, {promise}."
            )
        elif result.get("finished"):
            advice = "For a new run choose another stackproof_run_id, or none."
            local.tell(
                f"  Run {result['run_id']} ended before: nothing new is made, and its record stays. {advice}"
            )
        return result
