#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: comparison
short_description: 'Two results: what is different since the earlier one'
version_added: 0.3.0
description:
  - Compares two runs, or two sweeps, each by its directory or by its archive. No cloud and no host is asked.
  - It compares the verdict of each target, the status and the time of each stage, the checks of hosts and of the
    preflight, the versions, and the steps of the flows that are missing.
  - A record in an archive whose digest is wrong is refused.
  - The comparison is written as text and as JSON, into the directory of the later result, or beside its archive.
extends_documentation_fragment:
  - stackproof.provision._attributes.writes
options:
  before:
    description: The earlier result, a directory or an archive.
    type: path
    required: true
  now:
    description: The later result, a directory or an archive.
    type: path
    required: true
requirements:
  - python >= 3.11
author: stackproof contributors (@stackproof)
notes:
  - The playbook C(stackproof.provision.report) calls it if C(stackproof_compare) is set.
  - With less than five targets that both results have, a time counts as different if it is at least twice as long or
    half as long, and by at least 2 s. With five or more, the median has to be outside of the 5th to the 95th percentile
    of the earlier result, and different by at least 10 % and 1 s.
seealso:
  - module: stackproof.provision.report
    description: Writes the archive of a run.
  - module: stackproof.provision.sweep
    description: Writes the archive of a sweep.
"""

EXAMPLES = r"""
- name: Compare an acceptance with the one before the upgrade
  stackproof.provision.comparison:
    before: ./before-upgrade/sweep-nightly.tar.gz
    now: ./runs/sweep-after
"""

RETURN = r"""
is_empty:
  description: Whether nothing is different.
  returned: success
  type: bool
  sample: false
files:
  description: Paths of the text and of the JSON.
  returned: success
  type: list
  elements: str
  sample: [/home/operator/runs/sweep-after/comparison-nightly-after.txt]
summary:
  description: Lines for a reader.
  returned: success
  type: list
  elements: str
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.comparison import (
    Comparison,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    write_whole,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.comparison import (
    lines_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._runs import (
    results,
)
from ansible_collections.stackproof.provision.plugins.module_utils._runs.comparison import (
    compare,
)


def paths_of(compared: Comparison, now: str) -> list[str]:
    """Return the paths of the text and of the JSON."""
    place = now if os.path.isdir(now) else os.path.dirname(now)
    stem = os.path.join(
        place, f"comparison-{compared.before.id}-{compared.now.id}"
    )
    return [f"{stem}.txt", f"{stem}.json"]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "before": {"type": "path", "required": True},
            "now": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    before, now = (
        os.path.abspath(module.params["before"]),
        os.path.abspath(module.params["now"]),
    )
    with failing(module, f"comparing {now} with {before}"):
        compared = compare(results.read(before), results.read(now))
        lines = lines_of(compared)
        paths = paths_of(compared, now)
        if not module.check_mode:
            write_whole(paths[0], "\n".join(lines))
            write_whole(
                paths[1], json.dumps(codec.to_json(compared), indent=1) + "\n"
            )
    module.exit_json(
        changed=not module.check_mode,
        is_empty=compared.is_empty,
        files=paths,
        summary=[*lines, *(f"  {path}" for path in paths), ""],
    )


if __name__ == "__main__":
    main()
