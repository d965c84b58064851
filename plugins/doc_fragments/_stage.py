# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation that all stages share. PRIVATE to the collection."""

from __future__ import annotations


class ModuleDocFragment:
    # How the cloud is reached; the names are those of the collection openstack.cloud.
    CLOUD = r"""
options:
  cloud:
    description:
      - Name of a cloud in C(clouds.yaml), or a dictionary with the content of an entry.
      - Defaults to E(OS_CLOUD) or the other C(OS_) variables of the environment.
    type: raw
  _cloud:
    description: O(cloud) as a dictionary, kept out of logs; the action plugin moves it here.
    type: dict
  auth:
    description: What the authentication plugin needs, such as C(auth_url), C(username), C(password), C(project_name).
    type: dict
  auth_type:
    description: Name of the authentication plugin.
    type: str
  region_name:
    description: Name of the region.
    type: str
  interface:
    description: Which endpoints of the catalog to use. Defaults to the interface in C(clouds.yaml), or the public one.
    type: str
    choices: [admin, internal, public]
    aliases: [endpoint_type]
  validate_certs:
    description: Whether to verify the endpoints' certificates. The SDK verifies them by default.
    type: bool
    aliases: [verify]
  ca_cert:
    description: Path of a CA bundle to verify the endpoints' certificates with.
    type: str
    aliases: [cacert]
  client_cert:
    description: Path of a client certificate.
    type: str
    aliases: [cert]
  client_key:
    description: Path of the client certificate's key.
    type: str
    aliases: [key]
  api_timeout:
    description: How long a single request may take, in seconds; one that creates a resource may take four times as
      long.
    type: float
    default: 30
attributes:
  action_group:
    description: Use C(group/stackproof.provision.all) in C(module_defaults) to set options for all these modules.
    support: full
    membership: [stackproof.provision.all]
requirements:
  - python >= 3.11
  - openstacksdk >= 4.0
author: stackproof contributors (@stackproof)
"""

    RUN = r"""
options:
  run_dir:
    description:
      - Directory of the run, as M(stackproof.provision.run) returns it.
      - The stage's record goes into its C(run.json). If the run already has a record of this stage, nothing is done and
        that record is returned.
    type: path
    required: true
notes:
  - Each stage depends on the stages before it. Options that are not set are taken from their records.
"""

    THRESHOLDS = r"""
options:
  thresholds:
    description:
      - Limits that fail the run when they are exceeded. They are validated before anything is created, and applied at
        the end of the run.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What the limit is about.
        type: str
        required: true
      query:
        description: A JMESPath expression over C(run.json) that finds a number.
        type: str
        required: true
      min:
        description: The least value.
        type: float
      max:
        description: The greatest value.
        type: float
"""
