# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a host did not answer, as the errors of testinfra say it."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.checks import LONGEST_REASON, why_silent

CLOSED = (
    b"kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 127.0.0.1 port 35719\r\n"
)


def result_of_ssh(errors: bytes) -> object:
    """Return what testinfra raises for a command that ssh could not send."""
    base = pytest.importorskip("testinfra.backend.base")
    local = pytest.importorskip("testinfra.backend.local")
    return base.CommandResult(local.LocalBackend(), 255, b"hostname", b"", errors)


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        (CLOSED, "Connection closed by 127.0.0.1 port 35719"),
        (b"ssh: connect to host 10.0.0.1 port 22: Connection refused\r\n\r\n", None),
        (b"", "ssh ended with the status 255"),
    ],
)
def test_what_ssh_said_last_is_the_reason(errors: bytes, reason: str | None) -> None:
    expected = reason or "ssh: connect to host 10.0.0.1 port 22: Connection refused"
    assert why_silent(RuntimeError(result_of_ssh(errors))) == expected


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("Unknown connection\n type 'x'"), "Unknown connection type 'x'"),
        (RuntimeError("x" * 1000), "x" * LONGEST_REASON),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
        (KeyError(), "KeyError"),
    ],
)
def test_any_other_error_is_the_reason_in_one_line(error: Exception, reason: str) -> None:
    assert why_silent(error) == reason
