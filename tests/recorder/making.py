# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all kinds of recordings need: the lab, runs on it, the old recordings, and a place for the new ones."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import secret_scan
from breaking import units_of
from fault_runs import WHOLE, lab_as_root
from lab_under_test import DIRECTORY, connect, until
from runs_under_test import environment, verify
from tree import RECORDED

from recorder.rewriting import Rewriting

KEEP_TOKENS = ("memcached", "glance-", "placement-", "nova-", "neutron-", "cinder-")


class Making:
    """work: a folder for runs and answers. target: where recordings go. Ids and times are those of the old ones."""

    def __init__(self, work, target):
        self.work, self.target = Path(work), Path(target)
        self.lab = lab_as_root()
        self.member = connect("lab")
        secrets = secret_scan.known_of(DIRECTORY)
        self.secrets, self.scanner = list(secrets.values()), secret_scan.Scanner(secrets, secret_scan.OURS)

    def run(self, name, *arguments, status=0, **variables):
        """A run of verify, which has to end with this status."""
        outcome = verify(self.work / name, *arguments, **variables)
        assert outcome.status == status, outcome.output
        return outcome

    def forget_tokens(self):
        """Restart all that keeps a token, so that each is asked for again as by a cloud that has just begun."""
        begun = time.time()
        for host, place in self.lab.hosts.items():
            units = [unit for unit in units_of(host) if unit.startswith(KEEP_TOKENS)]
            if units:
                place.check_output(f"systemctl restart {' '.join(units)}")
        self.lab.wait_until_well(since=begun)

    @contextlib.contextmanager
    def only_on(self, host):
        """Have instances made on one host: the others are out of service for that time."""
        services = [
            service for service in self.lab.admin.compute.services(binary="nova-compute") if service.host != host
        ]
        try:
            for service in services:
                self.lab.admin.compute.disable_service(service)
            yield
        finally:
            for service in services:
                self.lab.admin.compute.enable_service(service)
            until("all computes to be in service", lambda: all(up for up, _at in self.lab.reports().values()), 60)

    def rewriting(self, new, old):
        return Rewriting.of(new, old, self.secrets)

    def clear(self, path):
        """Remove a folder of recordings, whose files have other names each time."""
        shutil.rmtree(self.target / path, ignore_errors=True)

    def write(self, path, text):
        """Write a recording, but none with a secret."""
        content = text.encode(errors="surrogateescape")
        findings = [finding for finding in self.scanner.content(path, content) if not self.scanner.is_allowed(finding)]
        assert not findings, f"a recording would have a secret: {', '.join(map(str, findings))}"
        place = self.target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def ask(host, module, **options):
    """What a module of the collection returns on a host."""
    words = ["ansible", *WHOLE, host, "-m", f"stackproof.provision.{module}", "-a", json.dumps(options)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120, check=True)
    return json.loads(re.search(r"=> (\{.*\})\s*\Z", done.stdout, re.DOTALL)[1])


def old(path):
    """The recording that there is so far."""
    return json.loads((RECORDED / path).read_text())


def old_lines(path):
    return [json.loads(line) for line in (RECORDED / path).read_text().splitlines()]


def pretty(data):
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def lines(rows, **form):
    return "".join(json.dumps(row, **form) + "\n" for row in rows)
