# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""2. Collect: what the API and the hosts say, asked by small readers.

In: what to look for (ids, names, times). Out: plain data, as each source tells it.

PRIVATE to the collection: no promise is made to other users of this package.
"""
