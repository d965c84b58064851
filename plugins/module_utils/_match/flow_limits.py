# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a flow may be at most, whoever wrote it: so that a file of a stranger's costs neither memory nor time."""

from __future__ import annotations

try:
    import yaml
except ImportError:
    yaml = None

try:
    from re import _parser as parser
except ImportError:  # before Python 3.11
    import sre_parse as parser

# Characters of a file, of an expression, and of a pattern; the largest of the collection's own has 54 thousand.
LONGEST_FILE, LONGEST_EXPRESSION, LONGEST_PATTERN = 1 << 20, 2000, 500
MOST_STEPS, MOST_VALUES = 1000, 100000
# What lies in something that lies in something
DEEPEST = 20
# A repeat of more than so many times is one without an end, and of these a pattern has so many at most.
MANY, MOST_REPEATS = 10, 4
REFERENCE = -1
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def read(path):
    """The text of a file that is not too long."""
    with open(path, encoding="utf-8") as file:
        text = file.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise ValueError(f"it is longer than {LONGEST_FILE} characters")
    return text


def check_shape(text, loader):
    """Refuse what would cost far more memory than it has characters, or more stack than there is.

    What an alias stands for counts each time, as it does for who merges it or writes it out.
    """
    weights, names, known = [0], [None], {}
    for event in yaml.parse(text, loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                raise ValueError(f"line {line} has the alias *{event.anchor} for what is not whole before it")
            weights[-1] += known[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            weights.append(1)
            names.append(event.anchor)
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


def check_length(what, text, longest):
    if len(text) > longest:
        raise ValueError(f"{what} of {len(text)} characters, and {longest} are the most")


def check_pattern(text):
    """Refuse what Python's re may take forever for: a repeat in a repeat, or very many of them."""
    check_length("a pattern", text, LONGEST_PATTERN)
    repeats = list(repeats_in(parser.parse(text)))
    if REFERENCE in repeats:
        raise ValueError("a pattern that refers to its own groups, which may take forever")
    if max(repeats, default=0) > 1:
        raise ValueError("a pattern with a repeat in a repeat, which may take forever")
    if len(repeats) > MOST_REPEATS:
        raise ValueError(f"a pattern with {len(repeats)} repeats without an end, and {MOST_REPEATS} are the most")


def repeats_in(parsed, depth=0):
    """Of each repeat without an end how deep it lies in others, from 1 on; of what refers to a group, REFERENCE."""
    for operation, argument in parsed:
        name = str(operation)
        if name.startswith("GROUPREF"):
            yield REFERENCE
        inner = depth + (name in REPEATS and argument[1] > MANY)
        if inner > depth:
            yield inner
        for part in parts_of(argument):
            yield from repeats_in(part, inner)


def parts_of(argument):
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, (list, tuple)):
        return [part for one in argument for part in parts_of(one)]
    return []
