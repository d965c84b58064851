#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: flow_info
short_description: 'Used by verify: gathers what to look for on the hosts'
version_added: 0.1.0
description:
  - Gathers the ids of a run from its record, and the phrases that the flows look for in logs.
extends_documentation_fragment: [stackproof.provision._flow, stackproof.provision._attributes.reads]
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.log_info
    description: Looks for them in the logs of a host.
  - module: stackproof.provision.flow
    description: Matches the events that were found to the steps.
"""

EXAMPLES = r"""
- name: Gather what to look for
  stackproof.provision.flow_info:
    run_dir: "{{ run.directory }}"
    flows: [boot.yml]
"""

RETURN = r"""
wanted:
  description: Ids, phrases and times, for M(stackproof.provision.log_info).
  returned: success, unless a removal is asked for, and the run had none or no flow is about it
  type: dict
host:
  description: Name of the instance's host in the inventory. Null if the record does not have it.
  returned: with RV(wanted)
  type: str
  sample: compute2
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    flow_module,
    follow,
    places,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow_definition import (
    Flow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
)


def wanted(
    run: Run, flows: list[Flow], module: AnsibleModule
) -> dict[str, Any]:
    record = run.record
    if module.params["removal"]:
        # Without a removal it made nothing, or keeps all.
        if record.removal is None or not follow.flows_of(
            record.as_removal, flows
        ):
            return {"changed": False}
        record = record.as_removal
    return {
        "changed": False,
        "wanted": follow.wanted(record, flows),
        "host": places.host_of(run.record),
    }


def main() -> None:
    flow_module.main(flow_module.REMOVAL, wanted)


if __name__ == "__main__":
    main()
