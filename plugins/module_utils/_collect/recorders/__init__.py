# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what a cloud writes down only while a recorder is switched on: messages of the queue, spans of OSProfiler.

In: ids to look for. Out: events and spans.


PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
