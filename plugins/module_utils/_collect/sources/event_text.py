# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def words_of(
    kind: str, fields: Mapping[str, Any], caller: str | None = None
) -> str:
    """Return what an event with such fields was. caller: who sent a request."""
    if kind == "http":
        asked_by = f", asked by {caller}" if caller else ""
        return f"{fields.get('method') or 'request'} {fields.get('path')}: {fields.get('status') or 'begun'}{asked_by}"
    if kind == "rpc":
        parts = (
            fields.get("action"),
            fields.get("method"),
            fields.get("topic"),
        )
        return " ".join(map(str, filter(None, parts)))
    if kind == "error":
        exception = fields.get("exception")
        return f"an error of {fields.get('logger')}" + (
            f": {exception}" if exception else ""
        )
    return ""
