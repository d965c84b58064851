# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a history, in the folder of the runs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from time import time

from .._model import codec
from .._model.history import History, RunDigest
from .._record import run
from .._record.errors import StageError
from .._runs import digests
from .._runs.records import name_of, read_labels
from . import page, trend

RECORD = "history.json"


def write(
    runs: str,
    most: int = digests.MOST,
    templates: str | None = None,
    check: bool = False,
) -> tuple[History, list[str]]:
    """Write the history of a folder of runs. Return it, and the paths of the files; with check none is written.

    templates: the folder of the templates of the pages; without it no page is written.
    """
    if most < 1:
        raise StageError(
            "invalid", f"most is {most}: a history has at least one run"
        )
    found = digests.read(runs, most, keep=not check)
    if not found:
        hint = "Name the folder of the runs, where verify has made a directory for each."
        raise StageError("no_run", f"no run has ended in {runs}", hint=hint)
    return write_of(found, runs, templates, check)


def write_of(
    found: Sequence[RunDigest],
    runs: str,
    templates: str | None = None,
    check: bool = False,
) -> tuple[History, list[str]]:
    """Write the history of digests that have been read, as write does."""
    directories = run.run_directories(runs)
    history = trend.history_of(found, read_labels(directories), time())
    texts = {} if check else texts_of(history, templates, directories)
    for name, text in texts.items():
        run.write_whole(os.path.join(runs, name), text)
    return history, [os.path.join(runs, name) for name in texts]


def texts_of(
    history: History, templates: str | None, directories: Sequence[str]
) -> dict[str, str]:
    """Return the texts of the files by their names."""
    texts = {
        RECORD: json.dumps(codec.to_json(history), indent=1, allow_nan=False)
        + "\n"
    }
    if templates:
        texts[page.PAGE] = page.render(
            history, templates, links=set(map(name_of, directories))
        )
    return texts
