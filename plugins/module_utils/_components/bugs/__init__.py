# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Known bugs that a line of a log shows, each in a file of its own.

In: nothing. Out: BUGS of catalogue.py, in which _match/known_bugs.py looks up the errors of a run. A match is evidence
for a reader; it does not change the verdict.
"""
