# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A load test: many instances in parallel, judged as a whole: how long each stage and step takes, and how that grows.

In: the plan of a load test and the records of its runs. Out: one record of the load test.

PRIVATE to the collection: no promise is made to other users of this package.
"""
