# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: json
type: stdout
short_description: One JSON document on the standard output, with the verdict
author: stackproof contributors (!UNKNOWN)
version_added: 1.0.0
description:
  - For scripts and agents. Prints nothing while a playbook of this collection works, and one JSON document at its end.
    Warnings go to the standard error, as ever.
  - The document has C(schema), C(playbook), C(result), C(verdict), C(data) and C(errors). docs/record.md describes
    them, and what may change in them.
"""

import json
from collections.abc import Mapping
from typing import Any

from ansible.plugins.callback import CallbackBase

SCHEMA = "stackproof.answer/1"
COLLECTION = "stackproof.provision."
ERROR = "error"
DONE = "done"
# A module of the collection that has something for a reader returns it as lines, too, and so is known.
FOR_READERS = "summary"
# What Ansible adds to a result, and what stands elsewhere in the document
LEFT_OUT = (
    FOR_READERS,
    "verdict",
    "changed",
    "failed",
    "invocation",
    "warnings",
    "deprecations",
    "exception",
    "msg",
)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "stackproof.provision.json"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._playbook = ""
        self._verdict: Mapping[str, Any] | None = None
        self._data: dict[str, Any] = {}
        self._errors: list[dict[str, str]] = []

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._playbook = (
            str(playbook._file_name).rpartition("/")[2].removesuffix(".yml")
        )

    def v2_runner_on_ok(self, result: Any) -> None:
        self._keep(result)

    def v2_runner_on_failed(
        self, result: Any, ignore_errors: bool = False
    ) -> None:
        # A report fails where the verdict is not a pass: the verdict says why.
        if not self._keep(result) and not ignore_errors:
            self._add_error(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if not result.task.ignore_unreachable:
            self._add_error(result)

    def _keep(self, result: Any) -> bool:
        """Keep what a module of the collection found, if it has something for a reader. Return whether it had."""
        action = getattr(result.task, "resolved_action", None)
        if not action:
            action = result.task.action
        if not str(action).startswith(COLLECTION):
            return False
        answer = result.result
        if FOR_READERS not in answer and "verdict" not in answer:
            return False
        verdict = answer.get("verdict")
        if verdict:
            self._verdict = verdict
        data = {name: value for name, value in answer.items() if is_data(name)}
        self._data.update(data)
        return True

    def _add_error(self, result: Any) -> None:
        answer = result.result
        message = answer.get("censored") or answer.get("msg") or "no message"
        host = result.host.get_name()
        self._errors.append(
            {
                "task": result.task.get_name().strip(),
                "host": host,
                "message": str(message),
            }
        )

    def v2_playbook_on_stats(self, stats: Any) -> None:
        document = {
            "schema": SCHEMA,
            "playbook": self._playbook,
            "result": self._result(stats),
            "verdict": self._verdict,
            "data": self._data,
            "errors": self._errors,
        }
        self._display.display(json.dumps(document, default=str))

    def _result(self, stats: Any) -> str:
        """Return the result of the verdict; without one, whether the playbook came to its end."""
        if self._verdict:
            return str(self._verdict["result"])
        if self._errors:
            return ERROR
        for host in stats.processed:
            counts = stats.summarize(host)
            if counts["failures"] or counts["unreachable"]:
                return ERROR
        return DONE


def is_data(name: str) -> bool:
    return name not in LEFT_OUT and not name.startswith("_ansible")
