# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many runs judged as one, and the checks of the cloud before them.

In: targets and the records of their runs. Out: one record of the sweep.

PRIVATE to the collection: no promise is made to other users of this package.
"""
