# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Examine a host after a stage has failed: the peers it reaches, its own reports, its machine, its settings.

In: a host of commands.py. Out: findings without a secret. Nothing of this is read in a run that passes.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
