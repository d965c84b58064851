# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pictures of the pages from recorded runs, as the code of today prints and draws them.

pictures.py FOLDER, where tests and the collections are on PYTHONPATH. The screenshots need chromium.
docs/architecture.svg is drawn by hand.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import recorded_outputs as recorded
from ansible_collections.stackproof.provision.plugins.module_utils._report.page import render as page
from ansible_collections.stackproof.provision.plugins.module_utils._report.sequence import drawing, rows
from tree import ROOT

TEMPLATE = ROOT / "roles/report/templates/report.html.j2"
# As the recorded run was called
COMMAND = (
    "$ ansible-playbook -i inventory.yml stackproof.provision.verify -e stackproof_cloud=lab \\",
    "    -e stackproof_floating_ip=true -e stackproof_tcp_port=80",
    "",
)
LICENCE = "<!-- Copyright (c) 2026, stackproof contributors\n     SPDX-License-Identifier: GPL-3.0-or-later -->"

# A terminal, in pixels. A letter is as wide as in the widest of the fonts.
LETTER, LINE, MARGIN, TOP = 7.55, 17, 18, 30
PAPER, INK, PROMPT, HEADING, GOOD = "#16202c", "#d5dde6", "#8fb8de", "#93a3b3", "#7ccf8a"
HEADINGS = ("  stage ", "  slowest requests", "  host ")


@dataclass(frozen=True)
class Screenshot:
    """The upper part of a document, as a window of this size shows it. scale: pixels of the picture for each of it."""

    name: str
    width: int
    height: int
    scale: float = 1.0


FLOW = Screenshot("flow.png", 1170, 760, 1.7)
# Up to what the run has created
REPORT = Screenshot("report.png", 1100, 856)


def terminal(lines: Sequence[str], title: str) -> str:
    """Return the picture of a terminal that shows these lines."""
    width = round(max(map(len, lines)) * LETTER) + 2 * MARGIN
    height = TOP + len(lines) * LINE
    size, sides = f"{width} {height}", f'width="{width}" height="{height}"'
    texts = [text_at(TOP + number * LINE, line) for number, line in enumerate(lines) if line]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            LICENCE,
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {sides} role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect {sides} rx="8" fill="{PAPER}"/>',
            f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12.5" fill="{INK}">',
            *texts,
            "</g>",
            "</svg>",
            "",
        ]
    )


def text_at(y: int, line: str) -> str:
    """Return a line of the terminal. Browsers would fold usual spaces."""
    color = color_of(line)
    fill = f' fill="{color}"' if color else ""
    return f'<text x="{MARGIN}" y="{y}"{fill}>{escape(line).replace(" ", chr(0xA0))}</text>'


def color_of(line: str) -> str | None:
    if line in COMMAND:
        return PROMPT
    if line.startswith(HEADINGS):
        return HEADING
    return GOOD if line.startswith("  PASS") else None


def verify_svg() -> str:
    return terminal([*COMMAND, *recorded.summary(recorded.DEMO)], "The summary of a run of verify on the lab")


def flow_svg() -> str:
    record = recorded.read(recorded.DRAWN)
    _name, flow = rows.drawn(record)[0]
    return drawing.picture(rows.diagram(flow), record).file


def report_html() -> str:
    """Return the page of a failed run. Its flow is on its own picture."""
    return page.render(recorded.read(recorded.TUTORIAL), TEMPLATE)


# Pictures that are text, by their names
DRAWN = {"verify.svg": verify_svg, "flow.svg": flow_svg}


def take(shot: Screenshot, document: Path, folder: Path) -> None:
    """Write a screenshot of a document into a folder."""
    subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            f"--window-size={shot.width},{shot.height}",
            f"--force-device-scale-factor={shot.scale}",
            f"--screenshot={folder / shot.name}",
            document.as_uri(),
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )


def main(folder: Path) -> None:
    for name, draw in DRAWN.items():
        (folder / name).write_text(draw(), "utf-8")
    take(FLOW, folder / "flow.svg", folder)
    with tempfile.TemporaryDirectory() as place:
        document = Path(place) / "report.html"
        document.write_text(report_html(), "utf-8")
        take(REPORT, document, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
