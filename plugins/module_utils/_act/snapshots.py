# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Boot a third guest from an image that was made of the first one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._model.details import GuestReport, JourneyDetails
from .._record.errors import StageError
from . import guest, proof
from .booting import make_server, proof_of, wait_until_active
from .stage import Named, Stage


def boot_from(
    stage: Stage[JourneyDetails], image: Named, request_id: str
) -> None:
    """Boot a guest from an image, and wait for its proof. The cleanup deletes it. request_id: that Nova is to know."""
    server: dict[str, Any] = {
        "name": f"{stage.run.mark}-third-server",
        "flavorRef": stage.needed("flavor").id,
        "imageRef": image.id,
        "networks": [{"uuid": stage.needed("network").id}],
        **proof_of(stage.run),
    }
    stage.details = replace(stage.details, request_id=request_id)
    headers = {"X-OpenStack-Request-ID": request_id}
    third = make_server(stage, "third_server", {"server": server}, headers)
    wait_until_active(stage, third)
    await_proof(stage, third)


def await_proof(stage: Stage[Any], server: Named) -> None:
    """Wait until a guest has shown that it has read its metadata and its user data."""
    nonces = guest.nonces(stage.run.id, stage.run.record.started)

    def failure(seen: GuestReport) -> StageError:
        name = f"the server {server.name}"
        return guest.unproved(name, seen, server.id, nonces)

    proof.follow(stage, server.id, nonces, "the third guest", failure)
