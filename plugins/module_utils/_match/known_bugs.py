# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the known bugs that the errors of a run show, while each error still has its line."""

from __future__ import annotations

from collections.abc import Iterable

from .._components.bugs.catalogue import BUGS
from .._components.tables import writer_of
from .._model.known_bug import KnownBug
from .._model.record import LoggedError


def known_bugs_in(errors: Iterable[LoggedError]) -> tuple[KnownBug, ...]:
    """Return each bug that an error shows, once, with the first error that does."""
    found: dict[str, KnownBug] = {}
    for error in sorted(errors, key=lambda error: error.at):
        component, text = (
            writer_of(error.service),
            f"{error.exception_class}: {error.quote or ''}",
        )
        for bug in BUGS:
            if (
                component in bug.components
                and bug.number not in found
                and bug.shows.search(text)
            ):
                found[bug.number] = KnownBug(
                    bug.number,
                    bug.url,
                    bug.title,
                    bug.affects,
                    bug.remedy,
                    component,
                    error.host,
                    error.at,
                )
    return tuple(found.values())
