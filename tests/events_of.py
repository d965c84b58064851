# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of one source at a time, as tests ask for them."""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.module_utils._normalise import events


def source(name, record, reads=None, logs=None):
    run = events.context_of({"stages": [], **record}, {"log": logs or (reads if name == "log" else {})})
    return events.of_source(name, run, reads or {})


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
