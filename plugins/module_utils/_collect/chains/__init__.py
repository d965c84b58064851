# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the stores on a host through which a request is carried on: one file for each program that keeps one.

In: a host of commands.py and the instance. Out: dataclasses of _model/stores.py. It is read after a failed stage only.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
