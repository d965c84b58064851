# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a run, a module for each part of it.

In: the record of a run, and those of earlier runs. Out: the text of report.html.

Numbers, widths and words are made here; the templates in roles/report lay them out.

PRIVATE to the collection: no promise is made to other users of this package.
"""
