# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The colours and lines of a drawn flow: light, dark and printed. All names begin with flow-, as a page has its own."""

from __future__ import annotations

import re

from ..statuses import LOOKS, Look

# By light, dark and paper
COLOURS = {
    "paper": ("#ffffff", "#11151b", "#ffffff"),
    "shade": ("#f4f6f9", "#181d25", "#ffffff"),
    "ink": ("#1a2029", "#e8ecf2", "#000000"),
    "muted": ("#5a6573", "#9aa6b5", "#333333"),
    "line": ("#c3cad4", "#3a4452", "#999999"),
    "seen": ("#1a5fb4", "#6fb1ff", "#000000"),
    "bar": ("#cfe0f7", "#254470", "#dddddd"),
    "grey": ("#6b7582", "#8793a3", "#555555"),
    "faint": ("#a3abb7", "#687482", "#999999"),
    "bad": ("#c01c28", "#ff7b7b", "#000000"),
    "good": ("#1b7f47", "#5fd38d", "#000000"),
}
STYLE = """
.flow-svg { font-family: system-ui, sans-serif; font-size: 15px; fill: $ink; }
.flow-svg text { font-variant-numeric: tabular-nums; }
.flow-paper { fill: $paper; }
.flow-shade { fill: $shade; }
.flow-heading { font-size: 26px; font-weight: 700; }
.flow-muted { fill: $muted; }
.flow-small { font-size: 14px; }
.flow-strong { font-weight: 700; }
.flow-lifeline { stroke: $line; stroke-width: 1; }
.flow-name { font-size: 12.5px; font-weight: 500; }
.flow-bar { fill: $bar; stroke: $seen; stroke-width: 1; }
.flow-guide { stroke: $line; stroke-width: 1; stroke-dasharray: 1 5; }
.flow-time { font-size: 12px; fill: $muted; text-anchor: end; }
.flow-label { font-size: 13.5px; }
.flow-way { font-size: 12px; fill: $muted; }
.flow-status { font-weight: 700; }
.flow-arrow { fill: none; stroke-width: 2; }
.flow-pill { stroke-width: 1.5; }
.flow-id { font-size: 12.5px; font-weight: 700; text-anchor: middle; }
.flow-skipped .flow-label { fill: $muted; }
.flow-missing .flow-arrow { stroke-width: 3; }
.flow-missing .flow-label, .flow-missing .flow-status { fill: $bad; font-weight: 700; }
.flow-pass { fill: $good; }
.flow-fail { fill: $bad; }
.flow-verdict { fill: $paper; font-size: 14px; font-weight: 700; text-anchor: middle; }
@media print { .flow-svg:not(.flow-sample) { width: 100%; height: auto; } }
"""


def stylesheet() -> str:
    light, dark, paper = (variables(number) for number in range(3))
    rules = STYLE + "\n".join(map(rules_of, LOOKS))
    return (
        f"\n.flow-svg {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ .flow-svg {{ {dark} }} }}\n"
        f"@media print {{ .flow-svg {{ {paper} }} }}"
        + re.sub(r"([a-z-]+): \$([a-z]+)", coloured, rules)
        + "\n"
    )


def variables(number: int) -> str:
    return " ".join(
        f"--flow-{name}: {colours[number]};"
        for name, colours in COLOURS.items()
    )


def rules_of(look: Look) -> str:
    """Return the rules of the arrows, the marks and the ids of steps with a status."""
    fill, text = (look.ink, "paper") if look.is_filled else ("paper", "muted")
    scope = f".flow-{look.status}"
    caps = " stroke-linecap: round;" if look.dashes.startswith("0.") else ""
    return (
        f"{scope} .flow-arrow {{ stroke: ${look.ink}; stroke-dasharray: {look.dashes};{caps} }}\n"
        f"{scope} .flow-head {{ fill: ${look.ink}; }}\n"
        f"{scope} .flow-pill {{ fill: ${fill}; stroke: ${look.ink}; }}\n"
        f"{scope} .flow-id {{ fill: ${text}; }}"
    )


def coloured(match: re.Match[str]) -> str:
    """Return a colour as a variable, after the plain colour for viewers without variables."""
    attribute, name = match.groups()
    return f"{attribute}: {COLOURS[name][0]}; {attribute}: var(--flow-{name})"
