# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each host of a sweep costs by itself: sweep.py [HOSTS...], by default 10 and 40.

The cloud is the played one of the unit tests, which answers at once and costs next to nothing, so what is measured is
the time of the playbook. Every tenth host refuses its instance, which no other host may notice.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

import yaml
from tree import ROOT

# The time for each host of many, by that for each of few
MOST = 1.3
AT_ONCE = 4
TOLD = {
    r"/compute/v2.1/os-services$": "nova services",
    r"/compute/v2.1/os-hypervisors/detail$": "nova hypervisors",
    r"/compute/v2.1/limits$": "nova limits",
    r"/network/v2.0/agents$": "neutron agents",
    r"/network/v2.0/quotas/": "neutron quota details",
}


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play_a_cloud():
    """The cloud of the unit tests, whose services were heard of just now."""
    load("stackproof_conftest", ROOT / "tests/unit/conftest.py")
    played = load("stackproof_plugins_conftest", ROOT / "tests/unit/plugins/conftest.py")
    for name in TOLD.values():
        now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S}"
        text = played.ANSWERS[name]["text"]
        stamped = re.sub(r'("(?:updated_at|heartbeat_timestamp)": ")[^"]*', rf"\g<1>{now}", text)
        played.ANSWERS[name]["text"] = stamped.replace('"maxTotalInstances": 60', '"maxTotalInstances": 600')
    cloud = played.FakeCloud()
    for path, name in TOLD.items():
        cloud.trouble("GET", path, name, times=10**6)
    return cloud


def refuse_some(cloud, hosts):
    """Every tenth host refuses; the others are followed, to see how many go on at the same time."""
    going, most = set(), [0]

    def watch(request):
        if request.method == "POST" and request.path.endswith("/servers"):
            host = request.body["server"]["host"]
            going.add(host)
            most[0] = max(most[0], len(going))
            if hosts.index(host) % 10 == 9:
                cloud.trouble("POST", r"/servers$", "nova forbidden")
                going.discard(host)
        if request.method == "DELETE" and "/servers/" in request.path:
            server = cloud.things["/compute/v2.1/servers"].get(request.path.rpartition("/")[2], {})
            going.discard(server.get("host"))

    cloud.watchers.append(watch)
    return most


@contextlib.contextmanager
def played():
    """A played cloud, and a folder for what is done with it."""
    cloud = play_a_cloud()
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield cloud, Path(folder)
    finally:
        cloud.close()


class Spent:
    """The seconds that its block takes, and those of the processor in the processes that end within it."""

    def __enter__(self):
        self._begun, self._before = time.monotonic(), os.times()
        return self

    def __exit__(self, *_error):
        self.seconds = time.monotonic() - self._begun
        self.own = sum(os.times()[2:4]) - sum(self._before[2:4])


def names(number):
    return [f"compute-{index:03d}" for index in range(1, number + 1)]


def command_of(cloud, hosts, folder, **more):
    """The command of a sweep, and the environment that it needs."""
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": {"played": cloud.entry()}}))
    given = {
        "cloud": "played", "runs": str(folder / "runs"), "targets": hosts, "volume": "none", "guest": "none",
        "follow": False, "at_once": AT_ONCE, **more,
    }  # fmt: skip
    command = ["ansible-playbook", "stackproof.provision.acceptance", "--forks", str(2 * AT_ONCE)]
    command += ["-e", json.dumps({f"stackproof_{name}": value for name, value in given.items()})]
    return command, {**os.environ, "OS_CLIENT_CONFIG_FILE": str(folder / "clouds.yaml")}


def results_of(record):
    return Counter(target["result"] for target in record["targets"])


def expected(number):
    return +Counter({"pass": number - number // 10, "fail": number // 10})


def sweep(cloud, number, folder):
    hosts = names(number)
    most = refuse_some(cloud, hosts)
    command, environment = command_of(cloud, hosts, folder)
    with Spent() as spent:
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    took = spent.seconds
    record = json.loads(next(folder.glob("runs/sweep-*/sweep.json")).read_text())
    assert results_of(record) == expected(number), done.stdout[-3000:] + done.stderr[-2000:]
    assert most[0] <= AT_ONCE, f"{most[0]} went on at the same time"
    print(
        f"{number} hosts: {took:.1f} s, {took / number:.2f} s and {spent.own / number:.2f} s of the processor "
        "for each;",
        end=" ",
    )
    print(f"at most {most[0]} instances at the same time; {record['verdict']['reason'][:100]}", flush=True)
    return took / number


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [10, 40]
    seconds = []
    for number in sizes:
        with played() as (cloud, folder):
            seconds.append(sweep(cloud, number, folder))
    if max(seconds) > MOST * seconds[0]:
        sys.exit(f"the time for each host grows with their number: {seconds}")


if __name__ == "__main__":
    main()
