# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps a run's token for the next stage, so that a run authenticates once, as any client would.

The token lies in the memory of the process that watches the run, in a file without a name: it never reaches a disk, and
is gone with that process. Only the same user can open it, and that user can read clouds.yaml as well. Without such a
process, every stage authenticates by itself.
"""

from __future__ import annotations

import contextlib
import json
import os


def make():
    """A file in the memory of this process, and the path by which others open it."""
    descriptor = os.memfd_create("stackproof", os.MFD_CLOEXEC)
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def is_ours(path):
    """Whether the file is ours. Another process may have the id by now, and root could open another user's file."""
    return os.readlink(path).startswith("/memfd:stackproof") and os.stat(path).st_uid == os.geteuid()


def take(path, auth):
    """Give the authentication plugin the token of an earlier stage with the same credentials."""
    with contextlib.suppress(OSError, ValueError, AttributeError, KeyError, TypeError):
        if not is_ours(path):
            return
        with open(path, encoding="utf-8") as stream:
            cached = json.load(stream)
        if cached["credentials"] == auth.get_cache_id():
            auth.set_auth_state(cached["state"])


def put(path, auth):
    with contextlib.suppress(OSError, AttributeError):
        state, credentials = auth.get_auth_state(), auth.get_cache_id()
        if state and credentials and is_ours(path):
            with open(path, "w", encoding="utf-8") as stream:
                json.dump({"credentials": credentials, "state": state}, stream)
