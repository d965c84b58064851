# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All sources of evidence, each in a file of its own. A new source is a file and a line here: docs/evidence-sources.md.

PRIVATE to the collection: no promise is made to other users of this package.
"""

from __future__ import annotations

from . import api, console, host, log, queue, span

SOURCES = {
    module.SOURCE.name: module.SOURCE
    for module in (api, console, host, log, queue, span)
}
