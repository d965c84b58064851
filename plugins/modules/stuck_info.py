#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stuck_info
short_description: Lists what is stuck or has failed on a cloud, grouped by what it has in common
version_added: 1.0.0
description:
  - Lists the servers, volumes, ports and images that have been in error, or in a state that does not last, for longer
    than some minutes. A group has those of one kind and one state for which the cloud gives the same reason.
  - Nothing is changed on the cloud.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.reads
options:
  older_than:
    description: For how many minutes a thing must have been in its state.
    type: float
    default: 10
  newer_than:
    description:
      - For how many minutes at most a thing may have been in its state. With O(older_than=0), the list has what failed
        in these minutes.
    type: float
  since:
    description:
      - Instead of O(older_than) and O(newer_than), the time range in which a thing must have got into its state, such
        as V(2026-11-21T14:40:00Z). Without a zone it is in UTC.
    type: str
  until:
    description: End of that time range.
    type: str
  admin_cloud:
    description: Name of a cloud in C(clouds.yaml) with an administrator's rights, to list those of all projects.
    type: str
  timeout:
    description: How long all of it may take, in seconds.
    type: float
    default: 60
seealso:
  - module: stackproof.provision.operation
    description: Begins a diagnosis of one of them.
"""

EXAMPLES = r"""
- name: List what has been stuck for half an hour
  stackproof.provision.stuck_info:
    cloud: mycloud
    admin_cloud: myadmin
    older_than: 30
  register: stuck
"""

RETURN = r"""
groups:
  description: The groups, the largest first, each with its first RV(groups[].things).
  returned: success
  type: list
  elements: dict
  contains:
    things:
      description: The first five of the group.
      type: list
      elements: dict
  sample:
    - kind: server
      state: ERROR, no state
      host: null
      reason: No valid host was found. There are not enough hosts available.
      count: 1
      since: '2026-11-21T11:01:31.000000+00:00'
      things:
        - id: 8585247f-547f-46d6-8c03-334064b2be45
          kind: server
          name: web
          project: 6ed9ac1918034fe59ee3f9dc59c324e6
          state: ERROR, no state
          since: '2026-11-21T11:01:31.000000+00:00'
          host: null
          reason: No valid host was found. There are not enough hosts available.
          diagnosed_by: null
count:
  description: How many things are in all groups.
  returned: success
  type: int
  sample: 1
summary:
  description: The same as lines of text.
  returned: success
  type: list
  elements: str
  sample: [1 thing stuck or in error for more than 10 min on mycloud]
metrics:
  description: The same as metrics, in the format of OpenMetrics.
  returned: success
  type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    connection,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import (
    explain,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import (
    stuck,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.question import (
    range_given,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.stuck import (
    grouped,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    to_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stuck import (
    Age,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import (
    now,
    seconds_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import (
    bounded,
    bounded_copy,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    Deadline,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.metrics import (
    metrics_of_stuck,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.stuck import (
    lines_of,
)

MINUTE = 60


# The variables with which a cloud is reached, by the options that take them
REACHED_BY = {
    "cloud": "stackproof_cloud",
    "region_name": "stackproof_region",
    "interface": "stackproof_interface",
    "admin_cloud": "stackproof_admin_cloud",
}


def variables_of(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables with which the same cloud is reached again, but for those that are no text."""
    given = {
        variable: params[option] for option, variable in REACHED_BY.items()
    }
    return {
        variable: value
        for variable, value in given.items()
        if value and isinstance(value, str)
    }


def age_of(params: Mapping[str, Any], asked: float) -> Age:
    """Return how long things must have been in their state to be listed."""
    since, until = range_given(params["since"], params["until"])
    if since is None and until is None:
        return age_in_minutes(params)
    least = 0.0
    if until is not None:
        least = max(0.0, asked - until)
    if since is None:
        return Age(least, None)
    if since > asked:
        raise StageError(
            "invalid",
            f"since is {params['since']}, which is in the future",
            resource="since",
        )
    return Age(least, asked - since)


def age_in_minutes(params: Mapping[str, Any]) -> Age:
    older = params["older_than"]
    newer = params["newer_than"]
    if not older >= 0:
        raise StageError(
            "invalid", f"older_than cannot be {older}", resource="older_than"
        )
    if newer is None:
        return Age(older * MINUTE, None)
    if not newer > older:
        text = f"newer_than is {newer}, and must be more than older_than, which is {older}"
        raise StageError("invalid", text, resource="newer_than")
    return Age(older * MINUTE, newer * MINUTE)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **connection.CLOUD_OPTIONS,
            "older_than": {"type": "float", "default": 10},
            "newer_than": {"type": "float"},
            "since": {"type": "str"},
            "until": {"type": "str"},
            "admin_cloud": {"type": "str"},
            "timeout": {"type": "float", "default": 60},
        },
        mutually_exclusive=[("newer_than", "since"), ("newer_than", "until")],
        supports_check_mode=True,
    )
    connection.hide_only_secrets(module)
    if not connection.HAS_SDK:
        module.fail_json(msg=missing_required_lib("openstacksdk"))
    params = module.params
    with failing(module, "listing what is stuck", explain):
        age = age_of(params, seconds_of(now()))
        whose = (
            connection.as_admin(params) if params["admin_cloud"] else params
        )
        cloud = connection.connect(whose, [], [], Deadline(params["timeout"]))
        asked = seconds_of(now())
        found = stuck.everything(
            cloud, all_projects=bool(params["admin_cloud"])
        )
        groups = grouped(
            bounded_copy(thing)
            for thing in found
            if age.has(asked - thing.since)
        )
        lines = lines_of(
            groups,
            asked,
            age,
            connection.cloud_name(params),
            variables_of(params),
        )
        text = metrics_of_stuck(groups, asked, connection.cloud_name(params))
    count = sum(group.count for group in groups)
    listed = bounded(to_json(list(groups)))
    module.exit_json(
        changed=False, count=count, groups=listed, summary=lines, metrics=text
    )


if __name__ == "__main__":
    main()
