#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: steps
short_description: Runs the one-time commands of a lab host, in parallel if their order allows it
version_added: 0.1.0
description:
  - Each step is a shell command that is run once. A step that ended well is remembered on the host, together with a
    digest of its command and of the files in its RV(ignore:inputs). It is run again only if one of them changes.
  - A step starts as soon as the steps in its C(after) have ended, with at most O(parallel) at a time.
  - Meant for the role P(stackproof.lab.lab#role).
author: stackproof contributors (@stackproof)
options:
  steps:
    description: The steps.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The name of the step, and of its log in C(/var/log/stackproof-lab).
        type: str
        required: true
      run:
        description: The command, for C(/bin/sh). Secrets belong in a file that it reads.
        type: str
        required: true
      undo:
        description:
          - A command that root runs first, where the step has begun before and has never ended well, as on a host that
            lost its power. For steps that cannot resume.
        type: str
        default: ''
      user:
        description: The user that runs it.
        type: str
        default: root
      after:
        description: Steps that must have ended, if this host has them.
        type: list
        elements: str
        default: []
      inputs:
        description: Files whose change makes the step run again.
        type: list
        elements: str
        default: []
  parallel:
    description: How many steps run in parallel.
    type: int
    default: 2
  timeout:
    description: How long one step may take, in seconds.
    type: int
    default: 300
attributes:
  check_mode:
    description: Returns whether steps would run, and runs none.
    support: full
"""

EXAMPLES = r"""
- name: Make the tables of two services
  stackproof.lab.steps:
    steps:
      - {name: keystone-tables, user: keystone, run: keystone-manage db_sync}
      - {name: glance-tables, user: glance, run: glance-manage db_sync}
"""

RETURN = r"""
seconds:
  description: How long each step took.
  returned: success
  type: dict
"""

import contextlib
import fcntl
import hashlib
import os
import shlex
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.lab.plugins.module_utils._machine import Process, start

# A step as the module's options have it
Step = dict[str, Any]

DONE = "/var/lib/stackproof-lab"
LOGS = "/var/log/stackproof-lab"
BEGUN = ".begun"


def digest(step: Step) -> str:
    """Return the digest by which a finished step is remembered."""
    total = hashlib.sha256(f"{step['user']}\n{step['run']}".encode())
    for path in step["inputs"]:
        with open(path, "rb") as file:
            total.update(file.read())
    return total.hexdigest()


def is_done(step: Step) -> bool:
    wanted = digest(step)
    path = os.path.join(DONE, step["name"])
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        return file.read() == wanted


def has_broken_off(step: Step) -> bool:
    """Return whether the step has begun before, and has never succeeded."""
    path = os.path.join(DONE, step["name"])
    return os.path.exists(path + BEGUN) and not os.path.exists(path)


def ready(waiting: Sequence[Step], running: Collection[str]) -> list[Step]:
    """Return the waiting steps whose predecessors neither wait nor run. A host need not have all of them."""
    unfinished = {step["name"] for step in waiting} | set(running)
    return [step for step in waiting if not unfinished & set(step["after"])]


def is_locked(folder: int) -> bool:
    """Return whether this process has the lock of a folder now. It is not waited for."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def alone(module: AnsibleModule, timeout: float) -> Iterator[None]:
    """Run steps alone on this host, after those of a killed playbook have ended."""
    deadline = time.monotonic() + timeout
    folder = os.open(DONE, os.O_RDONLY)
    try:
        while not is_locked(folder):
            if time.monotonic() > deadline:
                reason = f"Steps of an earlier playbook still run here after {timeout} s."
                module.fail_json(msg=f"{reason} Their logs are in {LOGS}. Try again when they have ended.")
            time.sleep(0.2)
        yield
    finally:
        os.close(folder)


def undone(module: AnsibleModule, steps: Iterable[Step]) -> list[Step]:
    """Return the steps that are still to be done. All inputs are read before anything runs."""
    try:
        return [step for step in steps if not is_done(step)]
    except OSError as exc:
        module.fail_json(msg=f"An input of a step cannot be read: {exc}")
        raise


def launch(step: Step) -> Process:
    path = os.path.join(LOGS, step["name"] + ".log")
    argv = ["/bin/sh", "-ec", step["run"]]
    if step["user"] != "root":
        argv = ["runuser", "-u", step["user"], "--", *argv]
    if step["undo"] and has_broken_off(step):
        argv = ["/bin/sh", "-ec", f"{step['undo']}\nexec {shlex.join(argv)}"]
    write(os.path.join(DONE, step["name"] + BEGUN), "")
    with open(path, "w", encoding="utf-8") as log:
        return start(argv, log)


def last_words(name: str, lines: int = 12) -> str:
    with open(os.path.join(LOGS, name + ".log"), encoding="utf-8", errors="replace") as log:
        return "".join(log.readlines()[-lines:]).strip() or "nothing"


def remember(step: Step) -> None:
    """Note that a step has succeeded, and what it has written: a host that loses its power has both or neither."""
    os.sync()
    write(os.path.join(DONE, step["name"]), digest(step))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(DONE, step["name"] + BEGUN))


def write(path: str, text: str) -> None:
    """Write a file as a whole, or not at all, so that it outlives a loss of power."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def stop(process: Process) -> None:
    """End a step with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass(frozen=True)
class Running:
    """A step at work."""

    step: Step
    process: Process
    begun: float


@dataclass
class Progress:
    """The steps that wait, those that run, the seconds of each that succeeded, and the failures of the others."""

    waiting: list[Step]
    running: dict[str, Running] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def start_ready(self, parallel: int) -> None:
        """Start as many steps as may run now; none after a failure."""
        if self.failures:
            return
        free = parallel - len(self.running)
        for step in ready(self.waiting, self.running)[:free]:
            self.waiting.remove(step)
            self.running[step["name"]] = Running(step, launch(step), time.monotonic())
        if not self.running:
            stuck = ", ".join(f"{step['name']} after {step['after']}" for step in self.waiting)
            self.failures.append(f"These steps wait for each other: {stuck}")

    def end_finished(self, timeout: float) -> None:
        """Take out the steps that have ended, and those whose time is over."""
        for name, running in list(self.running.items()):
            took = time.monotonic() - running.begun
            is_at_work = running.process.poll() is None
            if is_at_work and took <= timeout:
                continue
            del self.running[name]
            if is_at_work:
                stop(running.process)
                self.fail(running.step, f"no end after {took:.0f} s")
            elif running.process.returncode != 0:
                self.fail(running.step, f"exit status {running.process.returncode}")
            else:
                remember(running.step)
                self.seconds[name] = round(took, 1)

    def fail(self, step: Step, reason: str) -> None:
        words = last_words(step["name"])
        self.failures.append(f"Step {step['name']} failed, {reason}. {step['run']}\nIt said: {words}")


def run_all(steps: Iterable[Step], parallel: int, timeout: float) -> tuple[dict[str, float], list[str]]:
    """Run the steps; return the seconds of each that succeeded, and the failures of the others.

    After a failure no step is started, and the running ones are awaited, so that they need not run again.
    """
    progress = Progress(list(steps))
    while progress.running or (progress.waiting and not progress.failures):
        progress.start_ready(parallel)
        progress.end_finished(timeout)
        time.sleep(0.1)
    return progress.seconds, progress.failures


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "steps": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "run": {"type": "str", "required": True},
                    "undo": {"type": "str", "default": ""},
                    "user": {"type": "str", "default": "root"},
                    "after": {"type": "list", "elements": "str", "default": []},
                    "inputs": {"type": "list", "elements": "str", "default": []},
                },
            },
            "parallel": {"type": "int", "default": 2},
            "timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    steps = module.params["steps"]
    timeout = module.params["timeout"]
    seconds: dict[str, float] = {}
    failures: list[str] = []
    todo = undone(module, steps)
    if todo and not module.check_mode:
        for folder in (DONE, LOGS):
            os.makedirs(folder, mode=0o750, exist_ok=True)
        with alone(module, timeout):
            # The steps of the killed playbook may have ended well.
            todo = undone(module, steps)
            seconds, failures = run_all(todo, module.params["parallel"], timeout)
    if failures:
        module.fail_json(msg="\n".join(failures), seconds=seconds)
    module.exit_json(changed=bool(todo), seconds=seconds)


if __name__ == "__main__":
    main()
