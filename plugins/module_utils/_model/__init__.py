# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The data of a record: frozen dataclasses and enums. JSON exists at the border only, by codec.py.

In: JSON of a record. Out: its dataclasses, and back.

It runs on hosts as well, so it stays valid on Python 3.9: Optional in annotations, no slots and no kw_only.

PRIVATE to the collection: no promise is made to other users of this package.
"""
