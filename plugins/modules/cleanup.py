#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cleanup
short_description: 'End of a run: removes its resources, or those that other runs left behind'
version_added: 0.1.0
description:
  - Removes the resources that the ledger of a run names and that carry the run's mark, in reverse order, and waits
    until they are gone.
  - Also finds resources of a killed run, even if the answer to the request never came.
  - Reports what is left, and why. Never deletes anything else.
  - Refuses a run of another user, and one whose directory does not have the name that its record says. A ledger line
    that no run can have written is reported, and nothing that it names is deleted.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.writes
options:
  run_dir:
    description: Directory of one run.
    type: path
  runs:
    description: Folder of runs. All runs in it are cleaned up, except those in progress.
    type: path
  older_than:
    description: Only the runs in O(runs) that started longer ago than this, such as V(90m), V(12h) or V(7d).
    type: str
  keep:
    description:
      - With V(on_failure) the resources of a run are kept if a stage or a host check failed, with V(always) in any
        case.
      - Use it at the end of a run. A later call without it removes the kept resources.
    type: str
    choices: [never, on_failure, always]
    default: never
  end:
    description: Whether to complete the record of an interrupted run.
    type: bool
    default: true
  timeout:
    description: How long the removal of one run may take, in seconds.
    type: float
    default: 300
notes:
  - The playbook C(stackproof.provision.cleanup) removes what runs left behind. The role
    P(stackproof.provision.cleanup#role) removes the resources of one run at its end.
seealso:
  - module: stackproof.provision.run
    description: Starts a run.
  - module: stackproof.provision.report
    description: Ends a run.
"""

EXAMPLES = r"""
- name: Clean up one run
  stackproof.provision.cleanup:
    cloud: mycloud
    run_dir: runs/20261121-101500-3f9a1c

- name: Clean up after all runs of yesterday and before
  stackproof.provision.cleanup:
    runs: runs
    older_than: 1d
"""

RETURN = r"""
runs:
  description: For each run its id, the resources to delete, the numbers of created and deleted ones, and what is left
    and why.
  returned: always
  type: list
  elements: dict
  sample:
    - run_id: 20261121-065813-30e86c
      to_delete:
        - stackproof-20261121-065813-30e86c-network
        - stackproof-20261121-065813-30e86c-subnet
        - stackproof-20261121-065813-30e86c-security-group
        - stackproof-20261121-065813-30e86c-router
        - stackproof-20261121-065813-30e86c-router-interface
        - stackproof-20261121-065813-30e86c-floating-ip
        - stackproof-20261121-065813-30e86c-volume
        - stackproof-20261121-065813-30e86c-server
      left: []
      kept: false
      created: 8
      deleted: 8
"""

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.connection import (
    Params,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    explain,
    failing,
    failure_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._end import (
    accounts,
    clean,
    finish,
    removal,
    watchdog,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    verdict,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import (
    Leftover,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    sentence,
    trace_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
    check_own,
    run_directories,
)

UNITS = {
    "s": "seconds",
    "m": "minutes",
    "h": "hours",
    "d": "days",
    "w": "weeks",
}


@dataclass(frozen=True)
class CleanedRun:
    """What became of the resources of a run."""

    run_id: str
    to_delete: tuple[str, ...]
    left: tuple[Leftover, ...]
    kept: bool
    created: int
    deleted: int


def limit_of(age: str | None) -> datetime | None:
    """Return the time before which a run must have begun. None means any, as a clock may have been set back since."""
    if not age:
        return None
    match = re.fullmatch(r"(\d+)([smhdw])", age)
    with contextlib.suppress(OverflowError):
        if match:
            return datetime.now(timezone.utc) - timedelta(
                **{UNITS[match[2]]: int(match[1])}
            )
    hint = "Give a number and one of s, m, h, d, w."
    raise StageError(
        "invalid", f"{age!r} is not an age", resource=age, hint=hint
    )


def chosen_runs(params: Params, problems: list[str]) -> list[Run]:
    """Return the runs to clean up. Only a single one may still go on: it is this playbook's own."""
    if params["run_dir"]:
        return [Run(params["run_dir"], recover=True)]
    before = limit_of(params["older_than"])
    if not os.path.isdir(params["runs"]):
        raise StageError(
            "no_run",
            f"there is no folder {params['runs']}",
            resource=params["runs"],
        )
    runs: list[Run] = []
    for directory in run_directories(params["runs"], "ledger.jsonl"):
        try:
            run = Run(directory, recover=True)
            old = before is None or run.record.started <= before.timestamp()
            if old and not watchdog.is_watched(run):
                runs.append(run)
        except Exception as exc:  # the other runs are cleaned up all the same
            problems.append(failure_of(exc, f"reading {directory}").message)
    return runs


def names_left(run: Run) -> tuple[str, ...]:
    """Return the names of the resources that ledger or record have and that may still exist."""
    return tuple(str(entry["name"]) for entry in accounts.to_remove(run))


def check_ours(run: Run) -> None:
    """Refuse a run of another user, or one that goes on. The playbook that began a run knows its own."""
    check_own(run)
    if watchdog.is_watched(run):
        hint = "Wait until it ends, or interrupt it."
        raise StageError(
            "conflict",
            f"the run {run.id} is still going on",
            resource=run.id,
            hint=hint,
        )


def is_to_be_kept(run: Run, keep: str) -> bool:
    return keep == "always" or (
        keep == "on_failure" and verdict.has_failed(run.record)
    )


def clean_run(run: Run, params: Params, check: bool) -> CleanedRun:
    if params["end"]:
        check_ours(run)
    before = names_left(run)
    if is_to_be_kept(run, params["keep"]):
        if not check:
            with run.alone():
                clean.keep(run)
        return cleaned(run, before, kept=bool(before))
    left: list[Leftover] = []
    if before and not check:
        place = removal.place_of(run, params)
        with run.alone():
            left = clean.clean(run, {**params, **place})
    if params["end"] and run.record.finished is None and not check:
        with run.alone():
            finish.finish(
                run, finish.earlier_of(run), broke_off=verdict.AFTER_STAGES
            )
            finish.render(run)
    return cleaned(run, before, left)


def cleaned(
    run: Run,
    before: tuple[str, ...],
    left: Iterable[Leftover] = (),
    kept: bool = False,
) -> CleanedRun:
    return CleanedRun(
        run_id=run.id,
        to_delete=before,
        left=tuple(left),
        kept=kept,
        created=run.record.created,
        deleted=run.record.deleted,
    )


def clean_all(
    module: AnsibleModule, runs: Iterable[Run], problems: list[str]
) -> None:
    """Clean up runs, and end the module. problems: what was found so far, in words."""
    lines: list[CleanedRun] = []
    trace = None
    for run in runs:
        try:
            line = clean_run(run, module.params, module.check_mode)
            problems += [
                f"{left.kind.replace('_', ' ')} {left.name}: {left.reason}"
                for left in line.left
            ]
            lines.append(line)
        except Exception as exc:  # the other runs are cleaned up all the same
            error = explain(exc, f"cleaning up the run {run.id}")
            problems.append(sentence(error))
            trace = trace_of(error["kind"]) or trace
    changed = any(line.to_delete and not line.kept for line in lines)
    result = {"changed": changed, "runs": codec.to_json(lines)}
    if problems:
        words = "; ".join(problems)
        module.fail_json(
            msg=f"Not everything could be removed: {words}",
            exception=trace,
            **result,
        )
    module.exit_json(**result)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "run_dir": {"type": "path"},
            "runs": {"type": "path"},
            "older_than": {"type": "str"},
            "keep": {
                "type": "str",
                "choices": ["never", "on_failure", "always"],
                "default": "never",
            },
            "end": {"type": "bool", "default": True},
            "timeout": {"type": "float", "default": 300},
        },
        mutually_exclusive=[("run_dir", "runs"), ("run_dir", "older_than")],
        required_one_of=[("run_dir", "runs")],
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    if (
        module.check_mode
        and module.params["run_dir"]
        and not os.path.exists(module.params["run_dir"])
    ):
        module.exit_json(changed=False, runs=[])
    problems: list[str] = []
    with failing(module, "choosing the runs"):
        runs = chosen_runs(module.params, problems)
    clean_all(module, runs, problems)


if __name__ == "__main__":
    main()
