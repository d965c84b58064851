# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What neither an output nor a file may hold, whatever went wrong: signs of a defect, and secrets."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

SIGNS_OF_A_DEFECT = ("Traceback (most recent call last)", "is a defect")
# So many characters of a line are shown.
LONGEST_LINE = 300


def assert_no_defect(text_or_folder: str | Path) -> None:
    """Assert that a text, or each file below a folder, shows no sign of a defect."""
    found = lines_with(SIGNS_OF_A_DEFECT, text_or_folder)
    assert not found, "\n".join(["a sign of a defect:", *found])


def assert_no_secret(secrets: Collection[str], text_or_folder: str | Path, except_for: Collection[Path] = ()) -> None:
    """Assert that a text, or each file below a folder but those that may, holds no secret."""
    assert all(secrets), "an empty secret would be found everywhere"
    found = lines_with(secrets, text_or_folder, except_for)
    assert not found, "\n".join(["a secret:", *found])


def lines_with(words: Collection[str], text_or_folder: str | Path, except_for: Collection[Path] = ()) -> list[str]:
    """Return the lines that hold any of the words, each with its file and number."""
    return [
        f"{place}:{number}: {line.strip()[:LONGEST_LINE]}"
        for place, text in texts_of(text_or_folder, except_for)
        for number, line in enumerate(text.splitlines(), 1)
        if any(word in line for word in words)
    ]


def texts_of(text_or_folder: str | Path, except_for: Collection[Path]) -> Iterator[tuple[str, str]]:
    if isinstance(text_or_folder, str):
        yield "output", text_or_folder
        return
    for path in files_below(text_or_folder):
        if path not in except_for:
            yield str(path), path.read_text(errors="replace")


def files_below(folder: Path) -> Iterator[Path]:
    """Find regular files: to open a pipe would wait for ever, and a link may lead to the repository."""
    for place, _folders, names in os.walk(folder):
        for path in (Path(place, name) for name in sorted(names)):
            if stat.S_ISREG(path.lstat().st_mode):
                yield path
