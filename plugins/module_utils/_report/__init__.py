# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""5. Report: a run's record as files and texts for its readers.

In: the record of a run. Out: terminal lines, JUnit, metrics, page, diagrams, spans.

page/ makes the page of a run and sequence/ the diagrams of its flows; frame.py is the frame of all pages, and
statuses.py has the look of a step's status, for pages and diagrams alike.

PRIVATE to the collection: no promise is made to other users of this package.
"""
