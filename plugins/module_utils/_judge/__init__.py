# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""4. Judge: who broke it.

In: the record of a run. Out: what broke it and what to do next, as data; _report/messages makes the sentences.

PRIVATE to the collection: no promise is made to other users of this package.
"""
