# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""2. Collect: small readers ask the API and the hosts.

In: ids, names and times to look for. Out: frozen dataclasses, and events by the sources.

PRIVATE to the collection: no promise is made to other users of this package.
"""
