# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checks of the hosts in the record of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .._model.event import CONTROL_NODE
from .._model.host import Host, SuiteCheck
from .._model.words import CheckStatus
from .._record.run import Run

# In characters, as a line of a report
LONGEST_REASON = 300


def unreadable(check: str, reason: str) -> SuiteCheck:
    """Return a check that could not run, and is not about a single host: to leave it out would look like success."""
    return SuiteCheck(None, check, CheckStatus.UNREADABLE, reason)


def why_silent(exc: Exception) -> str:
    """Return in one line why a host did not answer.

    testinfra raises the whole result of a command that ssh could not send; the last line of ssh is the reason.
    """
    result = exc.args[0] if exc.args else None
    stderr = getattr(result, "stderr", None) or ""
    lines = list(filter(str.strip, stderr.splitlines()))
    if lines:
        return in_one_line(lines[-1])
    status = getattr(result, "rc", None)
    if status is not None:
        return f"ssh ended with the status {status}"
    return in_one_line(str(exc) or type(exc).__name__)


def in_one_line(reason: str) -> str:
    return " ".join(reason.split())[-LONGEST_REASON:]


def file_checks(run: Run, checks: Iterable[SuiteCheck]) -> None:
    """Put each check to its host; a check that is not about a single host goes to the control node."""
    hosts = {host.host: host for host in run.record.hosts}
    for check in checks:
        name = check.host or CONTROL_NODE
        host = hosts.get(name) or Host(name)
        hosts[name] = replace(host, checks=(*host.checks, check.of_host))
    run.update(hosts=tuple(hosts.values()))
    run.save()
