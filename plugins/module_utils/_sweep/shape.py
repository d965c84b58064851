# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the record of a sweep has the shape that a sweep writes. Anybody may have put the file there.

roles/report/files/sweep.schema.json describes the same for others. This needs no library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .._record import run
from .._record.run import RUN_ID, STAGES, is_finite, is_seconds
from .slices import MOST_SLICES, WORST_FIRST

Check = Callable[[Any], bool]

# Python makes no number of more than 4300 digits, and names are sorted by the numbers in them.
LONGEST_NAME = 1024
# Of anything that is counted
LARGEST = 1_000_000
# Times are compared as texts, so all have one form.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
RESULTS = ("pass", "fail", "incomplete")
STATUSES = ("ok", "failed", "skipped")


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME


def is_run_id(value: Any) -> bool:
    """Whether a value can be the name of a run's directory: no other leads out of the folder of the runs."""
    return isinstance(value, str) and RUN_ID.fullmatch(value) is not None


def is_way_to_run(value: Any) -> bool:
    """Whether a value leads from a sweep to one of its runs. Elsewhere it would make a link that leads anywhere."""
    return isinstance(value, str) and value.startswith("../")


def is_time(value: Any) -> bool:
    return isinstance(value, str) and TIME.fullmatch(value) is not None and run.is_time(value)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and is_finite(value) and 0 <= value <= LARGEST


def one_of(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def with_fields(fields: dict[str, Check]) -> Check:
    return lambda value: isinstance(value, dict) and odd_field(value, fields) is None


def odd_field(record: dict[str, Any], fields: dict[str, Check]) -> str | None:
    """Return the first field that is missing or has another form, or None if all are as they should be."""
    return next((name for name, check in fields.items() if name not in record or not check(record[name])), None)


def is_check(value: Any) -> bool:
    """Whether a value is what was looked at before a sweep. What was not ok has a reason."""
    return has_check_fields(value) and (value["status"] == "ok" or isinstance(value["reason"], str))


def is_slice(value: Any) -> bool:
    """Whether a value is a slice. Those that are missing are counted, so there cannot be any number of them."""
    return has_slice_fields(value) and 1 <= value["number"] <= value["of"] <= MOST_SLICES


has_check_fields = with_fields(
    {
        "name": is_name,
        "status": one_of(*WORST_FIRST),
        "reason": optional(is_text),
        "host": optional(is_name),
        "component": optional(is_text),
    }
)
has_slice_fields = with_fields({"number": is_count, "of": is_count, "targets": is_count})
is_stage = with_fields(
    {
        "stage": one_of(*STAGES),
        "status": one_of(*STATUSES),
        "seconds": optional(is_seconds),
        "reason": optional(is_text),
    }
)
OUTCOME: dict[str, Check] = {
    "result": one_of(*RESULTS),
    "reason": is_text,
    "stage": optional(is_text),
    "directory": optional(is_way_to_run),
    "duration_s": optional(is_seconds),
    "stages": list_of(is_stage),
}
is_outcome = with_fields(OUTCOME)
is_target = with_fields(
    {
        "name": is_name,
        "key": is_name,
        "run_id": is_run_id,
        **dict.fromkeys(("host", "network", "volume_type", "zone"), optional(is_name)),
        **OUTCOME,
    }
)
SWEEP: dict[str, Check] = {
    "sweep_id": is_name,
    "slice": optional(is_slice),
    "merged": list_of(with_fields({"sweep_id": is_name, "slice": optional(is_slice)})),
    "cloud": is_text,
    "started": is_time,
    "finished": optional(is_time),
    "duration_s": optional(is_finite),
    "at_once": optional(is_count),
    "verdict": with_fields({"result": one_of(*RESULTS), "reason": is_text, "hosts": list_of(is_name)}),
    "preflight": list_of(is_check),
    "left_out": list_of(with_fields({"host": is_name, "reason": is_text})),
    "targets": list_of(is_target),
    "stages": list_of(
        with_fields({"stage": one_of(*STAGES), "targets": is_count, "median_s": is_seconds, "max_s": is_seconds})
    ),
    "outliers": list_of(
        with_fields(
            {
                "target": is_name,
                "stage": one_of(*STAGES),
                **dict.fromkeys(("seconds", "median_s"), is_seconds),
                "times": is_finite,
                "reason": is_text,
            }
        )
    ),
}


def oddity(record: dict[str, Any]) -> str | None:
    """Return what is odd about the record of a sweep, in words, or None."""
    name = odd_field(record, SWEEP)
    if name is None:
        return None
    return f'"{name}" is missing' if name not in record else f'"{name}" does not have the form that a sweep writes'
