# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The access to the cloud.

In: the options of a module. Out: a connection that records each request.

PRIVATE to the collection: no promise is made to other users of this package.
"""
