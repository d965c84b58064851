# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a history, in the folder of the runs."""

from __future__ import annotations

import json
import os

from .._record import clock, run
from .._record.errors import MALFORMED, StageError
from . import digests, page, trend

# The words of steps are taken from so many runs with some, among so many of the last.
LABELLED, LOOKED_AT = 2, 20


def write(runs, most=digests.MOST, templates=None, check=False):
    """Write the history of a folder of runs. Returns it, and the paths of the files; with check none is written.

    templates: the folder of the templates of the pages; without it no page is written.
    """
    if most < 1:
        raise StageError("invalid", f"most is {most}: a history tells of one run at least")
    told = digests.read(runs, most, keep=not check)
    if not told:
        hint = "Name the folder of the runs, where verify has made a directory for each."
        raise StageError("no_run", f"no run has ended in {runs}", hint=hint)
    return write_of(told, runs, templates, check)


def write_of(told, runs, templates=None, check=False):
    """The same of digests that have been read."""
    directories = run.run_directories(runs)
    history = trend.history_of(told, labels(directories), clock.now())
    texts = {} if check else texts_of(history, templates, directories)
    for name, text in texts.items():
        run.write_whole(os.path.join(runs, name), text)
    return history, [os.path.join(runs, name) for name in texts]


def texts_of(history, templates, directories):
    texts = {"history.json": json.dumps(history, indent=1, allow_nan=False) + "\n"}
    if templates:
        template = os.path.join(templates, "history.html.j2")
        texts[page.PAGE] = page.render(history, template, links=set(map(os.path.basename, directories)))
    return texts


def labels(directories):
    """The words for the steps, out of the last runs that were followed."""
    found = []
    for directory in reversed(directories[-LOOKED_AT:]):
        try:
            words = trend.labels_of([run.read_record(directory)])
        except (StageError, OSError, *MALFORMED):
            continue
        found += [words] if words else []
        if len(found) == LABELLED:
            break
    return {name: words for labelled in found for name, words in labelled.items()}
