# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host has to know to examine itself after a failed stage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Endpoint:
    """An endpoint in the catalogue. service: its type there, such as network."""

    service: str
    url: str


@dataclass(frozen=True)
class Question:
    """The question that a host is asked. salt: the word that keys digests. endpoints: those of the catalogue.

    since: when the time begins whose errors of the kernel count, by the clock of the host. hosts: the names of those to
    which a server may move.
    """

    salt: str
    since: float
    endpoints: tuple[Endpoint, ...] = ()
    hosts: tuple[str, ...] = ()
