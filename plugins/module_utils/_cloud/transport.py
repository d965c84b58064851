# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The layer that sends requests: it records each, bounds its time, and carries no secret to another address."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urljoin

from .._model.stage import Call
from .._record import masking
from .._record.clock import Stopwatch
from .._record.errors import StageError
from .._record.waiting import Deadline
from .addresses import host_of, is_login, is_same_place, path_of

# Without the SDK modules must be loaded all the same, to report that it is missing.
BaseTransport: Any = object
with contextlib.suppress(ImportError):
    import requests

    BaseTransport = requests.Session

# In seconds: at its deadline a stage may still finish a request.
LAST = 1.0
# In seconds: the shortest time limit of a request that is sent
LEAST = 0.05
MULTIPLE_CHOICES = 300
TOKEN_HEADERS = ("X-Auth-Token", "X-Subject-Token")
# In bytes; a cloud lists its things in pages of some thousand.
LARGEST = 64 << 20
MEBIBYTE = 1 << 20
# In bytes: an answer is read in parts of this size.
PART = 1 << 16

# The words of the system for an address where nobody listens
REFUSED = "Connection refused"
# The class of an error of TLS, whose words say more
SSL_ERROR = "SSLError"
NO_TLS = "TLS handshake failed"
# What OpenSSL says of a peer that answers with something else than TLS, or not at all
WITHOUT_TLS = re.compile(
    r"\[SSL: (?:WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|PACKET_LENGTH_TOO_LONG|UNEXPECTED_EOF_WHILE_READING)\]"
)

# When a request was sent, the Date header of its answer, and when the answer came
Sample = tuple[float, str, float]
Headers = Mapping[str, str]
Result = TypeVar("Result")

service_called: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "service_called", default=None
)


class RedirectedError(StageError):
    """A redirect to another address."""

    def __init__(self, status: int, message: str, hint: str) -> None:
        super().__init__("service", message, hint=hint)
        self.status = status


def request_id(headers: Headers) -> str | None:
    return headers.get("x-openstack-request-id") or headers.get(
        "x-compute-request-id"
    )


def secrets_in(headers: Headers) -> list[str]:
    """Return the tokens that a request or an answer carries."""
    return [headers[name] for name in TOKEN_HEADERS if headers.get(name)]


def seconds_left(deadline: Deadline, limit: float = math.inf) -> float:
    """Return the seconds that a request may take, at most the limit: at the deadline it gets one last second."""
    wanted = max(LAST, min(limit, deadline.left()))
    allowed = max(LEAST, deadline.left_with_grace())
    return min(wanted, allowed)


def within(seconds: float, action: Callable[[], Result]) -> Result:
    """Return the result of an action, if it ends in time.

    The time limit of a request bounds each read. A service that sends its answer byte by byte renews it with each byte,
    so the whole is bounded from outside. A thread that still waits then is left behind, and ends with the process.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(action())
        except BaseException as exc:
            errors.append(exc)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise requests.exceptions.ReadTimeout(
            f"the answer was not whole after {seconds:.0f} s"
        )
    return results[0]


def whole(answer: Any, url: str) -> requests.Response:
    """Return an answer with its body, and refuse one that is larger than any service sends."""
    parts: list[bytes] = []
    size = 0
    for part in answer.iter_content(PART):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            answer.close()
            limit = f"{LARGEST // MEBIBYTE} MiB"
            raise StageError(
                "service",
                f"{host_of(url)} answers with more than {limit} to {path_of(url)}",
            )
    # requests keeps it here as well when it reads a body at once.
    answer._content = b"".join(parts)
    answer._content_consumed = True
    completed: requests.Response = answer
    return completed


def refuse_another_address(method: str, url: str, answer: Any) -> None:
    """Refuse a redirect to another address: the request would carry the token, or the password, to it."""
    location = answer.headers.get("location")
    if answer.status_code // 100 != 3 or location is None:
        return
    # A list of versions has the status 300, and often the address of one of them, which nobody follows.
    if answer.status_code == MULTIPLE_CHOICES and method in ("GET", "HEAD"):
        return
    target = urljoin(url, location)
    if is_same_place(url, target):
        return
    hint = "Write the address that answers into the catalogue, or into clouds.yaml."
    message = f"{host_of(url)} sends to another address, {host_of(target)}, to which no token is sent"
    raise RedirectedError(answer.status_code, message, hint)


def reason_of(exc: BaseException) -> str:
    """Return why no answer came, in a word or two."""
    if REFUSED in str(exc):
        return "connection refused"
    name = type(exc).__name__
    # A proxy on the way has an error of its own with the same words.
    is_no_tls = name == SSL_ERROR and WITHOUT_TLS.search(str(exc))
    return NO_TLS if is_no_tls else name


class CallAtWork:
    """A request on its way. What its answer brings completes its call."""

    def __init__(self, method: str, url: str) -> None:
        self.method = method
        self.url = url
        self.service = "identity" if is_login(url) else service_called.get()
        self.status: int | None = None
        self.request_id: str | None = None
        self.error: str | None = None
        self.watch = Stopwatch()

    def completed(self) -> Call:
        return Call(
            method=self.method,
            service=self.service,
            host=host_of(self.url),
            path=path_of(self.url),
            status=self.status,
            started=self.watch.began,
            seconds=self.watch.seconds(),
            request_id=self.request_id,
            error=self.error,
        )


class Transport(BaseTransport):
    """The layer below retries and renewed tokens: each request that is sent is one line in calls.

    addresses: returns the URLs of the cloud as far as they are known, to which alone a token or a password is sent.
    """

    def __init__(
        self, calls: list[Call], samples: list[Sample], deadline: Deadline
    ) -> None:
        super().__init__()
        self.calls = calls
        self.samples = samples
        self.deadline = deadline
        self.addresses: Callable[[], list[str]] = list

    def request(
        self, method: str, url: str, **options: Any
    ) -> requests.Response:
        headers = options.get("headers") or {}
        masking.learn(*secrets_in(headers))
        self.refuse_unknown_address(method, url, headers)
        call = CallAtWork(method, url)
        try:
            return self.answer_to(call, options)
        except BaseException as exc:
            call.error = reason_of(exc)
            raise
        finally:
            self.calls.append(call.completed())

    def refuse_unknown_address(
        self, method: str, url: str, headers: Headers
    ) -> None:
        """Refuse to carry a secret to an address that only an answer has named, such as that of a next page."""
        carries_password = method == "POST" and is_login(url)
        if not carries_password and not secrets_in(headers):
            return
        known = self.addresses()
        if not known:
            return
        if any(is_same_place(address, url) for address in known):
            return
        hint = "Check the links in the answers of this service, and its endpoints: openstack catalog list."
        message = f"an answer leads to {host_of(url)}, which is not in the catalogue, so no token is sent there"
        raise StageError("service", message, hint=hint)

    def answer_to(
        self, call: CallAtWork, options: dict[str, Any]
    ) -> requests.Response:
        """Send a request, note its answer, and learn the cloud's time and the tokens from it."""
        send = functools.partial(
            super().request,
            call.method,
            call.url,
            **{**options, "stream": True},
        )
        sent = time.time()
        answer = within(
            seconds_left(self.deadline), lambda: whole(send(), call.url)
        )
        masking.learn(*secrets_in(answer.headers))
        call.status = answer.status_code
        call.request_id = request_id(answer.headers)
        refuse_another_address(call.method, call.url, answer)
        self.samples.append(
            (sent, answer.headers.get("date", ""), time.time())
        )
        return answer
