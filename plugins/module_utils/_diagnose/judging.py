# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judge of runs, at work on what logs show: only this module of the package calls it."""

from __future__ import annotations

from typing import Any

from .._judge import culprit, verdict
from .._record.run import failed_stage

Record = dict[str, Any]


def failure(record: Record) -> Record:
    """Return the verdict on a record in which a stage failed."""
    judged: Record = verdict.failure(record, failed_stage(record["stages"]))
    return judged


def keep_quote(record: Record, quote: str | None) -> None:
    """Drop all lines of logs but one from the errors of a record."""
    culprit.keep_only(quote, record["errors"])
