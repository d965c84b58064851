# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run, whoever ends it: its playbook, or the watchdog.

In: a run. Out: nothing on the cloud, and a finished record.

PRIVATE to the collection: no promise is made to other users of this package.
"""
