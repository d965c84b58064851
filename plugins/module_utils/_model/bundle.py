# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was found in a directory of collected logs: a boot, other requests, and what each host logged about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from .baseline import Baseline
from .codec import omitted
from .host import Host
from .instance import DescribedInstance
from .words import Level, Word

# A client that only looks for a thing asks so, and the answer is 404 if there is none.
LOOKING = ("GET", "HEAD", "OPTIONS")


class Outcome(Word):
    """How a boot ended by Nova's own lines."""

    BUILT = "built"
    FAILED = "failed"


@dataclass(frozen=True)
class LoggedBoot:
    """A boot that logs show.

    client: the request id that its client gave. outcome: how it ended by Nova's own lines. siblings: how many more
    servers the same request asked for.
    """

    request: Optional[str]
    client: Optional[str]
    server: Optional[str]
    outcome: Optional[Outcome] = None
    siblings: int = 0


@dataclass(frozen=True)
class Owner:
    """For whom a service worked."""

    user: str
    project: str


@dataclass(frozen=True)
class Answer:
    """The answer of an API. id: the request that it answers. at: when it was logged, after so many seconds."""

    service: str
    host: str
    method: Optional[str]
    path: str
    status: int
    id: str
    at: float
    seconds: float


def is_rejection(method: Optional[str], status: Optional[int]) -> bool:
    """Return whether an answer is a failure or a refusal.

    What does not exist need not be removed, and may be looked for.
    """
    if status is None or status < 400:
        return False
    if status >= 500:
        return True
    if method in LOOKING:
        return False
    if status == 404:
        return method not in ("DELETE", None)
    return True


@dataclass(frozen=True)
class LoggedRequest:
    """A request that logs show.

    ids: its own id, and those of the requests that services made for it.
    service, host, method, path, status: what was asked of whom, and what was answered.
    asked: whether a client stands behind it. A service that does something by itself asks others as a user of its own.
    errors: how many errors were logged for it. resources: kind to the ids that its lines name.
    of_others: whether it has nothing to do with the boot that was asked about.
    """

    id: str
    ids: tuple[str, ...]
    at: float
    until: float
    service: str
    host: str
    method: Optional[str]
    path: Optional[str]
    status: Optional[int]
    owner: Optional[Owner]
    asked: bool
    answers: tuple[Answer, ...]
    errors: int
    resources: Mapping[str, tuple[str, ...]]
    of_others: bool = omitted(False)

    @property
    def has_failed(self) -> bool:
        """Return whether an API answered 5xx, or a service logged an error for it."""
        return bool(self.errors) or any(
            answer.status >= 500 for answer in self.answers
        )

    @property
    def has_failed_for_client(self) -> bool:
        """Return whether the client itself was answered that it failed."""
        return (self.status or 0) >= 500

    @property
    def is_refused(self) -> bool:
        """Return whether a client was refused a change."""
        return not self.has_failed and is_rejection(self.method, self.status)

    @property
    def went_wrong(self) -> bool:
        """Return whether it failed, or a client was refused a change."""
        return self.has_failed or self.is_refused

    @property
    def has_known_end(self) -> bool:
        return self.status is not None or self.has_failed

    @property
    def is_removal(self) -> bool:
        return self.method == "DELETE"


@dataclass(frozen=True)
class Bundle:
    """What was found in a directory of logs.

    name: that of the directory. query: what was asked about, by the name of the option.
    keys: kind of an id to those of the boot or of the requests. named: kind to the id that the boot shares with others.
    host: the host of the instance. began, until: the time of which the logs were read.
    deleted: whether the server was removed. silent_s: how long the logs go on after the last event of the boot.
    levels: service to host to the level at which it logs. hosts: host to what log_info returns there.
    others: the same for the requests beside a boot; empty if there are none.
    zones: host to the seconds by which its logs are to the east.
    baseline: what there was while all worked; None if it was not given.
    reported: the hosts of which there are reports of sos, and instance: the one that they show.
    """

    name: str
    query: Mapping[str, str]
    boot: Optional[LoggedBoot]
    keys: Mapping[str, tuple[str, ...]]
    named: Mapping[str, str]
    deleted: bool
    silent_s: float
    host: Optional[str]
    began: float
    until: float
    levels: Mapping[str, Mapping[str, Level]]
    warnings: tuple[str, ...]
    hosts: Mapping[str, Any]
    requests: tuple[LoggedRequest, ...]
    others: Mapping[str, Any]
    zones: Mapping[str, int]
    baseline: Optional[Baseline] = None
    reported: tuple[Host, ...] = omitted(())
    instance: Optional[DescribedInstance] = omitted()

    @property
    def is_by_time(self) -> bool:
        """Return whether all that failed in a time was asked about, and no id."""
        return {"since", "until"}.issuperset(self.query)
