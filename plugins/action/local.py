# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the modules that work where the playbook does, with the options that a role's variables give.

Meanwhile it shows what a stage waits for; it prints the summary that a report returns.
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
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

# First, as it keeps the compiled code of what it loads, and the others load much of that.
from ansible_collections.stackproof.provision.plugins.plugin_utils._forked import (
    Forked,
)

# isort: split
from ansible import constants as C
from ansible.errors import (
    AnsibleError,
    AnsibleTemplateError,
    AnsibleValueOmittedError,
)
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.stackproof.provision.plugins.module_utils._record.ids import (
    REQUEST,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.words import (
    clean,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils import (
    _specs,
    _variables,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils._reads import (
    READS_OF,
)

display = Display()
# In seconds, between two looks at what a run has written
LOOK = 0.2
# The callback that prints the same as data
FOR_PROGRAMS = "stackproof.provision.json"
ERASE_LINE = "\r\033[K"


def is_terminal(process: int) -> bool:
    """Return whether a process writes to a terminal. A worker of Ansible has none of its own, so its parent counts."""
    try:
        number = os.open(f"/proc/{process}/fd/1", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.isatty(number) and os.environ.get("TERM") != "dumb"
    finally:
        os.close(number)


def is_read(process: int) -> bool:
    """Return whether somebody still reads what a process writes: not if it is a pipe whose other end is closed."""
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


def tell(text: str, **how: Any) -> None:
    """Display a text, if there is a reader. Ansible waits for ever once it could not display a worker's text."""
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


def text_in(line: bytes) -> str | None:
    """Return a line of a run's progress as it is shown, or None. A full disk may have cut it off."""
    try:
        content = json.loads(line)
        return f"{content['stage']}: {content['text']}"
    except (ValueError, TypeError, KeyError):
        return None


class Follower(threading.Thread):
    """Print the progress of a run: on a terminal in one line that is rewritten, else one line for each change."""

    def __init__(self, path: str, live: bool) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.live = live
        run_id = os.path.basename(os.path.dirname(path))
        self.mark = re.compile(rf" stackproof-{re.escape(run_id)}-[a-z-]+")
        self.ended = threading.Event()
        self._begun = time.monotonic()
        self._offset = self._size()
        self._text: str | None = None

    def _size(self) -> int:
        try:
            return os.path.getsize(self.path)
        except OSError:
            return 0

    def _new_texts(self) -> list[str]:
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self._offset)
                new = stream.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        return list(filter(None, map(text_in, whole.splitlines())))

    def _show(self) -> None:
        for text in self._new_texts():
            # The run's mark in every name tells nobody anything here; a cloud's words fill no second line.
            self._text = (
                clean(self.mark.sub("", text))
                .replace("\n", " ")
                .replace("\t", " ")
            )
            if not self.live:
                tell(self._with_time(self._text))
        if self.live and self._text:
            text = self._with_time(self._text)[: display.columns - 1]
            tell(f"{ERASE_LINE}{text}\r", newline=False, screen_only=True)

    def _with_time(self, text: str) -> str:
        return f"  {time.monotonic() - self._begun:6.1f} s  {text}"

    def run(self) -> None:
        while not self.ended.wait(LOOK):
            self._show()
        self._show()
        if self.live:
            tell(ERASE_LINE, newline=False, screen_only=True)

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        self.ended.set()
        self.join()


def in_short(target: str, verdict: Mapping[str, str]) -> str:
    """Return how one run of many ended."""
    text: str = clean(
        f"  {target}: {verdict['result'].upper()}: {verdict['reason']}"
    )
    return text


def can_fork(task: Any, connection: Any, interpreter: str | None) -> bool:
    """Return whether a fork of Ansible's process can do a task.

    It cannot for another host, user, interpreter or environment.
    """
    if connection.transport != "local" or connection.become:
        return False
    if interpreter != sys.executable:
        return False
    return not task.async_val and not any(task.environment or [])


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def path(self) -> str:
        """Return the file in which the task stands."""
        # Without the number of the line
        return str(self._task.get_path()).rpartition(":")[0]

    def arguments(
        self, module: str, task_vars: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the options of the module, with those that no task writes."""
        name = module.rpartition(".")[2]
        return self.options_for(name, self.path(), self._task.args, task_vars)

    def options_for(
        self,
        name: str,
        tasks: str,
        own: Mapping[str, Any],
        task_vars: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the options of a module. tasks: the file in which its task stands. own: those that stand there."""
        given = _specs.options_given(
            tasks, name, lambda variable: self.value(task_vars.get(variable))
        )
        args = {**given, **own}
        if isinstance(args.get("cloud"), dict):
            # A dictionary holds a password, and what is not known to be secret is written to the system's log.
            args["_cloud"] = args.pop("cloud")
        if isinstance(args.get("error"), str):
            # What a client has printed may hold one, too. Only the request that it names is needed.
            args["error"] = next(
                reversed(REQUEST.findall(args["error"])),
                "a text that names no request",
            )
        gather = READS_OF.get(name)
        if gather:
            args["reads"] = gather(task_vars, args.get("hosts") or [])
        return args

    def value(self, template: Any) -> Any:
        """Return the value of a variable: None if there is none, or if it is to be left out."""
        if template is None:
            return None
        try:
            return self._templar.template(template)
        except AnsibleValueOmittedError:
            return None

    def problems(self, task_vars: Mapping[str, Any]) -> Iterator[str]:
        """Find the variables that have no value, and those whose value no run can use."""
        values = {}
        for name in sorted(
            _specs.variables_of_run().keys() & task_vars.keys()
        ):
            try:
                values[name] = self.value(task_vars[name])
            except AnsibleTemplateError as exc:
                yield f"{name} has no value: {exc}"
        yield from _specs.problems(values)

    def refusal(self, module: str, task_vars: Mapping[str, Any]) -> str | None:
        """Return why a playbook does not begin: misspelt names, wrong values. Warn of a name that is only unknown."""
        # A target of many has the variables of its playbook, which has begun.
        name = module.rpartition(".")[2]
        if task_vars.get("stackproof_target") or not _variables.is_first_task(
            self.path(), name
        ):
            return None
        given = names_of_variables(task_vars)
        unknown = _variables.unknown_variables(
            given, _variables.known_names(), _specs.variables()
        )
        if unused := _variables.warning(unknown):
            warn(clean(unused))
        wrong = self.problems(task_vars) if name in _specs.BEGIN_RUNS else ()
        refused = _variables.refusal([*_variables.misspelt(unknown), *wrong])
        return clean(refused) if refused else None

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        super().run(tmp, task_vars)
        module = self._task.resolved_action or self._task.action
        variables = task_vars or {}
        if refused := self.refusal(module, variables):
            return {"failed": True, "msg": refused}
        args = self.arguments(module, variables)
        target = variables.get("stackproof_target")
        result = self.perform(
            module, args, variables, self.follower(target, args.get("run_dir"))
        )
        if result.get("summary") and C.DEFAULT_STDOUT_CALLBACK != FOR_PROGRAMS:
            tell(
                in_short(target, result["verdict"])
                if target
                else "\n".join(result["summary"])
            )
            if result.get("failed"):
                # What is printed need not be printed once more as data
                del result["summary"]
        return result

    def follower(
        self, target: str | None, directory: str | None
    ) -> AbstractContextManager[None]:
        """Return what shows the progress of a run while its module works.

        Many runs at once would write over each other: each of them shows only how it ended.
        """
        if target or not directory:
            return contextlib.nullcontext()
        return Follower(
            os.path.join(directory, "progress.jsonl"),
            is_terminal(os.getppid()),
        )

    def can_fork(self, variables: Mapping[str, Any]) -> bool:
        interpreter = self._templar.template(
            variables.get("ansible_python_interpreter")
        )
        return can_fork(self._task, self._connection, interpreter)

    def perform(
        self,
        module: str,
        args: dict[str, Any],
        variables: dict[str, Any],
        following: AbstractContextManager[None],
    ) -> dict[str, Any]:
        """Run the module, in a fork of this process if that does, and return its result."""
        if self.can_fork(variables):
            self._update_module_args(module, args, variables)
            forked = Forked(module, args)
            with following:
                return forked.result()
        with following:
            result: dict[str, Any] = self._execute_module(
                module_name=module, module_args=args, task_vars=variables
            )
            return result
