# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until an operator has taken a compute host down, or back into service. Nothing here does so itself."""

from __future__ import annotations

from typing import Any

from .._cloud.connection import answer_of
from .._record.errors import DeadlinePassed, StageError
from .._record.waiting import Look
from .stage import Stage

# Since this version a host that an operator has declared dead is down, whatever it reports.
FORCED_SINCE = "2.11"


def await_down(stage: Stage[Any], host: str) -> None:
    """Wait until Nova takes a host for down: before that it evacuates nothing from there."""
    hint = (
        f"Cut the power of {host} while this operation waits, and tell Nova: "
        f"openstack compute service set --down {host} nova-compute."
    )
    try:
        await_state(stage, host, "down")
    except DeadlinePassed:
        message = f"{host} is still up, so nothing is evacuated from there"
        raise StageError("not_down", message, hint=hint) from None


def await_up(stage: Stage[Any], host: str) -> None:
    """Wait until a host reports to Nova again."""
    hint = (
        f"Start {host}: its nova-compute removes what the host still has of the server. After that: "
        f"openstack compute service set --up {host} nova-compute."
    )
    try:
        await_state(stage, host, "up")
    except DeadlinePassed:
        message = f"the server was evacuated, but {host} is not back, and may still have its domain"
        raise StageError("not_back", message, hint=hint) from None


def await_state(stage: Stage[Any], host: str, wanted: str) -> None:
    def look() -> Look:
        state = state_of(stage, host)
        return state == wanted, state, None

    stage.wait(f"the compute service of {host} to be {wanted}", look)


def state_of(stage: Stage[Any], host: str) -> str:
    """Return whether the compute service of a host is up, as Nova sees it."""
    asked = {"binary": "nova-compute", "host": host}
    answer = stage.cloud.compute.get(
        "/os-services", params=asked, microversion=FORCED_SINCE
    )
    for service in answer_of(answer)["services"]:
        if service["host"] == host:
            return str(service["state"])
    raise StageError(
        "not_found",
        f"{host} has no nova-compute that reports to Nova",
        hint="The hosts that have one: openstack compute service list --service nova-compute.",
    )
