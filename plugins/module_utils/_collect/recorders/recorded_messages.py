# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the events of a run in the lines that the recorder of the message queue has kept. Pure."""

from __future__ import annotations

import json

from ..._record.shapes import read_event

SERVICE = "rabbitmq"
# A message has the time at which the recorder received it.
RESOLUTION = 0.01


def read(lines, keys):
    """The events of the run: messages with an id of the run, their replies, and the deliveries of both."""
    kinds = {text: kind for kind, texts in keys.items() for text in texts}
    events = [event_of(kept, kinds) for kept in whole(lines)]
    # Other boots may share an id, such as that of an image: it does not make a message ours.
    keyed = [event for event in events if event["keys"].keys() - {"shared"}]
    ours = {event["message"] for event in keyed} - {None}
    return [event for event in events if event["keys"].keys() - {"shared"} or event["message"] in ours]


def whole(lines):
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue  # the recorder is just writing it


def event_of(kept, kinds):
    by_kind = {}
    for text in {*kept["requests"], *kept["ids"]} & kinds.keys():
        by_kind.setdefault(kinds[text], []).append(text)
    keys = {kind: sorted(texts) for kind, texts in sorted(by_kind.items())}
    fields = {name: kept[name] for name in ("action", "method", "message", "topic", "client")}
    return read_event(kept["at"], SERVICE, "rpc", RESOLUTION, level=None, keys=keys, **fields)
