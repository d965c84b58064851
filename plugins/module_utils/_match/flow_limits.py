# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limits of a flow file, so that a stranger's file costs neither memory nor time."""

from __future__ import annotations

import contextlib
from typing import Any

with contextlib.suppress(ImportError):  # the modules report it
    import yaml

# Characters of a file and of an expression; the largest of the collection's own has 54 thousand.
LONGEST_FILE, LONGEST_EXPRESSION = 1 << 20, 2000
MOST_STEPS, MOST_VALUES = 1000, 100000
# Levels of lists and dictionaries in each other
DEEPEST = 20


def read(path: str) -> str:
    """Return the text of a file that is not too long."""
    with open(path, encoding="utf-8") as file:
        text = file.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise ValueError(f"it is longer than {LONGEST_FILE} characters")
    return text


def check_shape(text: str, loader: Any) -> None:
    """Refuse what would cost far more memory than it has characters, or more stack than there is.

    What an alias stands for counts each time, as it does for who merges it or writes it out.
    """
    shape = Shape()
    for event in yaml.parse(text, loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        shape.add(event, line)
        if sum(shape.weights) > MOST_VALUES:
            raise ValueError(
                f"line {line}: more than {MOST_VALUES} values, with what aliases stand for"
            )


class Shape:
    """What was read of a file so far.

    weights: the number of values in each list and dictionary that is open. names: their anchors.
    known: the number of values that each anchor stands for.
    """

    def __init__(self) -> None:
        self.weights = [0]
        self._names: list[str | None] = [None]
        self._known: dict[str | None, int] = {}

    def add(self, event: Any, line: int) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._add_alias(event.anchor, line)
        elif isinstance(event, yaml.ScalarEvent):
            self._add(event.anchor, 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event.anchor, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self._names.pop(), self.weights.pop())

    def _add_alias(self, name: str | None, line: int) -> None:
        if name not in self._known:
            raise ValueError(
                f"line {line} has the alias *{name} for what is not whole before it"
            )
        self.weights[-1] += self._known[name]

    def _add(self, name: str | None, weight: int) -> None:
        self.weights[-1] += weight
        self._known[name] = weight

    def _open(self, name: str | None, line: int) -> None:
        self.weights.append(1)
        self._names.append(name)
        if len(self.weights) > DEEPEST:
            raise ValueError(
                f"line {line} lies more than {DEEPEST} levels deep"
            )


def check_expression(text: str) -> None:
    if len(text) > LONGEST_EXPRESSION:
        raise ValueError(
            f"an expression of {len(text)} characters, and {LONGEST_EXPRESSION} are the most"
        )
