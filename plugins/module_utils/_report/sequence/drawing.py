# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draws a run's flow as SVG: lifelines as columns, steps as arrows in the order in which they happened.

The picture works as a file and inside a page: nothing in it is fetched or run, and all its names begin with flow-.
"""

from __future__ import annotations

from xml.etree import ElementTree

from . import sequence
from .sequence import plain
from .sequence_layout import BOX, LEFT, STRIP, layout, shorten, text_width, width_of, wrap
from .sequence_style import stylesheet

LEGEND = (
    ("seen", "seen: this run shows it"),
    ("cached", "cached: an earlier answer served again"),
    ("absent", "absent: this cloud goes without it"),
    ("unseen", "unseen: nothing that was read shows it"),
    ("skipped", "skipped: not asked of this run"),
    ("missing", "missing: it should be there"),
)


def node(tag, *children, text=None, **attributes):
    """An element: attributes without their trailing _, numbers as short as they can be."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    element = ElementTree.Element(tag, {name: number(value) for name, value in named.items()})
    element.text = text
    element.extend(children)
    return element


def number(value):
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def svg(flow, record):
    """The whole picture, as text."""
    lifelines, rows = sequence.lifelines(flow), sequence.rows(flow)
    width = width_of(lifelines)
    heading, top = head(flow, record, width)
    plan = layout(lifelines, rows, top)
    title = plain(f"{flow['title']}, run {record['run_id']} on {record['cloud']}")
    root = node(
        "svg",
        node("title", text=title, id=f"flow-{sequence.word_of(flow)}-title"),
        node("desc", text=description(flow, rows), id=f"flow-{sequence.word_of(flow)}-desc"),
        node("style", text=stylesheet()),
        node("rect", class_="flow-paper", width=width, height=plan.height),
        *heading,
        *grounds(plan),
        *(lifeline(x, plan) for x in plan.x.values()),
        *(names(plan, plan.top) + names(plan, plan.bottom)),
        *(activation(request, plan) for request in plan.bars),
        *(shape for y in plan.strips for shape in strip(plan, y)),
        *steps(plan),
        xmlns="http://www.w3.org/2000/svg",
        class_="flow-svg",
        id=f"flow-{sequence.word_of(flow)}-svg",
        viewBox=f"0 0 {number(width)} {number(plan.height)}",
        width=width,
        height=plan.height,
        role="img",
        aria_labelledby=f"flow-{sequence.word_of(flow)}-title flow-{sequence.word_of(flow)}-desc",
    )
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def description(flow, rows):
    """The picture in words, for readers who do not see it."""
    lines = (f"{row.step['id']} {row.step['message']}: {row.step['status']}" for row in rows)
    return plain(". ".join([sequence.counts(flow), *lines]))


def head(flow, record, width):
    """Title, run, verdict, counts of steps and legend; and the height at which they end."""
    room = width - 48
    verdict = record["verdict"]
    result = plain(verdict["result"]).upper()
    chip = text_width(result, 14) + 24
    started = plain(record["started"])[:19].replace("T", " ")
    about = plain(f"Run {record['run_id']} on {record['cloud']}, started {started} UTC")
    reason = plain(verdict["reason"])
    shapes = [
        node("text", x=24, y=50, class_="flow-heading", text=shorten(plain(flow["title"]), room, 31)),
        node("text", x=24, y=80, class_="flow-muted", text=shorten(about, room, 15)),
        node("rect", x=24, y=95, width=chip, height=24, rx=12, class_=f"flow-{'pass' if result == 'PASS' else 'fail'}"),
        node("text", x=24 + chip / 2, y=112, class_="flow-verdict", text=result),
        node("text", node("title", text=reason), x=34 + chip, y=112),
        node("text", x=24, y=144, class_="flow-strong", text=shorten(sequence.counts(flow), room, 16)),
    ]
    shapes[4].find("title").tail = shorten(reason, room - chip - 10, 15)
    items, y = legend(room, 172)
    return [*shapes, *items], y + 24


def legend(room, y):
    """A sample of each kind of shape, in as many lines as they need."""
    made, x = [], 24
    for shapes, wide, text, style in samples():
        whole = wide + 8 + text_width(text, 14) + 18
        if x > 24 and x + whole > room + 24:
            x, y = 24, y + 26
        meaning = node("text", x=wide + 8, y=5, class_="flow-small", text=text)
        made.append(node("g", *shapes, meaning, class_=style, transform=f"translate({number(x)} {number(y)})"))
        x += whole
    return made, y


def samples():
    """(shapes, width, meaning, style) of each sample."""
    request = node("rect", x=0, y=-9, width=10, height=18, rx=2, class_="flow-bar")
    unsure = node("text", x=12, y=5, class_="flow-time", text="≈")
    return [
        *((arrow([(0, 0), (58, 0)], status), 58, text, f"flow-{status}") for status, text in LEGEND),
        ([request], 10, "at work on a request", ""),
        ([unsure], 12, "may have been before the row above", ""),
    ]


def lifeline(x, plan):
    return node("line", x1=x, y1=plan.top + BOX, x2=x, y2=plan.bottom, class_="flow-lifeline")


def names(plan, y):
    """The lifelines' boxes."""
    wide = plan.gap - 5
    made = []
    for name, x in plan.x.items():
        box = node("rect", x=x - wide / 2, y=y, width=wide, height=BOX, rx=6, class_="flow-box")
        texts = lines(plain(name), x, y + BOX / 2, wide - 4, 16, "flow-name")
        made.append(node("g", node("title", text=plain(name)), box, *texts))
    return made


def strip(plan, y):
    """The names again, in small letters, where the boxes are far."""
    made = [node("rect", x=0, y=y, width=plan.width, height=STRIP, class_="flow-again")]
    for name, x in plan.x.items():
        made += lines(plain(name), x, y + STRIP / 2, plan.gap - 5, 13, "flow-strip")
    return made


def lines(name, x, middle, room, high, style):
    """A lifeline's name, in as many lines as it needs, around a height."""
    wrapped = wrap(name, room, 12.5)
    low = middle + 4 - (len(wrapped) - 1) * high / 2
    return [node("text", x=x, y=low + high * count, class_=style, text=line) for count, line in enumerate(wrapped)]


def grounds(plan):
    """The bands behind everything: a stripe in the phase's colour, and its name."""
    phases = list(dict.fromkeys(band.phase for band in plan.bands))
    made = []
    for count, band in enumerate(plan.bands):
        high = band.bottom - band.top
        # Colours next to each other on this walk around the circle are far apart.
        hue = f"hsl({(212 + 137 * phases.index(band.phase)) % 360}, 50%, 52%)"
        name = shorten(plain(band.phase or ""), 126, 14)
        made += [
            node("rect", x=0, y=band.top, width=plan.width, height=high, class_=f"flow-{ground(count)}"),
            node("rect", x=14, y=band.top + 4, width=5, height=high - 8, rx=2.5, fill=hue),
            node("text", x=28, y=band.placed[0][1] + 5, class_="flow-small flow-strong", text=name),
        ]
    return made


def ground(count):
    return "shade" if count % 2 == 0 else "paper"


def activation(request, plan):
    x = plan.x[request.lifeline] - 5 + 4 * request.depth
    return node("rect", x=x, y=request.top, width=10, height=request.bottom - request.top, rx=2, class_="flow-bar")


def steps(plan):
    return [step_group(row, y, plan, ground(count)) for count, band in enumerate(plan.bands) for row, y in band.placed]


def step_group(row, y, plan, behind):
    """A step: its time, its arrow and its message."""
    step = row.step
    start, end = plan.x[step["source"]], plan.x[step["target"]]
    points = route(start, end, y, plan, step["target"])
    return node(
        "g",
        node("title", text=full(step)),
        *time_texts(row, y),
        node("line", x1=250, y1=y, x2=min(start, end), y2=y, class_="flow-guide"),
        *arrow(points, step["status"]),
        *pill(plain(step["id"]), start, y),
        label(step, points, y, plan),
        class_=f"flow-step flow-{step['status']} flow-on-{behind}",
    )


def full(step):
    """The step in full, as the picture shortens texts."""
    where = f"{step['id']}: {step['source']} → {step['target']}: {step['message']} ({step['kind']}). {step['status']}"
    more = [step["reason"], step["at"], step["host"] and f"on {step['host']}", step["today"]]
    return plain(". ".join([where, *(text for text in more if text)]))


def time_texts(row, y):
    made = [node("text", x=240, y=y + 5, class_="flow-time", text=sequence.after(row))]
    if row.unsure:
        made.append(node("text", x=156, y=y + 5, class_="flow-time", text="≈"))
    return made


def route(start, end, y, plan, target):
    """The points of an arrow: to the edge of the target's bar, or around to the lifeline where it began."""
    depth = max(
        (request.depth for request in plan.bars if request.lifeline == target and request.top <= y <= request.bottom),
        default=None,
    )
    if start == end:
        side = 48 if start + 50 < plan.width else -48
        return [(start, y), (start + side, y), (start + side, y + 14), (start + side / 12, y + 14)]
    if depth is None:
        return [(start, y), (end - (1 if end > start else -1), y)]
    return [(start, y), (end - 5 if end > start else end + 5 + 4 * depth, y)]


def arrow(points, status):
    """A line with a head, and a cross on it for a step that did not happen."""
    (x, y), before = points[-1], points[-2]
    back = -11 if x > before[0] else 11
    line = [*points[:-1], (x + back * 0.8, y)]
    made = [
        node("polyline", points=" ".join(f"{number(a)},{number(b)}" for a, b in line), class_="flow-arrow"),
        node("path", d=f"M{number(x)} {number(y)}l{back} -5.5v11z", class_="flow-head"),
    ]
    if status in ("absent", "missing"):
        (a, b), (c, d) = points[len(points) // 2 - 1], points[len(points) // 2]
        cross = f"M{number((a + c) / 2 - 5)} {number((b + d) / 2 - 5)}l10 10m0 -10l-10 10"
        made.append(node("path", d=cross, class_="flow-arrow"))
    return made


def pill(text, x, y):
    text = shorten(text, 52, 14)
    wide = max(26, text_width(text, 14) + 10)
    return [
        node("rect", x=x - wide / 2, y=y - 10, width=wide, height=20, rx=10, class_="flow-pill"),
        node("text", x=x, y=y + 4.5, class_="flow-id", text=text),
    ]


def label(step, points, y, plan):
    """The message above its arrow, as near to the arrow's middle as the picture's edges allow."""
    outcome = " ".join(filter(None, [sequence.duration(step), "" if step["status"] == "seen" else step["status"]]))
    taken = text_width("  " + outcome, 14) if outcome else 0
    left, right = LEFT - 24, plan.width - 12
    message = shorten(plain(step["message"]), right - left - taken, 15)
    half = (text_width(message, 15) + taken) / 2
    middle = min(max((points[0][0] + points[-1][0]) / 2, left + half), right - half)
    text = node("text", x=middle, y=y - 15, class_="flow-label", text=message)
    if outcome:
        text.append(node("tspan", dx=8, class_="flow-said", text=outcome))
    return text
