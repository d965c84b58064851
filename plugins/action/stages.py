# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Go through some stages of a run in parallel: a process for each, which writes its own record."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible_collections.stackproof.provision.plugins.action import local
from ansible_collections.stackproof.provision.plugins.plugin_utils import (
    _specs,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils._forked import (
    Forked,
    results_of,
)

PREFIX = "stackproof.provision."
# Those that need no other one but auth
STAGES = ("image", "network", "volume")
OWN_OPTIONS = ("stages", "parallel")

# What the module of a stage takes or returns, or the variables of a task
Values = dict[str, Any]


class ActionModule(local.ActionModule):
    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        ActionBase.run(self, tmp, task_vars)
        variables = task_vars or {}
        unknown = [
            stage for stage in self._task.args["stages"] if stage not in STAGES
        ]
        if unknown:
            return {
                "failed": True,
                "msg": f"the stages {', '.join(STAGES)} go in parallel, not {', '.join(unknown)}",
            }
        options = {
            stage: self.options_of(stage, variables)
            for stage in self._task.args["stages"]
        }
        is_wanted = boolean(self._task.args.get("parallel", True))
        is_parallel = is_wanted and self.can_fork(variables)
        with self.follower(
            variables.get("stackproof_target"), self._task.args["run_dir"]
        ):
            return merged(self.results(options, is_parallel, variables))

    def options_of(self, stage: str, variables: Mapping[str, Any]) -> Values:
        """Return the options of a stage: those of this task, and those that variables give the stage's role."""
        given = {
            name: value
            for name, value in self._task.args.items()
            if name not in OWN_OPTIONS
        }
        tasks = os.path.join(
            _specs.COLLECTION, "roles", stage, "tasks", "main.yml"
        )
        return self.options_for(stage, tasks, given, variables)

    def results(
        self,
        options: Mapping[str, Values],
        is_parallel: bool,
        variables: Values,
    ) -> Iterator[Values]:
        """Yield the result of each stage, up to the ones beside the first that failed."""
        for stages in batches(options, is_parallel):
            done = self.side_by_side(stages, options, variables)
            yield from done
            if any(result.get("failed") for result in done):
                return

    def side_by_side(
        self,
        stages: Sequence[str],
        options: Mapping[str, Values],
        variables: Values,
    ) -> list[Values]:
        if len(stages) == 1:
            return [
                self.perform(
                    f"{PREFIX}{stages[0]}",
                    options[stages[0]],
                    variables,
                    contextlib.nullcontext(),
                )
            ]
        begun = []
        for stage in stages:
            self._update_module_args(
                f"{PREFIX}{stage}", options[stage], variables
            )
            begun.append(Forked(f"{PREFIX}{stage}", options[stage]))
        return results_of(begun)


def batches(
    options: Mapping[str, Values], is_parallel: bool
) -> list[list[str]]:
    """Return which stages go in parallel, in their order. A volume that is made from the image waits for that."""
    if not is_parallel:
        return [[stage] for stage in options]
    if options.get("volume", {}).get("source") != "image":
        return [[*options]]
    others = [stage for stage in options if stage != "volume"]
    return [others, ["volume"]]


def merged(results: Iterable[Values]) -> Values:
    """Return one result for all: that of the first stage that failed, if one did."""
    known = list(results)
    changed = any(result.get("changed") for result in known)
    failed = next((result for result in known if result.get("failed")), None)
    if failed:
        return {**failed, "changed": changed}
    return {
        "changed": changed,
        "records": [result.get("record") for result in known],
    }
