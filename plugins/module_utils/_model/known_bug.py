# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A known bug of others that an error in a log shows."""

from __future__ import annotations

from dataclasses import dataclass

from .codec import Text, Time


@dataclass(frozen=True)
class KnownBug:
    """A known bug, and where it shows.

    number, url: under which it is known. affects: the versions that have it. remedy: what fixes it or avoids it.
    component, host, at: of the first error that shows it.
    """

    number: Text
    url: Text
    title: Text
    affects: Text
    remedy: Text
    component: Text
    host: str
    at: Time
