# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the console of a guest, by its compute host."""

from __future__ import annotations

from typing import Any

from .._cloud.connection import answer_of

# The compute host reads a console for us, which costs more than a look at a state. A guest takes seconds for each of
# its steps; one that has taken long so far is looked at more rarely still.
CONSOLE_PERIOD = 0.75
CONSOLE_LONGEST = 5
PART_OF_WAIT = 0.1


def console_pace(waited: float) -> float:
    return min(max(CONSOLE_PERIOD, waited * PART_OF_WAIT), CONSOLE_LONGEST)


def read_console(nova: Any, server_id: str) -> str:
    answer = nova.post(
        f"/servers/{server_id}/action",
        json={"os-getConsoleOutput": {}},
        repeat=True,
    )
    if answer.status_code == 404:
        return ""  # the guest has not been started yet, or keeps no console
    output: str = answer_of(answer)["output"] or ""
    return output
