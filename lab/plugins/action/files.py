# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Render trees of templates on the control node, then hand all files to the module in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader


def tree_files(top: str) -> Iterator[tuple[str, str]]:
    """Yield each file below a folder as (path of the source, path on the host), in a fixed order."""
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            source = os.path.join(folder, name)
            yield source, "/" + os.path.relpath(source, top).removesuffix(".j2")


def file_mode(group: str, executable: bool) -> str:
    """Return the mode of a file: with a group of its own it may hold secrets; others are for everybody on the host."""
    if group == "root":
        return "0755" if executable else "0644"
    return "0750" if executable else "0640"


class ActionModule(ActionBase):
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = self._task.args
        if not isinstance(arguments.get("source"), str) or not isinstance(arguments.get("trees"), list):
            raise AnsibleActionFail("files needs source, a folder, and trees, a list of {name, group}")
        files = []
        for tree in arguments["trees"]:
            top = os.path.join(arguments["source"], tree["name"])
            for source, path in tree_files(top):
                content = self._render(source, task_vars)
                mode = file_mode(tree["group"], os.access(source, os.X_OK))
                files.append(
                    {"tree": tree["name"], "path": path, "content": content, "group": tree["group"], "mode": mode}
                )
        result.update(self._execute_module(module_args={"files": files}, task_vars=task_vars))
        return result

    def _render(self, source: str, task_vars: dict[str, Any] | None) -> str:
        if not source.endswith(".j2"):
            with open(source, encoding="utf-8") as file:
                return file.read()
        lookup = lookup_loader.get("ansible.builtin.template", loader=self._loader, templar=self._templar)
        content: str = lookup.run([source], variables=task_vars)[0]
        return content
