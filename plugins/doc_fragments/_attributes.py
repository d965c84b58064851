# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The behaviour of modules in check mode. PRIVATE to the collection."""

from __future__ import annotations


class ModuleDocFragment:
    READS = r"""
options: {}
attributes:
  check_mode:
    description: Changes nothing in either mode.
    support: full
"""

    WRITES = r"""
options: {}
attributes:
  check_mode:
    description: In check mode nothing is created, removed or written.
    support: full
"""

    STAGE = r"""
options: {}
attributes:
  check_mode:
    description: Looks up what the stage would use, and returns what it would create.
    support: full
"""
