#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: history
short_description: All runs of a folder over time, on one page
version_added: 0.2.0
description:
  - Writes C(history.json), and C(history.html) for a browser, into the folder of the runs. They show how many runs
    passed over time, how long each stage and each step took, what changed when, and why runs failed.
  - A line for each run is kept in C(history.jsonl). So only new runs are read, and a run still counts after its
    directory was removed.
extends_documentation_fragment:
  - stackproof.provision._attributes.writes
options:
  runs:
    description: Folder of all runs.
    type: path
    required: true
  most:
    description: The largest number of runs to show. The latest ones count.
    type: int
    default: 4000
  templates:
    description: Folder with the templates of the pages. The role report has it. Without it no page is written.
    type: path
requirements:
  - python >= 3.11
  - jinja2 >= 3.1, for the page
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.report
    description: Ends a run, and writes its files.
"""

EXAMPLES = r"""
- name: Show the runs of a cloud over time
  stackproof.provision.history:
    runs: ./runs
"""

RETURN = r"""
files:
  description: The files that were written.
  returned: success
  type: list
  elements: str
  sample: [/home/operator/runs/history.json, /home/operator/runs/history.html]
clouds:
  description: For each cloud the number of C(runs), and how many of them C(passed).
  returned: success
  type: list
  elements: dict
  sample: [{cloud: mycloud, runs: 2016, passed: 2011}]
summary:
  description: Lines for a reader.
  returned: success
  type: list
  elements: str
"""

import os
from collections.abc import Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._history import (
    files,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.history import (
    CloudHistory,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.words import (
    clean,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.frame import (
    HAS_JINJA2,
)
from ansible_collections.stackproof.provision.plugins.module_utils._runs import (
    digests,
)


def in_short(cloud: CloudHistory) -> dict[str, Any]:
    return {"cloud": cloud.cloud, "runs": cloud.runs, "passed": cloud.passed}


def summary(clouds: Sequence[CloudHistory], paths: Sequence[str]) -> list[str]:
    lines = [
        f"{cloud.cloud}: {cloud.passed} of {cloud.runs} runs passed"
        for cloud in clouds
    ]
    shown = [f"  {clean(line)}" for line in (*lines, *paths)]
    return ["", *shown, ""]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "runs": {"type": "path", "required": True},
            "most": {"type": "int", "default": digests.MOST},
            "templates": {"type": "path"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if params["templates"] and not HAS_JINJA2:
        module.fail_json(msg=missing_required_lib("jinja2"))
    runs = os.path.abspath(params["runs"])
    with failing(module, f"writing the history of {runs}"):
        history, paths = files.write(
            runs, params["most"], params["templates"], check=module.check_mode
        )
    module.exit_json(
        changed=not module.check_mode,
        files=paths,
        clouds=list(map(in_short, history.clouds)),
        summary=summary(history.clouds, paths),
    )


if __name__ == "__main__":
    main()
