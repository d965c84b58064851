# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Limits on a run's record, as data: JMESPath expressions with a least or a greatest value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._model.record import Threshold
from .._record.errors import StageError
from .._record.run import is_finite

try:
    import jmespath
    from jmespath.exceptions import JMESPathError

    HAS_JMESPATH = True
except ImportError:
    HAS_JMESPATH = False


Limit = Mapping[str, Any]

OPTIONS = {
    "thresholds": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "query": {"type": "str", "required": True},
            "min": {"type": "float"},
            "max": {"type": "float"},
        },
    },
}


def check_expressions(limits: Iterable[Limit]) -> None:
    """Find a mistake in a limit before a run, not after it."""
    for limit in limits:
        hint = "See the examples of limits in docs/run.md."
        try:
            jmespath.compile(limit["query"])
        except JMESPathError as exc:
            message = f"the threshold {limit['name']} has no valid query: {' '.join(str(exc).split())}"
            raise StageError(
                "invalid", message, resource=limit["name"], hint=hint
            ) from None
        if limit.get("max") is None and limit.get("min") is None:
            message = f"the threshold {limit['name']} has neither max nor min"
            raise StageError(
                "invalid", message, resource=limit["name"], hint=hint
            )
        for end in ("max", "min"):
            if not is_finite(limit.get(end) or 0):
                message = f"the threshold {limit['name']} has the {end} {limit[end]}, which is no number"
                raise StageError(
                    "invalid", message, resource=limit["name"], hint=hint
                )


def apply_limits(
    limits: Iterable[Limit], record: Mapping[str, Any]
) -> tuple[Threshold, ...]:
    """Return each limit with what it measured. record: plain JSON, which the queries are made for."""
    return tuple(apply_limit(limit, record) for limit in limits)


def apply_limit(limit: Limit, record: Mapping[str, Any]) -> Threshold:
    least, most = limit.get("min"), limit.get("max")
    try:
        value = jmespath.search(limit["query"], record)
    except JMESPathError as exc:
        value = None
        problem: str | None = " ".join(str(exc).split())
    else:
        # A value that cannot be measured is not within its limits.
        is_number = is_finite(value)
        problem = (
            None
            if is_number
            else f"the query finds no number, but {value!r:.80}"
        )
        value = value if is_number else None
    problem = problem or beyond(value, least, most)
    return Threshold(
        name=limit["name"],
        query=limit["query"],
        min=least,
        max=most,
        value=value,
        ok=problem is None,
        text=f"{limit['name']}: {problem}"
        if problem
        else f"{limit['name']}: {value:g}",
    )


def beyond(
    value: float, least: float | None, most: float | None
) -> str | None:
    """Return how a value is not within its limits, or None."""
    if most is not None and value > most:
        return f"{value:g} is more than {most:g}"
    if least is not None and value < least:
        return f"{value:g} is less than {least:g}"
    return None
