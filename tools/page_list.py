# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the start page of the documentation site, with the pages that README lists, in its order and by its kinds.

page_list.py README TEMPLATE TARGET. README has the only list of pages: a table for each kind below "All pages".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SECTION = "\n## All pages\n"
# The head of a table names its kind; its rows come up to the next empty line.
TABLE = re.compile(r"^\| ([\w-]+) \| \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")
# The line of the template that the list replaces
PLACE = "PAGES\n"


@dataclass(frozen=True)
class Page:
    title: str
    path: str

    @property
    def entry(self) -> str:
        """The page as an entry of a table of contents, which has paths without suffixes."""
        return f"{self.title[:1].upper()}{self.title[1:]} <{Path(self.path).with_suffix('')}>"


@dataclass(frozen=True)
class Kind:
    """Pages of one kind. rows: their rows in README, each with what its page is for."""

    name: str
    rows: str
    pages: tuple[Page, ...]

    @property
    def title(self) -> str:
        return self.name.capitalize()


def kinds_in(readme: str) -> list[Kind]:
    """Return the kinds of pages that README lists, each with its pages."""
    section = readme.partition(SECTION)[2].partition("\n## ")[0]
    return [Kind(name, rows, pages_in(rows)) for name, rows in TABLE.findall(section)]


def pages_in(rows: str) -> tuple[Page, ...]:
    """Return the pages that the first cells of rows link to."""
    cells = "\n".join(row.split(" | ")[0] for row in rows.splitlines())
    return tuple(Page(title, path) for title, path in LINK.findall(cells))


def list_of(kinds: Iterable[Kind]) -> str:
    """Return the tables of all kinds, each below its heading, and a hidden table of contents for each."""
    parts = []
    for kind in kinds:
        entries = "\n".join(page.entry for page in kind.pages)
        parts.append(f"## {kind.title}\n\n| page | what it has |\n|---|---|\n{kind.rows}")
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {kind.title}\n\n{entries}\n```\n")
    return "\n".join(parts)


def start_page(readme: str, template: str) -> str:
    """Return the template with the list of README in its place."""
    return template.replace(PLACE, list_of(kinds_in(readme)))


if __name__ == "__main__":
    readme_path, template_path, target = map(Path, sys.argv[1:])
    target.write_text(start_page(readme_path.read_text("utf-8"), template_path.read_text("utf-8")), "utf-8")
