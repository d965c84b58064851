# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a reader as a module that asks a host and changes nothing there."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import IO, Any, cast

from ansible.module_utils.basic import AnsibleModule

from .._model.codec import from_json, to_json
from .._model.host import Unread
from .._record.errors import failing
from .commands import LONG, NO_COMMAND, PATIENCE, TIMED_OUT, Host, Take

# In seconds: how long a command that has ended may still print something
LINGER = 1
BLOCK = 1 << 16
UNREAD: Any = tuple[Unread, ...]
PREFIXES = {"prefixes": {"type": "dict", "default": {}}}

Params = Mapping[str, Any]


class Output(io.RawIOBase):
    """The output of a command, until it has ended. A process that it leaves behind may keep the pipe open for ever."""

    def __init__(
        self, process: subprocess.Popen[bytes], deadline: float
    ) -> None:
        super().__init__()
        self.process = process
        self.deadline = deadline
        self.pipe = cast("io.BufferedReader", process.stdout)
        self.poll = select.poll()
        self.poll.register(self.pipe, select.POLLIN | select.POLLHUP)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        while not self.poll.poll(LINGER * 1000):
            if (
                self.process.poll() is not None
                or time.monotonic() > self.deadline
            ):
                return 0
        return cast("io.FileIO", self.pipe.raw).readinto(buffer)


def execute(words: list[str], take: Take | None) -> tuple[int, Any, str]:
    """Run a command; return its status, its output, or what take makes of it, and its errors.

    AnsibleModule.run_command puts the output together piece by piece, in a time that grows with its square.
    """
    # In memory, because the disk of a host that is asked may be full
    with os.fdopen(os.memfd_create("errors"), "w+b") as errors:
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            # pylint: disable-next=ansible-bad-function,consider-using-with
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
            )
        except OSError as exc:
            return NO_COMMAND, "", f"{words[0]}: {exc.strerror}"
        patience = int(words[1]) if words[0] == "timeout" else LONG
        output = Output(process, time.monotonic() + patience + LINGER)
        try:
            with output.pipe, io.BufferedReader(output, BLOCK) as stream:
                out = (take or text_of)(stream)
        finally:
            # take may have stopped before the end of the output.
            status = status_of(process)
        errors.seek(0)
        return status, out, text_of(errors)


def status_of(process: subprocess.Popen[bytes]) -> int:
    """Return the status of a command that has printed all, and kill what is left of one that was ended as too slow."""
    try:
        status = process.wait(LINGER)
    except subprocess.TimeoutExpired:
        status = TIMED_OUT  # it may not be ended by this user
    if status == TIMED_OUT:
        # timeout leads a group of its own. It has ended the command, but not the processes that the command started.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return status


def text_of(stream: IO[bytes]) -> str:
    return stream.read().decode("utf-8", "surrogateescape")


def main(
    options: dict[str, Any],
    read: Callable[[Host, Params], Any],
) -> None:
    """Run a reader and return its facts; name in unread and in warnings what could not be read."""
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    # A module that reads little has the prefixes alone.
    platform = module.params.get("platform") or module.params
    patience = module.params.get("patience") or PATIENCE
    host = Host(
        execute,
        platform.get("prefixes"),
        patience,
        options=platform.get("options"),
    )
    with failing(module, "reading this host"):
        facts = to_json(read(host, module.params))
    unread = to_json(host.unread)
    unread_logs = (facts.get("logs") or {}).get("unread", [])
    for entry in from_json(UNREAD, [*unread, *unread_logs], "unread"):
        module.warn(f"{entry.what}: {entry.reason}")
    module.exit_json(changed=False, unread=unread, **facts)
