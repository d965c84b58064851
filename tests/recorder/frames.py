# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On the broker's host: the collection's own recorder of messages, but each is kept whole.

frames.py FOLDER: the folder has firehose.py; the messages are in FOLDER/frames when systemd ends this.
"""

from __future__ import annotations

import os
import signal
import sys


def whole(at, key, headers, body):
    text = body if isinstance(body, str) else body.decode(errors="replace")
    return {"at": at, "key": key, "headers": headers, "body": text}


def main(folder):
    sys.path.insert(0, folder)
    import firehose  # noqa: PLC0415 - it lies beside this program only there

    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit())
    config = {"prefix": [], "vhosts": ["/"], "name": f"{firehose.MARK}recorder", "seconds": 600}
    work = os.path.join(folder, "work")
    os.mkdir(work)
    try:
        firehose.record(work, config, whole)
    finally:
        os.rename(os.path.join(work, "messages"), os.path.join(folder, "frames"))
        firehose.restore(work, config)


if __name__ == "__main__":
    main(sys.argv[1])
