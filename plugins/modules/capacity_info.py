#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: capacity_info
short_description: 'Asks a cloud whether a flavor fits on a compute host, and if not, why'
version_added: 1.0.0
description:
  - Asks Nova for its compute services, hypervisors and aggregates, and Placement for what it offers for the flavor, as
    the scheduler does, then with one constraint left out at a time, and for the inventories of the hosts.
  - For each host it returns what keeps the instance off it, and one line that sums it up.
  - Nothing is changed on the cloud. The user of O(cloud) must be an administrator.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.reads
options:
  flavor:
    description: Name or id of the flavor.
    type: str
    required: true
  image:
    description: Name or id of the image, whose properties may ask for traits.
    type: str
  zone:
    description: Availability zone of the instance. By default any.
    type: str
  host:
    description: Compute host of the instance, by Nova's name. By default any.
    type: str
  boot_from_volume:
    description: Whether the instance boots from a volume, and so needs no root disk on its host.
    type: bool
    default: false
  count:
    description: The number of instances.
    type: int
    default: 1
  timeout:
    description: How long all of it may take, in seconds.
    type: float
    default: 30
notes:
  - Not all filters of Nova's scheduler are known to it, so a server group, NUMA or PCI may still exclude a host.
  - The inventories of at most 20 hosts are read; the others are explained by what Placement offers.
seealso:
  - module: stackproof.provision.preflight
    description: Checks the same for each host before many runs.
"""

EXAMPLES = r"""
- name: Ask whether the flavor fits
  stackproof.provision.capacity_info:
    cloud: mycloud-admin
    flavor: m1.large
    zone: az1
  register: capacity

- name: Show why not
  ansible.builtin.debug:
    msg: "{{ capacity.headline }}"
"""

RETURN = r"""
fits:
  description: Whether the cloud can take the instances. Null if that could not be read.
  returned: success
  type: bool
  sample: false
answer:
  description:
    - V(fits), V(short) if the cloud does not have what is asked for, V(broken) if it would fit if a component of a host
      worked, or V(unknown).
  returned: success
  type: str
  sample: short
headline:
  description: The answer in one line.
  returned: success
  type: str
  sample: 'No host fits: 2 of 3 compute hosts are disabled (maintenance), the third has 0 of 8 VCPUs free'
room:
  description: How many of the instances fit. Null if none does, or if not all of the hosts were read.
  returned: success
  type: int
  sample: null
hosts:
  description: Each compute host in question with its C(host), whether it C(fits), and the C(reasons) why not.
  returned: success
  type: list
  elements: dict
  sample:
    - host: compute1
      fits: false
      reasons: [compute1 is disabled (maintenance)]
details:
  description: A line for each host, what Placement offers without one constraint, and what could not be read.
  returned: success
  type: list
  elements: str
  sample:
    - compute1 is disabled (maintenance)
    - compute2 is disabled (maintenance)
    - compute3 has 0 of 8 VCPUs free, 1 needed
    - 'without VCPU, 1 host would fit: compute3'
next:
  description: A command that shows more, if it does not fit.
  returned: success
  type: str
  sample: openstack compute service list --service nova-compute --long
unread:
  description: Why some of it could not be read.
  returned: success
  type: list
  elements: str
  sample: []
capacity:
  description:
    - What was read, as C(capacity.compute) of C(run.json) has it, with C(requested), C(hosts) and C(candidates).
  returned: success
  type: dict
  sample:
    requested:
      flavor: probe
      groups:
        - suffix: ''
          resources: {VCPU: 1, MEMORY_MB: 128, DISK_GB: 1}
          required: []
          forbidden: [COMPUTE_STATUS_DISABLED]
      zone: null
      host: null
      properties: {}
      count: 1
    zones: [nova]
    has_hypervisors: true
    has_providers: true
    holders: {}
    candidates:
      - {hosts: [], is_whole: true, without: null, name: null}
      - {hosts: [compute3], is_whole: true, without: resource, name: VCPU}
    hosts:
      - host: compute3
        hypervisor: compute3
        hypervisor_id: 0f6bfbc1-64e2-4a3f-b9ae-3f5f1f0a2c57
        service:
          state: up
          enabled: true
          disabled_reason: null
          forced_down: false
          zone: nova
          last_report: '2026-11-21T17:04:31.000000'
        aggregates: {}
        providers:
          - id: 0f6bfbc1-64e2-4a3f-b9ae-3f5f1f0a2c57
            name: compute3
            root: 0f6bfbc1-64e2-4a3f-b9ae-3f5f1f0a2c57
            is_read: true
            traits: [COMPUTE_NODE]
            inventories:
              VCPU: {total: 8, reserved: 0, allocation_ratio: 1.0, max_unit: 8, used: 8, leftover: 0}
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import (
    not_found,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api.capacity import (
    Instance,
    of_instance,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge.advice_for_request import (
    advice_for_request,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge.capacity import (
    explain,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.capacity import (
    Capacity,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.shortage import (
    Answer,
    HostReasons,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    waiting,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import (
    bounded,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import (
    capacity as messages,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.advice import (
    advice,
)

OPTIONS: dict[str, dict[str, Any]] = {
    "flavor": {"type": "str", "required": True},
    "image": {"type": "str"},
    "zone": {"type": "str"},
    "host": {"type": "str"},
    "boot_from_volume": {"type": "bool", "default": False},
    "count": {"type": "int", "default": 1},
    "timeout": {"type": "float", "default": 30},
}
FITS = {Answer.FITS: True, Answer.SHORT: False, Answer.BROKEN: False}


def instance_of(params: Mapping[str, Any], cloud: Any) -> Instance:
    """Return the instance that is asked about."""
    flavor = cloud.compute.find_flavor(params["flavor"])
    if flavor is None:
        raise not_found("flavor", params["flavor"], cloud.compute.flavors())
    return Instance(
        flavor=flavor.id,
        image=image_id(params["image"], cloud),
        zone=params["zone"],
        host=params["host"],
        from_volume=params["boot_from_volume"],
        count=params["count"],
    )


def image_id(name: str | None, cloud: Any) -> str | None:
    if name is None:
        return None
    image = cloud.image.find_image(name)
    if image is None:
        raise not_found("image", name, cloud.image.images())
    identity: str = image.id
    return identity


def host_of(found: HostReasons) -> dict[str, Any]:
    reasons = [messages.host_line(found)] if found.reasons else []
    return {
        "host": found.host,
        "fits": found.fits if found.is_known or found.reasons else None,
        "reasons": reasons,
    }


def result_of(capacity: Capacity) -> dict[str, Any]:
    """Return what the module returns about what a cloud has."""
    explanation = explain(capacity)
    does_not_fit = explanation.answer in (Answer.SHORT, Answer.BROKEN)
    return {
        "fits": FITS.get(explanation.answer),
        "answer": explanation.answer.value,
        "headline": messages.answer_line(explanation),
        "room": explanation.room,
        "hosts": list(map(host_of, explanation.hosts)),
        "details": list(messages.details(explanation)),
        "next": advice(advice_for_request(explanation))
        if does_not_fit
        else None,
        "unread": list(capacity.unread),
        "capacity": codec.to_json(capacity.compute),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={**connection.CLOUD_OPTIONS, **OPTIONS},
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    params = module.params
    with failing(module, f"asking whether the flavor {params['flavor']} fits"):
        if params["count"] < 1:
            raise StageError(
                "invalid",
                f"count cannot be {params['count']}",
                resource="count",
            )
        cloud = connection.connect(
            params, [], [], waiting.Deadline(params["timeout"])
        )
        result = result_of(of_instance(cloud, instance_of(params, cloud)))
    module.exit_json(changed=False, **bounded(result))


if __name__ == "__main__":
    main()
