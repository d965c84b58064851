# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make recordings: python -m recorder FOLDER [PART...] writes the recordings of these parts, or all, to a folder."""

from __future__ import annotations

import signal
import sys
import tempfile

from lab_under_test import NETWORK

from recorder import cloud, commands, failed, followed, hosts, ovn, queue, runs, spans
from recorder.making import Making

PARTS = {
    "followed": followed.followed,
    "pages": followed.pages,
    "hosts": hosts.hosts,
    "runs": runs.runs,
    "failed": failed.failed,
    "queue": queue.queue,
    "spans": spans.spans,
    "cloud": cloud.cloud,
    "commands": commands.commands,
    "ovn": ovn.ovn,
}
# A lab has one network back end: this part is of a lab with OVN, and all others of one with Open vSwitch's agents.
OF_OVN = {"ovn"}


def main(folder, *parts):
    # A lab that was broken for a recording is mended, whoever ends this.
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit("ended from outside"))
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.")
    with tempfile.TemporaryDirectory(prefix="recorder-") as work:
        making = Making(work, folder)
        for part in parts or [part for part in PARTS if (part in OF_OVN) == (NETWORK == "ovn")]:
            print(f"recording {part}", flush=True)
            PARTS[part](making)


if __name__ == "__main__":
    main(*sys.argv[1:])
