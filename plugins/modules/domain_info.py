#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: domain_info
short_description: 'Asks a host: the libvirt domain of an instance'
version_added: 0.1.0
description:
  - Shows how libvirt runs an instance on a compute host, and the connections of its process.
  - Uses C(virsh), C(pgrep) and C(ss).
extends_documentation_fragment: [stackproof.provision._host]
options:
  uuid:
    description: The domain's UUID, which is the server's id.
    type: str
    required: true
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.instance
    description: Returns the ids.
"""

EXAMPLES = r"""
- name: Read the domain of a server
  stackproof.provision.domain_info:
    uuid: 4798a21e-4aff-4a2f-9b6e-325ca47ee2d3
"""

RETURN = r"""
domain:
  description:
    - The domain with its name, virtual processors, memory, disks, interfaces and state, the secrets of libvirt on this
      host, and its process with start and connections.
    - A disk that QEMU decrypts has the format as C(encryption), and the UUID of libvirt's secret as
      C(encryption_secret). One that other servers may have as well is C(shareable).
    - Null if libvirt has no such domain, or if the domain could not be read. In the second case RV(unread) has the
      reason.
  returned: success
  type: dict
  sample:
    uuid: 8585247f-547f-46d6-8c03-334064b2be45
    name: instance-00000053
    vcpus: 1
    memory_mib: 128
    disks:
      - device: disk
        type: network
        target: vda
        serial: null
        protocol: rbd
        source: vms/8585247f-547f-46d6-8c03-334064b2be45_disk
        monitors: ['10.71.16.11:6789']
        user: cinder
        secret: eaac1cc8-a867-490b-aa20-dbe5e2d0c38b
      - device: disk
        type: network
        target: vdb
        serial: c08c8d35-6222-4d44-9ae8-9b014b0ac62b
        protocol: rbd
        source: volumes/volume-c08c8d35-6222-4d44-9ae8-9b014b0ac62b
        monitors: ['10.71.16.11:6789']
        user: cinder
        secret: eaac1cc8-a867-490b-aa20-dbe5e2d0c38b
    interfaces: [{type: ethernet, mac: 'fa:16:3e:2d:9a:e3', tap: tapbd6f4d7b-9c, bridge: null, port: null, mtu: 1500}]
    state: {name: running, reason: unpaused}
    secrets: [eaac1cc8-a867-490b-aa20-dbe5e2d0c38b]
    process:
      pid: 19440
      started: 1795258894.88
      connections: ['10.71.16.11:3300', '10.71.16.11:6800', '10.71.16.11:6808']
unread:
  description: The reads that failed, and why (kind C(refused), C(missing), C(failed), C(hung) or C(strange)).
  returned: success
  type: list
  elements: dict
  sample:
    - what: the domain
      kind: refused
      command: sudo -n virsh --connect qemu:///system --readonly dumpxml 8585247f-547f-46d6-8c03-334064b2be45
      reason: >-
        sudo refuses: sudo -n virsh --connect qemu:///system --readonly dumpxml 8585247f-547f-46d6-8c03-334064b2be45:
        sudo: a password is required
"""

from ansible_collections.stackproof.provision.plugins.module_utils._collect import (
    info_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import (
    libvirt,
)


def main() -> None:
    info_module.main(
        {**info_module.PREFIXES, "uuid": {"type": "str", "required": True}},
        lambda host, params: {"domain": libvirt.read(host, params["uuid"])},
    )


if __name__ == "__main__":
    main()
