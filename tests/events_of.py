# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flows and events of recorded runs as plain data, as tests ask for them."""

from __future__ import annotations

import as_json
from ansible_collections.stackproof.provision.plugins.module_utils._match import events, follow
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json


def plain(event):
    """Return an event as flows see it, with what it was found by."""
    return {**event.searchable, "phrases": list(event.phrases), "texts": list(event.texts)}


def followed(record, flows, reads):
    """Return the flows of a run as run.json has them, and all its events."""
    results, found = follow.follow(as_json.typed(record), flows, reads)
    return to_json(results), [plain(event) for event in found]


def source(name, record, reads=None, logs=None):
    """Return the events of one source."""
    run = events.context_of(as_json.typed(record), {"log": logs or (reads if name == "log" else {})})
    return [plain(event) for event in events.of_source(name, run, reads or {})]


def record(run):
    return [*source("api", run), *source("console", run)]


def hosts(run):
    return source("host", run)


def logs(run, reads):
    return source("log", run, reads)


def queue(run, reads, logs_read):
    return source("queue", run, reads, logs_read)


def spans(run, reads):
    return source("span", run, reads)
