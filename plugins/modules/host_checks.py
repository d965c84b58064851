#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_checks
short_description: 'Used by verify: checks that the hosts agree with the API'
version_added: 0.1.0
description:
  - Runs the testinfra suite of the role P(stackproof.provision.host_checks#role) on the control node.
options:
  run_dir:
    description: Directory of the run.
    type: path
    required: true
  suite:
    description: Folder with a folder of tests for each O(phase).
    type: path
    required: true
  phase:
    description:
      - Whether the instance should be V(running) or V(removed).
      - With V(removed), an instance that was kept on purpose is not checked.
    type: str
    choices: [running, removed]
    default: running
  inventory:
    description: The sources of the inventory. Several sources must be files or folders.
    type: list
    elements: str
    required: true
  hosts:
    description: The hosts to check.
    type: list
    elements: str
    required: true
  platform:
    description: The platform of the cloud, as the name of a file in C(vars/platforms) of the role evidence or a path.
    type: str
    default: packages
  timeout:
    description: Seconds that all checks together may take.
    type: float
    default: 300
requirements:
  - pytest-testinfra
author: stackproof contributors (@stackproof)
attributes:
  check_mode:
    description: In check mode nothing is checked.
    support: full
seealso:
  - module: stackproof.provision.evidence
    description: Writes the facts of the hosts into the record of the run.
  - module: stackproof.provision.instance
    description: Reads the instance from the API.
"""

EXAMPLES = r"""
- name: Check the hosts
  stackproof.provision.host_checks:
    run_dir: "{{ run.directory }}"
    suite: "{{ role_path }}/files"
    inventory: "{{ ansible_inventory_sources }}"
    hosts: [compute1, network1]
"""

RETURN = r"""
checks:
  description:
    - Each check with C(host), C(check), C(status), C(reason) and C(seconds).
    - The status is C(ok), C(failed), C(not_applicable) or C(unreadable).
  returned: success
  type: list
  elements: dict
  sample:
    - host: compute1
      check: The domain runs where nova says that it does, and on no other host
      status: ok
      reason: null
      seconds: 0.0
    - host: network1
      check: One dnsmasq runs for each network of the instance
      status: ok
      reason: null
      seconds: 0.0
    - host: storage1
      check: The root disk is a clone of the Glance image's snapshot, where Glance shows where its image lies
      status: ok
      reason: null
      seconds: 0.0
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._judge.checks import (
    file_checks,
    unreadable,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    from_json,
    to_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import (
    SuiteCheck,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    CheckStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    explain,
    failing,
    sentence,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    timeout_of,
)

Checks = tuple[SuiteCheck, ...]
CHECKS: Any = Checks

DOING = "checking the hosts"
TIMED_OUT = 124
# Pytest's exit status if all tests ran, whether or not they passed
RAN = (0, 1)


def suite_results(module: AnsibleModule) -> Checks:
    """Run the suite, and return the checks that it has written."""
    params = module.params
    timeout_of(params["timeout"], "timeout")
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "checks.json")
        # A check that hangs on a host must not hold up the run; not every system has the program.
        limit = module.get_bin_path("timeout")
        command = [
            *([limit, str(math.ceil(params["timeout"]))] if limit else []),
            sys.executable, "-m", "pytest", "--quiet", "--tb=line", "-p", "no:cacheprovider",
            os.path.join(params["suite"], params["phase"]), f"--rootdir={params['suite']}",
            f"--hosts=ansible://{',ansible://'.join(params['hosts'])}",
            f"--checks-file={results}",
        ]  # fmt: skip
        environment = {
            # Testinfra takes one inventory, but it asks ansible-inventory, which reads all of them by this variable.
            "ANSIBLE_INVENTORY": ",".join(params["inventory"]),
            "STACKPROOF_RUN": params["run_dir"],
            "STACKPROOF_PLATFORM": params["platform"],
            "STACKPROOF_SERVER": "",
            "PATH": f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '')}",
        }
        status, out, errors = module.run_command(
            command, environ_update=environment
        )
        if status == TIMED_OUT:
            raise StageError(
                "deadline",
                f"the checks of the hosts took more than {params['timeout']:.0f} s",
            )
        output = " ".join((out + errors).split())[-600:]
        if status not in RAN or not os.path.exists(results):
            hint = (
                "Install pytest-testinfra where ansible-playbook runs."
                if "No module named" in output
                else ""
            )
            raise StageError(
                "files",
                f"the checks of the hosts did not run: {output}",
                hint=hint,
            )
        with open(results, encoding="utf-8") as stream:
            checks: Checks = from_json(CHECKS, json.load(stream), "checks")
    return checks


def results_or_why_not(module: AnsibleModule) -> Checks:
    """Return the checks of the suite. If it could not run, that is a check: no check would look like success."""
    try:
        return suite_results(module)
    except (StageError, OSError) as exc:
        return (
            unreadable(
                "The hosts were checked", sentence(explain(exc, DOING))
            ),
        )


def warnings_of(checks: Iterable[SuiteCheck]) -> Iterator[str]:
    for check in checks:
        if check.status in (CheckStatus.FAILED, CheckStatus.UNREADABLE):
            yield f"{check.host or 'the inventory'}: {check.status}: {check.reason}"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "suite": {"type": "path", "required": True},
            "phase": {
                "type": "str",
                "choices": ["running", "removed"],
                "default": "running",
            },
            "inventory": {"type": "list", "elements": "str", "required": True},
            "hosts": {"type": "list", "elements": "str", "required": True},
            "platform": {"type": "str", "default": "packages"},
            "timeout": {"type": "float", "default": 300},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, checks=[])
    with failing(module, DOING):
        run = Run(params["run_dir"])
        if params["phase"] == "removed" and run.record.kept:
            module.exit_json(changed=False, checks=[])
        checks = results_or_why_not(module)
        with run.alone():
            file_checks(run, checks)
    # One reason may have stopped many checks of a host.
    for warning in dict.fromkeys(warnings_of(checks)):
        module.warn(warning)
    module.exit_json(changed=True, checks=to_json(checks))


if __name__ == "__main__":
    main()
