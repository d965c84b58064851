# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the logs: errors, each with the component that failed, and that at which it failed."""

from __future__ import annotations

import math

from ..._collect.logs.error_text import mentioned_in
from ..._collect.logs.line_formats import QUEUE_UNREACHABLE
from ..._components.tables import (
    LIBRARIES,
    answering_calls_of,
    depends_on,
    meant_by_exception,
    project_of,
    share_of_healthy_runs,
    writer_of,
)
from ..._record.clock import seconds_between
from ..._record.ids import addresses_of
from ..._record.shapes import symptom
from ..weights import STRENGTH

# A call over the queue had no answer: of the service behind it, or of the queue.
WAITED = "MessagingTimeout"
# These say only that something else had failed before.
AFTERWARDS = ("MaxRetriesExceeded", "RescheduledException", "BuildAbortException", "NoValid")
# The error that came first is nearer to the cause than the others, which may follow from it.
LATER = 0.7
# An exception is sent back and logged once more within so many seconds.
SENT_WITHIN = 2.0
# An error of which less than this is left by its being usual says nothing.
TELLING = 0.25


def errors(record, _stage):
    """Errors in the logs: of this run, or of anybody while it ran."""
    told = [error for error in record.get("errors") or [] if says_something(error)]
    told = [{**error, "peer": error.get("peer") or teller_of(error, told)} for error in told]
    dated = [error for error in told if error.get("at")]
    times = sorted(error["at"] for error in [error for error in dated if error["keyed"]] or dated)
    places = addresses_of(record)
    return [symptom for error in told for symptom in symptoms_of(error, times[0] if times else None, places)]


def says_something(error):
    return not any(word in kind_of(error) for word in AFTERWARDS) and unusual(error) >= TELLING


def teller_of(error, errors):
    """The component that has sent an exception back to the one which called it, and which logs it once more."""
    component = writer_of(error["service"])
    called = {*depends_on(component), *answering_calls_of(project_of(component))} - {component}
    tellers = [writer_of(other["service"]) for other in errors if is_same(other, error)]
    return next((teller for teller in tellers if teller in called), None)


def is_same(other, error):
    """Whether two errors of the run are of one exception, of which the other was logged right before."""
    if not (kind_of(error) and other["keyed"] and error["keyed"] and other.get("at") and error.get("at")):
        return False
    names = {kind_of(told).rpartition(".")[2] for told in (other, error)}
    return len(names) == 1 and 0 <= seconds_between(other["at"], error["at"]) <= SENT_WITHIN


def kind_of(error):
    return error["exception"] or ""


def symptoms_of(error, first, places):
    """The symptoms in an error: one for each component at which it may have failed, or one of its own."""
    component = writer_of(error["service"])
    peers = peers_of(error, component)
    named = f": {kind_of(error)}" if kind_of(error) else ""
    about = {name: error.get(name) for name in ("host", "how", "keyed", "quote", "at")}
    about["share"] = (1.0 if error.get("at") == first else LATER) * unusual(error)
    about["peer_host"] = places.get(error.get("peer_address"))
    about["answered"] = library_of(error) in peers
    if not peers:
        return [symptom("error", component, f"logged an error of {error['logger']}{named}", **about)]
    sure = len(peers) == 1
    return [
        symptom("failed at", component, f"failed at {peer}{named}", peer=peer, sure=sure, **about) for peer in peers
    ]


def unusual(error):
    """How much an error says that a share of the healthy runs logs too: no more than the odds of that allow."""
    on_labs = share_of_healthy_runs(writer_of(error["service"]), error["logger"], error["exception"])
    rate = max(on_labs, error.get("usual") or 0)
    return min(1.0, -math.log(rate) / STRENGTH["error"]) if rate else 1.0


def library_of(error):
    """The component to which the library speaks that raised an error, or whose class it has."""
    modules = [(error.get(name) or "").partition(".")[0] for name in ("raised_in", "exception")]
    return next((LIBRARIES[module] for module in modules if module in LIBRARIES), None)


def peers_of(error, component):
    """The components at which another one failed: by an address, a library, an exception's name, or a word."""
    kind, module = error["exception"] or "", error.get("raised_in") or ""
    if kind == QUEUE_UNREACHABLE:
        return ["rabbitmq"]
    if error.get("peer"):
        return [error["peer"]] if error["peer"] != component else []
    if WAITED in kind:
        return [peer for peer in [*answering_calls_of(project_of(component)), "rabbitmq"] if peer != component]
    library = library_of(error)
    if library and library != component:
        return [library]
    about = [peer for peer in meant_by_exception(kind) if peer != component]
    if about:
        return about
    mine = project_of(component)
    # Its own code went wrong, whatever the line speaks of.
    if module.partition(".")[0] == mine and error.get("how") is None:
        return []
    named = dict.fromkeys([*(error.get("mentions") or []), *mentioned_in(error["logger"])])
    return [peer for peer in named if project_of(peer) != mine]
