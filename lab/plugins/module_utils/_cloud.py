# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection of the lab's own modules to its cloud."""

from __future__ import annotations

from typing import Any

HAS_SDK = False
CLOUD_ERRORS: tuple[type[Exception], ...] = ()
SDKException: type[Exception] = Exception
raise_from_response: Any = None
try:
    import openstack.config
    import openstack.connection
    from keystoneauth1.exceptions import ClientException
    from openstack import exceptions

    HAS_SDK = True
    SDKException = exceptions.SDKException
    raise_from_response = exceptions.raise_from_response
    CLOUD_ERRORS = (SDKException, ClientException)
except ImportError:
    pass


def connect(config: str, cloud: str, timeout: int) -> Any:
    """Return a connection by this clouds.yaml alone; other files and the environment do not count."""
    clouds = openstack.config.OpenStackConfig(config_files=[config], load_envvars=False)
    return openstack.connection.Connection(config=clouds.get_one(cloud=cloud, api_timeout=timeout))
