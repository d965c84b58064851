# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""1. Act: a stage at work.

In: the options of a stage, and a connection. Out: one stage record in the run.

PRIVATE to the collection: no promise is made to other users of this package.
"""
