# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of the modules that read something on a host and change nothing."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from .._record.errors import failing
from .host import PATIENCE, Host

PREFIXES = {"prefixes": {"type": "dict", "default": {}}}


def main(options, read, prefixes_of=lambda params: params["prefixes"]):
    """Run read(host, parameters) and return its facts; name in unread and in warnings what could not be read."""
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)

    def execute(words):
        try:
            return module.run_command(words, environ_update={"LC_ALL": "C"}, handle_exceptions=False)
        except OSError as exc:
            return 127, "", f"{words[0]}: {exc.strerror}"

    host = Host(execute, prefixes_of(module.params), module.params.get("patience") or PATIENCE)
    with failing(module, "reading this host"):
        facts = read(host, module.params)
    for entry in [*host.unread, *(facts.get("logs") or {}).get("unread", [])]:
        module.warn(f"{entry['what']}: {entry['why']}")
    module.exit_json(changed=False, unread=host.unread, **facts)
