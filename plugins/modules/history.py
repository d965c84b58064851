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
  - Writes C(history.json), and C(history.html) for a browser, into the folder of the runs. They tell how many runs
    passed over time, how long each stage and each step took, what changed when, and why runs failed.
  - A line for each run is kept in C(history.jsonl). So only new runs are read, and a run still counts when its
    directory is removed.
extends_documentation_fragment:
  - stackproof.provision._attributes.writes
options:
  runs:
    description: Folder of all runs.
    type: path
    required: true
  most:
    description: How many runs are told at most. The last ones count.
    type: int
    default: 4000
  templates:
    description: Folder of the templates of the pages, which the role report has. No page is written without it.
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
- name: Tell how the cloud did over time
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
  description: Of each cloud how many runs there were (C(runs)), and how many C(passed).
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

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._history import digests, files
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import failing
from ansible_collections.stackproof.provision.plugins.module_utils._report.frame import HAS_JINJA2
from ansible_collections.stackproof.provision.plugins.module_utils._report.text import clean


def summary(clouds, paths):
    lines = [f"  {cloud['cloud']}: {cloud['passed']} of {cloud['runs']} runs passed" for cloud in clouds]
    return [clean(line) for line in ["", *lines, *(f"  {path}" for path in paths), ""]]


def main():
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
        history, paths = files.write(runs, params["most"], params["templates"], check=module.check_mode)
    clouds = [{name: cloud[name] for name in ("cloud", "runs", "passed")} for cloud in history["clouds"]]
    module.exit_json(changed=not module.check_mode, files=paths, clouds=clouds, summary=summary(clouds, paths))


if __name__ == "__main__":
    main()
