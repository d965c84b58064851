# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalogue of components: all that is known of Nova, OVN, Ceph and the others, one file per project.

In: nothing but Python's standard library, as hosts import it too. Out: entries (`Component`, `Project`), and the tables
that are derived from them (`tables.py`): what depends on what, what a port, a library or a log belongs to.
To add a project, write its file and name it in `catalogue.py`.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
