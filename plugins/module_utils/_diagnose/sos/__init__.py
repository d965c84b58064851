# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a report of sos what the readers of hosts ask: its files hold what the same commands would have printed.

In: the folder of a report. Out: a host of commands.py, which the readers of _collect take for one that is alive.

PRIVATE to the collection: no promise is made to other users of this package.
"""
