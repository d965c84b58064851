# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The headline of a verdict: where, and what is wrong there, complete in one line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import product

from ..._model.finding import Cause, Finding
from ..._model.symptom import Code, Kind, Symptom
from ..._model.verdict import LONGEST_HEADLINE
from . import capacity, symptoms
from .words import AT_PEER, at_place, fitting, place_of

# In characters: a headline has no room for a whole line of a log.
QUOTE_LENGTHS = (60, 40)
# Ids of a request or an instance in front of a line of a log
CONTEXT = re.compile(r"(?:\[[^\]]*\]\s*)+")


def headline(finding: Finding) -> str | None:
    """Return the cause in one line, or why no component is identified; None if nothing is known."""
    if finding.unsatisfied:
        return fitting(
            capacity.headlines(finding.unsatisfied), LONGEST_HEADLINE
        )
    if finding.restart:
        return fitting(restart_forms(finding.restart), LONGEST_HEADLINE)
    if finding.cause and finding.main:
        quoted = (
            quoting_forms(finding.main, finding.quoted)
            if finding.cause.shows(finding.main)
            else ()
        )
        forms = (*quoted, *reasons(finding.cause, finding.main))
        return fitting(
            cause_forms(finding.cause, forms, finding.change), LONGEST_HEADLINE
        )
    if finding.step is None:
        return None
    if finding.pause_s is not None:
        return f"no component identified: step {finding.step.id} is overdue; it may just be slow"
    return f"no component identified: step {finding.step.id} did not happen and no evidence explains why"


def restart_forms(restart: Cause) -> Iterator[str]:
    place = place_of(*restart.place)
    clients = [
        symptom.component
        for symptom in restart.symptoms
        if symptom.kind in (Kind.FAILED_AT, Kind.REACH)
    ]
    yield f"no fault: an earlier restart of {place} dropped connections of {clients[0]}"
    yield f"no fault: an earlier restart of {place} dropped connections"
    yield f"no fault: an earlier restart of {restart.component} dropped connections"


def cause_forms(
    cause: Cause, forms: tuple[str, ...], change: Symptom | None
) -> Iterator[str]:
    """Yield headlines from the longest to the shortest: first without details, then without the domain of the host."""
    changes = [f"; {form}" for form in changed_forms(change)] if change else []
    short_host = cause.host.partition(".")[0] if cause.host else None
    for host in dict.fromkeys((cause.host, short_host)):
        for text, suffix in product(forms, [*changes, ""]):
            yield at_place(cause.component, host, text + suffix)


def quoting_forms(main: Symptom, quoted: Symptom | None) -> tuple[str, ...]:
    """Return forms with the message of an error that has no exception. No other line is quoted than the verdict's."""
    if (
        main.code != Code.LOGGED_ERROR
        or main.exception
        or quoted is None
        or quoted.quote != main.quote
    ):
        return ()
    message = CONTEXT.sub("", main.quote or "", count=1)
    beginnings = [
        textwrap.shorten(message, length, placeholder=" …")
        for length in QUOTE_LENGTHS
    ]
    return (
        tuple(f'logged "{beginning}"' for beginning in beginnings)
        if message
        else ()
    )


def changed_forms(change: Symptom) -> tuple[str, ...]:
    """Return the short forms of a change of configuration."""
    return symptoms.forms(change)[1:]


def reasons(cause: Cause, main: Symptom) -> Iterator[str]:
    """Yield what is wrong with a cause, from the longest to the shortest form."""
    if cause.shows(main):
        yield from without_details(main)
    elif main.peer == cause.component:
        peer = AT_PEER[main.how if main.how in AT_PEER else None].peer
        yield peer.format(place_of(main.component, main.host))
        yield peer.format(main.component)
    elif main.component is None:
        yield from symptoms.forms(main)
    else:
        for form in symptoms.forms(main)[-1:]:
            yield f"{place_of(main.component, main.host)} depends on it: {form}"
            yield f"{main.component} depends on it: {form}"
        yield f"{main.component} depends on it and failed"


def without_details(symptom: Symptom) -> tuple[str, ...]:
    """Return the forms without a unit, an address or a folder, which the next command has."""
    forms = symptoms.forms(symptom)
    has_details = (
        symptom.unit
        or symptom.port
        or symptom.code == Code.CONFIGURATION_CHANGED
    )
    return forms[1:] if has_details else forms
