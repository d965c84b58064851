# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the facts that a host has about an instance: one file for each program or service that is asked.

In: a host of commands.py and what to look for. Out: dataclasses of _model/facts.py.


PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
