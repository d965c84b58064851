# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Failures as data: what went wrong, on what, what the cloud answered, and what to check next."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from .._model import codec
from .._model.stage import Failure
from .masking import bounded, words_of

HINTS = {
    "unauthorized": "Look at user, password, project and domains in clouds.yaml. If Keystone has given a token for "
    "them, look at [keystone_authtoken] of the service that rejects it, and at Keystone's log.",
    "forbidden": "The user's role in this project does not allow this: look at its roles and at the service's policy.",
    "not_found": "Look at the name or id, and whether this project may see it.",
    "ambiguous": "Give the id instead of the name.",
    "quota": "Raise the project's quota, or remove what is no longer used: openstack quota show --usage.",
    "invalid": "Look at the values given.",
    "conflict": "Something else holds or changes this: look at its state.",
    "too_many": "The cloud takes no more requests for a while: do less at the same time, or raise its limit.",
    "service": "The service failed by itself: look for the request id in its log.",
    "unreachable": "Check whether the service runs, and whether this machine reaches the address.",
    "tls": "Look at the certificate of the endpoint, or name that of the authority with ca_cert.",
    "catalog": "Look at the service catalogue: openstack catalog list.",
    "deadline": "If an inventory is given, the hosts are examined next to find out why. If the cloud is only slow, "
    "raise stackproof_timeouts.",
    "config": "Look at clouds.yaml and the OS_ variables of the environment.",
    "files": "Look at the free space and the permissions of this folder.",
    "no_run": "Give a directory that this version has written: the folder of runs has one for each run.",
    "malformed": "Look what answers at that address: a web server before the service may. If the answer is right, this "
    "version does not understand it: please report it, with the output of ANSIBLE_DISPLAY_TRACEBACK=error "
    "ansible-playbook.",
    "interrupted": "Run the cleanup playbook for this run if anything is left.",
    "internal": "This is a defect of stackproof.provision: please report it, with the output of "
    "ANSIBLE_DISPLAY_TRACEBACK=error ansible-playbook.",
}


# Exceptions of code that reads an answer or a file of an unknown form
MALFORMED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


# An error as a record has it
Error = dict[str, Any]


class StageError(Exception):
    """A failure that has its message and its hint already."""

    def __init__(
        self,
        kind: str,
        message: str,
        resource: str | None = None,
        answer: str | None = None,
        hint: str | None = None,
        request_id: str | None = None,
        status: int | None = None,
        **details: Any,
    ) -> None:
        message = bounded(message)
        super().__init__(message)
        self.failure = Failure(
            kind=kind,
            message=message,
            resource=bounded(resource),
            answer=None if answer is None else words_of(answer),
            status=status,
            request_id=bounded(request_id),
            hint=hint or HINTS.get(kind, ""),
            details={
                name: masked_leaves(value) for name, value in details.items()
            },
        )

    @property
    def record(self) -> Error:
        """Return the failure as a record has it."""
        error: Error = codec.to_json(self.failure)
        return error


def masked_leaves(value: Any) -> Any:
    """Return data in which each text is masked as the words of a cloud are."""
    if isinstance(value, dict):
        return {
            str(key)[:80]: masked_leaves(inner) for key, inner in value.items()
        }
    if isinstance(value, list):
        return list(map(masked_leaves, value))
    if isinstance(value, str):
        return words_of(value)
    return value


class DeadlinePassed(Exception):
    """A wait took longer than it may. Has the thing that was waited for and its last state."""

    def __init__(self, what: str, state: str, seconds: float) -> None:
        super().__init__(what)
        self.what, self.state, self.seconds = what, state, seconds


class Interrupted(BaseException):
    """A signal asks the process to end. A library that catches every Exception must not catch this."""


def explain(exc: BaseException, doing: str) -> Error:
    """Return the failure behind an exception as a record has it."""
    error: Error = codec.to_json(failure_of(exc, doing))
    return error


def failure_of(exc: BaseException, doing: str) -> Failure:
    """Return the failure behind an exception. Its message begins with what was being done.

    _cloud.errors knows the exceptions of the cloud, too.
    """
    if isinstance(exc, StageError):
        return exc.failure
    if isinstance(exc, DeadlinePassed):
        message = f"waited {exc.seconds:.0f} s for {exc.what}; the last state was {exc.state}"
        return StageError("deadline", message).failure
    if isinstance(exc, (Interrupted, KeyboardInterrupt)):
        return StageError(
            "interrupted", f"{doing}: interrupted by {str(exc) or 'SIGINT'}"
        ).failure
    if isinstance(exc, OSError):
        where = f": {exc.filename}" if exc.filename else ""
        return StageError(
            "files", f"{doing}: {exc.strerror or exc}{where}"
        ).failure
    return StageError(
        "internal", f"{doing}: {type(exc).__name__}: {words_of(exc)}"
    ).failure


def sentence(error: Error) -> str:
    """Return a record's error as a message for the user: what failed, and what to look at.

    A cloud's own words may stand in it, and must not control a terminal.
    """
    text = f"{error['message'].rstrip('.')}. {error['hint']}".strip()
    return "".join(
        mark
        if mark.isprintable() or mark in "\n\t"
        else "\N{REPLACEMENT CHARACTER}"
        for mark in text
    )


def trace_of(kind: str) -> str | None:
    """Return the traceback of an exception of a kind that may be a defect of ours. Ansible shows it on request."""
    return (
        traceback.format_exc() if kind in ("internal", "malformed") else None
    )


@contextlib.contextmanager
def failing(
    module: Any,
    doing: str,
    explain: Callable[[Exception, str], Error] = explain,
) -> Iterator[None]:
    """Fail the module with one message about any exception, whether we expected it or it is a defect of ours."""
    try:
        yield
    except Exception as exc:
        error = explain(exc, doing)
        module.fail_json(
            msg=sentence(error), exception=trace_of(error["kind"])
        )
