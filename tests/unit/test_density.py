# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The density of code is counted right, and that of the plugins does not grow."""

from __future__ import annotations

from pathlib import Path

import pytest
from density import Density, density_of
from tree import ROOT

# What the plugins had when this was written. Lower these when they have become better, and never raise them.
MOST_BRANCHES_PER_100_LINES = 25
MOST_SUBSCRIPTS_PER_1000_LINES = 17
LEAST_PARAMETERS_TYPED = 1
# With more branches a function has steps that deserve names.
MOST_COMPLEXITY = 10
PLUGINS = ROOT / "plugins"
FILES = sorted(PLUGINS.rglob("*.py"))


def density(source: str) -> Density:
    counted = Density()
    counted.add(source)
    return counted


@pytest.mark.parametrize(
    ("statement", "branches"),
    [
        ("return x", 0),
        ("return x if y else z", 1),
        ("return x and y and z", 2),
        ("return [i for i in x if i]", 2),
        ("if x: return y", 1),
        ("for i in x: y(i)", 1),
        ("while x: y()", 1),
        ("try: x()\n    except ValueError: y()", 1),
    ],
)
def test_each_branch_is_counted(statement: str, branches: int) -> None:
    counted = density(f"def f(x, y, z):\n    {statement}\n")
    assert (counted.branches, counted.complexities) == (branches, [1 + branches])


@pytest.mark.parametrize(
    ("expression", "nested"),
    [
        ("[i for i in x]", 0),
        ("[i for j in x for i in j]", 1),
        ("[[i for i in j] for j in x]", 1),
        ("x(i for i in y)", 0),
    ],
)
def test_comprehensions_in_comprehensions_are_counted(expression: str, nested: int) -> None:
    assert density(f"{expression}\n").nested == nested


def test_only_text_in_brackets_counts_as_a_key() -> None:
    assert density("x['a'] + x[0] + x[i] + x[1:2]\n").subscripts == 1


def test_parameters_count_but_for_receivers() -> None:
    counted = density("class C:\n    def f(self, a: int, *b, c=1, **d: str): pass\n")
    assert (counted.parameters, counted.typed) == (4, 2)


def test_documentation_is_no_line_of_a_function() -> None:
    counted = density('def f():\n    """Return\n\n    nothing."""\n    return None\n')
    assert (counted.lengths, counted.function_lines) == ([5], 2)


def test_the_plugins_get_no_denser() -> None:
    plugins = density_of([PLUGINS])
    assert 100 * plugins.branches / plugins.function_lines <= MOST_BRANCHES_PER_100_LINES
    assert 1000 * plugins.subscripts / plugins.lines <= MOST_SUBSCRIPTS_PER_1000_LINES
    assert plugins.typed / plugins.parameters >= LEAST_PARAMETERS_TYPED


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_no_function_of_a_plugin_is_too_complex_and_no_comprehension_is_nested(path: Path) -> None:
    counted = density(path.read_text(encoding="utf-8"))
    assert max(counted.complexities, default=0) <= MOST_COMPLEXITY
    assert counted.nested == 0
