# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sequence diagram of a flow, as SVG and as text for Mermaid and PlantUML.

In: a flow as a run followed it. Out: the texts of flow.svg, flow.mmd and flow.puml.

rows.py has what all of them share: the steps in the order of their times, and what this cloud does not use.

PRIVATE to the collection: no promise is made to other users of this package.
"""
