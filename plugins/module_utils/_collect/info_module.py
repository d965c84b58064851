# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of the modules that read something on a host and change nothing."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import time

from ansible.module_utils.basic import AnsibleModule

from .._record.errors import failing
from .commands import LONG, PATIENCE, TIMED_OUT, Host

# For so many seconds a command that has ended may still have something to say.
LINGER = 1
BLOCK = 1 << 16
PREFIXES = {"prefixes": {"type": "dict", "default": {}}}


class Output(io.RawIOBase):
    """What a command prints, until it has ended. A process that it leaves behind may keep the pipe open for ever."""

    def __init__(self, process, deadline):
        super().__init__()
        self.process, self.deadline = process, deadline
        self.poll = select.poll()
        self.poll.register(process.stdout, select.POLLIN | select.POLLHUP)

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self.poll.poll(LINGER * 1000):
            if self.process.poll() is not None or time.monotonic() > self.deadline:
                return 0
        return self.process.stdout.raw.readinto(buffer)


def execute(words, take):
    """Run a command; return its status, its output, or what take makes of it, and its errors.

    AnsibleModule.run_command puts the output together piece by piece, in a time that grows with its square.
    """
    # In memory, because the disk of a host that is asked may be full
    with os.fdopen(os.memfd_create("errors"), "w+b") as errors:
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            # pylint: disable-next=ansible-bad-function,consider-using-with
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment
            )
        except OSError as exc:
            return 127, "", f"{words[0]}: {exc.strerror}"
        patience = int(words[1]) if words[0] == "timeout" else LONG
        output = Output(process, time.monotonic() + patience + LINGER)
        try:
            with process.stdout, io.BufferedReader(output, BLOCK) as stream:
                out = (take or text_of)(stream)
        finally:
            # Who takes the output may have had enough of it.
            status = status_of(process)
        errors.seek(0)
        return status, out, text_of(errors)


def status_of(process):
    """The status of a command that has printed all; what is left of one that was ended for its slowness is killed."""
    try:
        status = process.wait(LINGER)
    except subprocess.TimeoutExpired:
        status = TIMED_OUT  # it may not be ended by this user
    if status == TIMED_OUT:
        # timeout leads a group of its own. Who may end it has ended the command, and not what that has begun.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return status


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
