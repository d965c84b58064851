#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stages
short_description: Goes through some stages of a run in parallel
version_added: 1.0.0
description:
  - Goes through stages that do not need each other. Each has a process and a record of its own.
  - Their options are the variables of the roles that have the stages' names.
  - A volume that is made from the image waits for the image.
  - If a stage fails, those beside it still come to their end.
  - Where a stage's module cannot run in a fork of Ansible's process, for example with another interpreter, the stages
    go one after the other.
options:
  run_dir:
    description: Directory of the run, as M(stackproof.provision.run) returns it.
    type: path
    required: true
  stages:
    description: Names of the stages, in the order in which a failure of them counts.
    type: list
    elements: str
    choices: [image, network, volume]
    required: true
  parallel:
    description: Whether the stages go in parallel. Otherwise they go one after the other, up to the first that fails.
    type: bool
    default: true
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._attributes.stage
seealso:
  - module: stackproof.provision.image
    description: The stage image.
  - module: stackproof.provision.network
    description: The stage network.
  - module: stackproof.provision.volume
    description: The stage volume.
"""

EXAMPLES = r"""
- name: Go through the stages image, network and volume
  stackproof.provision.stages:
    run_dir: "{{ run.directory }}"
    stages: [image, network, volume]
"""

RETURN = r"""
records:
  description: The records of the stages, as in C(run.json).
  returned: success
  type: list
  elements: dict
error:
  description: The kind of the first failure, the action, the resource, the answer of the cloud, and what to check next.
  returned: failure
  type: dict
"""
