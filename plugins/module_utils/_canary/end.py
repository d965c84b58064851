# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before the canary is removed: nothing of its runs may be in the cloud, as only their ledgers name it."""

from __future__ import annotations

from .._record.errors import StageError
from .._record.run import Run
from .after import has_something
from .before import clean_up, those


def take_leave(settings):
    clean_up(settings, open_runs(settings["runs"]))
    left = open_runs(settings["runs"])
    if left:
        message = f"of these runs something is still in the cloud: {', '.join(run.directory for run in left)}"
        raise StageError("leftovers", message)


def open_runs(runs: str) -> list[Run]:
    """Return the runs that have not ended, or of which something is there, as far as their records can be read."""
    return those(runs, lambda record: record["finished"] is None or has_something(record))
