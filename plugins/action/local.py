# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the modules that work where the playbook does.

Meanwhile it says what a stage waits for; it prints the summary that a report returns.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import stat
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.line_formats import REQUEST
from ansible_collections.stackproof.provision.plugins.module_utils._report.text import clean
from ansible_collections.stackproof.provision.plugins.plugin_utils import _variables
from ansible_collections.stackproof.provision.plugins.plugin_utils._forked import Forked
from ansible_collections.stackproof.provision.plugins.plugin_utils._reads import READS_OF

display = Display()
LOOK = 0.2


def is_terminal(process):
    """Whether a process writes to a terminal. A worker of Ansible's has none of its own, so its parent counts."""
    try:
        number = os.open(f"/proc/{process}/fd/1", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.isatty(number) and os.environ.get("TERM") != "dumb"
    finally:
        os.close(number)


def is_read(process):
    """Whether somebody still reads what a process writes: not where it writes into a pipe whose other end is closed."""
    output = f"/proc/{process}/fd/1"
    try:
        if not stat.S_ISFIFO(os.stat(output).st_mode):
            return True
        number = os.open(output, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return True  # not to be known
    try:
        poll = select.poll()
        poll.register(number, 0)
        return not poll.poll(0)
    finally:
        os.close(number)


def tell(text, **how):
    """Display a text, if there is a reader. Ansible waits for ever once it could not display what a worker said."""
    if is_read(os.getppid()):
        display.display(text, **how)


def warn(text: str) -> None:
    if is_read(os.getppid()):
        display.warning(text)


def names_of_variables(task_vars: Mapping[str, Any]) -> set[str]:
    """Return the names of all variables of a task and of each host of the inventory; no value is templated."""
    names = set(task_vars)
    hostvars = task_vars.get("hostvars") or {}
    for host in hostvars:
        # Ansible reports a broken file of variables as soon as its host is needed.
        with contextlib.suppress(AnsibleError):
            names.update(hostvars[host])
    return names


class Follower(threading.Thread):
    """Prints what a run says of itself: on a terminal in one line that is rewritten, else one line for each change."""

    def __init__(self, path, live):
        super().__init__(daemon=True)
        self.path, self.live = path, live
        self.mark = re.compile(rf" stackproof-{re.escape(os.path.basename(os.path.dirname(path)))}-[a-z-]+")
        self.ended = threading.Event()
        self._begun = time.monotonic()
        self._offset = self._size()
        self._text = None

    def _size(self):
        try:
            return os.path.getsize(self.path)
        except OSError:
            return 0

    def _new_texts(self):
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self._offset)
                new = stream.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        texts = []
        for text in whole.splitlines():
            # A full disk may have cut a line off.
            with contextlib.suppress(ValueError, TypeError, KeyError):
                line = json.loads(text)
                texts.append(f"{line['stage']}: {line['text']}")
        return texts

    def _show(self):
        for text in self._new_texts():
            # The run's mark in every name tells nobody anything here; a cloud's words fill no second line.
            self._text = clean(self.mark.sub("", text)).replace("\n", " ").replace("\t", " ")
            if not self.live:
                tell(f"  {time.monotonic() - self._begun:6.1f} s  {self._text}")
        if self.live and self._text:
            text = f"  {time.monotonic() - self._begun:6.1f} s  {self._text}"[: display.columns - 1]
            tell(f"\r\033[K{text}\r", newline=False, screen_only=True)

    def run(self):
        while not self.ended.wait(LOOK):
            self._show()
        self._show()
        if self.live:
            tell("\r\033[K", newline=False, screen_only=True)

    def __enter__(self):
        self.start()

    def __exit__(self, *_error):
        self.end()

    def end(self):
        self.ended.set()
        self.join()


def in_short(target, verdict):
    """How one run of many ended."""
    return clean(f"  {target}: {verdict['result'].upper()}: {verdict['reason']}")


def can_fork(task, connection, interpreter):
    """Whether a fork of Ansible's process is what a task asks for: no other host, user, interpreter or environment."""
    same = connection.transport == "local" and not connection.become and interpreter == sys.executable
    return same and not task.async_val and not any(task.environment or [])


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def arguments(self, module, task_vars):
        """The options of the module, with those that no task writes."""
        args = dict(self._task.args)
        if isinstance(args.get("cloud"), dict):
            # A dictionary holds a password, and what is not known to be secret is written to the system's log.
            args["_cloud"] = args.pop("cloud")
        if isinstance(args.get("error"), str):
            # What a client has printed may hold one, too. Only the request that it names is needed.
            args["error"] = next(reversed(REQUEST.findall(args["error"])), "a text that names no request")
        gather = READS_OF.get(module.rpartition(".")[2])
        if gather:
            args["reads"] = gather(task_vars or {}, args.get("hosts") or [])
        return args

    def refusal(self, module: str, task_vars: Mapping[str, Any]) -> str | None:
        """Return why a playbook does not begin: a misspelt variable. Warn of one that is only unknown."""
        path = self._task.get_path().rpartition(":")[0]  # without the number of the line
        # A target of many has the variables of its playbook, which has begun.
        if task_vars.get("stackproof_target") or not _variables.is_first_task(path, module.rpartition(".")[2]):
            return None
        unknown = _variables.unknown_variables(names_of_variables(task_vars), _variables.known_names())
        if unused := _variables.warning(unknown):
            warn(clean(unused))
        refused = _variables.refusal(unknown)
        return clean(refused) if refused else None

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        module = self._task.resolved_action or self._task.action
        if refused := self.refusal(module, task_vars or {}):
            return {"failed": True, "msg": refused}
        args = self.arguments(module, task_vars)
        # Many runs at once would write over each other: each of them says only how it ended.
        target = (task_vars or {}).get("stackproof_target")
        directory = None if target else args.get("run_dir")
        following = contextlib.nullcontext()
        if directory:
            following = Follower(os.path.join(directory, "progress.jsonl"), is_terminal(os.getppid()))
        interpreter = self._templar.template((task_vars or {}).get("ansible_python_interpreter"))
        if can_fork(self._task, self._connection, interpreter):
            self._update_module_args(module, args, task_vars)
            forked = Forked(module, args)
            with following:
                result = forked.result()
        else:
            with following:
                result = self._execute_module(module_name=module, module_args=args, task_vars=task_vars)
        if result.get("summary"):
            tell("\n".join([in_short(target, result["verdict"])] if target else result["summary"]))
            if result.get("failed"):
                del result["summary"]  # what is printed need not be printed once more as data
        return result
