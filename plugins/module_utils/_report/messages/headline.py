# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The headline of a verdict: where, and what is wrong there, complete in one line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import product

from ..._judge.evidence import is_exit
from ..._model.finding import Cause, Finding
from ..._model.how import How
from ..._model.symptom import Code, Kind, Symptom
from ..._model.verdict import LONGEST_HEADLINE
from . import capacity, symptoms
from .words import AT_PEER, at_place, fitting, place_of

# In characters: a headline has no room for a whole line of a log.
QUOTE_LENGTHS = range(110, 39, -10)
# Fewer name nothing.
LEAST_QUOTED = 30
# Ids of a request or an instance in front of a line of a log
CONTEXT = re.compile(r"(?:\[[^\]]*\]\s*)+")
# Classes of exceptions and numbers of errors in front of what they say
CLASSES = re.compile(
    r"(?:.*[a-z_]\.[A-Za-z_]*[A-Z]\w+: |.*\b[A-Z]\w*(?:Error|Exception): )?(?:\[Errno \d+\] )?(?=\S)"
)
# The status and the request of an answer, behind what a client quotes of it
OF_ANSWER = re.compile(r"(?:\s*\((?:HTTP \d+|Request-ID: [\w-]+)\))+\s*$")
# What a service answered, or a command printed, stands inside of what is said about it.
INSIDE = re.compile(
    r"['\"]message['\"]: (?P<quote>['\"])(?P<answer>(?:(?!(?P=quote)).)+)(?P=quote)"
    r"|Stderr: u?(?P<mark>['\"])(?P<printed>(?!(?P=mark)).+?)(?:(?:\\[rn])*(?P=mark)\s*$|$)"
)
# A connection that fails is said by its two ends.
BY_ENDS = (How.REFUSED, How.UNREACHABLE, How.SILENT, How.BROKEN_OFF)


def headline(finding: Finding) -> str | None:
    """Return the cause in one line, or why no component is identified; None if nothing is known."""
    if finding.unsatisfied:
        return fitting(
            capacity.headlines(finding.unsatisfied), LONGEST_HEADLINE
        )
    if finding.restart:
        return fitting(restart_forms(finding.restart), LONGEST_HEADLINE)
    if finding.cause and finding.main:
        forms = (
            *quoting_forms(finding.cause, finding.main, finding.quoted),
            *reasons(finding.cause, finding.main),
        )
        # A change that all else follows from may be what the headline says already.
        change = finding.change if finding.change != finding.main else None
        return fitting(
            cause_forms(finding.cause, forms, change), LONGEST_HEADLINE
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


def quoting_forms(
    cause: Cause, main: Symptom, quoted: Symptom | None
) -> Iterator[str]:
    """Yield forms with what an error says, which names the thing that it is about.

    No other line is quoted than the verdict's.
    """
    if quoted is None or not says_why(quoted, cause, main):
        return
    said = said_in(str(quoted.quote))
    for length in QUOTE_LENGTHS:
        message = decisive(said, length)
        for lead in leads_in(cause, main) if message else ():
            yield f'{lead} "{message}"'


def says_why(quoted: Symptom, cause: Cause, main: Symptom) -> bool:
    """Return whether a line is the error of a headline, or the last words of a unit or a domain that has ended."""
    if is_exit(main):
        return cause.shows(quoted) and quoted.how not in BY_ENDS
    if main.code is Code.DOMAIN_HALTED:
        return quoted.peer == cause.component
    is_error = quoted.quote == main.quote and main.kind in (
        Kind.FAILED_AT,
        Kind.ERROR,
    )
    return is_error and main.how not in BY_ENDS


def leads_in(cause: Cause, main: Symptom) -> Iterator[str]:
    """Yield the words before what an error says."""
    if main.code == Code.LOGGED_ERROR and not main.exception:
        yield "logged"
        return
    yield f"{tuple(reasons(cause, main))[-1]}:"
    if main.peer == cause.component and not cause.shows(main):
        yield f"{main.component} reports"


def said_in(quote: str) -> str:
    """Return what an error says, without what stands around it."""
    inside = INSIDE.search(quote)
    if inside:
        return inside["answer"] or inside["printed"]
    said = CLASSES.sub("", CONTEXT.sub("", quote, count=1), count=1)
    return OF_ANSWER.sub("", said)


def decisive(said: str, length: int) -> str:
    """Return the end of what an error says, from a colon on: what it is about stands behind what was done."""
    if len(said) <= length:
        return said
    parts, kept = said.split(": "), ""
    while parts and len(parts[-1]) + 2 + len(kept) <= length:
        kept = ": ".join(filter(None, (parts.pop(), kept)))
    if len(kept) >= LEAST_QUOTED:
        return kept
    if kept:
        end = said[1 - length :]
        whole_words = end.partition(" ")[2]
        return f"…{whole_words if len(whole_words) >= LEAST_QUOTED else end}"
    return textwrap.shorten([said, *parts][-1], length, placeholder=" …")


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
        or symptom.code in (Code.CONFIGURATION_CHANGED, Code.COMMAND_HANGS)
    )
    return forms[1:] if has_details else forms
