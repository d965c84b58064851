# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from Cinder what it says about a volume."""

from __future__ import annotations

from typing import Any

from ..._cloud.errors import CLOUD_ERRORS
from ..._record.errors import MALFORMED
from ..._record.masking import words_of

# Cinder has one message for each failure of a volume, the newest first.
MOST_MESSAGES = 5
# What reading them may raise. The failure is reported without them, too.
UNREADABLE: tuple[type[BaseException], ...] = (*CLOUD_ERRORS, *MALFORMED)


def messages_about(cinder: Any, volume_id: str) -> list[str]:
    """Return Cinder's messages to the user about a volume that failed. Clouds before Pike have no such messages."""
    try:
        answer = cinder.get(
            "/messages",
            params={"resource_uuid": volume_id},
            microversion="3.5",
        )
        messages = (
            answer.json()["messages"] if answer.status_code == 200 else []
        )
        about = [
            message["user_message"]
            for message in messages
            if message["resource_uuid"] == volume_id
        ]
    except UNREADABLE:
        return []
    return list(map(words_of, about[:MOST_MESSAGES]))
