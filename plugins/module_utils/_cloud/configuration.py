# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cloud's configuration, out of clouds.yaml, the environment and the options of a module."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from .._record.errors import MALFORMED, StageError
from .._record.masking import words_of

with contextlib.suppress(ImportError):
    import openstack.config
    import os_service_types
    import yaml  # the SDK reads clouds.yaml with it
    from openstack import exceptions as sdk

# The names that options have in the SDK's configuration, where they differ
CONFIG_NAMES = {
    "validate_certs": "verify",
    "ca_cert": "cacert",
    "client_cert": "cert",
    "client_key": "key",
}


def configure(
    cloud: str | dict[str, Any] | None,
    options: Mapping[str, Any],
    session_constructor: Any,
) -> Any:
    """Return the SDK's configuration of a cloud, which is an entry of clouds.yaml, a dictionary, or the environment."""
    settings = {
        CONFIG_NAMES.get(name, name): value
        for name, value in options.items()
        if value is not None
    }
    if isinstance(cloud, dict):
        if settings:
            names = ", ".join(sorted(settings))
            raise StageError(
                "config",
                f"cloud is a dictionary: put {names} into it instead of beside it",
            )
        settings = cloud
        cloud = None
    try:
        config = openstack.config.OpenStackConfig(
            session_constructor=session_constructor
        )
    except (yaml.YAMLError, OSError) as exc:
        # Older versions of the SDK raise these
        raise StageError(
            "config", f"{why_no_clouds()}: {words_of(exc)}", resource=cloud
        ) from None
    try:
        return config.get_one(cloud=cloud, **settings)
    # The SDK takes its settings for what they should be.
    except (sdk.ConfigException, *MALFORMED) as exc:
        raise unusable(cloud, config, exc) from None


def unusable(cloud: str | None, config: Any, exc: Exception) -> StageError:
    """Return the error about a cloud that the SDK rejects. It names the clouds that there are."""
    known: list[str] = []
    if config.config_filename:
        known = sorted(filter(None, config.get_cloud_names()))
    where = config.config_filename or why_no_clouds()
    message = f"the cloud {cloud or 'of the environment'} cannot be used: {words_of(exc).rstrip('.')}"
    message += f"; known clouds: {', '.join(known) or 'none'} ({where})"
    return StageError("config", message, resource=cloud)


def why_no_clouds() -> str:
    """Return why the SDK has no list of clouds: it ignores a file that it cannot parse."""
    places = [
        os.environ.get("OS_CLIENT_CONFIG_FILE"),
        *openstack.config.loader.CONFIG_FILES,
    ]
    existing = [path for path in places if path and os.path.exists(path)]
    if not existing:
        return "no clouds.yaml was found"
    if not os.access(existing[0], os.R_OK):
        return f"this user may not read {existing[0]}"
    return f"{existing[0]} is not valid YAML"


def with_own_types(region: Any) -> Any:
    """Return a cloud's configuration whose table of service types is not copied at each look at it.

    The SDK looks some three hundred times while it opens the clients of a stage. The copies took a third of a stage's
    time of the processor.
    """

    class ServiceTypes(os_service_types.ServiceTypes):
        all_types_by_service_type = (
            os_service_types.ServiceTypes().all_types_by_service_type
        )

    region._service_type_manager = ServiceTypes()
    return region
