# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A sweep: many runs judged as one, and the preflight checks before them.

In: targets and the records of their runs. Out: one record of the sweep, and its pages.

PRIVATE to the collection: no promise is made to other users of this package.
"""
