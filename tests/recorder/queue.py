# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages as the broker's firehose has them while an instance is made: those of the old recording, anew.

Of each message of the old recording the first of today is taken that asks for the same in the same way, with all its
deliveries and replies.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
from pathlib import Path

from lab_under_test import GROUPS
from tree import ROOT

from recorder.making import WHOLE, lines, old, old_lines, pretty
from recorder.messages import ids_of, like, message_of, planted
from recorder.names import same_ids
from recorder.spans import HOST, OPTIONS, without_checks
from recorder.thinning import before_it_was_followed, fewer_polls

BROKER = GROUPS["controller"][0]
FOLDER, UNIT = "/root/recorder-of-messages", "recorder-of-messages"
PROGRAMS = ("plugins/module_utils/_collect/recorders/firehose.py", "tests/recorder/frames.py")


def queue(making):
    with making.only_on(HOST), whole_messages(making.lab) as read:
        record = making.run("queue", *WHOLE, **OPTIONS).record
    before, run = old_lines("queue/frames.jsonl"), old("queue/run.json")
    frames = [planted(frame) for frame in like(before, read(), ids_of(run), ids_of(record))]
    rewrite = making.rewriting(record, run)
    for new, was in zip(frames, before):
        for pair in same_ids([new["key"], message_of(new)], [was["key"], message_of(was)]):
            rewrite.names.add(*pair)
    kept = without_checks(before_it_was_followed(fewer_polls(record)))
    making.write("queue/run.json", pretty(rewrite({**kept, "queue": []})))
    making.write("queue/frames.jsonl", lines(map(rewrite, frames)))


@contextlib.contextmanager
def whole_messages(lab):
    """Record what passes through the broker; what is given returns it once this has ended."""
    lab.run(BROKER, f"mkdir -m 0700 {FOLDER}")
    frames = []
    try:
        for path in PROGRAMS:
            text = base64.b64encode((ROOT / path).read_bytes()).decode()
            lab.run(BROKER, f"echo {text} | base64 -d > {FOLDER}/{Path(path).name}")
        lab.run(BROKER, f"systemd-run --unit {UNIT} --property RuntimeMaxSec=300 python3 {FOLDER}/frames.py {FOLDER}")
        lab.run(BROKER, "timeout 30 sh -c 'until rabbitmqctl -q list_vhosts tracing | grep -q true; do sleep 1; done'")
        yield lambda: frames
        lab.run(BROKER, f"systemctl stop {UNIT}")
        packed = lab.run(BROKER, f"gzip -c {FOLDER}/frames | base64 -w 0")
        frames += map(json.loads, gzip.decompress(base64.b64decode(packed)).splitlines())
    finally:
        lab.run(BROKER, f"systemctl stop {UNIT}; systemctl reset-failed {UNIT}; rm -rf {FOLDER}; true")
