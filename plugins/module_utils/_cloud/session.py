# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session that records every request, and repeats those that may be repeated."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Any

from .._model.stage import Call
from .._record.waiting import Deadline
from .addresses import is_login
from .transport import Sample, Transport, seconds_left, service_called

# Without the SDK modules must be loaded all the same, to report that it is missing.
BaseSession: Any = object
BaseTimeout: Any = Exception
NO_ANSWER: tuple[type[Exception], ...] = ()
MAY_BE_REPEATED: tuple[type[Exception], ...] = ()
with contextlib.suppress(ImportError):
    import requests
    from keystoneauth1 import session as keystone_session
    from keystoneauth1.exceptions import (
        ConnectFailure,
        ConnectTimeout,
        HttpError,
        UnknownConnectionError,
    )

    BaseSession = keystone_session.Session
    BaseTimeout = ConnectTimeout
    # An answer that was cut off is an UnknownConnectionError.
    NO_ANSWER = (ConnectFailure, ConnectTimeout, UnknownConnectionError)
    MAY_BE_REPEATED = (*NO_ANSWER, HttpError)

SAFE = ("GET", "HEAD", "DELETE")
GATEWAY_TIMEOUT = 504
GATEWAY = (502, 503, GATEWAY_TIMEOUT)
TOO_MANY = 429
# In seconds, between the attempts of a safe request
PAUSES = (0.25, 1, 2)
# In seconds, before a request that a rate limit has refused is sent again
SHORTEST_PAUSE = 1
# Nine digits are more seconds than anybody waits.
SECONDS = re.compile(r"[0-9]{1,9}")
# A request that makes something gets more time: it is not simply sent again as a safe one is.
PATIENCE = 4


class OutOfTimeError(BaseTimeout):
    """A request that was not sent, as its deadline had passed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the time was over after {seconds:g} s, and the request was not sent"
        )


class RecordedSession(BaseSession):
    """A keystoneauth session with a record, a deadline, and repeats of safe requests."""

    def __init__(
        self,
        *args: Any,
        calls: list[Call],
        samples: list[Sample],
        deadline: Deadline,
        api_timeout: float,
        **options: Any,
    ) -> None:
        transport = Transport(calls, samples, deadline)
        for scheme in ("http://", "https://"):
            transport.mount(scheme, keystone_session.TCPKeepAliveAdapter())
        super().__init__(*args, session=transport, **options)
        self.deadline = deadline
        self.api_timeout = api_timeout

    def request(
        self, url: str, method: str, **options: Any
    ) -> requests.Response:
        """Send a request, and again if a rate limit has refused it: then it has had no effect."""
        while True:
            try:
                answer = self.repeated(url, method, **options)
            except HttpError as exc:
                if not self.waits_for_rate_limit(
                    exc.http_status, exc.response
                ):
                    raise
            else:
                if not self.waits_for_rate_limit(answer.status_code, answer):
                    return answer

    def waits_for_rate_limit(self, status: int | None, answer: Any) -> bool:
        """Rest as long as a rate limit asks for. Return False if there is none, or no time for that."""
        if status != TOO_MANY:
            return False
        pause = pause_of(answer)
        if self.deadline.left() < pause:
            return False
        time.sleep(pause)
        return True

    def repeated(
        self, url: str, method: str, **options: Any
    ) -> requests.Response:
        """Send a request, and a safe one several times if there is no answer."""
        service = (options.get("endpoint_filter") or {}).get("service_type")
        # The SDK would repeat any request once, whether or not it may have taken effect.
        options.update(connect_retries=0, status_code_retries=0)
        if not limits_rate(options.get("rate_semaphore")):
            options["rate_semaphore"] = contextlib.nullcontext()
        # A caller may decide this itself, for example for a POST that changes nothing.
        safe = options.pop("repeat", method in SAFE or is_login(url))
        limit = options.pop("timeout", None) or self.api_timeout * (
            1 if safe else PATIENCE
        )
        pauses = PAUSES if safe else ()
        token = service_called.set(service or service_called.get())
        try:
            for pause in pauses:
                answer = self.attempt_before(
                    pause, limit, url, method, options
                )
                if answer is not None:
                    return answer
            return self.attempt(limit, url, method, options)
        finally:
            service_called.reset(token)

    def attempt_before(
        self,
        pause: float,
        limit: float,
        url: str,
        method: str,
        options: dict[str, Any],
    ) -> requests.Response | None:
        """Send a request once. Without an answer of the service itself, rest and return None if it may be repeated."""
        try:
            answer = self.attempt(limit, url, method, options)
            if answer.status_code not in GATEWAY:
                return answer
        except MAY_BE_REPEATED as exc:
            if not is_unanswered(exc) or self.deadline.left() < pause:
                raise
        if self.deadline.left() > pause:
            time.sleep(pause)
        return None

    def attempt(
        self, limit: float, url: str, method: str, options: dict[str, Any]
    ) -> requests.Response:
        """Send a request once, unless its deadline and its last second have passed."""
        if self.deadline.left_with_grace() <= 0:
            raise OutOfTimeError(self.deadline.seconds)
        # A hanging service must not outlive the deadline.
        timeout = seconds_left(self.deadline, limit)
        answer: requests.Response = super().request(
            url, method, **{**options, "timeout": timeout}
        )
        return answer


def limits_rate(semaphore: Any) -> bool:
    """Return whether a user has asked for a limit of the rate of requests.

    Without one keystoneauth waits all the same, until the time of the day at which its client was made: for a day, if
    the clock has been set back by one.
    """
    return bool(
        getattr(semaphore, "_rate_delay", None)
        or getattr(semaphore, "_concurrency", None)
    )


def pause_of(answer: Any) -> int:
    """Return the seconds to wait that a service asks for. It may name a date instead: then it is the shortest pause."""
    after = getattr(answer, "headers", {}).get("retry-after", "")
    if not SECONDS.fullmatch(after):
        return SHORTEST_PAUSE
    return max(SHORTEST_PAUSE, int(after))


def is_unanswered(exc: BaseException) -> bool:
    """Return whether a request that failed with this error may have taken effect."""
    return isinstance(exc, NO_ANSWER) or status_of(exc) in GATEWAY


def may_still_take_effect(exc: BaseException) -> bool:
    """Return whether a service that hangs may still come to a request.

    One that broke off came to it at once, or never will.
    """
    return isinstance(exc, BaseTimeout) or status_of(exc) == GATEWAY_TIMEOUT


def status_of(exc: BaseException) -> int | None:
    """Return the HTTP status of an error: keystoneauth and the SDK name it differently."""
    status: int | None = getattr(exc, "http_status", None) or getattr(
        exc, "status_code", None
    )
    return status
