# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a run's token for the next stage, so that a run authenticates once, as any client would.

It lies in the memory that the processes of a run share. Without that, every stage authenticates by itself.
"""

from __future__ import annotations

import contextlib
from typing import Any

from .._record import shared_memory


def take(path: str, auth: Any) -> None:
    """Give the authentication plugin the token of an earlier stage with the same credentials."""
    with contextlib.suppress(ValueError, AttributeError, KeyError, TypeError):
        cached = shared_memory.read(path)
        if cached["credentials"] == auth.get_cache_id():
            auth.set_auth_state(cached["state"])


def put(path: str, auth: Any) -> None:
    """Keep the token of an authentication plugin, if it has one."""
    state = credentials = None
    with contextlib.suppress(AttributeError):
        state, credentials = auth.get_auth_state(), auth.get_cache_id()
    if state and credentials:
        shared_memory.write(path, credentials=credentials, state=state)
    else:
        # Where no token was given, the password must be masked by later processes all the same.
        shared_memory.write(path)
