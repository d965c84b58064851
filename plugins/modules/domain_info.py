#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: domain_info
short_description: Reads the libvirt domain of an instance
version_added: 0.1.0
description:
  - Tells how libvirt runs an instance on a compute host, and what its process is connected to.
  - Asks C(virsh), C(pgrep) and C(ss).
extends_documentation_fragment: [stackproof.provision._host]
options:
  uuid:
    description: The domain's UUID, which is the server's id.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Read the domain of a server
  stackproof.provision.domain_info:
    uuid: 4798a21e-4aff-4a2f-9b6e-325ca47ee2d3
"""

RETURN = r"""
domain:
  description:
    - The domain with its name, virtual processors, memory, disks, interfaces and state,
      the secrets that libvirt knows here, and its process with start and connections.
    - None if libvirt has no such domain, or could not be asked, which RV(unread) tells.
  returned: success
  type: dict
unread:
  description: What could not be read, and why (kind C(refused), C(missing), C(failed), C(hung) or C(strange)).
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.stackproof.provision.plugins.module_utils._collect import host_module, libvirt


def main():
    host_module.main(
        {**host_module.PREFIXES, "uuid": {"type": "str", "required": True}},
        lambda host, params: libvirt.read(host, params["uuid"]),
    )


if __name__ == "__main__":
    main()
