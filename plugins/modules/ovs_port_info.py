#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovs_port_info
short_description: 'Asks a host: a port in Open vSwitch and the kernel'
version_added: 0.1.0
description:
  - Shows the interface, bridge, tag, link and flows of a Neutron port on this host.
extends_documentation_fragment: [stackproof.provision._host]
options:
  port:
    description: Id of the Neutron port.
    type: str
    required: true
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.instance
    description: Returns the ids.
"""

EXAMPLES = r"""
- name: Read the port of an instance
  stackproof.provision.ovs_port_info:
    port: c8f1aeff-2e5e-4165-bb10-00c0243cc1cf
"""

RETURN = r"""
interface:
  description:
    - The interface with its name, number, MAC address and server, the bridge and tag, the link's MTU and whether it is
      up, and the number and ages of its flows.
    - Null if this host has no interface for the port, or if it could not be read. In the second case RV(unread) has the
      reason.
  returned: success
  type: dict
  sample:
    name: tapbd6f4d7b-9c
    ofport: 27
    error: null
    port: bd6f4d7b-9cf8-4359-8587-aae420e24aca
    mac: fa:16:3e:2d:9a:e3
    server: 8585247f-547f-46d6-8c03-334064b2be45
    by_ovn: false
    others: []
    bridge: br-int
    tag: 41
    link: {mtu: 1500, up: true}
    flows: {count: 16, oldest_s: 335.353, youngest_s: 335.352}
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
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import (
    ovs,
)


def main() -> None:
    info_module.main(
        {**info_module.PREFIXES, "port": {"type": "str", "required": True}},
        lambda host, params: {"interface": ovs.read(host, params["port"])},
    )


if __name__ == "__main__":
    main()
