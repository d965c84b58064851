# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The second look at a host, after a stage has failed: the peers it reaches, its own words, its ground, its settings.

A host goes in; out come findings without a secret: nothing of this is read in a run that goes well.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
