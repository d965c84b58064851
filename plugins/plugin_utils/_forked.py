# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module of this collection in a fork of Ansible's process.

Ansible packs a module with all that it imports, starts an interpreter, and has it unpack and import all of that: a
second or so for each. A fork of a process that has the SDK loaded needs none of it. It is a process of its own all the
same: a module may change its signals, may be killed, and leaves nothing behind.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from ansible.module_utils.common.json import Direction, get_module_decoder
from ansible.module_utils.testing import patch_module_args
from ansible_collections.stackproof.provision.plugins.module_utils._record import (
    errors,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils import (
    _compiled,
)

COLLECTION = "ansible_collections.stackproof.provision.plugins"
# The modules of a run. A fork that had to load its own would compile it, with all that it imports.
MODULES = (
    *(
        "run",
        "auth",
        "image",
        "network",
        "volume",
        "boot",
        "metadata",
        "dataplane",
        "journey",
    ),
    *(
        "instance",
        "flow_info",
        "evidence",
        "flow",
        "host_checks",
        "cleanup",
        "report",
    ),
)


def load_what_is_shared() -> None:
    """Load what the modules of a run need: the SDK, their code, and what _shared prepares."""
    with _compiled.kept():
        for name in MODULES:
            importlib.import_module(f"{COLLECTION}.modules.{name}")
        shared = importlib.import_module(f"{COLLECTION}.plugin_utils._shared")
    shared.prepare()


def load_for_all_forks() -> None:
    """Load it without the garbage collector, which would only look at each new object again and again.

    Nothing of it is ever garbage: the collector of a fork need not look at it either, and copies none of its memory.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        load_what_is_shared()
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


# Ansible's first process loads this file with the action plugin run, so all its forks have that from the beginning.
load_for_all_forks()

PROFILE = "legacy"  # the one that patch_module_args gives a module


class Forked:
    """A module at work. Its result is to be taken once."""

    def __init__(self, module: str, args: dict[str, Any]) -> None:
        self._module = module
        reading, writing = os.pipe()
        self._process = os.fork()
        if not self._process:
            work(module, args, writing)
        os.close(writing)
        self._output = os.fdopen(reading, "rb")

    def result(self) -> dict[str, Any]:
        """Wait for the module to end, and return its result."""
        output, code = self._ended()
        try:
            result: dict[str, Any] = json.loads(
                output,
                cls=get_module_decoder(
                    PROFILE, Direction.MODULE_TO_CONTROLLER
                ),
            )
        except ValueError:
            how = (
                f"was ended by {signal.Signals(-code).name}"
                if code < 0
                else "ended without a result"
            )
            return {
                "failed": True,
                "msg": f"the process of {self._module} {how}",
            }
        return result

    def _ended(self) -> tuple[bytes, int]:
        """Return the output of the module and its exit code, which is below 0 if a signal ended it."""
        try:
            with self._output:
                output = self._output.read()
        except BaseException:  # for example, the task's own time is over
            self._end()
            raise
        finally:
            _process, status = os.waitpid(self._process, 0)
        return output, os.waitstatus_to_exitcode(status)

    def stop(self) -> None:
        """End the module, unless its result was taken: nobody waits for it any more."""
        if self._output.closed:
            return
        self._end()
        self._output.close()
        os.waitpid(self._process, 0)

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)


def results_of(begun: Sequence[Forked]) -> list[dict[str, Any]]:
    """Wait for modules to end, and return their results. If waiting for one ends early, so do the others."""
    try:
        return [forked.result() for forked in begun]
    except BaseException:
        for forked in begun:
            forked.stop()
        raise


def work(module: str, args: dict[str, Any], output: int) -> NoReturn:
    """Run a module in this process, with its output into a pipe. Never returns."""
    try:
        reset_signals()
        logging.root.handlers.clear()  # the SDK's lines do not belong in Ansible's log
        os.dup2(output, 1)
        os.close(output)
        with os.fdopen(
            1, "w", encoding="utf-8", errors="surrogateescape"
        ) as sys.stdout:
            run_main(module, args)
    finally:
        os._exit(0)


def reset_signals() -> None:
    """Have signals do what they do in a new process."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run_main(module: str, args: dict[str, Any]) -> None:
    """Run the main function of a module, and print an exception that it does not catch as its result."""
    try:
        with patch_module_args(args):
            load(module).main()
    except SystemExit:
        pass  # how a module ends
    except BaseException as exc:
        message = errors.sentence(errors.explain(exc, module))
        print(
            json.dumps(
                {
                    "failed": True,
                    "msg": message,
                    "exception": traceback.format_exc(),
                }
            )
        )


def load(module: str) -> ModuleType:
    """Return the Python module behind the full name of a module."""
    namespace, collection, name = module.split(".")
    return importlib.import_module(
        f"ansible_collections.{namespace}.{collection}.plugins.modules.{name}"
    )
