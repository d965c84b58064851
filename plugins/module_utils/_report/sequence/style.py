# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The colours and lines of a drawn flow: light, dark and printed. All names begin with flow-, as a page has its own."""

from __future__ import annotations

import re

# By light, dark and paper
COLOURS = {
    "paper": ("#ffffff", "#11151b", "#ffffff"),
    "shade": ("#f4f6f9", "#181d25", "#ffffff"),
    "ink": ("#1a2029", "#e8ecf2", "#000000"),
    "muted": ("#5a6573", "#9aa6b5", "#333333"),
    "line": ("#c3cad4", "#3a4452", "#999999"),
    "box": ("#e9eef6", "#232c3a", "#ffffff"),
    "edge": ("#8493a8", "#5d6d85", "#000000"),
    "seen": ("#1a5fb4", "#6fb1ff", "#000000"),
    "bar": ("#cfe0f7", "#254470", "#dddddd"),
    "grey": ("#7b8592", "#8793a3", "#555555"),
    "faint": ("#a3abb7", "#687482", "#999999"),
    "bad": ("#c01c28", "#ff7b7b", "#000000"),
    "good": ("#1b7f47", "#5fd38d", "#000000"),
}
STYLE = """
.flow-svg { font-family: system-ui, sans-serif; font-size: 15px; fill: $ink; }
.flow-svg text { font-variant-numeric: tabular-nums; }
.flow-paper { fill: $paper; }
.flow-shade { fill: $shade; }
.flow-heading { font-size: 28px; font-weight: 700; }
.flow-muted { fill: $muted; }
.flow-small { font-size: 14px; }
.flow-strong { font-weight: 700; }
.flow-lifeline { stroke: $line; stroke-width: 1; }
.flow-box { fill: $box; stroke: $edge; stroke-width: 1; }
.flow-name { font-size: 12.5px; font-weight: 500; text-anchor: middle; }
.flow-again { fill: $box; }
.flow-strip { font-size: 12px; fill: $muted; text-anchor: middle; }
.flow-bar { fill: $bar; stroke: $seen; stroke-width: 1; }
.flow-guide { stroke: $line; stroke-width: 1; stroke-dasharray: 1 5; }
.flow-time { font-size: 13px; fill: $muted; text-anchor: end; }
.flow-label { text-anchor: middle; stroke: $paper; stroke-width: 5; stroke-linejoin: round; paint-order: stroke; }
.flow-on-shade .flow-label { stroke: $shade; }
.flow-said { font-size: 13px; fill: $muted; }
.flow-arrow { fill: none; stroke: $seen; stroke-width: 2; }
.flow-head { fill: $seen; stroke: none; }
.flow-pill { fill: $seen; stroke: $seen; stroke-width: 1.5; }
.flow-id { font-size: 13px; font-weight: 700; fill: $paper; text-anchor: middle; }
.flow-cached .flow-arrow { stroke: $grey; stroke-dasharray: 9 5; }
.flow-absent .flow-arrow { stroke: $grey; }
.flow-unseen .flow-arrow { stroke: $seen; stroke-dasharray: 0.1 6; stroke-linecap: round; stroke-width: 2.5; }
.flow-skipped .flow-arrow { stroke: $faint; }
.flow-missing .flow-arrow { stroke: $bad; stroke-width: 3; }
.flow-cached .flow-head, .flow-absent .flow-head { fill: $grey; }
.flow-skipped .flow-head { fill: $faint; }
.flow-missing .flow-head { fill: $bad; }
.flow-cached .flow-pill, .flow-absent .flow-pill { fill: $paper; stroke: $grey; }
.flow-unseen .flow-pill { fill: $paper; stroke: $seen; stroke-dasharray: 2 3; }
.flow-skipped .flow-pill { fill: $paper; stroke: $faint; }
.flow-missing .flow-pill { fill: $bad; stroke: $bad; }
.flow-cached .flow-id, .flow-absent .flow-id { fill: $muted; }
.flow-unseen .flow-id { fill: $seen; }
.flow-skipped .flow-id, .flow-skipped .flow-label { fill: $faint; }
.flow-cached .flow-label, .flow-absent .flow-label, .flow-unseen .flow-label { fill: $muted; }
.flow-missing .flow-label, .flow-missing .flow-said { fill: $bad; font-weight: 700; }
.flow-pass { fill: $good; }
.flow-fail { fill: $bad; }
.flow-verdict { fill: $paper; font-size: 14px; font-weight: 700; text-anchor: middle; }
@media print { .flow-svg { width: 100%; height: auto; } }
"""


def stylesheet():
    light, dark, paper = (
        " ".join(f"--flow-{name}: {colours[number]};" for name, colours in COLOURS.items()) for number in range(3)
    )
    return (
        f"\n.flow-svg {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ .flow-svg {{ {dark} }} }}\n"
        f"@media print {{ .flow-svg {{ {paper} }} }}" + re.sub(r"([a-z-]+): \$([a-z]+)", coloured, STYLE)
    )


def coloured(match):
    """A colour as a variable, after the plain colour for viewers without variables."""
    attribute, name = match.groups()
    return f"{attribute}: {COLOURS[name][0]}; {attribute}: var(--flow-{name})"
