# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a stage reaches the cloud: the options that openstack.cloud uses, and a connection that keeps a record."""

from __future__ import annotations

import functools
import os
import re
import threading
from typing import Any

from .._record import masking
from .._record.errors import MALFORMED, StageError
from .._record.masking import words_of
from .._record.waiting import timeout_of
from .errors import without_credentials
from .session import RecordedSession

try:
    import openstack.config
    import openstack.connection
    import os_service_types
    import yaml  # the SDK reads clouds.yaml with it
    from openstack import exceptions as sdk

    HAS_SDK = True
except ImportError:
    HAS_SDK = False

CLOUD_OPTIONS = {
    "cloud": {"type": "raw"},
    "_cloud": {"type": "dict", "no_log": True},  # a cloud that is a dictionary
    "auth": {"type": "dict", "no_log": True},
    "auth_type": {"type": "str"},
    "region_name": {"type": "str"},
    "interface": {"type": "str", "choices": ["admin", "internal", "public"], "aliases": ["endpoint_type"]},
    "validate_certs": {"type": "bool", "aliases": ["verify"]},
    "ca_cert": {"type": "str", "aliases": ["cacert"]},
    "client_cert": {"type": "str", "aliases": ["cert"]},
    "client_key": {"type": "str", "no_log": True, "aliases": ["key"]},
    "api_timeout": {"type": "float", "default": 30},
}
# The keys of a cloud's options whose values are secret
SECRET = re.compile(r"pass|secret|token|totp|otp|key$|code|credential_id", re.IGNORECASE)
# The keys of a cloud's options whose values are URLs of its services
ADDRESS = re.compile(r"auth_url|endpoint", re.IGNORECASE)
# The user of a URL, whose password may have any character in it that nobody has encoded
USER_OF_URL = re.compile(r"://([^\s\"'<>]*)@")
# Their names in the SDK's configuration
CONFIG_NAMES = {"validate_certs": "verify", "ca_cert": "cacert", "client_cert": "cert", "client_key": "key"}


def hide_only_secrets(module):
    """Ansible would hide each value of a cloud in all results: a user's name in a path, and each 3 of a version."""
    given = [module.params.get(name) for name in ("_cloud", "auth")]
    values = {(str(value), bool(SECRET.search(key))) for key, value in leaves(given)}
    secrets = {value for value, is_secret in values if is_secret}
    module.no_log_values -= {value for value, _is_secret in values} - secrets


def leaves(value, key=""):
    """Each value in dictionaries and lists, with the key that it stands under."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, str(name))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part, key)
    else:
        yield key, value


def cloud_name(params):
    """The name of the cloud in a record."""
    cloud, auth = params.get("_cloud") or params.get("cloud"), params.get("auth") or {}
    if isinstance(cloud, dict):
        auth, cloud = cloud.get("auth") or {}, cloud.get("profile")
    if not isinstance(cloud, (str, type(None))) or not isinstance(auth, dict):
        hint = "Give the name of a cloud in clouds.yaml, or a dictionary as one has it there."
        # The value may hold a password.
        kind = type(cloud if not isinstance(cloud, (str, type(None))) else auth).__name__
        raise StageError("config", f"the cloud cannot be of the type {kind}", hint=hint)
    names = (cloud, auth.get("auth_url"), os.environ.get("OS_CLOUD"), os.environ.get("OS_AUTH_URL"), "environment")
    return without_credentials(next(name for name in names if name))


def configure(params, session_constructor):
    """The cloud's configuration, out of clouds.yaml, the environment and the module's options."""
    options = {name: params.get(name) for name in CLOUD_OPTIONS if name not in ("cloud", "_cloud", "api_timeout")}
    options = {CONFIG_NAMES.get(name, name): value for name, value in options.items() if value is not None}
    cloud = params.get("_cloud") or params.get("cloud")
    if isinstance(cloud, dict):
        if options:
            names = ", ".join(sorted(options))
            raise StageError("config", f"cloud is a dictionary: put {names} into it instead of beside it")
        options, cloud = dict(cloud), None
    try:
        config = openstack.config.OpenStackConfig(session_constructor=session_constructor)
    except (yaml.YAMLError, OSError) as exc:  # older versions of the SDK raise these
        raise StageError("config", f"{why_no_clouds()}: {words_of(exc)}", resource=cloud) from None
    try:
        return config.get_one(cloud=cloud, **options)
    # The SDK takes its settings for what they should be.
    except (sdk.ConfigException, *MALFORMED) as exc:
        names = sorted(name for name in config.get_cloud_names() if name) if config.config_filename else []
        where = config.config_filename or why_no_clouds()
        message = f"the cloud {cloud or 'of the environment'} cannot be used: {words_of(exc).rstrip('.')}"
        message += f"; known clouds: {', '.join(names) or 'none'} ({where})"
        raise StageError("config", message, resource=cloud) from None


def with_own_types(region):
    """A cloud's configuration whose table of service types is not copied with each look at it.

    The SDK looks some three hundred times while it opens the clients of a stage. The copies took a third of a stage's
    time of the processor.
    """

    class ServiceTypes(os_service_types.ServiceTypes):
        all_types_by_service_type = os_service_types.ServiceTypes().all_types_by_service_type

    region._service_type_manager = ServiceTypes()
    return region


def why_no_clouds():
    """Why the SDK has no list of clouds: it ignores a file that it cannot parse."""
    places = [os.environ.get("OS_CLIENT_CONFIG_FILE"), *openstack.config.loader.CONFIG_FILES]
    there = [path for path in places if path and os.path.exists(path)]
    if not there:
        return "no clouds.yaml was found"
    if not os.access(there[0], os.R_OK):
        return f"this user may not read {there[0]}"
    return f"{there[0]} is not valid YAML"


def connect(params, calls, samples, deadline):
    timeout_of(params["api_timeout"], "api_timeout")
    constructor = functools.partial(
        RecordedSession, calls=calls, samples=samples, deadline=deadline, api_timeout=params["api_timeout"]
    )
    config = configure(params, constructor)
    masking.learn(*secrets_of(config.config))
    check_url(config.config.get("auth", {}).get("auth_url"))
    cloud = openstack.connection.Connection(config=with_own_types(config))
    if hasattr(cloud.session.auth, "get_access"):
        cloud.session.auth.get_access = alone(cloud.session.auth.get_access)
    cloud.session.session.addresses = lambda: addresses_of(cloud)
    return cloud


def secrets_of(config: dict[str, Any]) -> list[str]:
    """Return the secrets in a cloud's configuration, also those in its URLs."""
    found = [str(value) for key, value in leaves(config) if SECRET.search(key) and value not in (None, "", True, False)]
    users = [match[1] for _key, value in leaves(config) if (match := USER_OF_URL.search(str(value)))]
    # A slash in a password ends the host of a URL: then a part of it stands where a host should.
    parts = [part for user in users for part in re.split("[/@]", user)]
    return [*found, *users, *parts, *(text.partition(":")[2] for text in (*users, *parts))]


def check_url(url: Any) -> None:
    """Refuse a URL in which a password ends the host, before a request goes to where it leads."""
    match = USER_OF_URL.search(url) if isinstance(url, str) else None
    if match and "/" in match[1]:
        hint = "Write user and password under username and password, or encode the password: / is %2F, @ is %40."
        raise StageError("config", "a user and a password in auth_url make it no URL", hint=hint)


def addresses_of(cloud: Any) -> list[str]:
    """Return the URLs that the user and the catalogue have named, without a request."""
    given = [value for key, value in leaves(cloud.config.config) if ADDRESS.search(key) and isinstance(value, str)]
    return [*given, *(url for _service, url in known_endpoints(cloud))]


def alone(get_access):
    """A plugin's get_access that refuses to be asked for a token by what it does to get one.

    A service of identity that answers 401 to everything would have keystoneauth wait for itself for ever.
    """
    here = threading.local()

    def get(session, **options):
        if getattr(here, "busy", False):
            hint = "Look at auth_url, and at what answers there: it asks for a token before it has given one."
            raise StageError("unauthorized", "the service of identity gives no token without a token", hint=hint)
        here.busy = True
        try:
            return get_access(session, **options)
        finally:
            here.busy = False

    return get


def interfaces_of(cloud):
    """The interfaces of endpoints that a cloud's configuration allows. An openrc may call one internalURL."""
    given = cloud.config.get_interface() or "public"
    return [name.removesuffix("URL") for name in ([given] if isinstance(given, str) else given)]


def as_admin(params):
    """The options for the cloud of an administrator. What is about the user of the other cloud is left out."""
    theirs = ("_cloud", "auth", "auth_type", "client_cert", "client_key", "ca_cert")
    return {**params, **dict.fromkeys(theirs), "cloud": params["admin_cloud"]}


def known_endpoints(cloud):
    """The (service, URL) pairs of the catalogue if there is a token already. Sends no request."""
    access = getattr(cloud.session.auth, "auth_ref", None)
    catalogue = access.service_catalog.catalog if access else []
    return [(entry["type"], endpoint["url"]) for entry in catalogue for endpoint in entry["endpoints"]]


def answer_of(response):
    """The body of an answer as data. Raises the error that an answer reports."""
    sdk.raise_from_response(response)
    try:
        return response.json() if response.content else None
    except (ValueError, RecursionError):
        message = f"the answer to {response.request.method} {response.url} is not JSON"
        hint = "Find out what answers there: it may be a proxy or a load balancer instead of the service."
        raise StageError("service", message, said=response.text[:200], hint=hint) from None
