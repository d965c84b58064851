# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the parts of make soak one after the other, from where the last run stopped: soak.py PAGE [PART ...].

PAGE is a page of Markdown whose table remembers which part passed on which commit. It is written after each part. What
passed on this commit is not run again. Without names all parts are meant. Fails if a part has failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = "| part | result | took | commit | when |\n|---|---|---|---|---|\n"
ROW = re.compile(
    r"\| `(?P<name>\S+)` \| (?P<result>\w+) \| (?P<minutes>\d+) min \| (?P<commit>\w+) \| (?P<at>\S+) \|\n"
)
# A change of measurements alone leaves what they measure as it was.
WITHOUT_FIGURES = ("--", ".", ":!measurements")
# Parts of clouds of their own come last: they take longest.
OTHERS = {
    "faults": ["make", "faults"],
    "bench": ["make", "bench"],
    "fuzz": ["make", "fuzz", "FUZZ_SECONDS=3600"],
    "molecule": ["make", "molecule"],
    "matrix": ["make", "matrix"],
    "strangers": ["make", "strangers"],
    "release": ["make", "soak-release"],
    "ovn": ["make", "soak-ovn"],
    "devstack": ["make", "soak-devstack"],
    "kolla": ["make", "soak-kolla"],
}


# The command of each part, by name
Commands = dict[str, list[str]]


@dataclass(frozen=True)
class Row:
    """The last run of a part, as the page has it."""

    name: str
    result: str
    minutes: int
    commit: str
    at: str

    def __str__(self) -> str:
        return f"| `{self.name}` | {self.result} | {self.minutes} min | {self.commit} | {self.at} |"

    def has_passed_on(self, head: str | None) -> bool:
        return self.result == "passed" and self.commit == head


Rows = dict[str, Row]


def parts() -> Commands:
    """Return the command of each part: there is a part for each file of tests on the lab that has some of soak."""
    found: Commands = {}
    for path in sorted((ROOT / "tests/lab").glob("test_*.py")):
        if "ovn" not in path.name and "mark.soak" in path.read_text():
            found[path.stem] = ["make", "soak-part", f"PART={path.name}"]
    found.update(OTHERS)
    if not os.environ.get("DEVSTACK_SOURCES"):
        del found["devstack"]
    return found


def commit() -> str | None:
    """Return the last commit that changed more than figures; None with uncommitted changes, on which nothing counts."""
    if git("status", "--porcelain", *WITHOUT_FIGURES):
        return None
    return git("log", "-1", "--format=%h", *WITHOUT_FIGURES)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def read(page: Path) -> Rows:
    """Return the rows of the page's table, by part."""
    _before, header, after = page.read_text().partition(TABLE)
    if not header:
        sys.exit(f"{page} has no table that begins with\n{TABLE}")
    rows = [Row(name, result, int(minutes), head, at) for name, result, minutes, head, at in ROW.findall(after)]
    return {row.name: row for row in rows}


def keep(page: Path, rows: Rows) -> None:
    """Write the page with another table as a whole, or not at all."""
    before, header, after = page.read_text().partition(TABLE)
    new = page.with_suffix(".new")
    new.write_text(before + header + "".join(f"{line}\n" for line in table(rows)) + ROW.sub("", after))
    new.replace(page)


def left(wanted: Iterable[str], rows: Rows, head: str | None) -> list[str]:
    """Return the names of the parts that have not passed on this commit."""
    passed = {name for name, row in rows.items() if row.has_passed_on(head)}
    return [name for name in wanted if name not in passed]


def plan(wanted: Sequence[str], to_run: Sequence[str], rows: Rows) -> list[str]:
    """Return what is still to run, and how long it will take, as far as an earlier run shows."""
    summary = f"{len(wanted) - len(to_run)} of {len(wanted)} parts have passed on this commit."
    if not to_run:
        return [summary]
    minutes = sum(rows[name].minutes for name in to_run if name in rows)
    unknown = [name for name in to_run if name not in rows]
    more = f", and {len(unknown)} that were never timed: {', '.join(unknown)}" if unknown else ""
    return [summary, f"To run: {', '.join(to_run)}. That takes about {minutes} min{more}."]


def table(rows: Rows) -> list[str]:
    return [str(rows[name]) for name in sorted(rows)]


def run(name: str, command: Sequence[str], head: str | None) -> Row:
    print(f"== {name}: {' '.join(command)}", flush=True)
    begun = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    minutes = round((time.monotonic() - begun) / 60)
    result = "failed" if status else "passed"
    return Row(name, result, minutes, head or "changed", f"{date.today()}")


def run_all(names: Iterable[str], commands: Mapping[str, Sequence[str]], head: str | None, page: Path) -> bool:
    """Run parts, and write the page after each. Returns whether all have passed."""
    rows = read(page)
    passed = True
    for name in names:
        rows[name] = run(name, commands[name], head)
        keep(page, rows)
        passed = passed and rows[name].result == "passed"
    print("\n".join(["", *table(rows), f"The table is in {page}."]))
    return passed


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    page = Path(arguments[0])
    every = parts()
    unknown = set(arguments[1:]) - set(every)
    if unknown:
        print(f"There is no part {', '.join(sorted(unknown))}. There are {', '.join(every)}.", file=sys.stderr)
        return 2
    wanted = arguments[1:] or list(every)
    head = commit()
    rows = read(page)
    to_run = left(wanted, rows, head)
    print("\n".join(plan(wanted, to_run, rows)), flush=True)
    return 0 if run_all(to_run, every, head, page) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
