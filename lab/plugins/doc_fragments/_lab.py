# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation that modules of the lab share. PRIVATE to the collection."""

from __future__ import annotations


class ModuleDocFragment:
    NAME = r"""
options:
  name:
    description: Name of the lab.
    type: str
    required: true
  prefix:
    description: The IPv4 C(/22) of the lab. Follows from O(name) when empty.
    type: str
    default: ''
"""

    CLOUD = r"""
options:
  config:
    description: The C(clouds.yaml) to use.
    type: path
    required: true
  cloud:
    description: Name of the administrator's cloud in it.
    type: str
    required: true
"""

    READS = r"""
options: {}
attributes:
  check_mode:
    description: Changes nothing in either mode.
    support: full
"""
