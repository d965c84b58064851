# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that systemd puts into its journal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from .._record.errors import MALFORMED, StageError


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def leaving_alone(what: str) -> Iterator[None]:
    """Name what cannot be read, or has a form that no release writes, and go on with the others.

    The folder of the runs is the work of weeks: one file that something else has changed must not stop all of it.
    """
    try:
        yield
    except (StageError, OSError) as exc:
        say(f"{what} is left alone: {exc}")
    except MALFORMED as exc:
        say(f"{what} is left alone: it has an unknown form ({type(exc).__name__}: {exc})")
