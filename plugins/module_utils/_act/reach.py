# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One attempt to reach an address from this machine, by ping or by TCP."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import time

WAIT = 1.0


def outcome(status, said, started=None):
    seconds = None if started is None else round(time.monotonic() - started, 6)
    return {"status": status, "said": said, "seconds": seconds}


def tcp(address, port, wait=WAIT):
    """Open a connection. A refusal is an answer of the guest, too: the way is there."""
    started = time.monotonic()
    try:
        with socket.create_connection((address, port), wait):
            return outcome("answered", f"port {port} is open", started)
    except ConnectionRefusedError:
        return outcome("answered", f"port {port} is closed, which the guest itself said", started)
    except OSError as exc:
        return outcome("silent", f"port {port}: {exc}")


def ping(address, wait=WAIT):
    """Send one echo request, by whatever means this machine allows."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            return echo(address, kind, wait)
        except PermissionError:
            continue
        except OSError as exc:
            return outcome("silent", str(exc))
    if shutil.which("ping"):
        started = time.monotonic()
        # A module's run_command is not at hand here.
        # pylint: disable-next=ansible-bad-function
        done = subprocess.run(["ping", "-c", "1", "-W", "1", address], capture_output=True, check=False)
        return (
            outcome("answered", "echo reply", started) if done.returncode == 0 else outcome("silent", "no echo reply")
        )
    return outcome("unreadable", "this machine lets this user send no ping")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def echo(address, kind, wait):
    """An ICMP echo over a datagram socket (for any user, where the kernel allows it) or a raw one (for root)."""
    number, word = os.getpid() & 0xFFFF, os.urandom(16)
    request = struct.pack("!BBHHH", 8, 0, 0, number, 1) + word
    request = request[:2] + struct.pack("!H", checksum(request)) + request[4:]
    started = time.monotonic()
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as channel:
        channel.settimeout(wait)
        channel.sendto(request, (address, 0))
        while time.monotonic() - started < wait:
            answer, (sender, _port) = channel.recvfrom(1024)
            if sender == address and answer.endswith(word) and answer[-24] == 0:
                return outcome("answered", "echo reply", started)
    return outcome("silent", "no echo reply")
