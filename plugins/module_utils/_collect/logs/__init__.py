# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the events of a run in the logs of a host: which files, which lines, and what each line has.

In: a host of commands.py, and ids, phrases and times to look for. Out: events by the clock of that host.


PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
