#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: 'Before many runs: checks the health of the cloud, and finds the hosts to provision on'
version_added: 0.1.0
description:
  - Services of nova and cinder and agents of neutron must be up, every endpoint of the catalog must answer, and quotas
    must leave room for the resources of all parallel runs. The flavor must fit on each host, or on all hosts together
    as often as there are parallel runs. Nothing is changed.
  - A problem fails a check, and not the module.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.reads
options:
  admin_cloud:
    description: Name of a cloud in C(clouds.yaml) with an administrator's rights, if those of O(cloud) are not enough.
    type: str
  parallel:
    description: The largest number of parallel instances.
    type: int
    default: 4
  instances:
    description: The total number of instances, if it does not follow from O(hosts) and O(values).
    type: int
    version_added: 1.0.0
  slice:
    description: >-
      The slice of a sweep, such as V(3/10). All slices may run in parallel, so quotas must leave room for all of them.
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
  zone:
    description: Availability zone of the instances, if O(values) has none. By default any.
    type: str
    version_added: 1.0.0
  network:
    description: The network to use, if the runs do not create one.
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
  attach:
    description: When the volume is attached. With V(root) the instance boots from it, without a root disk on its host.
    type: str
    choices: [at_boot, after, root]
    default: at_boot
    version_added: 1.0.0
  floating_ip:
    description: Whether the instance will have a floating IP.
    type: bool
    default: false
  heartbeat:
    description:
      - How old the last heartbeat of a service or agent may be, in seconds.
      - By default the state that the cloud reports counts, as the time between two heartbeats differs from cloud to
        cloud.
    type: float
  timeout:
    description: How long all of it may take, in seconds.
    type: float
    default: 180
notes:
  - The playbook C(stackproof.provision.acceptance) starts with it.
seealso:
  - module: stackproof.provision.capacity_info
    description: Shows for one flavor what each host has left.
  - module: stackproof.provision.sweep
    description: Starts the sweep, with the checks of this module.
"""

EXAMPLES = r"""
- name: Check the cloud before a sweep
  stackproof.provision.preflight:
    cloud: mycloud-admin
    parallel: 4
  register: before
"""

RETURN = r"""
checks:
  description:
    - Each check with C(kind), C(name), C(status), C(reason), C(host) and C(component).
    - The kind is C(service), C(hypervisor), C(quota), C(capacity), C(endpoint) or C(api).
    - The status is C(ok), C(failed) or C(unreadable).
  returned: success
  type: list
  elements: dict
  sample:
    - kind: service
      name: nova-scheduler on controller1 is alive
      status: ok
      reason: nova-scheduler on controller1 last reported 10 s ago
      host: controller1
      component: nova
    - kind: service
      name: neutron-dhcp-agent on network1 is alive
      status: ok
      reason: neutron-dhcp-agent on network1 last reported 21 s ago
      host: network1
      component: neutron
    - kind: quota
      name: the quota of ram is enough
      status: ok
      reason: 'ram: 256 needed in parallel, 51200 of 51200 left'
      host: null
      component: nova
hosts:
  description: The hosts with a service nova-compute that no operator has disabled.
  returned: success
  type: list
  elements: str
  sample: [compute1, compute2]
excluded:
  description: The other compute hosts, each with its C(host) and the C(reason).
  returned: success
  type: list
  elements: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import (
    bounded,
)
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import (
    preflight,
    targets,
)
from ansible_collections.stackproof.provision.plugins.module_utils._sweep.preflight_look import (
    Look,
    Wanted,
)

OPTIONS: dict[str, dict[str, Any]] = {
    "admin_cloud": {"type": "str"},
    "parallel": {"type": "int", "default": 4},
    "instances": {"type": "int"},
    "slice": {"type": "str"},
    "hosts": {"type": "list", "elements": "str"},
    "values": {"type": "dict", "default": {}},
    "flavor": {"type": "str"},
    "zone": {"type": "str"},
    "network": {"type": "str"},
    "volume": {
        "type": "str",
        "choices": ["empty", "image", "none"],
        "default": "empty",
    },
    "volume_size": {"type": "int", "default": 1},
    "attach": {
        "type": "str",
        "choices": ["at_boot", "after", "root"],
        "default": "at_boot",
    },
    "floating_ip": {"type": "bool", "default": False},
    "heartbeat": {"type": "float"},
    "timeout": {"type": "float", "default": 180},
}


def wanted_by(params: Mapping[str, Any]) -> Wanted:
    """Return what the runs need. All slices may be done in parallel, so there must be room for all."""
    _number, slices = (
        targets.slice_of(params["slice"]) if params["slice"] else (1, 1)
    )
    options = {
        name: params[name]
        for name in OPTIONS
        if name not in ("slice", "parallel")
    }
    return Wanted(parallel=params["parallel"] * slices, **options)


def main() -> None:
    module = AnsibleModule(
        argument_spec={**connection.CLOUD_OPTIONS, **OPTIONS},
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    with failing(module, "checking the cloud before the runs"):
        targets.check_values(module.params["values"])
        look = Look(module.params, wanted_by(module.params))
        checks = codec.to_json(look.all())
        hosts, excluded = preflight.compute_hosts(look.services)
    found = {
        "checks": checks,
        "hosts": hosts,
        "excluded": codec.to_json(excluded),
    }
    module.exit_json(changed=False, **bounded(found))


if __name__ == "__main__":
    main()
