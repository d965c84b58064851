#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_port_info
short_description: 'Asks a host: a port in the databases of OVN'
version_added: 0.2.0
description:
  - Shows what OVN's northbound and southbound databases on this host have about a Neutron port.
extends_documentation_fragment: [stackproof.provision._host]
options:
  port:
    description: Id of the Neutron port.
    type: str
    required: true
  addresses:
    description: Addresses of the port, whose floating IPs are looked for.
    type: list
    elements: str
    default: []
  subnets:
    description: Ids of the subnets of these addresses, whose DHCP options are looked for.
    type: list
    elements: str
    default: []
  routers:
    description: Ids of the routers of the port's network, which have the floating IPs.
    type: list
    elements: str
    default: []
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.instance
    description: Returns the ids.
  - module: stackproof.provision.ovs_port_info
    description: Reads the port on its compute host.
"""

EXAMPLES = r"""
- name: Read the port of an instance
  stackproof.provision.ovn_port_info:
    port: 1e80f48f-7e22-4481-a31e-04fce54aa5ca
    addresses: [192.168.222.5]
    subnets: [fd0aebb5-7653-449e-8e91-b381e8afe883]
    routers: [bae297e6-10f7-4b28-b297-d2667a8d4019]
"""

RETURN = r"""
port:
  description:
    - The row of the port in the northbound database, the chassis that has claimed it by the southbound database, the
      DHCP options that it gets, its port groups with the number of their rules, and its routers.
    - Null if this host has no OVN database. A part is null if there is no such row, or if it could not be read. In the
      second case RV(unread) has the reason.
  returned: success
  type: dict
  sample:
    logical:
      uuid: 011054c4-365d-476a-b31e-a3b2c6178e53
      up: true
      enabled: true
      addresses: ['fa:16:3e:dc:45:0f 192.168.222.137']
      dhcp: 6a6daf56-8536-4286-9dab-a2ccc4f4fa87
    binding: {host: compute2, up: true}
    dhcp:
      cidr: 192.168.222.0/24
      options:
        classless_static_route: '{169.254.169.254/32,192.168.222.2, 0.0.0.0/0,192.168.222.1}'
        lease_time: '43200'
        mtu: '1500'
        router: 192.168.222.1
        server_id: 192.168.222.1
        server_mac: fa:16:3e:0c:f9:48
    groups: {neutron_pg_drop: 2, pg_4249cd3f_5093_4195_b1af_f8d71aef4a40: 4}
    routers:
      c232fba2-9fd7-41ec-9a3c-55f92f8b28e4:
        gateway: network1
        mac: fa:16:3e:26:a4:f5
        floating_ips: [{address: 10.71.21.156, fixed: 192.168.222.137, mac: null}]
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
    ovn,
)

IDS = {"type": "list", "elements": "str", "default": []}


def main() -> None:
    info_module.main(
        {
            **info_module.PREFIXES,
            "port": {"type": "str", "required": True},
            "addresses": IDS,
            "subnets": IDS,
            "routers": IDS,
        },
        read,
    )


def read(host: Host, params: info_module.Params) -> dict[str, Any]:
    return {
        "port": ovn.read(
            host,
            params["port"],
            params["addresses"],
            params["subnets"],
            params["routers"],
        )
    }


if __name__ == "__main__":
    main()
