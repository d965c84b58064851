# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs on a host of the lab: the lines of logs that have certain ids, or are errors."""

import base64
import datetime
import glob
import json
import subprocess
import sys

LOGS = ["nova", "neutron", "glance", "cinder", "keystone", "placement", "ceph", "openvswitch"]
LINES, WIDTH = 200, 4000


def lines_of(path, ids, begun):
    given = [part for word in [*ids, " ERROR ", " CRITICAL "] for part in ("-e", word)]
    output = subprocess.run(["grep", "-aF", *given, path], stdout=subprocess.PIPE, check=False).stdout
    lines = output.decode(errors="replace").splitlines()
    kept = [line for line in lines if line[:19] >= begun or any(identity in line for identity in ids)]
    return [line[:WIDTH] + "\n" for line in kept[-LINES:]]


def main():
    asked = json.loads(base64.b64decode(sys.argv[1]))
    # Logs are in the host's own time.
    begun = datetime.datetime.fromisoformat(asked["begun"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    logs = {}
    for service in LOGS:
        for path in sorted(glob.glob(f"/var/log/{service}/*.log")):
            lines = lines_of(path, asked["ids"], begun)
            if lines:
                logs[path] = lines
    print(json.dumps(logs))


if __name__ == "__main__":
    main()
