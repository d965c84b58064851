#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: span_info
short_description: 'Used by verify: reads the spans of a trace that OSProfiler has kept'
version_added: 0.1.0
description:
  - Reads the spans of a trace from the place where the services of this host put them, with the host's C(osprofiler).
  - Returns service, host, start and end of each span, the method and path of a request, the name of a call, and the
    verb and table of a database statement. Arguments and values are not returned.
extends_documentation_fragment: [stackproof.provision._attributes.reads]
options:
  trace:
    description: Id of the trace, from the details of the stage boot.
    type: str
    required: true
  config:
    description: A file on the host with C(connection_string) in its section C([profiler]).
    type: path
    default: /etc/nova/nova.conf
notes:
  - Nothing is changed on the host. Only root may read the file, so C(become) is needed.
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.flow
    description: Uses the spans.
"""

EXAMPLES = r"""
- name: Read the spans of a boot
  stackproof.provision.span_info:
    trace: "{{ boot.record.details.trace }}"
  become: true
"""

RETURN = r"""
spans:
  description: The spans, each by the clock of its own host. Of a service's reads of one table only the first is there.
  returned: success
  type: list
  elements: dict
"""

import configparser

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders.osprofiler import (
    read,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    to_json,
)


def connection(path: str) -> str:
    """Return the place of the spans in a service's file. Files of oslo.config may have an option more than once."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    with open(path, encoding="utf-8") as file:
        parser.read_file(file)
    return parser.get("profiler", "connection_string")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "trace": {"type": "str", "required": True},
            "config": {"type": "path", "default": "/etc/nova/nova.conf"},
        },
        supports_check_mode=True,
    )
    # Only the cloud's own packages bring these.
    try:
        import osprofiler.drivers  # noqa: F401, PLC0415 - registers the drivers
        from oslo_config import cfg  # noqa: PLC0415
        from osprofiler import opts  # noqa: PLC0415
        from osprofiler.drivers.base import get_driver  # noqa: PLC0415
    except ImportError:
        module.fail_json(msg=missing_required_lib("osprofiler"))
    try:
        place = connection(module.params["config"])
    except (OSError, configparser.Error) as exc:
        module.fail_json(
            msg=f"{module.params['config']} does not name the place of OSProfiler's spans: {exc}"
        )
    try:
        opts.set_defaults(cfg.CONF)
        report = get_driver(place).get_report(module.params["trace"])
    # Each kind of place has a library with its own errors, and their texts may hold the password.
    except Exception as exc:
        module.fail_json(
            msg=f"the spans could not be read from {place.partition(':')[0]}: {type(exc).__name__}"
        )
    module.exit_json(changed=False, spans=to_json(read(report)))


if __name__ == "__main__":
    main()
