# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A screen, and an action that runs with a module whose result is given."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.action import local
from ansible_collections.stackproof.provision.plugins.action import run as begins


class Screen:
    """Takes what would be displayed."""

    columns = 40

    def __init__(self):
        self.shown = []
        self.warnings = []

    def warning(self, text):
        self.warnings.append(text)

    def display(self, text, newline=True, screen_only=False):
        self.shown.append(SimpleNamespace(text=text, newline=newline, screen_only=screen_only))

    @property
    def texts(self):
        return [re.sub(r"^ +\d+\.\d s  ", "", shown.text) for shown in self.shown]


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(local, "display", Screen())
    monkeypatch.setattr(local, "LOOK", 0.02)
    return local.display


def template(value):
    """Return a value as it is; raise an error that stands for one that cannot be had."""
    if isinstance(value, Exception):
        raise value
    return value


@pytest.fixture
def act(screen, monkeypatch):
    """Return a function that runs the action; what the module was given is in the attribute given."""

    def run(module, result, transport="local", variables=None, place="/playbook.yml", **args):
        action = object.__new__((begins if module == "run" else local).ActionModule)
        name = f"stackproof.provision.{module}"
        action._task = SimpleNamespace(
            resolved_action=name,
            action=module,
            args=args,
            async_val=0,
            environment=[],
            get_path=lambda: f"{place}:12",
        )
        action._connection = SimpleNamespace(transport=transport, become=None)
        action._templar = SimpleNamespace(template=template)
        action._update_module_args = lambda _name, args, _variables: args.update(_ansible_verbosity=0)

        def execute(module_name, module_args, task_vars):
            run.given = (module_name, module_args, task_vars)
            if isinstance(result, Exception):
                raise result
            return dict(result)

        action._execute_module = execute
        return action.run(task_vars=variables or {"a": 1})

    monkeypatch.setattr(local.ActionBase, "run", lambda *_args: {})
    assert screen is local.display
    return run
