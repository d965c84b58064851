# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A directory of logs goes the way of a run, from collecting to judging.

In: logs that somebody collected, and reports of sos. Out: the record of the boot that they tell of. What others have
done on a live cloud is recorded alike.

PRIVATE to the collection: no promise is made to other users of this package.
"""
