# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine that carries a lab, the hosts on it, and the way to its cloud.

PRIVATE to the collection: no promise is made to other users of these files.
"""
