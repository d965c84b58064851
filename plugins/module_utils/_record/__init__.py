# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ground of all other packages: the record of a run, with clock, errors and waiting.

In: what happens. Out: the run's directory, with its record and its ledger, on disk.

PRIVATE to the collection: no promise is made to other users of this package.
"""
