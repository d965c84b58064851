# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Walk the chains of a failed run: for each hop of its request, whether what must be in a store is there.

In: the record with what was read on the hosts. Out: chains of _model/chain.py. A chain is a file here: its links in the
order in which the request is carried on, and a function for each that compares two stores.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
