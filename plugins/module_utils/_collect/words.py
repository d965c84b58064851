# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of an event."""

from __future__ import annotations

from collections.abc import Mapping

from .._model.event import Event


def words_of(event: Event, hosts: Mapping[str, str]) -> str:
    """Return what an event was. hosts: the names of hosts by their addresses."""
    if event.kind == "http":
        return request_in_words(event, hosts)
    if event.kind == "rpc":
        parts = (event.get("action"), event.get("method"), event.get("topic"))
        return " ".join(str(part) for part in parts if part)
    if event.kind == "error":
        exception = event.get("exception")
        return f"an error of {event.get('logger')}" + (f": {exception}" if exception else "")
    return ""


def request_in_words(event: Event, hosts: Mapping[str, str]) -> str:
    client = hosts.get(event.get("client"), event.get("client"))
    asked_by = f", asked by {client}" if client else ""
    return f"{event.get('method') or 'request'} {event.get('path')}: {event.get('status') or 'begun'}{asked_by}"
