# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the recorder of the message queue has kept, read to events by the keys of a run. Pure: lines in, events out."""

from __future__ import annotations

import json

from .._record.shapes import read_event

SERVICE = "rabbitmq"
# When a message passed is known by when the recorder had it.
RESOLUTION = 0.01


def read(lines, keys):
    """The events of the run. A message that carries an id of it brings along its delivery, its reply and that one's."""
    kinds = {text: kind for kind, texts in keys.items() for text in texts}
    found = [event(one, kinds) for one in whole(lines)]
    # What other boots use as well, such as an image, makes no message ours.
    strong = [one for one in found if one["keys"].keys() - {"shared"}]
    ours = {one["message"] for one in strong} - {None}
    requests = {one["message"]: one["keys"]["request"] for one in strong if "request" in one["keys"]}
    for one in found:
        # A reply names no request, and is of that which asked.
        if one["message"] in requests:
            one["keys"]["request"] = requests[one["message"]]
    return [one for one in found if one["keys"].keys() - {"shared"} or one["message"] in ours]


def whole(lines):
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue  # the recorder is just writing it


def event(one, kinds):
    mine = {}
    for text in {*one["requests"], *one["ids"]} & kinds.keys():
        mine.setdefault(kinds[text], []).append(text)
    keys = {kind: sorted(texts) for kind, texts in sorted(mine.items())}
    fields = {name: one[name] for name in ("action", "method", "message", "topic", "client")}
    return read_event(one["at"], SERVICE, "rpc", RESOLUTION, level=None, keys=keys, **fields)
