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
    weights, names = [0], [""]
    known: dict[str | None, int] = {}
    for event in yaml.parse(text, loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                raise ValueError(f"line {line} has the alias *{event.anchor} for what is not whole before it")
            weights[-1] += known[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            weights.append(1)
            names.append(event.anchor or "")
            if len(weights) > DEEPEST:
                raise ValueError(f"line {line} lies more than {DEEPEST} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            weight, name = weights.pop(), names.pop()
            weights[-1] += weight
            known[name] = weight
        elif isinstance(event, yaml.ScalarEvent):
            weights[-1] += 1
            known[event.anchor] = 1
        if sum(weights) > MOST_VALUES:
            raise ValueError(f"line {line}: more than {MOST_VALUES} values, with what aliases stand for")


def check_expression(text: str) -> None:
    if len(text) > LONGEST_EXPRESSION:
        raise ValueError(f"an expression of {len(text)} characters, and {LONGEST_EXPRESSION} are the most")
