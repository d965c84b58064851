# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of a record that only a diagnosis by logs has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Optional

from .bundle import LoggedBoot
from .codec import Positive, Share, Text, Time, omitted, schema
from .verdict import Headline
from .words import StageName

AskedBy = Annotated[
    str,
    schema(
        enum=(
            "request_id",
            "server_id",
            "resource_id",
            "error",
            "since",
            "until",
        )
    ),
]


@dataclass(frozen=True)
class AffectedRequest:
    """A request that failed, and how it was answered."""

    id: Text
    at: Time
    service: Text
    host: Text
    method: Optional[str]
    path: Optional[str]
    status: Optional[int]


@dataclass(frozen=True)
class RequestFailure:
    """A cause of failed requests.

    count: how many requests failed by it. requests: the first of them.
    """

    stage: StageName
    component: Optional[str]
    host: Optional[str]
    confidence: Optional[Share]
    headline: Optional[Headline]
    next: Optional[str]
    reason: Text
    count: Annotated[int, schema(minimum=1)]
    requests: Annotated[tuple[AffectedRequest, ...], schema(minItems=1)]


@dataclass(frozen=True)
class Diagnosis:
    """A boot, or other requests, as collected logs show them.

    created: when the diagnosis was made. query: what was asked about. boot: the boot that was followed; null if other
    requests were judged alone. keys: by kind, the ids of the boot. host: the host of the instance. zones: by host, how
    many seconds its logs are ahead of UTC. warnings: what may be wrong with what was read. build_s: how long Nova took
    to build the server, as it logged. ended: whether the logs show the end of the boot, or continue for so long after
    it that it must have ended. silent_s: how long the logs continue after the last line about the boot. failures: the
    causes of other requests that failed, the likeliest common one first.
    """

    created: Time
    query: Mapping[AskedBy, Text] = field(default_factory=dict)
    boot: Optional[LoggedBoot] = None
    keys: Mapping[str, tuple[Text, ...]] = field(default_factory=dict)
    host: Optional[str] = None
    zones: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[Text, ...] = ()
    build_s: Optional[Positive] = None
    ended: Optional[bool] = omitted()
    silent_s: Optional[Positive] = omitted()
    failures: Optional[tuple[RequestFailure, ...]] = omitted()
