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
  - Reads the spans of a trace from where the services of this host put them, with the host's own C(osprofiler).
  - What is returned of a span is who, where, when and how long; of a request its method and path, of a call its name,
    and of a statement to a database its verb and its table. Arguments and values are not returned.
extends_documentation_fragment: [stackproof.provision._attributes.reads]
options:
  trace:
    description: Id of the trace, as the stage boot has it in its details.
    type: str
    required: true
  config:
    description: A file of the host that has the section C([profiler]) with C(connection_string).
    type: path
    default: /etc/nova/nova.conf
notes:
  - Nothing is changed on the host. The file is readable by root only, so C(become) is needed.
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.flow
    description: Takes the spans.
"""

EXAMPLES = r"""
- name: Read the spans of a boot
  stackproof.provision.span_info:
    trace: "{{ boot.record.details.trace }}"
  become: true
"""

RETURN = r"""
spans:
  description: The spans by the clocks of the hosts that they are of, reads of the same table by one service only once.
  returned: success
  type: list
  elements: dict
"""

import configparser

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.stackproof.provision.plugins.module_utils._collect.osprofiler import read


def connection(path):
    """The place that a service's file names; oslo.config's own form has options more than once."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    with open(path, encoding="utf-8") as file:
        parser.read_file(file)
    return parser.get("profiler", "connection_string")


def main():
    module = AnsibleModule(
        argument_spec={
            "trace": {"type": "str", "required": True},
            "config": {"type": "path", "default": "/etc/nova/nova.conf"},
        },
        supports_check_mode=True,
    )
    # Brought by the cloud's own packages, and only by those: where they are not, the module says so itself.
    try:
        import osprofiler.drivers  # noqa: F401, PLC0415 - so that they are known
        from oslo_config import cfg  # noqa: PLC0415
        from osprofiler import opts  # noqa: PLC0415
        from osprofiler.drivers.base import get_driver  # noqa: PLC0415
    except ImportError:
        module.fail_json(msg=missing_required_lib("osprofiler"))
    try:
        where = connection(module.params["config"])
    except (OSError, configparser.Error) as exc:
        module.fail_json(msg=f"{module.params['config']} names no place of OSProfiler's spans: {exc}")
    try:
        opts.set_defaults(cfg.CONF)
        report = get_driver(where).get_report(module.params["trace"])
    # Each of the places has a library with errors of its own, whose words may have the password in them.
    except Exception as exc:
        module.fail_json(msg=f"the spans could not be read from {where.partition(':')[0]}: {type(exc).__name__}")
    module.exit_json(changed=False, spans=read(report))


if __name__ == "__main__":
    main()
