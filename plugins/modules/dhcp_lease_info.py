#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dhcp_lease_info
short_description: 'Asks a host: a port in the DHCP agent and dnsmasq'
version_added: 0.1.0
description:
  - Shows the lines of a MAC address in the DHCP agent's files for a network, its lease, the dnsmasq processes, and
    their messages to the address.
extends_documentation_fragment: [stackproof.provision._host]
options:
  network:
    description: Id of the network.
    type: str
    required: true
  mac:
    description: MAC address of the port.
    type: str
    required: true
  since:
    description: Log lines before this time are left out, in seconds since the epoch.
    type: float
    default: 0
  states:
    description: Directories of the DHCP agent; the first that has the network is used.
    type: list
    elements: path
    default: [/var/lib/neutron/dhcp, /opt/stack/data/neutron/dhcp]
  logs:
    description: Places of dnsmasq's log, as identifiers in the C(journals) and paths of C(files).
    type: dict
    default: {journals: [dnsmasq-dhcp], files: [/var/log/neutron/dnsmasq.log]}
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.instance
    description: Returns the ids.
"""

EXAMPLES = r"""
- name: Read the lease of a port
  stackproof.provision.dhcp_lease_info:
    network: 768e2cca-1de4-4859-a79c-50b039d669de
    mac: fa:16:3e:12:34:56
"""

RETURN = r"""
directory:
  description: The directory of the network's files. Null if this host does not serve the network.
  returned: success
  type: str
  sample: /var/lib/neutron/dhcp/43fab180-bf69-42bf-a74e-9ed8722a60fa
processes:
  description: The dnsmasq processes of the network, C(pid) and the C(options) about the MTU.
  returned: success
  type: list
  elements: dict
  sample:
    - {pid: 17698, options: ['--dhcp-option-force=option:mtu,1500']}
hosts:
  description: The lines of the MAC address in the host file, C(mac) and C(address).
  returned: success
  type: list
  elements: dict
  sample:
    - {mac: 'fa:16:3e:2d:9a:e3', address: 192.168.222.230}
leases:
  description: The lines of the MAC address in the lease file, C(mac), C(address) and the second in which it C(expires).
  returned: success
  type: list
  elements: dict
  sample:
    - {expires: 1795345828, mac: 'fa:16:3e:2d:9a:e3', address: 192.168.222.230}
options:
  description: The lines of the options file.
  returned: success
  type: list
  elements: str
  sample: ['tag:subnet-d654e239-ceea-413b-bd06-c6c2d1b45599,option:router,192.168.222.1']
log:
  description: The messages between dnsmasq and the MAC address, such as C(DISCOVER) and C(ACK), with their times.
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: DISCOVER, address: null, mac: 'fa:16:3e:2d:9a:e3', at: 1795258906.0, resolution_s: 1}
    - {kind: OFFER, address: 192.168.222.230, mac: 'fa:16:3e:2d:9a:e3', at: 1795258906.0, resolution_s: 1}
    - {kind: REQUEST, address: 192.168.222.230, mac: 'fa:16:3e:2d:9a:e3', at: 1795258906.0, resolution_s: 1}
    - {kind: ACK, address: 192.168.222.230, mac: 'fa:16:3e:2d:9a:e3', at: 1795258906.0, resolution_s: 1}
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
    dnsmasq,
)


def main() -> None:
    info_module.main(
        {
            **info_module.PREFIXES,
            "network": {"type": "str", "required": True},
            "mac": {"type": "str", "required": True},
            "since": {"type": "float", "default": 0},
            "states": {
                "type": "list",
                "elements": "path",
                "default": dnsmasq.STATES,
            },
            "logs": {"type": "dict", "default": dnsmasq.SOURCES},
        },
        lambda host, params: dnsmasq.read(
            host,
            params["network"],
            params["mac"],
            params["since"],
            params["states"],
            params["logs"],
        ),
    )


if __name__ == "__main__":
    main()
