#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: evidence_info
short_description: 'Used by verify: reads all facts of a host about an instance'
version_added: 0.1.0
description:
  - Reads each part of the cloud on this host once. The parts follow from the inventory's groups.
  - These modules document the facts of each part - M(stackproof.provision.domain_info),
    M(stackproof.provision.ovs_port_info), M(stackproof.provision.ovn_port_info),
    M(stackproof.provision.dhcp_lease_info), M(stackproof.provision.metadata_proxy_info),
    M(stackproof.provision.rbd_info) and M(stackproof.provision.log_info).
extends_documentation_fragment: [stackproof.provision._attributes.reads]
options:
  instance:
    description:
      - The instance, as M(stackproof.provision.instance) returns it.
      - Without it only the state of the host, its services and Ceph is read.
    type: dict
  parts:
    description: The parts of the cloud on this host.
    type: list
    elements: str
    choices: [control, compute, network, ceph, ovn, queue]
    required: true
  platform:
    description: The profile of the platform, as in C(vars/platforms) of the role P(stackproof.provision.evidence#role).
    type: dict
    required: true
  wanted:
    description:
      - The ids, texts and times to look for in the host's logs, as M(stackproof.provision.flow_info) returns them.
      - Without it no log is read.
    type: dict
  offset_s:
    description: Seconds by which this host's clock is ahead of the control node's.
    type: float
    default: 0
  examine:
    description:
      - What the examination of the host after a failed stage needs to know. Without it the host is not examined.
      - C(salt) keys the digests of settings, C(since) is a time in seconds, and C(endpoints) are those of the catalog.
        C(hosts) are those to which a server may move.
    type: dict
  patience:
    description: After how many seconds a command on the host counts as hung, unless it reads logs. Defaults to 15.
    type: int
notes:
  - Nothing is changed on the host, and nothing but Python's standard library is needed there.
  - Commands that only root may run are run through C(sudo -n).
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.instance
    description: Reads from the API what the hosts should show.
  - module: stackproof.provision.evidence
    description: Writes the facts into the record of the run.
"""

EXAMPLES = r"""
- name: Read the facts of a compute host about an instance
  stackproof.provision.evidence_info:
    instance: "{{ looked.instance }}"
    parts: [compute]
    platform: "{{ stackproof_platform_profile }}"
"""

RETURN = r"""
facts:
  description:
    - C(names) and C(services) of the host, and by parts C(domain) and C(interfaces) (by port), C(dhcp), C(metadata)
      and C(ovn) (by port), and C(ceph).
  returned: success
  type: dict
logs:
  description: The result of M(stackproof.provision.log_info), if O(wanted) is given.
  returned: success
  type: dict
examination:
  description:
    - With O(examine), C(reach), how each peer of its services answers from here; C(pending), connections without
      an answer; C(reports), the state that the broker, the database and Open vSwitch report; C(exhausted), problems of
      disks, memory, kernel and programs; C(files), times and modes of settings; C(digests) of their values;
      C(packages) and their versions; C(queues) of the broker that no service empties; C(certificates) that have expired
      or will soon; C(names) of peers with the addresses behind them; C(back_ends) that haproxy takes for down.
    - The last error of a service that does not stay up is added to C(logs).
  returned: success
  type: dict
unread:
  description: The reads that failed, and why (kind C(refused), C(missing), C(failed), C(hung) or C(strange)).
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._collect import (
    info_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import (
    all_stores,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import (
    Host,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.examine import (
    examine,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import (
    last_words,
    reader,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import (
    SOURCES,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    from_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.facts import (
    Facts,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import (
    DescribedInstance,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.question import (
    Question,
)


def read(host: Host, params: info_module.Params) -> dict[str, Any]:
    results = {
        source.returned: source.read(host, params)
        for source in SOURCES.values()
        if source.read
    }
    if params.get("examine"):
        facts = results["facts"]
        components = {service.component for service in facts.services}
        asked = {
            **params["examine"],
            "since": params["examine"]["since"] + params["offset_s"],
        }
        question = from_json(Question, asked, "examine")
        results["examination"] = examine(
            host, components, [*facts.names, *facts.addresses], question
        )
        instance = (
            from_json(DescribedInstance, params["instance"], "instance")
            if params["instance"]
            else None
        )
        if results.get("logs"):
            results["logs"] = with_last_words(
                host, params, results["logs"], facts
            )
        results["stores"] = all_stores.read(host, components, instance)
    return {
        name: result for name, result in results.items() if result is not None
    }


def with_last_words(
    host: Host, params: info_module.Params, logs: dict[str, Any], facts: Facts
) -> dict[str, Any]:
    """Return the logs of a host with the last errors of services that do not stay up."""
    spoken = last_words.read(
        host,
        facts.services,
        params["platform"].get("logs") or [],
        facts.zone_s or 0,
    )
    return reader.with_events(logs, spoken)


def main() -> None:
    info_module.main(
        {
            "instance": {"type": "dict"},
            "parts": {
                "type": "list",
                "elements": "str",
                "choices": [
                    "control",
                    "compute",
                    "network",
                    "ceph",
                    "ovn",
                    "queue",
                ],
                "required": True,
            },
            "platform": {"type": "dict", "required": True},
            "wanted": {"type": "dict"},
            "offset_s": {"type": "float", "default": 0},
            "examine": {"type": "dict"},
            "patience": {"type": "int"},
        },
        read,
    )


if __name__ == "__main__":
    main()
