#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_info
short_description: 'Diagnosis by logs: reads a boot, or other requests, from a directory of collected logs'
version_added: 0.1.0
description:
  - Finds the hosts in a directory of logs, and in their logs the boot of a server, any other request, the requests that
    name a resource, or all requests that failed in a time range.
  - For a server it finds the boot, and all other failed requests of its project until the server was removed.
  - Returns for each host what M(stackproof.provision.log_info) returns for one. No line is returned as it is.
  - It contacts neither the cloud nor its hosts. It reads compressed and rotated files, and does not follow links.
extends_documentation_fragment: [stackproof.provision._attributes.reads]
options:
  directory:
    description:
      - A support bundle, one or several reports of C(sos), trees of C(/var/log) by host, or a folder of log files.
      - It may be packed as a tar or a zip.
      - The name of a host is that of its folder, the one in its report, or the one in the lines of syslog.
    type: path
    required: true
  baseline:
    description:
      - Logs of a time when all worked, as in O(directory), or the directory of a run that passed. Errors that are in
        them, too, explain nothing; an error that is not counts more.
      - Of a run, so do the services that did not run then, the checks of Ceph that were not passed, and the files of
        settings that were changed before. A run that did not pass is refused.
    type: path
  services:
    description:
      - Where each service logs, as C(logs) in the files C(vars/platforms) of the role
        P(stackproof.provision.evidence#role). Only the names of files and of programs count.
      - A file of another name is read, too, as the log of a service of that name.
    type: list
    elements: dict
    required: true
  platforms:
    description:
      - The profiles of the platforms that the hosts may be of, as in C(vars/platforms) of the role
        P(stackproof.provision.evidence#role). With them a report of C(sos) is read as a host is - its units, disks,
        settings, domains, switches, and the databases of OVN.
    type: list
    elements: dict
    default: []
    version_added: 1.0.0
  flows:
    description: Files of the flows through which the boot is followed.
    type: list
    elements: path
    required: true
  request_id:
    description: The id of a request, its own or the one that the client gave.
    type: str
  server_id:
    description: The id of a server.
    type: str
  resource_id:
    description: The id of anything else, such as a network, a port, a volume or an image.
    type: str
  error:
    description: The error that a client printed. The last request id in it is used, and nothing else of it is kept.
    type: str
  since:
    description:
      - Start of a time range, such as V(2026-11-21T14:40:00Z). Without a zone it is in UTC.
      - It finds all requests that failed in that time, and follows the first failed boot. If nothing failed and there
        are several boots, the module fails and lists them.
    type: str
  until:
    description: End of that time range.
    type: str
  time_zone:
    description: Zone of the hosts' logs, such as V(Europe/Berlin) or V(+05:30), where the directory does not have it.
    type: str
    default: UTC
  time_zones:
    description: The same for single hosts, by name. It overrides the zone in the directory.
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
    description: Judges what this module has read.
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
    - The C(boot) that was found, or null, its ids (C(keys)), the ids that it shares with others (C(named)), its
      C(host), the times from which (C(began)) to which (C(until)) its logs were read, the C(zones) of the hosts, and
      the C(warnings).
    - C(requests) are the other requests that failed, or that are asked about.
    - C(hosts) has by host what M(stackproof.provision.log_info) returns, with C(events) as JSON text, and C(others) has
      it for the other requests.
    - C(reported) has the hosts with a report of C(sos), as JSON text.
    - C(instance) is the instance in these reports.
  returned: success
  type: dict
"""

import os
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.archive import (
    directory_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.baseline import (
    LogNames,
    baseline_in,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.bundle import (
    as_result,
    bundle_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.log_directory import (
    LogDirectory,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.question import (
    Question,
)
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.sos import (
    reading,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    flow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.bundle import (
    Bundle,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    failing,
)

# The options of which one says what is asked about, and those that say when it was
ASKED = ("request_id", "server_id", "resource_id", "error", "since", "until")


def read(params: dict[str, Any]) -> Bundle:
    flows = list(map(flow.load, params["flows"]))
    path = os.path.abspath(params["directory"])
    question = Question(**{name: params[name] for name in ASKED})
    names = LogNames(
        params["services"], params["time_zone"], params["time_zones"]
    )
    baseline = (
        baseline_in(os.path.abspath(params["baseline"]), names)
        if params["baseline"]
        else None
    )
    with directory_of(path) as (directory, doubts):
        logs = LogDirectory(directory, names.services, names.zone, names.zones)
        bundle = replace(bundle_of(logs, question, flows), baseline=baseline)
        reported = reading.read(logs.places, bundle, params["platforms"])
    about: dict[str, Any] = {
        "name": os.path.basename(path) or path,
        "warnings": (*doubts, *bundle.warnings),
        "reported": reported.hosts,
        "instance": reported.instance,
    }
    return replace(bundle, **about)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "baseline": {"type": "path"},
            "services": {"type": "list", "elements": "dict", "required": True},
            "platforms": {"type": "list", "elements": "dict", "default": []},
            "flows": {"type": "list", "elements": "path", "required": True},
            "request_id": {"type": "str"},
            "server_id": {"type": "str"},
            "resource_id": {"type": "str"},
            "error": {"type": "str"},
            "since": {"type": "str"},
            "until": {"type": "str"},
            "time_zone": {"type": "str", "default": "UTC"},
            "time_zones": {"type": "dict", "default": {}},
        },
        mutually_exclusive=[ASKED[:4]],
        supports_check_mode=True,
    )
    if not flow.HAS_LIBRARIES:
        module.fail_json(msg=missing_required_lib("jmespath and PyYAML"))
    with failing(module, f"reading the logs in {module.params['directory']}"):
        bundle = read(module.params)
    for warning in bundle.warnings:
        module.warn(warning)
    module.exit_json(changed=False, bundle=as_result(bundle))


if __name__ == "__main__":
    main()
