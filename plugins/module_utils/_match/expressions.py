# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The JMESPath expressions of flows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

try:
    import jmespath
    from jmespath.exceptions import JMESPathError, JMESPathTypeError
    from jmespath.functions import Functions

    HAS_JMESPATH = True
except ImportError:  # the modules report it
    HAS_JMESPATH = False

from . import flow_limits

# Stands for any name of a run when a flow is checked: like many ids it is understood between quotation marks only.
SAMPLE = "0a-b"
NAME = re.compile(r"\{(\w+)\}")


class ExpressionError(ValueError):
    """An expression that JMESPath does not understand."""


def check(text: str, of_rule: bool = False) -> None:
    """Refuse an expression that JMESPath does not understand, whatever it is asked about.

    of_rule: whether the names of a run are put into it.
    """
    try:
        flow_limits.check_expression(text)
        expression = jmespath.compile(
            filled(text, defaultdict(lambda: SAMPLE)) if of_rule else text
        )
        check_functions(expression.parsed)
        expression.search({})
    except JMESPathTypeError:
        pass  # an event may have the field that is missing here
    # Deeply nested parentheses exhaust the stack.
    except (
        JMESPathError,
        TypeError,
        ValueError,
        ArithmeticError,
        RecursionError,
    ) as exc:
        raise ExpressionError(str(exc)) from exc


def check_functions(node: dict[str, Any]) -> None:
    """Refuse calls that JMESPath would refuse only on those data for which it comes to evaluate them."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        nodes += [
            child
            for child in node.get("children", ())
            if isinstance(child, dict)
        ]
        if node["type"] == "function_expression":
            check_call(node["value"], len(node["children"]))


def check_call(name: str, given: int) -> None:
    if name not in Functions.FUNCTION_TABLE:
        raise ValueError(f"there is no function {name}()")
    signature = Functions.FUNCTION_TABLE[name]["signature"]
    takes_more = bool(signature) and signature[-1].get("variadic", False)
    if given < len(signature) or (given > len(signature) and not takes_more):
        raise ValueError(
            f"{name}() takes {len(signature)} arguments{' or more' * takes_more}, not {given}"
        )


def names_in(text: str) -> set[str]:
    """Return the names in braces."""
    return set(NAME.findall(text))


def filled(text: str, names: Mapping[str, str]) -> str:
    """Put the run's names into a text: {host} becomes the host of the instance, {server} its id, and so on."""
    return NAME.sub(lambda match: str(names[match[1]]), text)


def agrees(expression: Any, data: Any) -> Any:
    """Return the result of a compiled expression on some data; None where they lack what it asks for."""
    try:
        return expression.search(data)
    # JMESPath leaves some errors to Python: contains('text', `1`) is a TypeError, ceil() of infinity an OverflowError.
    except (
        JMESPathError,
        TypeError,
        ValueError,
        ArithmeticError,
        RecursionError,
    ):
        return None


def search(text: str, data: Any) -> Any:
    """Return the result of an expression on some data; None where they lack what it asks for."""
    return agrees(jmespath.compile(text), data)


def compiled(text: str, names: Mapping[str, str]) -> Any:
    """Return a rule's expression with the run's names in it. Raise KeyError where the run has no such name.

    So too where the expression has no way to write the name.
    """
    # A name stands between quotation marks, and may be anybody's text.
    safe = {
        name: str(value).replace("\\", "\\\\").replace("'", "\\'")
        for name, value in names.items()
    }
    try:
        return jmespath.compile(filled(text, safe))
    except JMESPathError as exc:
        raise KeyError(text) from exc
