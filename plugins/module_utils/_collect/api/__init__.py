# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the API for what only it knows: the instance with its ports, networks and image, and the agents.

In: a connection. Out: dataclasses of _model/instance.py, with which the facts of hosts must agree.


PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations
