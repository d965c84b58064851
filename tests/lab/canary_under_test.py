# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A canary on a host of a lab: what it is installed from, and the records of its runs."""

from __future__ import annotations

import json
import subprocess
import sys

from lab_under_test import INVENTORY
from tree import ROOT

TOP = "/var/lib/stackproof-canary"
WHEELS = "/var/lib/canary-wheels"
WHEELS_ALONE = ["--no-index", "--find-links", WHEELS]


def bring_wheels(host):
    """The lab's hosts reach no registry, so the packages are brought to them."""
    folder = ROOT / ".cache" / "canary-wheels"
    packages = ["ansible-core>=2.19,<2.23", "openstacksdk>=4.0,<5", "jmespath>=1.0,<2"]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", f"--dest={folder}", *packages], check=True)
    copy = ["ansible", host, "-i", INVENTORY, "--become", "-m", "copy", "-a", f"src={folder}/ dest={WHEELS}/"]
    subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)


def runs_on(host):
    """The records of the canary's runs, oldest first."""
    paths = host.run(f"ls -d {TOP}/runs/2*/run.json").stdout.split()
    return [json.loads(text) for path in paths if (text := host.run(f"cat {path}").stdout)]


def ended_on(host):
    return [record for record in runs_on(host) if record["finished"]]
