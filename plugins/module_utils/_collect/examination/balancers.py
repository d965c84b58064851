# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the balancers in front of the services which of the servers behind them they take for down."""

from __future__ import annotations

import csv
import os
import socket
from collections.abc import Mapping

from ..._model.reach import BackEnd
from ..commands import Host, UnreadError

# The places of haproxy's socket: on Debian and Red Hat, and where kolla-ansible mounts it
SOCKETS = (
    "/run/haproxy/admin.sock", "/var/lib/haproxy/stats", "/var/run/haproxy.sock",
    "/var/lib/docker/volumes/haproxy_socket/_data/haproxy.sock",
)  # fmt: skip
SECONDS = 2.0
COMMAND = b"show stat\n"
# In bytes; a hundred servers take 50 KB.
LONGEST = 4 << 20
MOST = 50
DOWN = "DOWN"
ALL = "BACKEND"


def read(host: Host) -> tuple[BackEnd, ...]:
    """Return the servers that are down for haproxy, where its socket lets this user in."""
    for path in SOCKETS:
        if os.path.exists(path):
            found: tuple[BackEnd, ...] = host.attempt(
                "the state of haproxy", of_haproxy, path, default=()
            )
            return found
    return ()


def of_haproxy(_host: Host, path: str) -> tuple[BackEnd, ...]:
    command = ("show stat", path)
    try:
        answer = asked(path)
    except PermissionError as exc:
        raise UnreadError(
            "refused", command, f"{path}: {exc.strerror}"
        ) from None
    except OSError as exc:
        raise UnreadError(
            "failed", command, f"{path}: {exc.strerror or exc}"
        ) from None
    return back_ends(answer)


def asked(path: str) -> str:
    """Return haproxy's answer on its statistics, which changes nothing there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(SECONDS)
        link.connect(path)
        link.sendall(COMMAND)
        with link.makefile("rb") as stream:
            return stream.read(LONGEST).decode("utf-8", "replace")


def back_ends(answer: str) -> tuple[BackEnd, ...]:
    """Parse haproxy's statistics, a table of comma-separated values."""
    lines = answer.lstrip("# ").splitlines()
    rows = list(filter(is_down, csv.DictReader(lines)))
    return tuple(map(back_end_of, rows[:MOST]))


def is_down(row: Mapping[str, str]) -> bool:
    # A front end is OPEN, and one that is on its way up has a number behind its status.
    return row["status"].startswith(DOWN)


def back_end_of(row: Mapping[str, str]) -> BackEnd:
    address, _colon, port = (row.get("addr") or "").rpartition(":")
    server: str | None = row["svname"]
    if server == ALL:
        server = None
    check = row.get("last_chk") or row.get("check_status") or "no check"
    number = None
    if port.isdigit():
        number = int(port)
    return BackEnd(
        row["pxname"],
        server,
        check,
        address.strip("[]") or None,
        number,
    )
