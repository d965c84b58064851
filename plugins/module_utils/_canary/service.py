# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all work of the service shares: its settings, the lines in systemd's journal, and its runs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from .._model import codec
from .._model.record import Record
from .._record import run as run_module
from .._record.errors import MALFORMED, StageError
from .._record.ledger import regular
from .._record.run import Run


@dataclass(frozen=True)
class Settings:
    """What the role writes for the service.

    runs: the folder of the runs. metrics: the file that node_exporter reads. turn: the file with the next slice.
    slices: how many there are; 0 for none. keep_passed, keep_failed: how many runs stay. cleanup: a command.
    """

    runs: str
    metrics: str
    turn: str
    templates: str | None
    slices: int
    keep_passed: int
    keep_failed: int
    cleanup: tuple[str, ...]


def settings_in(path: str) -> Settings:
    """Return the settings in a file. One that is missing or of another type is a ValueError."""
    with open(path, encoding="utf-8", opener=regular) as stream:
        return codec.from_json(Settings, json.load(stream), "settings")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def leaving_alone(what: str) -> Iterator[None]:
    """Name what cannot be read, or is malformed, and go on with the others.

    The folder of the runs is the work of weeks: one file that something else has changed must not stop all of it.
    """
    try:
        yield
    except (StageError, OSError) as exc:
        say(f"{what} is left alone: {exc}")
    except MALFORMED as exc:
        say(
            f"{what} is left alone: it is malformed ({type(exc).__name__}: {exc})"
        )


def runs_in(
    runs: str, is_wanted: Callable[[Record], bool], but: Collection[str] = ()
) -> list[Run]:
    """Return the wanted runs of a folder, by their records. One that cannot be read is named, and left alone.

    but: names of directories that are not read.
    """
    found = []
    for directory in run_module.run_directories(runs):
        if os.path.basename(directory) in but:
            continue
        with leaving_alone(f"The run {directory}"):
            run = Run(directory)
            if is_wanted(run.record):
                found.append(run)
    return found


def has_resources(record: Record) -> bool:
    """Return whether a run still has something in the cloud, as far as its record knows: it was left, or was kept."""
    return bool(
        record.leftovers or (record.kept and record.created != record.deleted)
    )
