# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory that the processes of a run share: its secrets, and what makes its token.

It is a file without a name in the memory of the process that watches the run. It never reaches a disk, and is gone with
that process. Only the same user can open it, and that user can read clouds.yaml as well.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from . import masking

SECRETS = "secrets"


def make() -> str:
    """Make the file in the memory of this process. Returns the path by which others open it."""
    descriptor = os.memfd_create("stackproof", os.MFD_CLOEXEC)
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def is_ours(path: str) -> bool:
    """Return whether the file is ours.

    Another process may have the id by now, and root could open another user's file.
    """
    return (
        os.readlink(path).startswith("/memfd:stackproof")
        and os.stat(path).st_uid == os.geteuid()
    )


def read(path: str) -> dict[str, Any]:
    """Return what is in the memory; nothing if there is none."""
    with contextlib.suppress(OSError, ValueError):
        if path and is_ours(path):
            with open(path, encoding="utf-8") as stream:
                content = json.load(stream)
            return content if isinstance(content, dict) else {}
    return {}


def write(path: str, **parts: Any) -> None:
    """Put parts into the memory beside those that are there, with the secrets that this process knows."""
    content = {**read(path), **parts}
    content[SECRETS] = sorted({*content.get(SECRETS, ()), *masking.KNOWN})
    with contextlib.suppress(OSError):
        if path and is_ours(path):
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(content, stream)


def learn_secrets(path: str) -> None:
    """Have this process mask the secrets that other processes of the run have met."""
    masking.learn(*read(path).get(SECRETS, ()))
