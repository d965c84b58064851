#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metadata_proxy_info
short_description: 'Asks a host: the requests of an address at the metadata proxies'
version_added: 0.1.0
description:
  - Shows whether the proxy of a network or a router runs here, and the requests of an address that it passed on.
extends_documentation_fragment: [stackproof.provision._host]
options:
  owners:
    description: Ids of networks and routers.
    type: list
    elements: str
    required: true
  address:
    description: Fixed address of the instance.
    type: str
    required: true
  since:
    description: Log lines before this time are left out, in seconds since the epoch.
    type: float
    default: 0
  logs:
    description:
      - Places of the proxies' log, as identifiers in the C(journals) and paths of C(files).
      - C({owner}) stands for the network or the router.
    type: dict
    default: {journals: ["haproxy-metadata-proxy-{owner}"], files: []}
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.instance
    description: Returns the ids.
"""

EXAMPLES = r"""
- name: Read the requests at the proxy of a network
  stackproof.provision.metadata_proxy_info:
    owners: [768e2cca-1de4-4859-a79c-50b039d669de]
    address: 192.168.222.57
"""

RETURN = r"""
proxies:
  description: The process ids of each owner's proxy, and its requests with time, path and status.
  returned: success
  type: list
  elements: dict
  sample:
    - owner: 43fab180-bf69-42bf-a74e-9ed8722a60fa
      processes: [17605]
      requests:
        - at: 1795258907.55561
          resolution_s: 1.0e-06
          status: 200
          path: /openstack/latest/meta_data.json
          seconds: 0.566
        - at: 1795258908.149814
          resolution_s: 1.0e-06
          status: 200
          path: /openstack/latest/user_data
          seconds: 0.511
        - at: 1795258908.749246
          resolution_s: 1.0e-06
          status: 200
          path: /openstack/latest/meta_data.json
          seconds: 0.516
unread:
  description: The reads that failed, and why (kind C(refused), C(missing), C(failed), C(hung) or C(strange)).
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._collect import (
    info_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import (
    Host,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import (
    metadata_proxy,
)


def main() -> None:
    info_module.main(
        {
            **info_module.PREFIXES,
            "owners": {"type": "list", "elements": "str", "required": True},
            "address": {"type": "str", "required": True},
            "since": {"type": "float", "default": 0},
            "logs": {"type": "dict", "default": metadata_proxy.SOURCES},
        },
        read,
    )


def read(host: Host, params: info_module.Params) -> dict[str, Any]:
    proxies = metadata_proxy.read(
        host,
        params["owners"],
        params["address"],
        params["since"],
        params["logs"],
    )
    return {"proxies": proxies}


if __name__ == "__main__":
    main()
