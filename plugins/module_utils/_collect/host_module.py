# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of the modules that read something on a host and change nothing."""

from __future__ import annotations

import os
import subprocess

from ansible.module_utils.basic import AnsibleModule

from .._record.errors import failing
from .host import PATIENCE, Host

PREFIXES = {"prefixes": {"type": "dict", "default": {}}}


def execute(words, take):
    """Run a command; return its status, its output, or what take makes of it, and its errors.

    AnsibleModule.run_command puts the output together piece by piece, in a time that grows with its square.
    """
    # In memory, because the disk of a host that is asked may be full
    with os.fdopen(os.memfd_create("errors"), "w+b") as errors:
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            # pylint: disable-next=ansible-bad-function
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment
            )
        except OSError as exc:
            return 127, "", f"{words[0]}: {exc.strerror}"
        with process:
            out = (take or text_of)(process.stdout)
        errors.seek(0)
        return process.returncode, out, text_of(errors)


def text_of(stream):
    return stream.read().decode("utf-8", "surrogateescape")


def main(options, read, prefixes_of=lambda params: params["prefixes"]):
    """Run read(host, parameters) and return its facts; name in unread and in warnings what could not be read."""
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    host = Host(execute, prefixes_of(module.params), module.params.get("patience") or PATIENCE)
    with failing(module, "reading this host"):
        facts = read(host, module.params)
    for entry in [*host.unread, *(facts.get("logs") or {}).get("unread", [])]:
        module.warn(f"{entry['what']}: {entry['why']}")
    module.exit_json(changed=False, unread=host.unread, **facts)
