#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_info
short_description: 'Diagnosis by logs: reads the events of a boot out of a directory of collected logs'
version_added: 0.1.0
description:
  - Finds the hosts in a directory of logs, and in their logs the boot of a server with all its ids.
  - Returns for each host what M(stackproof.provision.log_info) returns for one. No line is returned as it is.
  - It asks no cloud and no host. It reads compressed and rotated files, and does not follow links.
extends_documentation_fragment: [stackproof.provision._attributes.reads]
options:
  directory:
    description:
      - A support bundle, one or several reports of C(sos), trees of C(/var/log) by host, or a folder of log files.
      - The name of a host is that of its folder, the one in its report, or the one in the lines of syslog.
    type: path
    required: true
  services:
    description:
      - Where each service logs, as C(logs) in the files C(vars/platforms) of the role
        P(stackproof.provision.evidence#role). Only the names of files and of programs count.
      - A file of another name is read, too, as the log of a service of that name.
    type: list
    elements: dict
    required: true
  flows:
    description: Files of the flows through which the boot is followed.
    type: list
    elements: path
    required: true
  request_id:
    description: The id of the boot's request, Nova's or the client's.
    type: str
  server_id:
    description: The id of the server.
    type: str
  since:
    description:
      - Begin of the time in which a boot is looked for, such as V(2026-11-21T14:40:00Z). Without a zone it is in UTC.
      - Of the boots in that time the failed one is taken. If there are several, the module fails and names them.
    type: str
  until:
    description: End of that time.
    type: str
  time_zone:
    description: Zone of the hosts' logs, such as V(Europe/Berlin) or V(+05:30), where the directory does not have it.
    type: str
    default: UTC
  time_zones:
    description: The same for single hosts, by their names. It goes before the zone in the directory.
    type: dict
    default: {}
requirements:
  - python >= 3.11
  - jmespath >= 1.0
author: stackproof contributors (@stackproof)
notes:
  - The role P(stackproof.provision.diagnosis#role) and the playbook C(stackproof.provision.diagnose) use it.
seealso:
  - module: stackproof.provision.diagnosis
    description: Judges the boot that this module has read.
"""

EXAMPLES = r"""
- name: Read the boot of a server out of a support bundle
  stackproof.provision.bundle_info:
    directory: ./bundle
    server_id: 593bff83-ecde-4bff-b038-2774dcc49b76
    services:
      - service: nova-compute
        files: [/var/log/nova/nova-compute.log]
    flows: [boot.yml]
"""

RETURN = r"""
bundle:
  description:
    - The C(boot) that was found, its ids (C(keys)), the ids that it shares with others (C(named)), its C(host), the
      times from which (C(began)) to which (C(until)) its logs were read, the C(zones) of the hosts, and the C(doubts).
    - C(hosts) has by host what M(stackproof.provision.log_info) returns.
  returned: success
  type: dict
"""

import os

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose import bundle_host, bundle_read, related
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import failing


def read(params):
    flows = [flow.load(path) for path in params["flows"]]
    since, until = (params[name] and bundle_host.time_given(params[name]) for name in ("since", "until"))
    directory = os.path.abspath(params["directory"])
    bundle = bundle_read.Bundle(directory, params["services"], params["time_zone"], params["time_zones"])
    boot, keys, lines = bundle_read.find(bundle, params["request_id"], params["server_id"], since, until)
    wanted = bundle_read.wanted(keys, lines, flow.wanted(flows))
    hosts, levels = bundle.events(wanted)
    bundle_read.add_addresses(bundle, hosts, keys["port"])
    asked = {name: params[name] for name in ("request_id", "server_id", "since", "until") if params[name]}
    return {
        "name": os.path.basename(directory) or directory,
        "asked": asked,
        "boot": {name: boot[name] for name in ("request", "client", "server", "outcome", "siblings")},
        "keys": wanted["keys"],
        "named": related.named(lines, keys),
        "deleted": related.is_deleted(lines, keys),
        "silent_s": round(bundle_read.silence(bundle, hosts), 3),
        "host": bundle_read.compute_host(hosts),
        "began": wanted["began"],
        "until": wanted["until"],
        "levels": levels,
        "zones": bundle.zones_at(wanted["began"]),
        "doubts": [*bundle.links(), *bundle_read.doubts(boot, lines, keys)],
        "hosts": hosts,
    }


def main():
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "services": {"type": "list", "elements": "dict", "required": True},
            "flows": {"type": "list", "elements": "path", "required": True},
            "request_id": {"type": "str"},
            "server_id": {"type": "str"},
            "since": {"type": "str"},
            "until": {"type": "str"},
            "time_zone": {"type": "str", "default": "UTC"},
            "time_zones": {"type": "dict", "default": {}},
        },
        mutually_exclusive=[("request_id", "server_id")],
        supports_check_mode=True,
    )
    if not flow.HAS_LIBRARIES:
        module.fail_json(msg=missing_required_lib("jmespath and PyYAML"))
    with failing(module, f"reading the logs in {module.params['directory']}"):
        bundle = read(module.params)
    for doubt in bundle["doubts"]:
        module.warn(doubt)
    module.exit_json(changed=False, bundle=bundle)


if __name__ == "__main__":
    main()
