# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small drawing of the components that lean on the cause of a failure, which is marked."""

from __future__ import annotations

from xml.etree import ElementTree

from .finding import place_of
from .svg import add

BOX, HIGH = 196, 40
ACROSS, DOWN = 92, 14
EDGE = 2
# Characters of a name that a box has room for
LONGEST = 27
# What an edge shows of how a component failed at another one
SAID = {
    "silent": "no answer", "refused": "refused", "denied": "denied", "error": "error", "full": "full",
    "broken off": "broken off", "missing": "not found", "read-only": "read-only", "unreachable": "no way",
    "malformed": "nonsense",
}  # fmt: skip


def drawing(verdict):
    """An SVG element of a verdict that names a cause on which others lean, or None."""
    edges = verdict.get("leaning") or []
    culprit = (verdict["component"], verdict["host"])
    columns = columns_of(culprit, [(place(edge["from"]), place(edge["to"])) for edge in edges])
    if len(columns) < 2:
        return None
    boxes = boxes_of(columns)
    width = max(x for x, _y in boxes.values()) + BOX + EDGE
    height = max(y for _x, y in boxes.values()) + HIGH + EDGE
    about = {"viewBox": f"0 0 {width} {height}", "class": "leaning", "role": "img", "style": f"max-width:{width}px"}
    svg = ElementTree.Element("svg", about)
    add(svg, "title", text=title(verdict, edges))
    for edge in edges:
        line(svg, boxes, place(edge["from"]), place(edge["to"]), edge["how"])
    for name, (x, y) in boxes.items():
        box(svg, name, x, y, "culprit" if name == culprit else "box")
    return ElementTree.tostring(svg, encoding="unicode")


def place(end):
    return end["component"], end["host"]


def title(verdict, edges):
    told = [f"{place_of(*place(edge['from']))} leans on {place_of(*place(edge['to']))}" for edge in edges]
    return f"{place_of(verdict['component'], verdict['host'])} is the likeliest cause; {'; '.join(told)}"


def columns_of(culprit, edges):
    """Node to its column: those that lean on the culprit to its left, those on which it leans to its right."""
    columns = {culprit: 0}
    for step, start, end in ((-1, 1, 0), (1, 0, 1)):
        reached = [culprit]
        while reached:
            found = [edge[end] for edge in edges if edge[start] in reached and edge[end] not in columns]
            columns.update((name, columns[reached[0]] + step) for name in found)
            reached = found
    # Those that lean on the same as the culprit stand below it.
    beside = [(one, columns[other] - 1) for one, other in edges if other in columns and one not in columns]
    return {**columns, **dict(beside)}


def boxes_of(columns):
    """Node to the place of its box: each column stands in the middle of the highest."""
    first = min(columns.values())
    rows = {}
    for name, column in columns.items():
        rows.setdefault(column, []).append(name)
    most = max(map(len, rows.values()))
    return {
        name: (
            EDGE + (column - first) * (BOX + ACROSS),
            EDGE + round(((most - len(names)) / 2 + row) * (HIGH + DOWN)),
        )
        for column, names in rows.items()
        for row, name in enumerate(names)
    }


def line(svg, boxes, start, end, how):
    """An arrow from the right of a box to the left of another one; one that would go back is left out."""
    if start not in boxes or end not in boxes or boxes[start][0] >= boxes[end][0]:
        return
    x1, y1 = boxes[start][0] + BOX, boxes[start][1] + HIGH / 2
    x2, y2 = boxes[end][0], boxes[end][1] + HIGH / 2
    add(svg, "line", x1=x1, y1=y1, x2=x2 - 7, y2=y2, **{"class": "failed" if how else "leans"})
    add(svg, "path", d=f"M{x2 - 8} {y2 - 4}L{x2} {y2}L{x2 - 8} {y2 + 4}Z", **{"class": "head"})
    if how:
        add(svg, "text", SAID.get(how, how), x=(x1 + x2) / 2, y=(y1 + y2) / 2 - 5, **{"class": "how"})


def cut(name):
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def box(svg, name, x, y, kind):
    component, host = name
    add(svg, "rect", x=x, y=y, width=BOX, height=HIGH, rx=6, **{"class": kind})
    add(svg, "text", cut(component), x=x + BOX / 2, y=y + (17 if host else 25), **{"class": f"name {kind}-name"})
    if host:
        add(svg, "text", cut(host), x=x + BOX / 2, y=y + 32, **{"class": f"host {kind}-name"})
