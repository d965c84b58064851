# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until a guest has shown its proof on its console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._model.details import GuestReport
from .._record.errors import DeadlinePassed, StageError
from .._record.waiting import Look
from . import guest
from .console import console_pace, read_console
from .stage import Stage


def follow(
    stage: Stage[Any],
    server_id: str,
    nonces: guest.Nonces,
    whose: str,
    failure: Callable[[GuestReport], StageError],
    note: Callable[[GuestReport], None] = lambda _seen: None,
    is_enough: Callable[[GuestReport], bool] = guest.is_proved,
) -> GuestReport:
    """Return what a guest has shown, once that is enough. whose: the guest, in words.

    failure: returns the error of one that has not shown it in time. note: is called with what it shows at each look.
    """
    nova = stage.cloud.compute
    seen = guest.read("", nonces)

    def look() -> Look:
        nonlocal seen
        seen = guest.read(read_console(nova, server_id), nonces)
        note(seen)
        return is_enough(seen), guest.progress(seen), seen

    try:
        stage.wait(
            f"{whose} to show that it read metadata and user data",
            look,
            console_pace,
        )
    except DeadlinePassed:
        raise failure(seen) from None
    return seen
