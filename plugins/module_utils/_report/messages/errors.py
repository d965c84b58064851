# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors that were read while all went well, as a sentence. It accuses no component."""

from __future__ import annotations

from collections.abc import Iterable

from ..._components.tables import share_of_healthy_runs, writer_of
from ..._model.record import LoggedError
from ..._record.words import listed
from .words import at_place

# A sentence lists this many kinds of errors.
MOST = 3


def errors_sentence(errors: Iterable[LoggedError]) -> str:
    """Return which kinds of errors were logged that are not those of any healthy run; an empty text without any.

    Those come first that were not logged while all worked, and of these the ones with an id of the run.
    """
    logged = sorted(
        filter(is_worth_a_word, errors),
        key=lambda error: (error.usual or 0.0, not error.own),
    )
    kinds = list(dict.fromkeys(map(kind_of, logged)))
    return (
        f" Errors were logged in that time: {listed(kinds, MOST, '; ')}."
        if kinds
        else ""
    )


def is_worth_a_word(error: LoggedError) -> bool:
    known = share_of_healthy_runs(error.service, error.logger, error.exception)
    return not (error.is_warning or known)


def kind_of(error: LoggedError) -> str:
    return at_place(
        writer_of(error.service), error.host, error.exception or error.logger
    )
