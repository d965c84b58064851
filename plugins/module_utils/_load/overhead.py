# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Ansible itself takes of the control node, read off its own process."""

from __future__ import annotations

import os
import re

from .._model.load import Overhead

# The most memory that a process had, in proc(5)
PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def overhead(runs: int) -> Overhead | None:
    """Return what the playbook took so far, also for each of its runs; None where that cannot be measured."""
    try:
        playbook = first_of_its_kind(os.getppid())
        processor_s = processor_of(playbook)
        with open(
            f"/proc/{playbook}/status", encoding="ascii", errors="replace"
        ) as status:
            peak = PEAK.search(status.read())
    except (OSError, ValueError, IndexError):
        return None
    if peak is None:
        return None
    return Overhead(
        processor_s=round(processor_s, 1),
        processor_s_per_instance=round(processor_s / runs, 2)
        if runs
        else None,
        memory_mb=round(int(peak[1]) / 1024, 1),
    )


def first_of_its_kind(process: int) -> int:
    """Return the process whose forks run the playbook: the highest one with the same command line."""
    words = command_of(process)
    while command_of(parent := parent_of(process)) == words:
        process = parent
    return process


def command_of(process: int) -> bytes:
    with open(f"/proc/{process}/cmdline", "rb") as stream:
        return stream.read()


def fields_of(process: int) -> list[str]:
    """Return the numbers of a process after its name, as proc(5) lists them from the state on."""
    with open(
        f"/proc/{process}/stat", encoding="ascii", errors="replace"
    ) as stream:
        return stream.read().rpartition(")")[2].split()


def parent_of(process: int) -> int:
    return int(fields_of(process)[1])


def processor_of(process: int) -> float:
    """Return the seconds of processor of a process and of all its children that have ended."""
    return sum(map(int, fields_of(process)[11:15])) / os.sysconf("SC_CLK_TCK")
