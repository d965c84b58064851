# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What commands print on hosts of the lab; which are asked stands in the recordings."""

from __future__ import annotations

import re

from breaking import recovered
from lab_under_test import GROUPS
from tree import RECORDED

CONTROLLER, STORAGE = (GROUPS[name][0] for name in ("controller", "storage"))
RESTARTED = "nova-conductor.service"
# A restart takes some seconds, in which the unit is neither active nor gone.
RESTART = (
    f"systemctl restart --no-block {RESTARTED};"
    f" timeout 20 sh -c 'until systemctl is-active {RESTARTED} | grep -qx activating; do sleep 0.1; done'"
)


def commands(making):
    record(making, "commands/listening.txt", STORAGE)
    with recovered(making.lab, CONTROLLER, [RESTARTED.removesuffix(".service")]):
        making.lab.run(CONTROLLER, RESTART)
        record(making, "commands/systemctl.txt", CONTROLLER)


def record(making, path, host):
    """Each command of a recording with what it prints today; what stands above the first stays."""
    heading, *blocks = re.split(r"(?m)^\$ ", (RECORDED / path).read_text())
    asked = [block.partition("\n")[0] for block in blocks]
    printed = [f"$ {command}\n{making.lab.run(host, command)}" for command in asked]
    making.write(path, heading + "\n".join(printed))
