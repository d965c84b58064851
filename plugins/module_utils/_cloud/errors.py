# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of a cloud or of the SDK: the service's own message, and the kind of the failure."""

from __future__ import annotations

import html
import json
import re
from contextlib import AbstractContextManager, suppress
from http import HTTPStatus
from typing import Any

from .._model import codec
from .._model.stage import Failure
from .._record import errors
from .._record.errors import Error, StageError
from .._record.masking import words_of
from .session import OutOfTimeError, status_of

Classes = tuple[type[BaseException], ...]

CLOUD_ERRORS: Classes = ()
REQUEST_ERRORS: Classes = ()
NOT_JSON: Classes = ()
# The kind of a failure by the class of its exception. The first that fits counts: some are classes of others.
KIND_OF_CLASS: tuple[tuple[str, Classes], ...] = ()
# Without the SDK modules must be loaded all the same, to report that it is missing.
with suppress(ImportError):
    from keystoneauth1 import exceptions as keystone
    from openstack import exceptions as sdk
    from requests import exceptions as http

    CLOUD_ERRORS = (keystone.ClientException, sdk.SDKException)
    REQUEST_ERRORS = (http.RequestException,)
    NOT_JSON = (http.JSONDecodeError,)
    KIND_OF_CLASS = (
        ("deadline", (OutOfTimeError,)),
        ("tls", (keystone.SSLError,)),
        (
            "unreachable",
            (
                keystone.ConnectTimeout,
                keystone.ConnectFailure,
                keystone.UnknownConnectionError,
            ),
        ),
        (
            "catalog",
            (
                keystone.CatalogException,
                keystone.EndpointNotFound,
                sdk.ServiceDiscoveryException,
            ),
        ),
        (
            "config",
            (
                sdk.ConfigException,
                keystone.MissingRequiredOptions,
                keystone.NoMatchingPlugin,
            ),
        ),
        ("ambiguous", (sdk.DuplicateResource,)),
    )

# In characters, of an error page that is read
LONGEST_PAGE = 16384
# In characters, of the text of an error page
LONGEST_TEXT = 500
# A page without ends of its parts would take a long time if it were long.
HIDDEN_PART = re.compile(r"(?s)<(title|style|script)\b.*?</\1>")
TAG = re.compile(r"<[^>]*>")
END_OF_PARAGRAPH = "</p>"
LINE_BREAK = re.compile(r"<br ?/?>")
# The keys under which services put their messages
MESSAGE_KEYS = ("message", "detail", "faultstring")
KIND_OF_STATUS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    # Our requests are small: a service that takes none of them, or a balancer before it, has a limit that is too low.
    413: "service",
    414: "service",
    429: "too_many",
    431: "service",
}
# The statuses with which services refuse what a quota does not allow, and the words by which that is known
STATUSES_OF_QUOTA = (403, 409, 413)
QUOTA = re.compile(r"quota|exceed|limit", re.IGNORECASE)
# What Nova forbids in a flavor, in an image, or for one instance, to whoever asks
OF_REQUEST = re.compile(
    r"\bis forbidden when\b|\bnot permitted to override\b|\bto a single instance\b"
)
# What web frameworks say to a browser about the password that it has sent
TO_BROWSER = re.compile(
    r"\s*This server could not verify that you are authorized to access the .*?credentials required\.?",
    re.DOTALL,
)
# Apache's own words for a request that is too large
TOO_LARGE = "exceeds the capacity limit"
NO_CONNECTION = re.compile(r"Unable to establish|timed out|connect")
# The status of an answer, as keystoneauth has it in the text of a failed discovery
SERVER_ERROR = re.compile(r"\(HTTP 5\d\d\)")
# A password may have a slash or an @ in it.
CREDENTIALS = re.compile(r"//[^\s\"'<>]*@")


def message_of(exc: BaseException) -> str:
    """Return the service's own message, from any of the shapes that services use."""
    response = getattr(exc, "response", None)
    text = getattr(response, "text", None)
    if not text:
        return str(
            getattr(exc, "details", None)
            or getattr(exc, "message", None)
            or exc
        )
    return message_in(body_of(text)) or text_of_page(text)


def body_of(text: str) -> Any:
    """Return the JSON in a text, or None if there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def message_in(body: Any) -> str | None:
    """Return the message in the body of an answer. Services wrap it in dictionaries and lists of them."""
    while isinstance(body, dict):
        message = own_message(body)
        if message:
            # Some services write their messages for a page of a browser.
            return " ".join(LINE_BREAK.sub(" ", message).split())
        body = first_part(body)
    return None


def own_message(body: dict[str, Any]) -> str | None:
    values = map(body.get, MESSAGE_KEYS)
    return next((value for value in values if isinstance(value, str)), None)


def first_part(body: dict[str, Any]) -> Any:
    """Return the first dictionary in a body, or the first item of its first list."""
    parts = (
        value for value in body.values() if isinstance(value, (dict, list))
    )
    first = next(parts, None)
    if isinstance(first, list):
        return next(iter(first), None)
    return first


def text_of_page(page: str) -> str:
    """Return the text of an HTML page up to the end of its first paragraph, or plain text as it is.

    Below that, web servers ask their visitors to write to somebody.
    """
    visible = HIDDEN_PART.sub(" ", page[:LONGEST_PAGE]).partition(
        END_OF_PARAGRAPH
    )[0]
    text = TO_BROWSER.sub("", html.unescape(TAG.sub(" ", visible)))
    return " ".join(text.split())[:LONGEST_TEXT]


def without_credentials(text: str) -> str:
    """Return the text with neither user nor password in its URLs."""
    return CREDENTIALS.sub("//", text)


def kind_of(exc: BaseException, message: str) -> str:
    """Return one word for what went wrong."""
    # keystoneauth reports a failed discovery, and hides why nothing answered.
    if "SSL exception" in str(exc):
        return "tls"
    if isinstance(exc, keystone.DiscoveryFailure):
        return kind_of_discovery(str(exc))
    for kind, classes in KIND_OF_CLASS:
        if isinstance(exc, classes):
            return kind
    status = status_of(exc)
    if status:
        return kind_of_status(status, message)
    # The SDK has no class of its own for an answer that it does not accept, such as pages without an end.
    if exc.__class__ is sdk.SDKException:
        return "service"
    return "catalog"


def kind_of_discovery(text: str) -> str:
    """Return the word for a failed discovery: nothing answers, a balancer has no server behind it, or a wrong URL."""
    if NO_CONNECTION.search(text):
        return "unreachable"
    if SERVER_ERROR.search(text):
        return "service"
    return "catalog"


def kind_of_status(status: int, message: str) -> str:
    is_of_server = TOO_LARGE in " ".join(message.split())
    if status == HTTPStatus.FORBIDDEN and OF_REQUEST.search(message):
        return "invalid"
    if (
        status in STATUSES_OF_QUOTA
        and QUOTA.search(message)
        and not is_of_server
    ):
        return "quota"
    other = "service" if status >= 500 else "invalid"
    return KIND_OF_STATUS.get(status, other)


def explain(exc: BaseException, doing: str) -> Error:
    """Return the failure behind any exception as a record has it."""
    error: Error = codec.to_json(failure_of(exc, doing))
    return error


def failure_of(exc: BaseException, doing: str) -> Failure:
    """Return the failure behind any exception. Its message begins with what was being done."""
    if isinstance(exc, CLOUD_ERRORS):
        return failure_of_cloud(exc, doing)
    if is_missing_certificate(exc):
        return StageError("tls", f"{doing}: {words_of(exc)}").failure
    if is_missing_option(exc):
        return StageError("config", f"{doing}: {words_of(exc)}").failure
    if is_malformed(exc):
        message = f"{doing}: an answer of an unknown form: {type(exc).__name__}: {words_of(exc)}"
        return StageError("malformed", message).failure
    if isinstance(exc, REQUEST_ERRORS):
        return StageError("service", f"{doing}: {words_of(exc)}").failure
    return errors.failure_of(exc, doing)


def failure_of_cloud(exc: BaseException, doing: str) -> Failure:
    own_message = words_of(without_credentials(message_of(exc)[:LONGEST_PAGE]))
    status = status_of(exc)
    request = getattr(exc, "request_id", None)
    source = (
        f"the cloud answered ({status})" if status else "the client reported"
    )
    message = f"{doing}: {source}: {own_message.rstrip('.')}"
    if request:
        message += f" (request {request})"
    kind = kind_of(exc, own_message)
    return StageError(
        kind, message, answer=own_message, status=status, request_id=request
    ).failure


def is_missing_certificate(exc: BaseException) -> bool:
    """Return whether a file of certificates is missing. requests has no exception of its own for that."""
    return (
        isinstance(exc, OSError) and exc.strerror is None and "TLS" in str(exc)
    )


def is_missing_option(exc: BaseException) -> bool:
    """Return whether a credential is missing, such as the password: for that keystoneauth raises a plain exception."""
    return exc.__class__ is Exception and str(exc).endswith(
        "is a required attribute"
    )


def is_malformed(exc: BaseException) -> bool:
    """Return whether an answer has another form than its service gives.

    A body that is not JSON is an error of input to requests, which makes it an OSError.
    """
    if isinstance(exc, OSError):
        return isinstance(exc, NOT_JSON)
    return isinstance(exc, errors.MALFORMED)


def failing(module: Any, doing: str) -> AbstractContextManager[None]:
    """Fail the module as errors.failing does, and explain the exceptions of the cloud, too."""
    return errors.failing(module, doing, explain)
