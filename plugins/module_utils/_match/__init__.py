# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""3. Match: the steps of a flow, each with its evidence.

In: a flow (YAML) and events. Out: the flow's steps with status, time and evidence.

PRIVATE to the collection: no promise is made to other users of this package.
"""
