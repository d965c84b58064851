# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real Prometheus with the canary's alerts, which scrapes a real node_exporter each second (PROMETHEUS_PROGRAMS)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml
from tree import ROLES

RULES = ROLES / "canary/files/alerts.yml"
PATIENCE = 30


def program(name):
    return Path(os.environ["PROMETHEUS_PROGRAMS"]) / name


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Prometheus:
    def __init__(self, port):
        self.port = port

    def ask(self, path, **query):
        with urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(query)}", timeout=5) as answer:
            return json.load(answer)["data"]

    def value(self, expression):
        return [sample["value"][1] for sample in self.ask("query", query=expression)["result"]]

    def firing(self):
        return [alert for alert in self.ask("alerts")["alerts"] if alert["state"] == "firing"]

    def failed_runs(self):
        """The alerts about a last run. Of a cloud that is watched for a moment only, the budget burns at once, too."""
        return [alert for alert in self.firing() if alert["labels"]["alertname"] == "StackproofRunFailed"]

    def evaluated(self):
        """When the evaluation of the rules began that was the last one to end."""
        (group,) = self.ask("rules")["groups"]
        return group["lastEvaluation"]

    def wait_for_evaluation(self):
        """Wait until the rules have been evaluated once more."""
        before = self.evaluated()
        self.wait(lambda: self.evaluated() != before)

    def wait(self, condition, patience=PATIENCE):
        limit = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < limit, (self.ask("targets"), self.ask("alerts"))
            time.sleep(0.2)


@contextlib.contextmanager
def watching(top):
    """A Prometheus for a while, of the metrics that are written into the folder metrics."""
    (top / "metrics").mkdir()
    exporter, port = free_port(), free_port()
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}],
    }
    (top / "prometheus.yml").write_text(yaml.safe_dump(settings))
    commands = [
        [
            program("prometheus-node-exporter"),
            f"--web.listen-address=127.0.0.1:{exporter}",
            "--collector.disable-defaults",
            "--collector.textfile",
            f"--collector.textfile.directory={top / 'metrics'}",
        ],
        [
            program("prometheus"),
            f"--web.listen-address=127.0.0.1:{port}",
            f"--config.file={top / 'prometheus.yml'}",
            f"--storage.tsdb.path={top / 'data'}",
        ],
    ]
    with contextlib.ExitStack() as stack:
        for command in commands:
            log = stack.enter_context(open(top / f"{command[0].name}.log", "w", encoding="utf-8"))
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
            stack.callback(process.terminate)
        prometheus = Prometheus(port)
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                prometheus.ask("alerts")
                break
            except OSError:
                assert time.monotonic() < limit, (top / "prometheus.log").read_text()
                time.sleep(0.2)
        yield prometheus
