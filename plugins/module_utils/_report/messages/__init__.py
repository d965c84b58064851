# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sentences of verdicts, for the record, pages and the terminal: made here from codes and fields, and nowhere else.

Nothing reads them again: what decides, decides by the data.

PRIVATE to the collection: no promise is made to other users of this package.
"""
