# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that the services logged."""

from __future__ import annotations

from ..._record.levels import LEVELS
from ..._record.shapes import event
from ..logs import reader
from .event_text import words_of
from .source import Source


def read(host, params):
    """The logs of a host; None if the run is not followed. Logs take longer to read than anything else."""
    if not params["wanted"]:
        return None
    patient = host.patient()
    services = params["platform"].get("logs") or []
    logs = reader.read_packed(patient, services, params["wanted"], params["offset_s"])
    return {**logs, "unread": patient.unread}


def events(run, reads):
    return [from_line(logged, host, run.hosts) for host, read in reads.items() for logged in reader.events_in(read)]


def from_line(logged, host, hosts):
    about = {"text": "", "host": host, "source": "log", "clock": host, "until": None, "error_s": 0.0}
    line = event(**{**logged, **about})
    line["text"] = words_of(line, hosts)
    if line["kind"] == "http":
        line["caller"] = hosts.get(line.get("client"), line.get("client"))
        return line if line.get("seconds") is None else {**line, **times_of(line)}
    if line.get("seconds"):
        # A line with a duration is written at the end of it.
        return {**line, "at": line["at"] - float(line["seconds"]), "until": line["at"]}
    return line


def times_of(request):
    """The begin and end of a request: a line has the time of its end, but uwsgi and Apache write that of its begin."""
    seconds = request["seconds"]
    if request.get("began"):
        return {"until": request["at"] + seconds}
    return {"at": request["at"] - seconds, "until": request["at"]}


def to_see(rule, levels, services):
    level = rule.get("level", "info")
    if rule["service"] not in services:
        return f"the log of {rule['service']}"
    if LEVELS.index(level) > LEVELS.index(levels.get(rule["service"], "info")):
        setting = "debug = true" if level == "debug" else "oslo.messaging at DEBUG"
        return f"{rule['service']} with {setting}"
    return None


def account(reads):
    """The logs that were read on each host, and the reasons why others were not."""
    return [
        {
            "host": host,
            "reason": None if "events" in (read or {}) else (read or {}).get("msg") or "it was not asked",
            "sources": (read or {}).get("sources") or [],
            "unread": (read or {}).get("unread") or [],
        }
        for host, read in sorted(reads.items())
    ]


SOURCE = Source(
    name="log",
    tier=2,
    words="the log of {}",
    fields=(
        "method",
        "path",
        "status",
        "client",
        "caller",
        "seconds",
        "action",
        "topic",
        "message",
        "logger",
        "exception",
        "raised_in",
        "how",
        "peer",
    ),
    events=events,
    to_see=to_see,
    of_others=True,
    read=read,
    returned="logs",
    variable="stackproof_evidence",
    account=account,
    filed_as="logs",
)
