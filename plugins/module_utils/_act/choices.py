# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Name what a cloud has where it does not have what was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._record.errors import StageError
from .._record.words import listed

# Enough to find a mistyped name; a cloud may have thousands.
MOST_NAMED = 10


def not_found(kind: str, name: str, resources: Iterable[Any]) -> StageError:
    """Return the error about a name that the cloud does not have. resources: those that it has, each with a name."""
    names = sorted(
        {
            resource.name
            for resource in resources
            if resource.name and isinstance(resource.name, str)
        }
    )
    offered = listed(names, MOST_NAMED) or "none"
    return StageError(
        "not_found",
        f"the cloud has no {kind} {name}; it has {offered}",
        resource=name,
    )
