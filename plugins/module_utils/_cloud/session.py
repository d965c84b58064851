# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session that records every request, and repeats those that may be repeated."""

from __future__ import annotations

import contextvars
import functools
import os
import threading
import time
from urllib.parse import urljoin, urlsplit

from .._record.clock import Stopwatch
from .._record.errors import StageError

try:
    import requests
    from keystoneauth1 import session as keystone_session
    from keystoneauth1.exceptions import ConnectFailure, ConnectTimeout, HttpError, UnknownConnectionError

    BaseSession, BaseTransport = keystone_session.Session, requests.Session
except ImportError:
    BaseSession = BaseTransport = object

SAFE = ("GET", "HEAD", "DELETE")
GATEWAY_TIMEOUT = 504
GATEWAY = (502, 503, GATEWAY_TIMEOUT)
TOO_MANY = 429
PAUSES = (0.25, 1, 2)
LAST = 1
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


class RedirectedError(StageError):
    """An answer that sends to another address."""

    def __init__(self, status, message, hint):
        super().__init__("service", message, hint=hint)
        self.status = status


def refuse_another_address(url, answer):
    """Refuse a redirect to another address: the request would carry the token, or the password, to it."""
    if not answer.is_redirect:
        return
    target = urljoin(url, answer.headers["location"])
    old, new = urlsplit(url), urlsplit(target)
    same = (old.scheme, old.hostname, port_of(old)) == (new.scheme, new.hostname, port_of(new))
    # A service may insist on TLS.
    if not same and (old.hostname, old.scheme, new.scheme) != (new.hostname, "http", "https"):
        hint = "Write the address that answers into the catalogue, or into clouds.yaml."
        message = f"{host_of(url)} sends to another address, {host_of(target)}, to which no token is sent"
        raise RedirectedError(answer.status_code, message, hint)


def port_of(parts):
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme)


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
    """The layer below retries and renewed tokens: each request that is sent is one line in calls."""

    def __init__(self, calls, samples, deadline):
        super().__init__()
        self.calls, self.samples, self.deadline = calls, samples, deadline

    def request(self, method, url, **options):
        watch, sent = Stopwatch(), time.time()
        call = {"method": method, "service": service_called.get(), "host": host_of(url), "path": path_of(url)}
        call.update(status=None, request_id=None)
        if urlsplit(url).path.endswith("/auth/tokens"):
            call["service"] = "identity"
        try:
            ask = functools.partial(super().request, method, url, **{**options, "stream": True})
            answer = within(max(LAST, self.deadline.left()), lambda: whole(ask(), url))
            call.update(status=answer.status_code, request_id=request_id(answer.headers))
            refuse_another_address(url, answer)
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
        # A caller may decide this itself, for example for a POST that changes nothing.
        safe = options.pop("repeat", method in SAFE or url.endswith("/auth/tokens"))
        limit = options.pop("timeout", None) or self.api_timeout * (1 if safe else PATIENCE)
        try:
            for pause in [*PAUSES, None] if safe else [None]:
                try:
                    # A hanging service must not outlive the deadline. At the deadline it gets one last second.
                    options["timeout"] = max(LAST, min(limit, self.deadline.left()))
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


def pause_of(answer):
    """The seconds after which a service wants to be asked again, LAST at least. It may name a date: then LAST."""
    after = getattr(answer, "headers", {}).get("retry-after", "")
    return max(LAST, int(after)) if after.isascii() and after.isdigit() else LAST


def is_unanswered(exc):
    """Whether a request that failed with this error may have taken effect."""
    # An answer that was cut off is an UnknownConnectionError.
    return isinstance(exc, (ConnectFailure, ConnectTimeout, UnknownConnectionError)) or status_of(exc) in GATEWAY


def status_of(exc):
    """The HTTP status of an error: keystoneauth and the SDK name it differently."""
    return getattr(exc, "http_status", None) or getattr(exc, "status_code", None)


def name_services(calls, endpoints):
    """Name the service of each call that has none: that of the endpoint whose URL is most like the call's.

    endpoints is a list of (service, URL). Services behind one address differ by their paths.
    """
    for call in calls:
        alike = [
            (len(os.path.commonprefix([urlsplit(url).path, call["path"]])), service)
            for service, url in endpoints
            if host_of(url) == call["host"]
        ]
        if call["service"] is None and alike:
            call["service"] = max(alike)[1]
