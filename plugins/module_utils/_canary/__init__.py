# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The canary: what its service does before, after, and at the stop of each run of the playbook.

In: the settings that the role has written, and the folder of its runs. Out: metrics, a history, and no old runs.

PRIVATE to the collection: no promise is made to other users of this package.
"""
