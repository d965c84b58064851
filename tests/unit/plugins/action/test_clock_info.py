# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a host's clock is compared with ours."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.action import clock_info as plugin


@pytest.mark.parametrize(
    ("before", "there", "after", "expected"),
    [
        (10.0, 10.5, 11.0, (0.0, 0.5)),
        (10.0, 12.0, 10.0, (2.0, 0.0)),
        (10.0, 7.0, 10.5, (-3.25, 0.25)),
    ],
)
def test_a_clock_is_compared_with_the_middle_of_question_and_answer(before, there, after, expected):
    assert plugin.difference(before, there, after) == plugin.Difference(*expected, before)


@pytest.fixture
def measure(monkeypatch):
    """Return a function that asks a host whose answers, and the times before and after each of them, are given."""

    def run(answers, times=()):
        replies, clock, asked = iter(answers), iter(times or range(100)), []

        def execute(_self, command, sudoable):
            asked.append((command, sudoable))
            out, errors = next(replies)
            return {"rc": 0, "stdout": out, "stderr": errors}

        monkeypatch.setattr(plugin, "time", SimpleNamespace(time=lambda: next(clock)))
        monkeypatch.setattr(plugin.ActionBase, "run", lambda *_arguments: {})
        monkeypatch.setattr(plugin.ActionModule, "_low_level_execute_command", execute)
        result = object.__new__(plugin.ActionModule).run(task_vars={})
        assert set(asked) == {("date -u +%s.%N", False)}
        return result

    return run


def test_the_answer_that_came_back_soonest_counts(measure):
    answers = [(f"{there}\n", "") for there in ("1.0", "12.0", "23.00000049")]
    times = [0, 5, 10, 12, 20, 21]
    assert measure(answers, times) == {"changed": False, "offset_s": 2.5, "error_s": 0.5, "began": 0}


@pytest.mark.parametrize(
    ("out", "errors", "error"),
    [("1795258881.N\n", "", "1795258881.N"), ("", "sh: date: not found\n", "sh: date: not found"), ("", "", "")],
)
def test_a_host_without_such_a_date_is_said(measure, out, errors, error):
    result = measure([("1.5", ""), (out, errors)])
    assert result["failed"] is True
    assert result["msg"] == f"date did not print a time with fractions of a second: {error}"
