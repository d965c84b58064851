# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's flow as text for programs that draw it: Mermaid and PlantUML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..statuses import LOOK_OF
from .rows import Diagram, Row, after, duration, plain, status

# Only letters, digits and a few marks are surely text to both, and "end" ends a block.
MERMAID_SPECIAL = re.compile(r"[^\w .,()/\[\]?+-]|\bend\b", re.IGNORECASE)
# Doubled marks are creole: __underlined__, //slanted//, --struck--.
PLANTUML_SPECIAL = re.compile(r"[^\w .,:()/?+-]|(?<=([-_/]))\1|([-_/])(?=\2)")


def mermaid(diagram: Diagram) -> str:
    """Return a sequence diagram for Mermaid."""
    alias = aliases(diagram.lifelines)
    lines = ["sequenceDiagram"]
    lines += [
        f"  participant {alias[name]} as {for_mermaid(name)}"
        for name in diagram.lifelines
    ]
    for phase, rows in diagram.bands:
        if phase:
            lines.append(f"  Note over {edges(alias)}: {for_mermaid(phase)}")
        for row in rows:
            step = row.step
            arrow = LOOK_OF[step.status].mermaid
            lines.append(
                f"  {alias[step.source]}{arrow}{alias[step.target]}: {for_mermaid(sentence(row))}"
            )
    if diagram.left_out and alias:
        lines.append(
            f"  Note over {edges(alias)}: {for_mermaid(diagram.left_out)}"
        )
    return "\n".join([*lines, ""])


def plantuml(diagram: Diagram) -> str:
    """Return a sequence diagram for PlantUML."""
    alias = aliases(diagram.lifelines)
    lines = ["@startuml", f"title {for_plantuml(diagram.title)}"]
    if diagram.left_out:
        lines.append(f"footer {for_plantuml(diagram.left_out)}")
    lines += [
        f'participant "{for_plantuml(name)}" as {alias[name]}'
        for name in diagram.lifelines
    ]
    for phase, rows in diagram.bands:
        if phase:
            lines.append(f"== {for_plantuml(phase)} ==")
        for row in rows:
            step = row.step
            arrow = LOOK_OF[step.status].plantuml
            lines.append(
                f"{alias[step.source]} {arrow} {alias[step.target]} : {for_plantuml(sentence(row))}"
            )
    return "\n".join([*lines, "@enduml", ""])


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Return plain names for the lifelines, as their own may be a word of the language."""
    return {name: f"L{number}" for number, name in enumerate(names, 1)}


def edges(alias: dict[str, str]) -> str:
    """Return the first and the last lifeline, or the only one."""
    shown = list(alias.values())
    return ",".join(dict.fromkeys([shown[0], shown[-1]]))


def sentence(row: Row) -> str:
    """Return a step's text: number, message, time, duration and status."""
    step = row.step
    time = f"≈{after(row)}" if row.unsure else after(row)
    return " ".join(
        filter(
            None, [step.id, step.message, time, duration(step), status(step)]
        )
    )


def for_mermaid(text: str) -> str:
    return MERMAID_SPECIAL.sub(
        lambda match: f"#{ord(match[0][0])};{match[0][1:]}", plain(text)
    )


def for_plantuml(text: str) -> str:
    return PLANTUML_SPECIAL.sub(
        lambda match: f"&#{ord(match[0])};", plain(text)
    )
