#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: 'Before many runs: looks whether the cloud is well, and on which hosts it provisions'
version_added: 0.1.0
description:
  - Services of nova and cinder and agents of neutron must be alive, every endpoint of the catalogue must answer, and
    quotas must leave room for what will be made at the same time. Nothing is changed.
  - A part that is not well makes a check fail, and not the module.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.reads
options:
  admin_cloud:
    description: Name of a cloud in C(clouds.yaml) with an administrator's rights, if those of O(cloud) are not enough.
    type: str
  at_once:
    description: The largest number of instances at the same time.
    type: int
    default: 4
  instances:
    description: How many instances there are in all, where they do not follow from O(hosts) and O(values).
    type: int
    version_added: 0.3.0
  slice:
    description: >-
      The slice of a sweep, such as V(3/10). All slices may be done at the same time, so quotas must leave room for all.
    type: str
    version_added: 0.2.0
  hosts:
    description: The compute hosts for the instances. By default all that are found.
    type: list
    elements: str
  values:
    description: Further values to vary, as for M(stackproof.provision.sweep).
    type: dict
    default: {}
  flavor:
    description: Name or id of the flavor. By default the smallest one.
    type: str
  network:
    description: The network to use, if none is made.
    type: str
  volume:
    description: Where the volume comes from.
    type: str
    choices: [empty, image, none]
    default: empty
  volume_size:
    description: Size of the volume in GB.
    type: int
    default: 1
  floating_ip:
    description: Whether the instance will have a floating IP.
    type: bool
    default: false
  heartbeat:
    description:
      - How old the last report of a service or agent may be, in seconds.
      - Without it the cloud's own word counts, as each cloud has its own time between two reports.
    type: float
  timeout:
    description: How long all of it may take, in seconds.
    type: float
    default: 180
notes:
  - The playbook C(stackproof.provision.acceptance) begins with it.
seealso:
  - module: stackproof.provision.sweep
    description: Begins the sweep, with the checks of this module.
"""

EXAMPLES = r"""
- name: Look at the cloud before a sweep
  stackproof.provision.preflight:
    cloud: mycloud-admin
    at_once: 4
  register: before
"""

RETURN = r"""
checks:
  description:
    - Each check with C(name), C(status), C(reason), C(host) and C(component).
    - The status is C(ok), C(failed) or C(unreadable).
  returned: success
  type: list
  elements: dict
  sample:
    - name: nova-scheduler on controller1 is alive
      status: ok
      reason: nova-scheduler on controller1 was last heard of 10 s ago
      host: controller1
      component: nova
    - name: neutron-dhcp-agent on network1 is alive
      status: ok
      reason: neutron-dhcp-agent on network1 was last heard of 21 s ago
      host: network1
      component: neutron
    - name: the quota of ram is enough
      status: ok
      reason: 'ram: 256 needed at the same time, 51200 of 51200 left'
      host: null
      component: nova
hosts:
  description: The hosts with a service nova-compute that no operator has disabled.
  returned: success
  type: list
  elements: str
  sample: [compute1, compute2]
left_out:
  description: The other compute hosts, each with its C(host) and the C(reason).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import connection
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import failing
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import bounded
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import preflight, sweep
from ansible_collections.stackproof.provision.plugins.module_utils._sweep.preflight_look import Look
from ansible_collections.stackproof.provision.plugins.module_utils._sweep.slices import slice_of


def main():
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "admin_cloud": {"type": "str"},
            "at_once": {"type": "int", "default": 4},
            "instances": {"type": "int"},
            "slice": {"type": "str"},
            "hosts": {"type": "list", "elements": "str"},
            "values": {"type": "dict", "default": {}},
            "flavor": {"type": "str"},
            "network": {"type": "str"},
            "volume": {"type": "str", "choices": ["empty", "image", "none"], "default": "empty"},
            "volume_size": {"type": "int", "default": 1},
            "floating_ip": {"type": "bool", "default": False},
            "heartbeat": {"type": "float"},
            "timeout": {"type": "float", "default": 180},
        },
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    with failing(module, "looking before the sweep"):
        params = module.params
        sweep.check_values(params["values"])
        _number, slices = slice_of(params["slice"]) if params["slice"] else (1, 1)
        look = Look({**params, "at_once": params["at_once"] * slices})
        checks = look.all()
        hosts, left_out = preflight.compute_hosts(look.services)
    module.exit_json(changed=False, **bounded({"checks": checks, "hosts": hosts, "left_out": left_out}))


if __name__ == "__main__":
    main()
