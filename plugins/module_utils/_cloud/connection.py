# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options by which a module reaches a cloud, as openstack.cloud has them, and the connection that they lead to."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .._model.stage import Call
from .._record import masking
from .._record.errors import StageError
from .._record.waiting import Deadline, timeout_of
from .addresses import Endpoint
from .configuration import configure, with_own_types
from .credentials import check_url, is_secret, leaves, secrets_of
from .errors import without_credentials
from .session import RecordedSession
from .transport import Sample

try:
    import openstack.connection
    from openstack import exceptions as sdk

    HAS_SDK = True
except ImportError:
    HAS_SDK = False

CLOUD_OPTIONS: dict[str, dict[str, Any]] = {
    "cloud": {"type": "raw"},
    "_cloud": {"type": "dict", "no_log": True},  # a cloud that is a dictionary
    "auth": {"type": "dict", "no_log": True},
    "auth_type": {"type": "str"},
    "region_name": {"type": "str"},
    "interface": {
        "type": "str",
        "choices": ["admin", "internal", "public"],
        "aliases": ["endpoint_type"],
    },
    "validate_certs": {"type": "bool", "aliases": ["verify"]},
    "ca_cert": {"type": "str", "aliases": ["cacert"]},
    "client_cert": {"type": "str", "aliases": ["cert"]},
    "client_key": {"type": "str", "no_log": True, "aliases": ["key"]},
    "api_timeout": {"type": "float", "default": 30},
}
# Those of them that are no setting of the cloud
NO_SETTINGS = ("cloud", "_cloud", "api_timeout")
# Those of them that are about a user
OF_A_USER = (
    "_cloud",
    "auth",
    "auth_type",
    "client_cert",
    "client_key",
    "ca_cert",
)
# The keys of a cloud's configuration whose values are URLs of its services
ADDRESS = re.compile(r"auth_url|endpoint", re.IGNORECASE)
# In characters, of an answer that is shown as it is not JSON
LONGEST_ANSWER = 200

# The options of a module, with their values
Params = Mapping[str, Any]


def hide_only_secrets(module: Any) -> None:
    """Have Ansible hide the secrets of a cloud in results, and nothing else of it.

    It would hide each value of a cloud in all results: a user's name in a path, and each 3 of a version.
    """
    given = [module.params.get(name) for name in ("_cloud", "auth")]
    harmless: set[str] = set()
    secrets: set[str] = set()
    for key, value in leaves(given):
        values = secrets if is_secret(key) else harmless
        values.add(str(value))
    module.no_log_values -= harmless - secrets


def cloud_name(params: Params) -> str:
    """Return the name of the cloud in a record."""
    cloud = given_cloud(params)
    auth = params.get("auth") or {}
    if isinstance(cloud, dict):
        auth = cloud.get("auth") or {}
        cloud = cloud.get("profile")
    if cloud is not None and not isinstance(cloud, str):
        raise impossible_cloud(cloud)
    if not isinstance(auth, dict):
        raise impossible_cloud(auth)
    names = (
        cloud,
        auth.get("auth_url"),
        os.environ.get("OS_CLOUD"),
        os.environ.get("OS_AUTH_URL"),
    )
    return without_credentials(next(filter(None, names), "environment"))


def given_cloud(params: Params) -> Any:
    """Return the name of a cloud, or a dictionary; nothing if it is that of the environment."""
    return params.get("_cloud") or params.get("cloud")


def impossible_cloud(value: Any) -> StageError:
    """Return the error about a cloud of a wrong type. It does not show the value, which may hold a password."""
    hint = "Give the name of a cloud in clouds.yaml, or a dictionary as one has it there."
    return StageError(
        "config",
        f"the cloud cannot be of the type {type(value).__name__}",
        hint=hint,
    )


def connect(
    params: Params,
    calls: list[Call],
    samples: list[Sample],
    deadline: Deadline,
) -> Any:
    """Return a connection to the cloud of a module's options. Each of its requests is recorded in calls."""
    timeout_of(params["api_timeout"], "api_timeout")
    new_session = functools.partial(
        RecordedSession,
        calls=calls,
        samples=samples,
        deadline=deadline,
        api_timeout=params["api_timeout"],
    )
    settings = {
        name: params.get(name)
        for name in CLOUD_OPTIONS
        if name not in NO_SETTINGS
    }
    config = configure(given_cloud(params), settings, new_session)
    masking.learn(*secrets_of(config.config))
    check_url(config.config.get("auth", {}).get("auth_url"))
    connection = openstack.connection.Connection(config=with_own_types(config))
    session: Any = connection.session
    if hasattr(session.auth, "get_access"):
        session.auth.get_access = not_within_itself(session.auth.get_access)
    session.session.addresses = lambda: addresses_of(connection)
    return connection


def not_within_itself(get_access: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plugin's get_access that refuses to be asked for a token by what it does to get one.

    A service of identity that answers 401 to everything would have keystoneauth wait for itself for ever.
    """
    here = threading.local()

    def get(session: Any, **options: Any) -> Any:
        if getattr(here, "busy", False):
            hint = "Look at auth_url, and at what answers there: it asks for a token before it has given one."
            raise StageError(
                "unauthorized",
                "the service of identity gives no token without a token",
                hint=hint,
            )
        here.busy = True
        try:
            return get_access(session, **options)
        finally:
            here.busy = False

    return get


def addresses_of(cloud: Any) -> list[str]:
    """Return the URLs that the user and the catalogue have named, without a request."""
    settings = leaves(cloud.config.config)
    of_user = [
        value
        for key, value in settings
        if ADDRESS.search(key) and isinstance(value, str)
    ]
    of_catalogue = [url for _service, url in known_endpoints(cloud)]
    return [*of_user, *of_catalogue]


def known_endpoints(cloud: Any) -> list[Endpoint]:
    """Return the endpoints in the catalogue if there is a token already. Sends no request."""
    access = getattr(cloud.session.auth, "auth_ref", None)
    if not access:
        return []
    endpoints: list[Endpoint] = []
    for entry in access.service_catalog.catalog:
        endpoints += [
            (entry["type"], endpoint["url"]) for endpoint in entry["endpoints"]
        ]
    return endpoints


def interfaces_of(cloud: Any) -> list[str]:
    """Return the interfaces of endpoints that a cloud's configuration allows. An openrc may call one internalURL."""
    given = cloud.config.get_interface() or "public"
    names = [given] if isinstance(given, str) else given
    return [name.removesuffix("URL") for name in names]


def as_admin(params: Params) -> dict[str, Any]:
    """Return the options for the cloud of an administrator, without what is about the user of the other cloud."""
    return {
        **params,
        **dict.fromkeys(OF_A_USER),
        "cloud": params["admin_cloud"],
    }


def answer_of(response: Any) -> Any:
    """Return the body of an answer as data. Raises the error that an answer reports."""
    sdk.raise_from_response(response)
    if not response.content:
        return None
    try:
        return response.json()
    except (ValueError, RecursionError):
        message = f"the answer to {response.request.method} {response.url} is not JSON"
        hint = "Find out what answers there: it may be a proxy or a load balancer instead of the service."
        raise StageError(
            "service",
            message,
            answer=response.text[:LONGEST_ANSWER],
            hint=hint,
        ) from None
