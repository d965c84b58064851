# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The error of a stage for what a cloud could not make, with the words of the cloud about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._record.errors import StageError
from .._record.masking import words_of

# The states from which no image becomes active
LOST_IMAGE = ("killed", "deleted", "deactivated")


def words_of_fault(fault: Mapping[str, Any] | None) -> str:
    """Return what Nova reports about a server in the state ERROR."""
    return words_of((fault or {}).get("message") or "no fault is given")


def failed_build(
    name: str, fault: dict[str, Any], request_id: str | None
) -> StageError:
    fault_message = words_of_fault(fault)
    return StageError(
        "build_failed",
        f"the server {name} is in the state ERROR, the cloud answered: {fault_message}",
        resource=name,
        answer=fault_message,
        request_id=request_id,
        hint=f"Look for {request_id} in the logs of nova-conductor, nova-scheduler and nova-compute.",
        fault=fault,
    )


def failed_operation(
    name: str, fault: Mapping[str, Any] | None, request_id: str | None
) -> StageError:
    """Return the error of an operation that has left its server in the state ERROR."""
    answer = words_of_fault(fault)
    message = f"the server {name} became ERROR; the cloud answered: {answer}"
    hint = f"Look for {request_id} in the logs of nova-compute and nova-conductor."
    return StageError(
        "operation_failed",
        message,
        resource=name,
        answer=answer,
        request_id=request_id,
        hint=hint,
    )


def failed_volume(
    name: str, identity: str, status: str, messages: Sequence[str]
) -> StageError:
    answer = "; ".join(messages) or "nothing more"
    message = (
        f"the volume {name} became {status}; the cloud answered: {answer}"
    )
    hint = f"Look for the id {identity} in the logs of cinder-scheduler and cinder-volume."
    return StageError(
        "service", message, resource=name, answer=answer, hint=hint
    )


def refused_volume(
    name: str, answer: str, request_id: str | None
) -> StageError:
    """Return the error of a volume that Cinder has refused Nova."""
    message = f"the volume {name} could not be made or attached; the cloud answered: {answer}"
    hint = f"Look for {request_id} in the log of cinder-api."
    return StageError(
        "service",
        message,
        resource=name,
        answer=answer,
        request_id=request_id,
        hint=hint,
    )


def lost_image(name: str, status: str) -> StageError:
    hint = "Look for the image's id in the log of glance-api."
    return StageError(
        "service",
        f"the image {name} became {status}",
        resource=name,
        hint=hint,
    )
