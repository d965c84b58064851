#!/usr/bin/env python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much longer a boot takes while the messages on the queue are recorded: pairs, with and without, on one cloud.

firehose.py CLOUD INVENTORY BROKER [PAIRS]

BROKER is the inventory's name of a host of RabbitMQ. Fails if the ratio of the medians is over the limit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

LIMIT = 1.03
BARE = str(Path(__file__).with_name("bare.py"))


def said_by(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def boot_of(cloud):
    """Seconds from the request for a server until it is known to be active."""
    return json.loads(said_by([sys.executable, "-W", "ignore", BARE, cloud]).splitlines()[-1])["boot"]


def firehose(state, inventory, broker):
    given = json.dumps({"state": state, "run_id": "bench"})
    said_by(["ansible", "-i", inventory, broker, "-b", "-m", "stackproof.provision.firehose", "-a", given])


def recorded_boot_of(cloud, inventory, broker):
    firehose("started", inventory, broker)
    try:
        return boot_of(cloud)
    finally:
        firehose("stopped", inventory, broker)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    cloud, inventory, broker, pairs = *sys.argv[1:4], int(sys.argv[4]) if len(sys.argv) > 4 else 5
    plain, recorded = [], []
    print("pair  plain s  recorded s")
    for pair in range(1, pairs + 1):
        # Which of the two is first changes, in case the first warms something up for the second.
        for first in (True, False):
            if first == bool(pair % 2):
                plain.append(boot_of(cloud))
            else:
                recorded.append(recorded_boot_of(cloud, inventory, broker))
        print(f"{pair:>4} {plain[-1]:>8.2f} {recorded[-1]:>11.2f}", flush=True)
    medians = statistics.median(plain), statistics.median(recorded)
    ratio = medians[1] / medians[0]
    print(f"medians of {pairs} pairs: {medians[0]:.2f} and {medians[1]:.2f} s, ratio {ratio:.3f}, limit {LIMIT}")
    sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()
