# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of a cloud or of the SDK: the service's own message, and the kind of the failure."""

from __future__ import annotations

import html
import json
import re

from .._record import errors
from .._record.errors import StageError
from .._record.masking import words_of
from .session import OutOfTimeError, status_of

try:
    from keystoneauth1 import exceptions as keystone
    from openstack import exceptions as sdk
    from requests import exceptions as http

    CLOUD_ERRORS = (keystone.ClientException, sdk.SDKException)
    REQUEST_ERRORS, NOT_JSON = (http.RequestException,), (http.JSONDecodeError,)
except ImportError:
    CLOUD_ERRORS = REQUEST_ERRORS = NOT_JSON = ()

# So many characters of an error page are looked at.
LONGEST_PAGE = 16384
KIND_OF_STATUS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    429: "too_many",
}


def message_of(exc):
    """The service's own message, from any of the shapes that services use."""
    response = getattr(exc, "response", None)
    text = getattr(response, "text", None)
    try:
        body = json.loads(text or "")
    except (ValueError, RecursionError):
        body = None
    while isinstance(body, dict):
        texts = (body.get(key) for key in ("message", "detail", "faultstring"))
        message = next((text for text in texts if isinstance(text, str)), None)
        if message:
            # Some services write their messages for a page of a browser.
            return " ".join(re.sub(r"<br ?/?>", " ", message).split())
        body = next((value for value in body.values() if isinstance(value, (dict, list))), None)
        body = body[0] if isinstance(body, list) and body else body
    if text:
        # An HTML page, or plain text. A page without ends of its parts would take a long time if it were long.
        body = re.sub(r"(?s)<(title|style|script)\b.*?</\1>", " ", text[:LONGEST_PAGE])
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())[:500]
    return str(getattr(exc, "details", None) or getattr(exc, "message", None) or exc)


def without_credentials(text):
    """The text, with neither user nor password in its URLs. A password may have a slash or an @ in it."""
    return re.sub(r"//[^\s\"'<>]*@", "//", text)


def kind_of(exc, message):
    """One word for what went wrong."""
    status = status_of(exc)
    if isinstance(exc, OutOfTimeError):
        return "deadline"
    # keystoneauth reports a failed discovery, and hides why nothing answered
    if isinstance(exc, keystone.SSLError) or "SSL exception" in str(exc):
        return "tls"
    if isinstance(exc, (keystone.ConnectTimeout, keystone.ConnectFailure, keystone.UnknownConnectionError)):
        return "unreachable"
    if isinstance(exc, keystone.DiscoveryFailure):
        return "unreachable" if re.search(r"Unable to establish|timed out|connect", str(exc)) else "catalog"
    if isinstance(exc, (keystone.CatalogException, keystone.EndpointNotFound, sdk.ServiceDiscoveryException)):
        return "catalog"
    if isinstance(exc, (sdk.ConfigException, keystone.MissingRequiredOptions, keystone.NoMatchingPlugin)):
        return "config"
    if isinstance(exc, sdk.DuplicateResource):
        return "ambiguous"
    if status in (403, 409, 413) and re.search(r"quota|exceed|limit", message, re.IGNORECASE):
        return "quota"
    if not status:
        # The SDK has no class of its own for an answer that it does not accept, such as pages without an end.
        return "service" if exc.__class__ is sdk.SDKException else "catalog"
    return KIND_OF_STATUS.get(status, "service" if status >= 500 else "invalid")


def explain(exc, doing):
    """The record's error for any exception, whose message begins with what was being done."""
    if isinstance(exc, CLOUD_ERRORS):
        own_message = words_of(without_credentials(message_of(exc)[:LONGEST_PAGE]))
        kind = kind_of(exc, own_message)
        status = status_of(exc)
        request = getattr(exc, "request_id", None)
        source = f"the cloud said ({status})" if status else "the client said"
        message = f"{doing}: {source}: {own_message.rstrip('.')}"
        if request:
            message += f" (request {request})"
        return StageError(kind, message, said=own_message, status=status, request_id=request).record
    if isinstance(exc, OSError) and exc.strerror is None and "TLS" in str(exc):
        # requests has no exception of its own for a missing certificate
        return StageError("tls", f"{doing}: {words_of(exc)}").record
    if exc.__class__ is Exception and str(exc).endswith("is a required attribute"):
        # keystoneauth raises a plain exception for a missing password
        return StageError("config", f"{doing}: {words_of(exc)}").record
    # A body that is not JSON is an error of input to requests, which makes it an OSError.
    if isinstance(exc, errors.MALFORMED) and (not isinstance(exc, OSError) or isinstance(exc, NOT_JSON)):
        message = f"{doing}: an answer of an unknown form: {type(exc).__name__}: {words_of(exc)}"
        return StageError("malformed", message).record
    if isinstance(exc, REQUEST_ERRORS):
        return StageError("service", f"{doing}: {words_of(exc)}").record
    return errors.explain(exc, doing)


def failing(module, doing):
    """As errors.failing, for a module that asks the cloud."""
    return errors.failing(module, doing, explain)
