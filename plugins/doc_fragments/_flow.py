# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation that the modules which follow a run share. PRIVATE to the collection."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  run_dir:
    description: Directory of the run.
    type: path
    required: true
  flows:
    description: Files of flows, as C(docs/flows.md) describes them.
    type: list
    elements: path
    required: true
  removal:
    description: Whether to follow the removal of the run's resources, instead of its stages.
    type: bool
    default: false
requirements:
  - python >= 3.11
  - jmespath >= 1.0
"""
