#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rbd_info
short_description: Reads RBD images, and the health of their cluster
version_added: 0.1.0
description:
  - Tells of images what they stand on, who has them open, and where their header lies.
  - Asks C(rbd) and C(ceph), on any host with a keyring that allows it, compute hosts included.
extends_documentation_fragment: [stackproof.provision._host]
options:
  images:
    description: The images, each as C(pool/name).
    type: list
    elements: str
    default: []
  users:
    description: Ceph users; the first whose keyring lies in C(/etc/ceph) is taken.
    type: list
    elements: str
    default: [admin, cinder, nova, openstack]
"""

EXAMPLES = r"""
- name: Read the root disk of a server
  stackproof.provision.rbd_info:
    images: [vms/4798a21e-4aff-4a2f-9b6e-325ca47ee2d3_disk]
"""

RETURN = r"""
user:
  description: The Ceph user that was taken, none if there is no keyring.
  returned: success
  type: str
health:
  description: C(status) of the cluster, and the C(checks) that are not well, by name. Muted ones are left out.
  returned: success
  type: dict
osds:
  description: Whether each OSD is up, by its number.
  returned: success
  type: dict
images:
  description:
    - Each image with its parent, features, size, snapshots, the addresses of its watchers, and the placement group
      and acting OSDs of its header object.
    - RV(images[].exists) is none if that could not be read.
  returned: success
  type: list
  elements: dict
  contains:
    exists:
      description: Whether there is such an image.
      type: bool
unread:
  description: What could not be read, and why (kind C(refused), C(missing), C(failed), C(hung) or C(strange)).
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.stackproof.provision.plugins.module_utils._collect import ceph, host_module


def main():
    host_module.main(
        {
            **host_module.PREFIXES,
            "images": {"type": "list", "elements": "str", "default": []},
            "users": {"type": "list", "elements": "str", "default": ceph.USERS},
        },
        lambda host, params: ceph.read(
            host, [image.partition("/")[::2] for image in params["images"]], params["users"]
        ),
    )


if __name__ == "__main__":
    main()
