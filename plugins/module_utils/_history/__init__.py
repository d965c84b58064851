# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All runs of a folder over time, as a page and as JSON.

In: the digests of runs. Out: one page, and the same as JSON.

PRIVATE to the collection: no promise is made to other users of this package.
"""
