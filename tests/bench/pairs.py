#!/usr/bin/env python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much longer verify takes than a bare script that does the same: pairs, one after the other, on one cloud.

pairs.py CLOUD [PAIRS]

Fails if the median of the ratios is over the limit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.3


def timed(command):
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return time.monotonic() - begun


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cloud, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    bare_script = str(Path(__file__).with_name("bare.py"))
    ratios = []
    print("pair   bare s  verify s  ratio")
    with tempfile.TemporaryDirectory() as runs:
        variables = json.dumps({"stackproof_cloud": cloud, "stackproof_runs": runs})
        verify = ["ansible-playbook", "stackproof.provision.verify", "-e", variables]
        for pair in range(1, pairs + 1):
            # Which of the two is first changes, in case the first warms something up for the second.
            order = [verify, [sys.executable, "-W", "ignore", bare_script, cloud]]
            seconds = {id(command): timed(command) for command in (order if pair % 2 else reversed(order))}
            ours, bare = (seconds[id(command)] for command in order)
            ratios.append(ours / bare)
            print(f"{pair:>4} {bare:>8.1f} {ours:>9.1f} {ratios[-1]:>6.2f}", flush=True)
    median = statistics.median(ratios)
    print(f"median of {pairs} pairs: {median:.2f}, limit {LIMIT}")
    sys.exit(median > LIMIT)


if __name__ == "__main__":
    main()
