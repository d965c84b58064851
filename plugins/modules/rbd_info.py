#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rbd_info
short_description: 'Asks a host: RBD images, and the health of their cluster'
version_added: 0.1.0
description:
  - Shows the parent of images, the clients that have them open, and the place of their header.
  - Uses C(rbd) and C(ceph), on any host with a keyring that allows it, compute hosts included.
extends_documentation_fragment: [stackproof.provision._host]
options:
  images:
    description: The images, each as C(pool/name).
    type: list
    elements: str
    default: []
  users:
    description: Ceph users; the first with a keyring in C(/etc/ceph) is used.
    type: list
    elements: str
    default: [admin, cinder, nova, openstack]
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads everything on a host in one call, as the playbook C(stackproof.provision.verify) does.
  - module: stackproof.provision.instance
    description: Returns the ids.
"""

EXAMPLES = r"""
- name: Read the root disk of a server
  stackproof.provision.rbd_info:
    images: [vms/4798a21e-4aff-4a2f-9b6e-325ca47ee2d3_disk]
"""

RETURN = r"""
user:
  description: The Ceph user that was used. Null if there is no keyring.
  returned: success
  type: str
  sample: admin
health:
  description: C(status) of the cluster, and its C(checks) that failed, by name. Muted checks are left out.
  returned: success
  type: dict
  sample:
    status: HEALTH_OK
    checks: {}
osds:
  description: Whether each OSD is up, by its number.
  returned: success
  type: dict
  sample:
    '0': true
images:
  description:
    - Each image with its parent, features, size, snapshots, the addresses of its watchers, and the placement group
      and acting OSDs of its header object.
    - RV(images[].exists) is null if the image could not be read.
  returned: success
  type: list
  elements: dict
  sample:
    - pool: vms
      name: 8585247f-547f-46d6-8c03-334064b2be45_disk
      exists: true
      size: 1073741824
      features: [layering, exclusive-lock, object-map, fast-diff, deep-flatten]
      created: Sat Nov 21 11:01:31 2026
      parent: images/c3510181-0439-45e7-9bf9-3834d50ac9cb@snap
      watchers: [10.71.16.15]
      snapshots: []
      header: {object: rbd_header.241ad7f09e7f, pg: '3.0', acting: [0]}
  contains:
    exists:
      description: Whether the image exists.
      returned: always
      type: bool
      sample: true
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
    ceph,
)


def main() -> None:
    info_module.main(
        {
            **info_module.PREFIXES,
            "images": {"type": "list", "elements": "str", "default": []},
            "users": {
                "type": "list",
                "elements": "str",
                "default": ceph.USERS,
            },
        },
        lambda host, params: ceph.read(
            host,
            [image.partition("/")[::2] for image in params["images"]],
            params["users"],
        ),
    )


if __name__ == "__main__":
    main()
