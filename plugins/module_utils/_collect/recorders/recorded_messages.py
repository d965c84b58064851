# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the events of a run in the messages that the recorder of the queue has kept. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..read_event import ReadEvent

SERVICE = "rabbitmq"
# A message has the time at which the recorder received it.
RESOLUTION = 0.01
FIELDS = ("action", "method", "message", "topic", "client")


def read(
    lines: Iterable[str], keys: Mapping[str, Sequence[str]]
) -> list[ReadEvent]:
    """Return the events of the run: messages with an id of the run, their replies, and the deliveries of both."""
    kinds = {}
    for kind, texts in keys.items():
        kinds.update(dict.fromkeys(texts, kind))
    events = [event_of(kept, kinds) for kept in whole(lines)]
    ours = {event.fields["message"] for event in events if is_ours(event)} - {
        None
    }
    return [
        event
        for event in events
        if is_ours(event) or event.fields["message"] in ours
    ]


def is_ours(event: ReadEvent) -> bool:
    """Return whether an event has an id of the run. Other boots may share an id, such as that of an image."""
    return bool(event.keys.keys() - {"shared"})


def whole(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue  # the recorder is just writing it


def event_of(kept: Mapping[str, Any], kinds: Mapping[str, str]) -> ReadEvent:
    keys: dict[str, list[str]] = {}
    named = {*kept["requests"], *kept["ids"]}
    for text in sorted(named & kinds.keys()):
        keys.setdefault(kinds[text], []).append(text)
    fields = {name: kept[name] for name in FIELDS}
    return ReadEvent(
        kept["at"],
        SERVICE,
        "rpc",
        RESOLUTION,
        level=None,
        keys=dict(sorted(keys.items())),
        fields=fields,
    )
