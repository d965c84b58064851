# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of an event."""

from __future__ import annotations


def words_of(event, hosts):
    """hosts: the names of hosts by their addresses."""
    if event["kind"] == "http":
        client = hosts.get(event.get("client"), event.get("client"))
        asked_by = f", asked by {client}" if client else ""
        return f"{event.get('method') or 'request'} {event['path']}: {event.get('status') or 'begun'}{asked_by}"
    if event["kind"] == "rpc":
        return " ".join(str(part) for part in (event["action"], event.get("method"), event.get("topic")) if part)
    if event["kind"] == "error":
        return f"an error of {event['logger']}" + (f": {event['exception']}" if event["exception"] else "")
    return ""
