# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Try once to reach an address from this machine, by ping or by TCP."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time

from .._model.details import Attempt
from .._model.words import AttemptStatus

WAIT = 1.0
# The words of iputils and busybox for a user who may send no echo request
FORBIDDEN = re.compile(r"not permitted|permission denied", re.IGNORECASE)


def answered(text: str, started: float) -> Attempt:
    return Attempt(
        AttemptStatus.ANSWERED, text, round(time.monotonic() - started, 6)
    )


def silent(text: str) -> Attempt:
    return Attempt(AttemptStatus.SILENT, text, None)


def unreadable(text: str) -> Attempt:
    return Attempt(AttemptStatus.UNREADABLE, text, None)


def tcp(address: str, port: int, wait: float = WAIT) -> Attempt:
    """Open a connection. A refusal is an answer of the guest, too: the way is there."""
    started = time.monotonic()
    try:
        with socket.create_connection((address, port), wait):
            return answered(f"port {port} is open", started)
    except ConnectionRefusedError:
        return answered(
            f"port {port} is closed, which the guest itself said", started
        )
    except OSError as exc:
        return silent(f"port {port}: {exc}")


def ping(address: str) -> Attempt:
    """Send one echo request and wait a second for the reply. What this machine does not let us send proves nothing."""
    started = time.monotonic()
    try:
        # A module's run_command is not at hand here.
        # pylint: disable-next=ansible-bad-function
        done = subprocess.run(
            ["ping", "-c", "1", "-W", "1", address],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return unreadable("this machine has no program ping")
    except OSError as exc:
        return unreadable(
            f"this machine does not run its program ping: {exc.strerror}"
        )
    if done.returncode == 0:
        return answered("echo reply", started)
    if FORBIDDEN.search(done.stderr):
        return unreadable("this machine lets this user send no ping")
    return silent(" ".join(done.stderr.split()) or "no echo reply")


def mac_of(address: str, table: str = "/proc/net/arp") -> str | None:
    """Return the MAC that answered ARP for an address; None where this machine is not on its network."""
    try:
        with open(table, encoding="ascii") as stream:
            entries = [line.split() for line in stream]
    except OSError:
        return None
    return next(
        (
            entry[3].lower()
            for entry in entries[1:]
            if entry[0] == address and entry[2] != "0x0"
        ),
        None,
    )
