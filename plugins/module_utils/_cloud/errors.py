# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a cloud or the SDK refuses, in words: what the service itself said, and which kind of failure that is."""

from __future__ import annotations

import html
import json
import re

from .._record import errors
from .._record.errors import StageError
from .session import status_of

try:
    from keystoneauth1 import exceptions as keystone
    from openstack import exceptions as sdk

    CLOUD_ERRORS = (keystone.ClientException, sdk.SDKException)
except ImportError:
    CLOUD_ERRORS = ()


def what_the_cloud_said(exc):
    """The message of the service itself, out of the shapes that the services use."""
    response = getattr(exc, "response", None)
    text = getattr(response, "text", None)
    try:
        body = json.loads(text or "")
    except ValueError:
        body = None
    while isinstance(body, dict):
        said = next((body[key] for key in ("message", "detail", "faultstring") if isinstance(body.get(key), str)), None)
        if said:
            return said
        body = next((value for value in body.values() if isinstance(value, (dict, list))), None)
        body = body[0] if isinstance(body, list) and body else body
    if text:
        # An HTML page of a proxy or of a service that answers in plain words
        body = re.sub(r"(?s)<(title|style|script)\b.*?</\1>", " ", text)
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())[:500]
    return str(getattr(exc, "details", None) or getattr(exc, "message", None) or exc)


def without_credentials(text):
    """A text whose URLs hold neither user nor password."""
    return re.sub(r"//[^/@\s]*@", "//", text)


def kind_of(exc, said):
    """One word for what went wrong."""
    status = status_of(exc)
    # keystoneauth hides why nothing answered behind a failed discovery
    if isinstance(exc, keystone.SSLError) or "SSL exception" in str(exc):
        return "tls"
    if isinstance(exc, (keystone.ConnectTimeout, keystone.ConnectFailure, keystone.UnknownConnectionError)):
        return "unreachable"
    if isinstance(exc, (keystone.DiscoveryFailure,)):
        return "unreachable" if re.search(r"Unable to establish|timed out|connect", str(exc)) else "catalog"
    if isinstance(exc, (keystone.CatalogException, keystone.EndpointNotFound, sdk.ServiceDiscoveryException)):
        return "catalog"
    if isinstance(exc, (sdk.ConfigException, keystone.MissingRequiredOptions, keystone.NoMatchingPlugin)):
        return "config"
    if isinstance(exc, sdk.DuplicateResource):
        return "ambiguous"
    if status in (403, 409, 413) and re.search(r"quota|exceed|limit", said, re.IGNORECASE):
        return "quota"
    by_status = {400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict"}
    return by_status.get(status) or ("service" if status and status >= 500 else "invalid" if status else "catalog")


def explain(exc, doing):
    """Any failure as the record's error, said as one sentence about what was being done."""
    if isinstance(exc, CLOUD_ERRORS):
        said = without_credentials(what_the_cloud_said(exc))
        kind = kind_of(exc, said)
        status = status_of(exc)
        number = getattr(exc, "request_id", None)
        source = f"the cloud said ({status})" if status else "the client said"
        message = f"{doing}: {source}: {said.rstrip('.')}" + (f" (request {number})" if number else "")
        return StageError(kind, message, said=said, status=status, request_id=number).record
    if isinstance(exc, OSError) and exc.strerror is None and "TLS" in str(exc):
        # requests says only in words that it finds no certificate
        return StageError("tls", f"{doing}: {exc}").record
    if exc.__class__ is Exception and str(exc).endswith("is a required attribute"):
        # A plain exception of keystoneauth's, for a missing password
        return StageError("config", f"{doing}: {exc}").record
    return errors.explain(exc, doing)


def failing(module, doing):
    """The frame of a module that asks the cloud."""
    return errors.failing(module, doing, explain)
