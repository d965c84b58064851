# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's flow as text for programs that draw it: Mermaid and PlantUML."""

from __future__ import annotations

import re

from . import sequence
from .sequence import plain

MERMAID = {"seen": "->>", "missing": "-x"}
# A step that is not seen has a broken line.
PLANTUML = {
    "seen": "-[#1A5FB4]>",
    "cached": "-[#7B8592]->",
    "absent": "-[#7B8592]->x",
    "unseen": "-[#6FB1FF]->",
    "skipped": "-[#C3CAD4]->",
    "missing": "-[#C01C28]>x",
}
# Only letters, digits and a few marks are surely text to both, and "end" ends a block.
MERMAID_SPECIAL = re.compile(r"[^\w .,()/\[\]?+-]|\bend\b", re.IGNORECASE)
# Doubled marks are creole: __underlined__, //slanted//, --struck--.
PLANTUML_SPECIAL = re.compile(r"[^\w .,:()/?+-]|(?<=([-_/]))\1|([-_/])(?=\2)")


def mermaid(flow):
    """A sequence diagram for Mermaid."""
    names = sequence.lifelines(flow)
    alias = aliases(names)
    lines = ["sequenceDiagram", *(f"  participant {alias[name]} as {for_mermaid(name)}" for name in names)]
    for phase, rows in sequence.bands(sequence.rows(flow)):
        if phase:
            lines.append(f"  Note over {edges(alias)}: {for_mermaid(phase)}")
        for row in rows:
            step = row.step
            arrow = MERMAID.get(step["status"], "-->>")
            lines.append(f"  {alias[step['source']]}{arrow}{alias[step['target']]}: {for_mermaid(sentence(row))}")
    return "\n".join([*lines, ""])


def plantuml(flow):
    """A sequence diagram for PlantUML."""
    names = sequence.lifelines(flow)
    alias = aliases(names)
    lines = ["@startuml", f"title {for_plantuml(flow['title'])}"]
    lines += [f'participant "{for_plantuml(name)}" as {alias[name]}' for name in names]
    for phase, rows in sequence.bands(sequence.rows(flow)):
        if phase:
            lines.append(f"== {for_plantuml(phase)} ==")
        for row in rows:
            step = row.step
            arrow = PLANTUML[step["status"]]
            lines.append(f"{alias[step['source']]} {arrow} {alias[step['target']]} : {for_plantuml(sentence(row))}")
    return "\n".join([*lines, "@enduml", ""])


def aliases(names):
    """Plain names for the lifelines, as their own may be a word of the language."""
    return {name: f"L{number}" for number, name in enumerate(names, 1)}


def edges(alias):
    """The first and the last lifeline, or the only one."""
    shown = list(alias.values())
    return ",".join(dict.fromkeys([shown[0], shown[-1]]))


def sentence(row):
    """A step's text: number, message, time, duration and status."""
    step = row.step
    unsure = "≈" if row.unsure else ""
    status = "" if step["status"] == "seen" else step["status"]
    parts = [step["id"], step["message"], unsure + sequence.after(row), sequence.duration(step), status]
    return " ".join(filter(None, parts))


def for_mermaid(text):
    return MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0][0])};{match[0][1:]}", plain(text))


def for_plantuml(text):
    return PLANTUML_SPECIAL.sub(lambda match: f"&#{ord(match[0])};", plain(text))
