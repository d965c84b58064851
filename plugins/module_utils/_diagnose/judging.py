# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judge of runs, at work on what logs show: only this module of the package calls it."""

from __future__ import annotations

from dataclasses import replace

from .._match.logged_errors import with_quote
from .._model.record import Record
from .._model.verdict import Verdict
from .._report.messages.verdict import of_record


def failure(record: Record) -> Verdict:
    """Return the verdict on a record in which a stage failed."""
    return of_record(record)


def keep_quote(record: Record, quote: str | None) -> Record:
    """Return a record whose errors have no lines of logs but one."""
    return replace(record, errors=with_quote(record.known_errors, quote))
