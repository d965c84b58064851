#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: log_info
short_description: 'Asks a host: the events of a run in its logs'
version_added: 0.1.0
description:
  - Reads the log files and journals of the services on this host, and finds lines with the ids of a run.
  - C(grep) on the host leaves out lines that are not of the run.
  - Returns the time, the level and the ids of the run in a line, and client, target and duration of requests and
    messages. No line is returned as it is, because debug logs hold tokens, passwords and user data.
options:
  services:
    description:
      - Places of each service's log, as C(logs) in the files C(vars/platforms) of the role
        P(stackproof.provision.evidence#role).
      - Places that do not exist on this host are left out.
    type: list
    elements: dict
    required: true
  wanted:
    description: The ids, texts and times to look for, as M(stackproof.provision.flow_info) returns them.
    type: dict
    required: true
  offset_s:
    description: Seconds by which this host's clock is ahead of the control node's.
    type: float
    default: 0
extends_documentation_fragment:
  - stackproof.provision._host
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.flow_info
    description: Makes O(wanted) for a run.
"""

EXAMPLES = r"""
- name: Read the logs of a host
  stackproof.provision.log_info:
    services:
      - service: nova-compute
        files: [/var/log/nova/nova-compute.log]
    wanted: "{{ looked.wanted }}"
"""

RETURN = r"""
events:
  description:
    - JSON text of a list. Each event has C(at) by this host's own clock, C(resolution_s), C(service), C(kind), C(keys)
      and more.
    - It is one text because Ansible looks at each value of a structure. For thousands of events that takes longer than
      to read the logs.
  returned: success
  type: str
  sample: >-
    [{"at": 1795275840.25, "keys": {"request": ["req-a2cf2953-1cad-448f-8990-3fb911eca0ab",
    "req-50d0ac4d-f782-4c73-a6cc-061e2cb2dc78"], "server": ["5ad4aca3-f346-4e25-8d7d-c6a37e159215"]}, "kind": "line",
    "level": "debug", "resolution_s": 0.001, "phrases": ["Starting instance\\.\\.\\."], "service": "nova-compute",
    "texts": []}]
sources:
  description:
    - Each file and journal with C(service), C(path), whether it is C(complete), the C(reason) if it is not, and whether
      C(requests) of clients are in it, as far as its first and last lines say.
  returned: success
  type: list
  elements: dict
  sample:
    - first: 1795271940.486
      path: /var/log/neutron/neutron-openvswitch-agent.log
      requests: false
      service: neutron-l2-agent
      complete: true
      reason: null
addresses:
  description: The host's own addresses, as other services log them.
  returned: success
  type: list
  elements: str
  sample: [10.71.16.14]
unread:
  description: The reads that failed, and why (kind C(refused), C(missing), C(failed), C(hung) or C(strange)).
  returned: success
  type: list
  elements: dict
  sample: []
"""

from ansible_collections.stackproof.provision.plugins.module_utils._collect import (
    info_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import (
    reader,
)


def main() -> None:
    info_module.main(
        {
            **info_module.PREFIXES,
            "services": {"type": "list", "elements": "dict", "required": True},
            "wanted": {"type": "dict", "required": True},
            "offset_s": {"type": "float", "default": 0},
        },
        lambda host, params: reader.read_packed(
            host, params["services"], params["wanted"], params["offset_s"]
        ),
    )


if __name__ == "__main__":
    main()
