# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session that records every request, and repeats those that may be repeated."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

from .._record import masking
from .._record.clock import Stopwatch
from .._record.errors import StageError

try:
    import requests
    from keystoneauth1 import session as keystone_session
    from keystoneauth1.exceptions import ConnectFailure, ConnectTimeout, HttpError, UnknownConnectionError

    BaseSession, BaseTransport, BaseTimeout = keystone_session.Session, requests.Session, ConnectTimeout
except ImportError:
    BaseSession = BaseTransport = object
    BaseTimeout = Exception

SAFE = ("GET", "HEAD", "DELETE")
GATEWAY_TIMEOUT = 504
GATEWAY = (502, 503, GATEWAY_TIMEOUT)
TOO_MANY = 429
PAUSES = (0.25, 1, 2)
LAST = 1
# The shortest time that a request gets that is sent, in seconds
LEAST = 0.05
MULTIPLE_CHOICES = 300
TOKEN_HEADERS = ("X-Auth-Token", "X-Subject-Token")
# Nine digits are more seconds than anybody waits.
SECONDS = re.compile(r"[0-9]{1,9}")
# In bytes; a cloud lists its things in pages of some thousand.
LARGEST = 64 << 20
# A request that makes something gets more time: it is not simply sent again as a safe one is.
PATIENCE = 4
service_called = contextvars.ContextVar("service_called", default=None)


def path_of(url):
    """The path of a URL, without the host and the query, which may hold a signature."""
    return urlsplit(url).path or "/"


def host_of(url):
    """Address and port of a URL, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def request_id(headers):
    return headers.get("x-openstack-request-id") or headers.get("x-compute-request-id")


def within(seconds, action):
    """The result of an action, if it ends in time.

    The time limit of a request bounds each read. A service that sends its answer byte by byte renews it with each byte,
    so the whole is bounded from outside. A thread that still waits then is left behind, and ends with the process.
    """
    outcomes = []

    def work():
        try:
            outcomes.append((action(), None))
        except BaseException as exc:
            outcomes.append((None, exc))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcomes:
        raise requests.exceptions.ReadTimeout(f"the answer was not whole after {seconds:.0f} s")
    result, error = outcomes[0]
    if error is not None:
        raise error
    return result


class OutOfTimeError(BaseTimeout):
    """A request that was not sent, as its deadline had passed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the time was over after {seconds:g} s, and the request was not sent")


class RedirectedError(StageError):
    """An answer that sends to another address."""

    def __init__(self, status, message, hint):
        super().__init__("service", message, hint=hint)
        self.status = status


def refuse_another_address(method: str, url: str, answer: Any) -> None:
    """Refuse a redirect to another address: the request would carry the token, or the password, to it."""
    location = answer.headers.get("location")
    # A list of versions has the status 300, and often the address of one of them, to which nobody is sent.
    is_choice = answer.status_code == MULTIPLE_CHOICES and method in ("GET", "HEAD")
    if answer.status_code // 100 != 3 or location is None or is_choice:
        return
    target = urljoin(url, location)
    if not is_same_place(url, target):
        hint = "Write the address that answers into the catalogue, or into clouds.yaml."
        message = f"{host_of(url)} sends to another address, {host_of(target)}, to which no token is sent"
        raise RedirectedError(answer.status_code, message, hint)


def is_same_place(known: str, other: str) -> bool:
    """Return whether a URL leads to the host and port of a known one. A service may insist on TLS."""
    try:
        old, new = urlsplit(known), urlsplit(other)
        same = (old.scheme, old.hostname, port_of(old)) == (new.scheme, new.hostname, port_of(new))
    except ValueError:
        return False  # no port has such a number
    return same or (old.hostname, old.scheme, new.scheme) == (new.hostname, "http", "https")


def port_of(parts):
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def secrets_in(headers: Any) -> list[str]:
    """Return the tokens that a request or an answer carries."""
    return [headers[name] for name in TOKEN_HEADERS if headers.get(name)]


def whole(answer, url):
    """An answer with its body, of which no more is read than any service sends."""
    parts, size = [], 0
    for part in answer.iter_content(1 << 16):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            answer.close()
            raise StageError("service", f"{host_of(url)} answers with more than {LARGEST >> 20} MiB to {path_of(url)}")
    # requests keeps it here as well when it reads a body at once.
    answer._content, answer._content_consumed = b"".join(parts), True
    return answer


class Transport(BaseTransport):
    """The layer below retries and renewed tokens: each request that is sent is one line in calls.

    addresses: returns the URLs of the cloud as far as they are known, to which alone a token or a password is sent.
    """

    def __init__(self, calls, samples, deadline):
        super().__init__()
        self.calls, self.samples, self.deadline = calls, samples, deadline
        self.addresses: Callable[[], list[str]] = list

    def refuse_unknown_address(self, method: str, url: str, headers: Any) -> None:
        """Refuse to carry a secret to an address that only an answer has named, such as that of a next page."""
        is_login = method == "POST" and urlsplit(url).path.endswith("/auth/tokens")
        if not (is_login or secrets_in(headers)):
            return
        known = self.addresses()
        if known and not any(is_same_place(address, url) for address in known):
            hint = "Check the links in the answers of this service, and its endpoints: openstack catalog list."
            message = f"an answer leads to {host_of(url)}, which is not in the catalogue, so no token is sent there"
            raise StageError("service", message, hint=hint)

    def request(self, method, url, **options):
        headers = options.get("headers") or {}
        masking.learn(*secrets_in(headers))
        self.refuse_unknown_address(method, url, headers)
        watch, sent = Stopwatch(), time.time()
        call = {"method": method, "service": service_called.get(), "host": host_of(url), "path": path_of(url)}
        call.update(status=None, request_id=None)
        if urlsplit(url).path.endswith("/auth/tokens"):
            call["service"] = "identity"
        try:
            ask = functools.partial(super().request, method, url, **{**options, "stream": True})
            left = min(max(LAST, self.deadline.left()), max(LEAST, self.deadline.left_with_grace()))
            answer = within(left, lambda: whole(ask(), url))
            masking.learn(*secrets_in(answer.headers))
            call.update(status=answer.status_code, request_id=request_id(answer.headers))
            refuse_another_address(method, url, answer)
            self.samples.append((sent, answer.headers.get("date"), time.time()))
            return answer
        except BaseException as exc:
            call["error"] = type(exc).__name__
            raise
        finally:
            call.update(started=watch.started, seconds=watch.seconds())
            self.calls.append(call)


class RecordedSession(BaseSession):
    """A keystoneauth session with a record, a deadline, and repeats of safe requests."""

    def __init__(self, *args, calls, samples, deadline, api_timeout, **options):
        transport = Transport(calls, samples, deadline)
        for scheme in ("http://", "https://"):
            transport.mount(scheme, keystone_session.TCPKeepAliveAdapter())
        super().__init__(*args, session=transport, **options)
        self.deadline, self.api_timeout = deadline, api_timeout

    def request(self, url, method, **options):
        """Send a request, again where the service says that there are too many: then it has not done it."""
        while True:
            answer, error = None, None
            try:
                answer = self.repeated(url, method, **options)
            except HttpError as exc:
                error = exc
            if TOO_MANY not in (getattr(answer, "status_code", None), getattr(error, "http_status", None)):
                break
            pause = pause_of(answer if error is None else error.response)
            if self.deadline.left() < pause:
                break
            time.sleep(pause)
        if error is not None:
            raise error
        return answer

    def repeated(self, url, method, **options):
        """Send a request, and a safe one several times if there is no answer."""
        service = (options.get("endpoint_filter") or {}).get("service_type")
        token = service_called.set(service or service_called.get())
        # The SDK would repeat any request once, whether or not it may have taken effect.
        options.update(connect_retries=0, status_code_retries=0)
        if not limits_rate(options.get("rate_semaphore")):
            options["rate_semaphore"] = contextlib.nullcontext()
        # A caller may decide this itself, for example for a POST that changes nothing.
        safe = options.pop("repeat", method in SAFE or url.endswith("/auth/tokens"))
        limit = options.pop("timeout", None) or self.api_timeout * (1 if safe else PATIENCE)
        try:
            for pause in [*PAUSES, None] if safe else [None]:
                left = self.deadline.left_with_grace()
                if left <= 0:
                    raise OutOfTimeError(self.deadline.seconds)
                try:
                    # A hanging service must not outlive the deadline. At the deadline it gets one last second.
                    options["timeout"] = min(left, max(LAST, min(limit, self.deadline.left())))
                    answer = super().request(url, method, **options)
                    if answer.status_code not in GATEWAY or pause is None:
                        return answer
                except (ConnectFailure, ConnectTimeout, UnknownConnectionError, HttpError) as exc:
                    again = not isinstance(exc, HttpError) or exc.http_status in GATEWAY
                    if pause is None or not again or self.deadline.left() < pause:
                        raise
                if self.deadline.left() > pause:
                    time.sleep(pause)
        finally:
            service_called.reset(token)


def limits_rate(semaphore: Any) -> bool:
    """Return whether a user has asked for a limit of the rate of requests.

    Without one keystoneauth waits all the same, until the time of the day at which its client was made: for a day, if
    the clock has been set back by one.
    """
    return bool(getattr(semaphore, "_rate_delay", None) or getattr(semaphore, "_concurrency", None))


def pause_of(answer):
    """The seconds after which a service wants to be asked again, LAST at least. It may name a date: then LAST."""
    after = getattr(answer, "headers", {}).get("retry-after", "")
    return max(LAST, int(after)) if SECONDS.fullmatch(after) else LAST


def is_unanswered(exc):
    """Whether a request that failed with this error may have taken effect."""
    # An answer that was cut off is an UnknownConnectionError.
    return isinstance(exc, (ConnectFailure, ConnectTimeout, UnknownConnectionError)) or status_of(exc) in GATEWAY


def status_of(exc):
    """The HTTP status of an error: keystoneauth and the SDK name it differently."""
    return getattr(exc, "http_status", None) or getattr(exc, "status_code", None)


def common_start(one: str, other: str) -> int:
    """Return how many characters two texts share from their start."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other))
    return sum(1 for _pair in same)


def name_services(calls, endpoints):
    """Name the service of each call that has none: that of the endpoint whose URL is most like the call's.

    endpoints is a list of (service, URL). Services behind one address differ by their paths.
    """
    for call in calls:
        alike = [
            (common_start(urlsplit(url).path, call["path"]), service)
            for service, url in endpoints
            if host_of(url) == call["host"]
        ]
        if call["service"] is None and alike:
            call["service"] = max(alike)[1]
