# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of make soak, one after the other, taken up where they were broken off: soak.py PAGE [PART ...].

PAGE is a page of Markdown whose table remembers which part passed on which commit. It is written after each part. What
passed on this commit is not run again. Without names all parts are meant. Fails if a part has failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
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
}


def parts():
    """Name of each part to its command: a part for each file of tests on the lab that has some of soak."""
    files = [path for path in sorted((ROOT / "tests/lab").glob("test_*.py")) if "ovn" not in path.name]
    own = {path.stem: ["make", "soak-part", f"PART={path.name}"] for path in files if "mark.soak" in path.read_text()}
    sources = os.environ.get("DEVSTACK_SOURCES")
    return {**own, **{name: command for name, command in OTHERS.items() if sources or name != "devstack"}}


def commit():
    """The last commit that is checked out and changed more than figures; None with changes, on which nothing counts."""
    return None if git("status", "--porcelain", *WITHOUT_FIGURES) else git("log", "-1", "--format=%h", *WITHOUT_FIGURES)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def read(page):
    """The rows of the page's table, by part."""
    _before, header, after = page.read_text().partition(TABLE)
    if not header:
        sys.exit(f"{page} has no table that begins with\n{TABLE}")
    return {row["name"]: {**row.groupdict(), "minutes": int(row["minutes"])} for row in ROW.finditer(after)}


def keep(page, remembered):
    """Write the page with another table as a whole, or not at all."""
    before, header, after = page.read_text().partition(TABLE)
    rows = "".join(f"{row}\n" for row in table(remembered))
    new = page.with_suffix(".new")
    new.write_text(before + header + rows + ROW.sub("", after))
    new.replace(page)


def left(wanted, remembered, head):
    """The names of the parts that have not passed on this commit."""
    return [name for name in wanted if head is None or not passed_on(remembered.get(name), head)]


def passed_on(entry, head):
    return entry is not None and entry["result"] == "passed" and entry["commit"] == head


def plan(wanted, to_run, remembered):
    """What is still to run, and how long it will take, as far as an earlier run says."""
    known = [remembered[name]["minutes"] for name in to_run if name in remembered]
    unknown = [name for name in to_run if name not in remembered]
    lines = [f"{len(wanted) - len(to_run)} of {len(wanted)} parts have passed on this commit."]
    if to_run:
        more = f", and {len(unknown)} that were never timed: {', '.join(unknown)}" if unknown else ""
        lines.append(f"To run: {', '.join(to_run)}. That takes about {sum(known)} min{more}.")
    return lines


def table(remembered):
    return [
        f"| `{name}` | {entry['result']} | {entry['minutes']} min | {entry['commit']} | {entry['at']} |"
        for name, entry in sorted(remembered.items())
    ]


def run(name, command, head):
    print(f"== {name}: {' '.join(command)}", flush=True)
    begun = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    minutes = round((time.monotonic() - begun) / 60)
    result = "failed" if status else "passed"
    return {"name": name, "result": result, "minutes": minutes, "commit": head or "changed", "at": f"{date.today()}"}


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    page, every = Path(arguments[0]), parts()
    unknown = set(arguments[1:]) - set(every)
    if unknown:
        print(f"There is no part {', '.join(sorted(unknown))}. There are {', '.join(every)}.", file=sys.stderr)
        return 2
    wanted, head, remembered = arguments[1:] or list(every), commit(), read(page)
    to_run = left(wanted, remembered, head)
    print("\n".join(plan(wanted, to_run, remembered)), flush=True)
    failed = []
    for name in to_run:
        remembered[name] = run(name, every[name], head)
        keep(page, remembered)
        failed += [name] if remembered[name]["result"] == "failed" else []
    print("\n".join(["", *table(remembered), f"The table is in {page}."]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
