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
      - Name of a cloud in C(clouds.yaml), or a dictionary that holds what an entry there would hold.
      - If it is not given, E(OS_CLOUD) or the other C(OS_) variables of the environment count.
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
    description: Which endpoints of the catalogue are used. By default what C(clouds.yaml) says, or the public ones.
    type: str
    choices: [admin, internal, public]
    aliases: [endpoint_type]
  validate_certs:
    description: Whether the endpoints' certificates are checked. The SDK does so if nothing else is said.
    type: bool
    aliases: [verify]
  ca_cert:
    description: Path of a bundle of authorities, by which the endpoints' certificates are checked.
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
    description: How long a single request may take, in seconds; one that makes something may take four times as long.
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
      - The stage's record goes into its C(run.json). If a record of this stage is there already, nothing is done and
        that record is returned.
    type: path
    required: true
notes:
  - The stages build on each other. What is not given is taken from the records of the stages before.
"""

    THRESHOLDS = r"""
options:
  thresholds:
    description:
      - Limits whose breach fails the run. Their form is checked before anything is made; they are applied at its end.
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
